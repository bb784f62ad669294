// SPDX-License-Identifier: BSD-3-Clause
//
// The checksum in AVX2; see checksum.hpp. Elsewhere than on x86 nothing calls it.

#include "wavefront/store/checksum.hpp"

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace lanewise::wavefront {

std::uint64_t checksum_avx2(const void *bytes, std::size_t size) {
    return XXH3_64bits(bytes, size);
}

}  // namespace lanewise::wavefront
