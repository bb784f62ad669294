// SPDX-License-Identifier: BSD-3-Clause
//
// What precedes the data of a frame, on the wire between two protected ends. It is in the byte
// order of the hosts, which must be the same at both; letters (letter.hpp) make sure of that.

#pragma once

#include <cstdint>

namespace lanewise::paths::carried {

enum class FrameKind : std::uint8_t {
    data = 1,      // of a send
    announcement,  // of a write with immediate data, which came before
    compare_swap,
    fetch_add,
    result,
};

enum FrameFlag : std::uint8_t {
    frame_is_last = 1,  // of its send
    frame_has_immediate = 2,
    frame_is_solicited = 4,
    frame_is_refusal = 8,   // a result: the peer may not do that
    frame_is_invalid = 16,  // a result: nobody may do that
};

struct Frame {
    FrameKind kind = FrameKind::data;
    std::uint8_t flags = 0;
    std::uint16_t reserved = 0;
    std::uint32_t immediate = 0;
    std::uint64_t number = 0;
    std::uint64_t remote_address = 0;
    std::uint32_t remote_key = 0;
    std::uint32_t length_bytes = 0;  // of the whole send, or of the announced write
    std::uint64_t compare_add = 0;   // or the value that an atomic operation found
    std::uint64_t swap = 0;
};
static_assert(sizeof(Frame) == 48);

}  // namespace lanewise::paths::carried
