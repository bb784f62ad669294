// SPDX-License-Identifier: BSD-3-Clause

#include "verbs/proto/wire/crc32.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>

#include "verbs/proto/wire/crc32_folding.hpp"

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

// Four bytes of zeros behind a polynomial multiply it by x^32.
std::uint32_t shifted_product_portably(std::uint32_t a, std::uint32_t b) {
    return feed_portably(multiply(a, b), std::array<std::byte, 4>{});
}

std::uint32_t shifted_product(std::uint32_t a, std::uint32_t b) {
    static const Folding folding = folding_here();
    return folding == Folding::none ? shifted_product_portably(a, b)
                                    : shifted_product_folding(a, b);
}

std::uint32_t feed(std::uint32_t state, std::span<const std::byte> bytes) {
    static const Folding folding = folding_here();
    if (folding == Folding::wide && bytes.size() >= wide_bytes_min) {
        return feed_folding_wide(state, bytes);
    }
    if (folding != Folding::none && bytes.size() >= folding_bytes_min) {
        return feed_folding(state, bytes);
    }
    return feed_portably(state, bytes);
}

std::uint32_t feed_copying(std::uint32_t state, std::byte *to, std::span<const std::byte> bytes) {
    static const Folding folding = folding_here();
    if (folding == Folding::wide && bytes.size() >= wide_bytes_min) {
        return copy_folding_wide(state, to, bytes);
    }
    if (folding != Folding::none && bytes.size() >= copy_folding_bytes_min) {
        return copy_folding(state, to, bytes);
    }
    std::copy(bytes.begin(), bytes.end(), to);
    return feed(state, {to, bytes.size()});
}

}  // namespace lanewise::verbs::crc32
