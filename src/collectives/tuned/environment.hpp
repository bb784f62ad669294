// SPDX-License-Identifier: BSD-3-Clause
//
// Settings: what the environment asks for, and the tuning file it names.
//
//   LANEWISE_TUNING=FILE         whose rules to follow; without it nothing is done
//   LANEWISE_PLATFORM=FILE       for rules whose algorithm looks at the platform
//   LANEWISE_REPORT=FILE         written when the program finalizes MPI
//   LANEWISE_STRICT=1            a tuning file that cannot be used ends the program
//   LANEWISE_SCRATCH_LIMIT=SIZE  memory that one call may take on a rank, "256M"

#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "collectives/choose.hpp"
#include "model/network.hpp"

namespace lanewise::tuned {

struct Settings {
    std::string tuning_path;
    std::string platform_path;
    std::string report_path;
    bool strict = false;
    std::int64_t scratch_limit_bytes = std::int64_t{256} << 20;
    std::string fault; /* why a setting was not followed; empty: all were */
};

/* The environment as it was at the first call. */
const Settings& settings();

/* The file's rules, or empty ones with the reason why, read at the first call. */
struct Rules {
    collectives::Tuning tuning;
    std::shared_ptr<const model::Network>
        network; /* null: rules that look at it are not followed */
    bool usable = false;
    std::string complaint; /* one sentence for a person; may be there although usable */
};
const Rules& rules();

/* A number that ranks with the same rules and settings share; 0 where there are no rules. */
std::uint64_t fingerprint();

/* "4.1.4" of the text of MPI_Get_library_version; empty where it holds no such number. */
std::string version_in(const std::string& library);

/* Says one line on standard error. */
void say(const std::string& sentence);

}  // namespace lanewise::tuned
