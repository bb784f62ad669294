// SPDX-License-Identifier: BSD-3-Clause
//
// Checksum: XXH3 of 64 bits, at the speed of memory.

#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace lanewise::wavefront {

std::uint64_t checksum(const void *bytes, std::size_t size);
std::string checksum_text(std::uint64_t sum);
bool is_checksum(const std::string& text);

}  // namespace lanewise::wavefront
