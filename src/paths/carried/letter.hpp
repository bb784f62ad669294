// SPDX-License-Identifier: BSD-3-Clause
//
// What two protected ends say to each other in datagrams: the statement of their agreement, how
// each is reached on both devices, and questions for keys. A letter is a whole; losing one or
// taking it twice does no harm.

#pragma once

#include <array>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>

#include "paths/carried/agreement.hpp"
#include "paths/route.hpp"

namespace lanewise::paths::carried {

// Where one device of the sender is reached, and the numbers of its queue pairs there.
struct Contact {
    Gid gid{};
    std::uint16_t lid = 0;
    std::uint16_t reserved = 0;
    std::uint32_t control_number = 0;
    std::uint32_t carrier_number = 0;
    bool operator==(const Contact&) const = default;
};

enum class LetterKind : std::uint32_t { statement = 1, key_question, key_answer };

struct Letter {
    // Also differs between hosts of different byte orders.
    static constexpr std::uint32_t letter_magic = 0x4c573031;
    std::uint32_t magic = letter_magic;
    LetterKind kind = LetterKind::statement;
    std::uint32_t from = 0;  // the numbers that the programs know
    std::uint32_t to = 0;
    Statement statement;
    std::array<Contact, device_count> contacts{};
    std::uint32_t key = 0;     // of the home device of who is asked
    std::uint32_t answer = 0;  // what it is on the other one; 0 if there is no such key
};
static_assert(sizeof(Letter) == 104);

// Whether it is from the peer of a queue pair to that, both by the numbers that programs know.
inline bool is_between(const Letter& letter, std::uint32_t peer, std::uint32_t own) {
    return letter.from == peer && letter.to == own;
}

// None if the bytes are not a letter.
inline std::optional<Letter> read_letter(std::span<const std::byte> bytes) {
    if (bytes.size() < sizeof(Letter)) return std::nullopt;
    Letter letter;
    std::memcpy(&letter, bytes.data(), sizeof letter);
    if (letter.magic != Letter::letter_magic) return std::nullopt;
    return letter;
}

}  // namespace lanewise::paths::carried
