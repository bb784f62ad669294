// SPDX-License-Identifier: BSD-3-Clause

#include "verbs/proto/memory/place.hpp"

#include <cstdint>
#include <cstring>

namespace lanewise::verbs {
namespace {

// Two words at once. Volatile stores are neither merged, nor split, nor made a call of memcpy.
using Pair [[gnu::vector_size(16), gnu::may_alias]] = std::uint64_t;
constexpr std::size_t pair_bytes = sizeof(Pair);
constexpr std::size_t stride_bytes = 4 * pair_bytes;

bool is_aligned(const std::byte *to, std::size_t bytes) {
    return reinterpret_cast<std::uintptr_t>(to) % bytes == 0;
}

struct Copying {
    std::byte *to;
    const std::byte *from;
    std::size_t left_bytes;

    template <typename Word>
    void store() {
        Word word;
        std::memcpy(&word, from, sizeof word);
        __atomic_store_n(reinterpret_cast<Word *>(to), word, __ATOMIC_RELAXED);
        advance(sizeof word);
    }
    // Where the next byte is the first of such a word, and all of it is left.
    template <typename Word>
    void store_where_aligned() {
        if (left_bytes >= sizeof(Word) && !is_aligned(to, 2 * sizeof(Word))) store<Word>();
    }
    template <typename Word>
    void store_where_left() {
        if (left_bytes >= sizeof(Word)) store<Word>();
    }
    void store_pair(std::size_t offset) {
        Pair words;
        std::memcpy(&words, from + offset, sizeof words);
        *reinterpret_cast<volatile Pair *>(to + offset) = words;
    }
    void advance(std::size_t bytes) {
        to += bytes;
        from += bytes;
        left_bytes -= bytes;
    }
};

}  // namespace

void place(std::byte *to, const std::byte *from, std::size_t bytes) {
    Copying copying{to, from, bytes};
    // Up to where a pair of words begins.
    copying.store_where_aligned<std::uint8_t>();
    copying.store_where_aligned<std::uint16_t>();
    copying.store_where_aligned<std::uint32_t>();
    copying.store_where_aligned<std::uint64_t>();
    while (copying.left_bytes >= stride_bytes) {
        for (std::size_t at = 0; at < stride_bytes; at += pair_bytes) copying.store_pair(at);
        copying.advance(stride_bytes);
    }
    while (copying.left_bytes >= sizeof(std::uint64_t)) copying.store<std::uint64_t>();
    copying.store_where_left<std::uint32_t>();
    copying.store_where_left<std::uint16_t>();
    copying.store_where_left<std::uint8_t>();
}

}  // namespace lanewise::verbs
