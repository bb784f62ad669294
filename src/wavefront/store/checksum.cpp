// SPDX-License-Identifier: BSD-3-Clause
//
// See checksum.hpp. The header of xxHash is compiled in here, and once for each further
// instruction set.

#include "wavefront/store/checksum.hpp"

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <array>
#include <cinttypes>
#include <cstdio>

namespace lanewise::wavefront {

std::uint64_t checksum_portable(const void *bytes, std::size_t size) {
    return XXH3_64bits(bytes, size);
}

std::vector<ChecksumFunction> checksum_functions() {
    std::vector<ChecksumFunction> functions;
#if defined(__x86_64__)
    if (__builtin_cpu_supports("avx512f")) functions.push_back(checksum_avx512);
    if (__builtin_cpu_supports("avx2")) functions.push_back(checksum_avx2);
#endif
    functions.push_back(checksum_portable);
    return functions;
}

std::uint64_t checksum(const void *bytes, std::size_t size) {
    static const auto best = checksum_functions().front();
    return best(bytes, size);
}

std::string checksum_text(std::uint64_t sum) {
    std::array<char, 17> text{};
    std::snprintf(text.data(), text.size(), "%016" PRIx64, sum);
    return text.data();
}

bool is_checksum(const std::string& text) {
    return text.size() == 16 && text.find_first_not_of("0123456789abcdef") == std::string::npos;
}

}  // namespace lanewise::wavefront
