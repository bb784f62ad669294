// SPDX-License-Identifier: BSD-3-Clause

#include "verbs/proto/crc32.hpp"

#include <array>
#include <bit>
#include <cstring>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace lanewise::verbs::crc32 {
namespace {

using Tables = std::array<std::array<std::uint32_t, 256>, 8>;

// tables[k][b]: what byte b adds to the state k bytes later.
constexpr Tables build() {
    Tables tables{};
    for (std::uint32_t byte = 0; byte < 256; ++byte) {
        std::uint32_t state = byte;
        for (int bit = 0; bit < 8; ++bit) {
            state = (state >> 1) ^ ((state & 1) != 0 ? polynomial : 0);
        }
        tables[0][byte] = state;
    }
    for (std::size_t k = 1; k < tables.size(); ++k) {
        for (std::size_t byte = 0; byte < 256; ++byte) {
            const std::uint32_t earlier = tables[k - 1][byte];
            tables[k][byte] = (earlier >> 8) ^ tables[0][earlier & 0xff];
        }
    }
    return tables;
}

constexpr Tables tables = build();

std::uint64_t load_lowest_first(const std::byte *from) {
    std::uint64_t word = 0;
    std::memcpy(&word, from, sizeof word);
    if constexpr (std::endian::native == std::endian::big) {
        word = __builtin_bswap64(word);
    }
    return word;
}

#if defined(__x86_64__)

// A polynomial of 64 coefficients times x^distance, ready for the multiplier: products of reflected
// operands come out one place too low, which the shift of the constant makes good.
constexpr long long fold_constant(std::int64_t distance_bits) {
    return static_cast<long long>(std::uint64_t{x_to_the(distance_bits)} << 1);
}

__attribute__((target("pclmul,sse4.1"))) __m128i folded(__m128i sum, __m128i constants,
                                                        __m128i next) {
    const __m128i low = _mm_clmulepi64_si128(sum, constants, 0x00);
    const __m128i high = _mm_clmulepi64_si128(sum, constants, 0x11);
    return _mm_xor_si128(_mm_xor_si128(low, high), next);
}

__attribute__((target("pclmul,sse4.1"))) __m128i loaded(const std::byte *from) {
    return _mm_loadu_si128(reinterpret_cast<const __m128i *>(from));
}

constexpr std::size_t folding_bytes_min = 128;

__attribute__((target("pclmul,sse4.1"))) std::uint32_t feed_folding(
    std::uint32_t state, std::span<const std::byte> bytes) {
    const std::byte *at = bytes.data();
    const std::byte *const end = at + bytes.size();
    __m128i sums[4] = {loaded(at), loaded(at + 16), loaded(at + 32), loaded(at + 48)};
    sums[0] = _mm_xor_si128(sums[0], _mm_cvtsi32_si128(static_cast<int>(state)));

    const __m128i over_64 = _mm_set_epi64x(fold_constant(512 - 32), fold_constant(512 + 32));
    for (at += 64; end - at >= 64; at += 64) {
        for (int lane = 0; lane < 4; ++lane) {
            sums[lane] = folded(sums[lane], over_64, loaded(at + 16 * lane));
        }
    }
    const __m128i over_16 = _mm_set_epi64x(fold_constant(128 - 32), fold_constant(128 + 32));
    __m128i sum = sums[0];
    for (int lane = 1; lane < 4; ++lane) {
        sum = folded(sum, over_16, sums[lane]);
    }
    for (; end - at >= 16; at += 16) {
        sum = folded(sum, over_16, loaded(at));
    }
    // The sum stands for all that went before: its 16 bytes have the same remainder.
    std::array<std::byte, 16> remaining;
    _mm_storeu_si128(reinterpret_cast<__m128i *>(remaining.data()), sum);
    const std::uint32_t reduced = feed_portably(0, remaining);
    return feed_portably(reduced, {at, end});
}

bool folds() {
    return __builtin_cpu_supports("pclmul") && __builtin_cpu_supports("sse4.1");
}

const bool processor_folds = folds();

#endif

}  // namespace

std::uint32_t feed_portably(std::uint32_t state, std::span<const std::byte> bytes) {
    const std::byte *at = bytes.data();
    const std::byte *const end = at + bytes.size();
    for (; end - at >= 8; at += 8) {
        const std::uint64_t word = load_lowest_first(at) ^ state;
        state = 0;
        for (std::size_t k = 0; k < 8; ++k) {
            state ^= tables[7 - k][word >> (8 * k) & 0xff];
        }
    }
    for (; at != end; ++at) {
        state = (state >> 8) ^ tables[0][(state ^ std::to_integer<std::uint32_t>(*at)) & 0xff];
    }
    return state;
}

std::uint32_t feed(std::uint32_t state, std::span<const std::byte> bytes) {
#if defined(__x86_64__)
    if (bytes.size() >= folding_bytes_min && processor_folds) {
        return feed_folding(state, bytes);
    }
#endif
    return feed_portably(state, bytes);
}

}  // namespace lanewise::verbs::crc32
