// SPDX-License-Identifier: BSD-3-Clause

#include "verbs/proto/memory/place.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>

#if defined(__x86_64__)
#include <immintrin.h>

#define LW_WIDE __attribute__((target("avx2")))
#define LW_MASKED __attribute__((target("avx512f,avx512bw,bmi2")))
#endif

namespace lanewise::verbs {
namespace {

template <std::size_t bytes>
using Words [[gnu::vector_size(bytes), gnu::may_alias]] = std::uint64_t;
using Pair = Words<16>;
using Word [[gnu::may_alias]] = std::uint64_t;
using Half [[gnu::may_alias]] = std::uint32_t;
using Quarter [[gnu::may_alias]] = std::uint16_t;
using Byte = std::uint8_t;

constexpr std::size_t line_bytes = 64;

// A function with the instructions of a newer processor takes over the code of these.
#define LW_INLINED [[gnu::always_inline]] inline

struct Copying {
    std::byte *to;
    const std::byte *from;
    std::size_t left_bytes;

    LW_INLINED std::size_t behind(std::size_t boundary_bytes) const {
        return reinterpret_cast<std::uintptr_t>(to) % boundary_bytes;
    }
    LW_INLINED void advance(std::size_t bytes) {
        to += bytes;
        from += bytes;
        left_bytes -= bytes;
    }
    // Volatile stores are neither merged, nor split, nor made a call of memcpy.
    template <typename Stored>
    LW_INLINED void store_at(std::size_t offset) {
        Stored stored;
        std::memcpy(&stored, from + offset, sizeof stored);
        *reinterpret_cast<volatile Stored *>(to + offset) = stored;
    }
    template <typename Stored, std::size_t count = 1>
    LW_INLINED void store() {
        for (std::size_t at = 0; at < count; ++at) store_at<Stored>(at * sizeof(Stored));
        advance(count * sizeof(Stored));
    }
    // Where the next byte is aligned for one `Stored` but not for two, and all of it is left.
    template <typename Stored>
    LW_INLINED void store_where_aligned() {
        if (left_bytes >= sizeof(Stored) && behind(2 * sizeof(Stored)) != 0) store<Stored>();
    }
    template <typename Stored>
    LW_INLINED void store_where_left() {
        if (left_bytes >= sizeof(Stored)) store<Stored>();
    }
};

template <typename Largest>
LW_INLINED void place_by(Copying copying) {
    if (copying.behind(sizeof(Largest)) != 0) {
        copying.store_where_aligned<Byte>();
        copying.store_where_aligned<Quarter>();
        copying.store_where_aligned<Half>();
        copying.store_where_aligned<Word>();
        if constexpr (sizeof(Largest) > sizeof(Pair)) copying.store_where_aligned<Pair>();
    }
    while (copying.left_bytes >= 4 * sizeof(Largest)) copying.store<Largest, 4>();
    while (copying.left_bytes >= sizeof(Largest)) copying.store<Largest>();
    if (copying.left_bytes == 0) return;
    copying.store_where_left<Pair>();
    copying.store_where_left<Word>();
    copying.store_where_left<Half>();
    copying.store_where_left<Quarter>();
    copying.store_where_left<Byte>();
}

void place_pairs(std::byte *to, const std::byte *from, std::size_t bytes) {
    place_by<Pair>({to, from, bytes});
}

#if defined(__x86_64__)
LW_WIDE void place_quads(std::byte *to, const std::byte *from, std::size_t bytes) {
    place_by<Words<32>>({to, from, bytes});
}

// Part of a line, by one instruction.
LW_INLINED LW_MASKED void store_part(Copying& copying, std::size_t bytes) {
    const __mmask64 part = _bzhi_u64(~std::uint64_t{0}, static_cast<unsigned>(bytes));
    _mm512_mask_storeu_epi8(copying.to, part, _mm512_maskz_loadu_epi8(part, copying.from));
    copying.advance(bytes);
}

LW_MASKED void place_lines(std::byte *to, const std::byte *from, std::size_t bytes) {
    using Line = Words<line_bytes>;
    Copying copying{to, from, bytes};
    if (const std::size_t behind = copying.behind(line_bytes); behind != 0) {
        store_part(copying, std::min(line_bytes - behind, bytes));
    }
    while (copying.left_bytes >= 8 * line_bytes) copying.store<Line, 8>();
    if (copying.left_bytes >= 4 * line_bytes) copying.store<Line, 4>();
    if (copying.left_bytes >= 2 * line_bytes) copying.store<Line, 2>();
    if (copying.left_bytes >= line_bytes) copying.store<Line>();
    if (copying.left_bytes > 0) store_part(copying, copying.left_bytes);
}
#endif

void find_best_and_place(std::byte *to, const std::byte *from, std::size_t bytes) {
    best_place = std::ranges::find_if(placings(), &Placing::is_here)->place;
    best_place.load()(to, from, bytes);
}

}  // namespace

constinit std::atomic<Place> best_place = find_best_and_place;

std::span<const Placing> placings() {
#if defined(__x86_64__)
    static const std::array all{
        Placing{"lines",
                __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                    __builtin_cpu_supports("bmi2"),
                place_lines},
        Placing{"quads", __builtin_cpu_supports("avx2") != 0, place_quads},
        Placing{"pairs", true, place_pairs}};
#else
    static const std::array all{Placing{"pairs", true, place_pairs}};
#endif
    return all;
}

}  // namespace lanewise::verbs
