// SPDX-License-Identifier: BSD-3-Clause
//
// What comes from others than the peer, or too late.
#include <gtest/gtest.h>

#include <array>

#include "paths/carried/letter.hpp"
#include "paths/carried/peer_keys.hpp"

namespace lanewise::paths::carried {
namespace {

constexpr std::uint32_t own = 0x111;
constexpr std::uint32_t peer = 0x222;
constexpr Nanoseconds second = 1'000'000'000;

std::array<std::byte, sizeof(Letter)> bytes_of(const Letter& letter) {
    std::array<std::byte, sizeof(Letter)> bytes{};
    std::memcpy(bytes.data(), &letter, sizeof letter);
    return bytes;
}

TEST(LetterTest, IsReadAsItWasWritten) {
    Letter letter;
    letter.from = peer;
    letter.to = own;
    letter.key = 7;
    const auto read = read_letter(bytes_of(letter));
    ASSERT_TRUE(read);
    EXPECT_TRUE(is_between(*read, peer, own));
    EXPECT_EQ(read->key, 7U);
}

TEST(LetterTest, ThatIsCutShortIsNone) {
    const auto bytes = bytes_of(Letter{});
    for (std::size_t kept = 0; kept < bytes.size(); ++kept) {
        EXPECT_FALSE(read_letter(std::span(bytes).first(kept))) << kept;
    }
}

TEST(LetterTest, OfAHostWithAnotherByteOrderIsNone) {
    Letter letter;
    letter.magic = __builtin_bswap32(letter.magic);
    EXPECT_FALSE(read_letter(bytes_of(letter)));
}

TEST(LetterTest, IsForNobodyElse) {
    Letter letter;
    letter.from = peer;
    letter.to = own;
    EXPECT_FALSE(is_between(letter, peer, own + 1));
    EXPECT_FALSE(is_between(letter, peer + 1, own));
    EXPECT_FALSE(is_between(letter, own, peer));
}

TEST(PeerKeysTest, AKeyIsAskedForAgainAfterAWhileAndNoOtherMeanwhile) {
    PeerKeys keys;
    EXPECT_TRUE(keys.must_ask(5, second));
    EXPECT_FALSE(keys.must_ask(5, second + PeerKeys::ask_again_ns - 1));
    EXPECT_FALSE(keys.must_ask(6, second + 1));
    EXPECT_EQ(keys.deadline(), second + PeerKeys::ask_again_ns);
    EXPECT_TRUE(keys.must_ask(5, second + PeerKeys::ask_again_ns));
}

TEST(PeerKeysTest, AnAnswerIsKnownFromThenOn) {
    PeerKeys keys;
    keys.must_ask(5, second);
    EXPECT_FALSE(keys.find(5));
    EXPECT_TRUE(keys.on_answer(5, 50));
    EXPECT_EQ(keys.find(5), 50U);
    EXPECT_EQ(keys.deadline(), never);
}

TEST(PeerKeysTest, AnAnswerThatNobodyAskedForIsIgnored) {
    PeerKeys keys;
    EXPECT_FALSE(keys.on_answer(5, 66));
    keys.must_ask(5, second);
    EXPECT_FALSE(keys.on_answer(6, 66));
    EXPECT_FALSE(keys.find(6));
    ASSERT_TRUE(keys.on_answer(5, 50));
    EXPECT_FALSE(keys.on_answer(5, 66));
    EXPECT_EQ(keys.find(5), 50U);
}

TEST(PeerKeysTest, NothingIsKnownOfAnotherDevice) {
    PeerKeys keys;
    keys.must_ask(5, second);
    keys.on_answer(5, 50);
    keys.must_ask(6, second);
    keys.forget();
    EXPECT_FALSE(keys.find(5));
    EXPECT_FALSE(keys.on_answer(6, 66));
}

}  // namespace
}  // namespace lanewise::paths::carried
