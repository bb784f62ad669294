// SPDX-License-Identifier: BSD-3-Clause
//
// FuzzScript: the bytes that a fuzzer invents, read as numbers and data. Where they end, zeros and
// no data follow.

#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace lanewise::verbs {

struct FuzzScript {
    std::span<const std::uint8_t> left;

    // Big-endian.
    std::uint32_t number(std::size_t bytes) {
        std::uint32_t value = 0;
        for (; bytes > 0 && !left.empty(); --bytes, left = left.subspan(1)) {
            value = value << 8 | left.front();
        }
        return value;
    }
    std::vector<std::byte> bytes(std::size_t count) {
        const auto taken = left.first(std::min(count, left.size()));
        left = left.subspan(taken.size());
        const auto raw = std::as_bytes(taken);
        return {raw.begin(), raw.end()};
    }
};

}  // namespace lanewise::verbs
