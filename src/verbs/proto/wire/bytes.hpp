// SPDX-License-Identifier: BSD-3-Clause
//
// Numbers in network byte order, at any alignment.

#pragma once

#include <cstddef>
#include <cstdint>

namespace lanewise::verbs {

template <typename Number>
constexpr Number load_network(const std::byte *from, std::size_t bytes = sizeof(Number)) {
    Number number = 0;
    for (std::size_t i = 0; i < bytes; ++i) {
        number = static_cast<Number>(static_cast<std::uint64_t>(number) << 8 |
                                     std::to_integer<std::uint64_t>(from[i]));
    }
    return number;
}

template <typename Number>
constexpr void store_network(std::byte *to, Number number, std::size_t bytes = sizeof(Number)) {
    for (std::size_t i = 0; i < bytes; ++i) {
        const auto shift = 8 * (bytes - 1 - i);
        to[i] = static_cast<std::byte>(static_cast<std::uint64_t>(number) >> shift & 0xff);
    }
}

}  // namespace lanewise::verbs
