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

// From the k-th on, these choose the bytes of a register that is moved by 16 - k places towards its
// end; places that are left empty become zero.
constexpr auto moves = [] {
    std::array<std::byte, 48> places{};
    for (std::size_t k = 0; k < places.size(); ++k) {
        places[k] = static_cast<std::byte>(k / 16 == 1 ? k - 16 : 0x80);
    }
    return places;
}();

// Folds the sum's first `count` bytes onto the rest of it and the last `count` bytes before `end`,
// of which at least 16 can be read.
LW_FOLDING __m128i folded_few(__m128i sum, const std::byte *end, std::size_t count) {
    const __m128i to_end = loaded(moves.data() + count);
    const __m128i first = _mm_shuffle_epi8(sum, to_end);
    const __m128i rest = _mm_shuffle_epi8(sum, loaded(moves.data() + 16 + count));
    return folded(first, over<128>(), _mm_blendv_epi8(loaded(end - 16), rest, to_end));
}

// Goes on from a sum that stands for all that came before these bytes; 16 before `end` can be read.
LW_FOLDING std::uint32_t finished(__m128i sum, const std::byte *at, const std::byte *end) {
    for (; end - at >= 16; at += 16) {
        sum = folded(sum, over<128>(), loaded(at));
    }
    const auto left = static_cast<std::size_t>(end - at);
    return reduced(left == 0 ? sum : folded_few(sum, end, left));
}

LW_FOLDING __m128i with_state(__m128i first, std::uint32_t state) {
    return _mm_xor_si128(first, _mm_cvtsi32_si128(static_cast<int>(state)));
}

// At least 16 bytes.
LW_FOLDING std::uint32_t feed_short(std::uint32_t state, std::span<const std::byte> bytes) {
    return finished(with_state(loaded(bytes.data()), state), bytes.data() + 16,
                    bytes.data() + bytes.size());
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

// The products do not wait for each other, as they would if each sum were folded onto the next.
LW_FOLDING __m128i together(const __m128i (&sums)[4]) {
    const __m128i last = folded(sums[2], over<128>(), sums[3]);
    return folded(sums[0], over<384>(), folded(sums[1], over<256>(), last));
}

LW_FOLDING_WIDE __m512i together_wide(const __m512i (&sums)[4]) {
    const __m512i last = folded_wide(sums[2], over_wide<512>(), sums[3]);
    return folded_wide(sums[0], over_wide<1536>(), folded_wide(sums[1], over_wide<1024>(), last));
}

LW_FOLDING_WIDE __m128i narrowed(__m512i sum) {
    const __m512i distances = _mm512_set_epi64(0, 0, later<128>, earlier<128>, later<256>,
                                               earlier<256>, later<384>, earlier<384>);
    const __m512i last = _mm512_maskz_mov_epi64(0xc0, sum);
    const __m512i moved = folded_wide(sum, distances, last);
    const __m256i half =
        _mm256_xor_si256(_mm512_castsi512_si256(moved), _mm512_extracti64x4_epi64(moved, 1));
    return _mm_xor_si128(_mm256_castsi256_si128(half), _mm256_extracti128_si256(half, 1));
}

// Whether a pass over bytes also copies them to `to`, which is null otherwise.
enum class Pass : std::uint8_t { reads, copies };

template <Pass pass>
LW_FOLDING __m128i taken(std::span<const std::byte> bytes, std::size_t at, std::byte *to) {
    const __m128i these = loaded(bytes.data() + at);
    if constexpr (pass == Pass::copies) {
        _mm_storeu_si128(reinterpret_cast<__m128i *>(to + at), these);
    }
    return these;
}

template <Pass pass>
LW_FOLDING_WIDE __m512i taken_wide(std::span<const std::byte> bytes, std::size_t at,
                                   std::byte *to) {
    const __m512i these = loaded_wide(bytes.data() + at);
    if constexpr (pass == Pass::copies) _mm512_storeu_si512(to + at, these);
    return these;
}

// The same as finished() for the bytes from `at` on.
template <Pass pass>
LW_FOLDING std::uint32_t finished_from(__m128i sum, std::span<const std::byte> bytes,
                                       std::size_t at, std::byte *to) {
    if constexpr (pass == Pass::reads) {
        return finished(sum, bytes.data() + at, bytes.data() + bytes.size());
    } else {
        std::memcpy(to + at, bytes.data() + at, bytes.size() - at);
        return finished(sum, to + at, to + bytes.size());
    }
}

template <Pass pass>
LW_FOLDING std::uint32_t pass_over(std::uint32_t state, std::span<const std::byte> bytes,
                                   std::byte *to) {
    __m128i sums[4] = {taken<pass>(bytes, 0, to), taken<pass>(bytes, 16, to),
                       taken<pass>(bytes, 32, to), taken<pass>(bytes, 48, to)};
    sums[0] = with_state(sums[0], state);
    std::size_t at = 64;
    for (; bytes.size() - at >= 64; at += 64) {
        for (std::size_t lane = 0; lane < 4; ++lane) {
            const __m128i next = taken<pass>(bytes, at + 16 * lane, to);
            sums[lane] = folded(sums[lane], over<512>(), next);
        }
    }
    return finished_from<pass>(together(sums), bytes, at, to);
}

template <Pass pass>
LW_FOLDING_WIDE std::uint32_t pass_over_wide(std::uint32_t state, std::span<const std::byte> bytes,
                                             std::byte *to) {
    __m512i sums[4] = {taken_wide<pass>(bytes, 0, to), taken_wide<pass>(bytes, 64, to),
                       taken_wide<pass>(bytes, 128, to), taken_wide<pass>(bytes, 192, to)};
    const __m128i begin = _mm_cvtsi32_si128(static_cast<int>(state));
    sums[0] = _mm512_xor_si512(sums[0], _mm512_zextsi128_si512(begin));
    std::size_t at = 256;
    for (; bytes.size() - at >= 256; at += 256) {
        for (std::size_t lane = 0; lane < 4; ++lane) {
            const __m512i next = taken_wide<pass>(bytes, at + 64 * lane, to);
            sums[lane] = folded_wide(sums[lane], over_wide<2048>(), next);
        }
    }
    __m512i sum = together_wide(sums);
    for (; bytes.size() - at >= 64; at += 64) {
        sum = folded_wide(sum, over_wide<512>(), taken_wide<pass>(bytes, at, to));
    }
    return finished_from<pass>(narrowed(sum), bytes, at, to);
}

}  // namespace

