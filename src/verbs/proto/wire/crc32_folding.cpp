// SPDX-License-Identifier: BSD-3-Clause

#include "verbs/proto/wire/crc32_folding.hpp"

#include <array>
#include <cstring>

#include "verbs/proto/wire/crc32.hpp"

#if defined(__x86_64__)
#include <immintrin.h>

#define LW_FOLDING __attribute__((target("pclmul,sse4.1")))
#define LW_FOLDING_WIDE __attribute__((target("pclmul,sse4.1,vpclmulqdq,avx512f")))
#endif

namespace lanewise::verbs::crc32 {

#if defined(__x86_64__)

namespace {

constexpr std::size_t short_bytes_max = 127;

// A polynomial of 64 coefficients times x^distance, ready for the multiplier: products of reflected
// operands come out one place too low, which the shift of the constant makes good.
constexpr long long fold_constant(std::int64_t distance_bits) {
    const auto shifted = std::uint64_t{x_to_the(distance_bits)} << 1;
    return static_cast<long long>(shifted);
}

// The whole polynomial, which has a coefficient of x^32, and the quotient of x^64 by it.
constexpr std::uint64_t divisor = std::uint64_t{polynomial} << 1 | 1;

constexpr std::uint64_t inverse() {
    std::uint64_t quotient = 0;
    std::uint64_t remainder = 1;
    for (int digit = 0; digit <= 32; ++digit) {
        if ((remainder & 1) != 0) {
            quotient |= std::uint64_t{1} << digit;
            remainder ^= divisor;
        }
        remainder >>= 1;
    }
    return quotient;
}

// What moves a sum so far: for its earlier half and its later one.
template <std::int64_t distance_bits>
constexpr long long earlier = fold_constant(distance_bits + 32);
template <std::int64_t distance_bits>
constexpr long long later = fold_constant(distance_bits - 32);

template <std::int64_t distance_bits>
LW_FOLDING __m128i over() {
    return _mm_set_epi64x(later<distance_bits>, earlier<distance_bits>);
}

LW_FOLDING __m128i folded(__m128i sum, __m128i constants, __m128i next) {
    const __m128i low = _mm_clmulepi64_si128(sum, constants, 0x00);
    const __m128i high = _mm_clmulepi64_si128(sum, constants, 0x11);
    return _mm_xor_si128(_mm_xor_si128(low, high), next);
}

LW_FOLDING __m128i loaded(const std::byte *from) {
    return _mm_loadu_si128(reinterpret_cast<const __m128i *>(from));
}

// The state that 16 bytes leave: their polynomial times x^32, of degree below 160, is brought below
// 96, below 64, and divided after Barrett.
LW_FOLDING std::uint32_t reduced(__m128i sum) {
    constexpr long long over_64 = fold_constant(64);
    constexpr long long over_96 = fold_constant(96);
    constexpr auto quotients = static_cast<long long>(inverse());
    const __m128i steps = _mm_set_epi64x(over_64, over_96);
    const __m128i division = _mm_set_epi64x(static_cast<long long>(divisor), quotients);
    const __m128i lowest = _mm_set_epi32(0, 0, 0, -1);
    const __m128i below_96 =
        _mm_xor_si128(_mm_clmulepi64_si128(sum, steps, 0x00), _mm_srli_si128(sum, 8));
    const __m128i above_64 = _mm_and_si128(below_96, lowest);
    const __m128i below_64 =
        _mm_xor_si128(_mm_clmulepi64_si128(above_64, steps, 0x10), _mm_srli_si128(below_96, 4));
    const __m128i above_32 = _mm_and_si128(below_64, lowest);
    const __m128i quotient = _mm_clmulepi64_si128(above_32, division, 0x00);
    const __m128i multiple = _mm_clmulepi64_si128(_mm_and_si128(quotient, lowest), division, 0x10);
    return static_cast<std::uint32_t>(_mm_extract_epi32(_mm_xor_si128(below_64, multiple), 1));
}

// Goes on from a sum that stands for all that came before these bytes.
LW_FOLDING std::uint32_t finished(__m128i sum, const std::byte *at, const std::byte *end) {
    for (; end - at >= 16; at += 16) {
        sum = folded(sum, over<128>(), loaded(at));
    }
    return feed_portably(reduced(sum), {at, end});
}

// Zeros before the first byte change nothing, so that the last one can end a register.
LW_FOLDING std::uint32_t feed_short(std::uint32_t state, std::span<const std::byte> bytes) {
    alignas(16) std::array<std::byte, short_bytes_max + 1> padded{};
    const std::size_t pad = (16 - bytes.size() % 16) % 16;
    std::byte *const first = padded.data() + pad;
    std::memcpy(first, bytes.data(), bytes.size());
    std::uint32_t begin = 0;
    std::memcpy(&begin, first, sizeof begin);
    begin ^= state;
    std::memcpy(first, &begin, sizeof begin);
    return finished(loaded(padded.data()), padded.data() + 16, first + bytes.size());
}

LW_FOLDING_WIDE __m512i loaded_wide(const std::byte *from) {
    return _mm512_loadu_si512(from);
}

template <std::int64_t distance_bits>
LW_FOLDING_WIDE __m512i over_wide() {
    constexpr long long low = earlier<distance_bits>;
    constexpr long long high = later<distance_bits>;
    return _mm512_set_epi64(high, low, high, low, high, low, high, low);
}

LW_FOLDING_WIDE __m512i folded_wide(__m512i sum, __m512i constants, __m512i next) {
    const __m512i low = _mm512_clmulepi64_epi128(sum, constants, 0x00);
    const __m512i high = _mm512_clmulepi64_epi128(sum, constants, 0x11);
    return _mm512_xor_si512(_mm512_xor_si512(low, high), next);
}

}  // namespace

Folding folding_here() {
    const bool narrow = __builtin_cpu_supports("pclmul") && __builtin_cpu_supports("sse4.1");
    const bool wide = __builtin_cpu_supports("vpclmulqdq") && __builtin_cpu_supports("avx512f");
    if (!narrow) return Folding::none;
    return wide ? Folding::wide : Folding::narrow;
}

LW_FOLDING std::uint32_t feed_folding(std::uint32_t state, std::span<const std::byte> bytes) {
    if (bytes.size() <= short_bytes_max) return feed_short(state, bytes);
    const std::byte *at = bytes.data();
    const std::byte *const end = at + bytes.size();
    __m128i sums[4] = {loaded(at), loaded(at + 16), loaded(at + 32), loaded(at + 48)};
    sums[0] = _mm_xor_si128(sums[0], _mm_cvtsi32_si128(static_cast<int>(state)));
    for (at += 64; end - at >= 64; at += 64) {
        for (std::size_t lane = 0; lane < 4; ++lane) {
            sums[lane] = folded(sums[lane], over<512>(), loaded(at + 16 * lane));
        }
    }
    __m128i sum = sums[0];
    for (int lane = 1; lane < 4; ++lane) {
        sum = folded(sum, over<128>(), sums[lane]);
    }
    return finished(sum, at, end);
}

LW_FOLDING_WIDE std::uint32_t feed_folding_wide(std::uint32_t state,
                                                std::span<const std::byte> bytes) {
    const std::byte *at = bytes.data();
    const std::byte *const end = at + bytes.size();
    __m512i sums[4] = {loaded_wide(at), loaded_wide(at + 64), loaded_wide(at + 128),
                       loaded_wide(at + 192)};
    const __m128i begin = _mm_cvtsi32_si128(static_cast<int>(state));
    sums[0] = _mm512_xor_si512(sums[0], _mm512_zextsi128_si512(begin));
    for (at += 256; end - at >= 256; at += 256) {
        for (std::size_t lane = 0; lane < 4; ++lane) {
            sums[lane] = folded_wide(sums[lane], over_wide<2048>(), loaded_wide(at + 64 * lane));
        }
    }
    __m512i sum = sums[0];
    for (int lane = 1; lane < 4; ++lane) {
        sum = folded_wide(sum, over_wide<512>(), sums[lane]);
    }
    for (; end - at >= 64; at += 64) {
        sum = folded_wide(sum, over_wide<512>(), loaded_wide(at));
    }
    alignas(64) __m128i parts[4];
    _mm512_store_si512(parts, sum);
    __m128i last = parts[0];
    for (int lane = 1; lane < 4; ++lane) {
        last = folded(last, over<128>(), parts[lane]);
    }
    return finished(last, at, end);
}

// The coefficient of x^0 ends the register.
LW_FOLDING std::uint32_t shifted_product_folding(std::uint32_t a, std::uint32_t b) {
    const __m128i product = _mm_clmulepi64_si128(_mm_cvtsi32_si128(static_cast<int>(a)),
                                                 _mm_cvtsi32_si128(static_cast<int>(b)), 0x00);
    return reduced(_mm_slli_si128(_mm_slli_epi64(product, 1), 8));
}

#else

Folding folding_here() {
    return Folding::none;
}

std::uint32_t feed_folding(std::uint32_t state, std::span<const std::byte> bytes) {
    return feed_portably(state, bytes);
}

std::uint32_t feed_folding_wide(std::uint32_t state, std::span<const std::byte> bytes) {
    return feed_portably(state, bytes);
}

std::uint32_t shifted_product_folding(std::uint32_t a, std::uint32_t b) {
    return shifted_product_portably(a, b);
}

#endif

}  // namespace lanewise::verbs::crc32
