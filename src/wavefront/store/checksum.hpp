// SPDX-License-Identifier: BSD-3-Clause
//
// Checksum: XXH3 of 64 bits, at the speed of memory.

#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace lanewise::wavefront {

std::uint64_t checksum(const void *bytes, std::size_t size);

/* The same sum by the instructions of one set; `checksum` takes the best that the processor has. */
using ChecksumFunction = std::uint64_t (*)(const void *bytes, std::size_t size);
std::uint64_t checksum_portable(const void *bytes, std::size_t size);
std::uint64_t checksum_avx2(const void *bytes, std::size_t size);
std::uint64_t checksum_avx512(const void *bytes, std::size_t size);
/* Those that run here, the best one first. */
std::vector<ChecksumFunction> checksum_functions();

std::string checksum_text(std::uint64_t sum);
bool is_checksum(const std::string& text);

}  // namespace lanewise::wavefront