Folding folding_here() {
    const bool narrow = __builtin_cpu_supports("pclmul") && __builtin_cpu_supports("sse4.1");
    const bool wide = __builtin_cpu_supports("vpclmulqdq") && __builtin_cpu_supports("avx512f");
    if (!narrow) return Folding::none;
    return wide ? Folding::wide : Folding::narrow;
}

LW_FOLDING std::uint32_t feed_folding(std::uint32_t state, std::span<const std::byte> bytes) {
    return bytes.size() <= short_bytes_max ? feed_short(state, bytes)
                                           : pass_over<Pass::reads>(state, bytes, nullptr);
}

LW_FOLDING std::uint32_t copy_folding(std::uint32_t state, std::byte *to,
                                      std::span<const std::byte> bytes) {
    return pass_over<Pass::copies>(state, bytes, to);
}

LW_FOLDING_WIDE std::uint32_t feed_folding_wide(std::uint32_t state,
                                                std::span<const std::byte> bytes) {
    return pass_over_wide<Pass::reads>(state, bytes, nullptr);
}

LW_FOLDING_WIDE std::uint32_t copy_folding_wide(std::uint32_t state, std::byte *to,
                                                std::span<const std::byte> bytes) {
    return pass_over_wide<Pass::copies>(state, bytes, to);
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

std::uint32_t copy_folding(std::uint32_t state, std::byte *to, std::span<const std::byte> bytes) {
    std::memcpy(to, bytes.data(), bytes.size());
    return feed_portably(state, {to, bytes.size()});
}

std::uint32_t copy_folding_wide(std::uint32_t state, std::byte *to,
                                std::span<const std::byte> bytes) {
    return copy_folding(state, to, bytes);
}

std::uint32_t shifted_product_folding(std::uint32_t a, std::uint32_t b) {
    return shifted_product_portably(a, b);
}

#endif

}  // namespace lanewise::verbs::crc32
