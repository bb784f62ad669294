// SPDX-License-Identifier: BSD-3-Clause
//
// Why a queue pair has left its path, as the software device tells and path migration reads it.

#pragma once

#include <cstdint>

namespace lanewise {

// The numbers are those of lanewise_migration_cause().
enum class MigrationCause : std::uint8_t {
    unknown,
    command,  // the program asked for it
    carrier,  // its port has lost the carrier, or had none when the alternate path was loaded
    retries,  // they were exhausted
    silence,  // the peer had not answered for a long time
    peer,     // that has migrated before
};

}  // namespace lanewise
