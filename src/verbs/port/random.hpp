// SPDX-License-Identifier: BSD-3-Clause
//
// Numbers that nobody else can foretell, from the kernel.

#pragma once

#include <cstdint>

namespace lanewise::verbs::port {

std::uint32_t random_number();

}  // namespace lanewise::verbs::port
