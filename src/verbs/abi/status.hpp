// SPDX-License-Identifier: BSD-3-Clause
//
// What a program's device is doing, as one JSON object for `lanewise hca status`.

#pragma once

#include <string>

#include "verbs/abi/adapter.hpp"

namespace lanewise::verbs::abi {

// Wants the lock of the adapter held.
std::string status_of(Adapter& adapter);

}  // namespace lanewise::verbs::abi
