// SPDX-License-Identifier: BSD-3-Clause

#include "verbs/proto/memory/memory_table.hpp"

#include <gtest/gtest.h>

#include <array>
#include <set>
#include <vector>

namespace lanewise::verbs {
namespace {

std::array<std::byte, 256> memory;

MemoryRegion region(std::uint32_t access) {
    return {.domain = 3,
            .start = memory.data(),
            .address = 0x1000,
            .length_bytes = memory.size(),
            .access = access};
}

TEST(MemoryTable, FindsEveryRangeInsideARegionAndNoOther) {
    MemoryTable table;
    const std::uint32_t key = table.add(region(remote_read));
    for (std::uint64_t address = 0xff0; address < 0x1110; ++address) {
        for (std::uint64_t bytes = 0; bytes < 300; ++bytes) {
            const bool inside = address >= 0x1000 && address + bytes <= 0x1100;
            std::byte *expected = inside ? memory.data() + (address - 0x1000) : nullptr;

            ASSERT_EQ(table.find(key, 3, address, bytes, remote_read), expected);
        }
    }
}

TEST(MemoryTable, TellsTheKeysOfSeveralRegionsApart) {
    static std::array<std::byte, 256> other;
    MemoryTable table;
    auto second = region(remote_read);
    second.start = other.data();
    const std::uint32_t keys[] = {table.add(region(remote_read)), table.add(second)};

    EXPECT_NE(keys[0], keys[1]);
    EXPECT_EQ(table.find(keys[0], 3, 0x1000, 1, remote_read), memory.data());
    EXPECT_EQ(table.find(keys[1], 3, 0x1000, 1, remote_read), other.data());
}

TEST(MemoryTable, TakesTheKeysThatAreDrawnButNone0AndNoneTwice) {
    MemoryTable table;
    std::vector<std::uint32_t> drawn{0xabcdef01, 0, 0xabcdef01, 7};
    table.draw_keys_with([&] {
        const std::uint32_t key = drawn.front();
        drawn.erase(drawn.begin());
        return key;
    });

    EXPECT_EQ(table.add(region(remote_read)), 0xabcdef01);
    EXPECT_EQ(table.add(region(remote_read)), 7u);
}

TEST(MemoryTable, AKeyTellsNothingOfTheNext) {
    MemoryTable table;
    std::set<std::uint32_t> steps;
    std::uint32_t last = table.add(region(remote_read));
    for (int count = 0; count < 100; ++count) {
        const std::uint32_t key = table.add(region(remote_read));
        steps.insert(key - last);
        last = key;
    }
    EXPECT_EQ(steps.size(), 100u);
}

TEST(MemoryTable, IsNotFooledByRangesThatWrap) {
    MemoryTable table;
    const std::uint32_t key = table.add(region(remote_write));

    EXPECT_EQ(table.find(key, 3, 0x1001, ~0ull, remote_write), nullptr);
    EXPECT_EQ(table.find(key, 3, ~0ull, 2, remote_write), nullptr);
    EXPECT_EQ(table.find(key, 3, 0, 0x1010, remote_write), nullptr);
}

TEST(MemoryTable, GrantsOnlyTheAccessThatWasGiven) {
    for (std::uint32_t granted = 0; granted < 16; ++granted) {
        MemoryTable table;
        const std::uint32_t key = table.add(region(granted));
        for (std::uint32_t wanted = 0; wanted < 16; ++wanted) {
            EXPECT_EQ(table.find(key, 3, 0x1000, 1, wanted) != nullptr,
                      (granted & wanted) == wanted);
        }
    }
}

TEST(MemoryTable, RefusesAnotherProtectionDomain) {
    MemoryTable table;
    const std::uint32_t key = table.add(region(remote_read));

    EXPECT_EQ(table.find(key, 4, 0x1000, 1, remote_read), nullptr);
}

TEST(MemoryTable, RefusesAKeyThatWasGivenBack) {
    MemoryTable table;
    std::set<std::uint32_t> former;
    for (int round = 0; round < 255; ++round) {
        const std::uint32_t key = table.add(region(remote_read));
        EXPECT_TRUE(former.insert(key).second);
        EXPECT_NE(table.find(key, 3, 0x1000, 1, 0), nullptr);
        EXPECT_TRUE(table.remove(key));
        EXPECT_FALSE(table.remove(key));
    }
    for (const std::uint32_t key : former) {
        EXPECT_EQ(table.find(key, 3, 0x1000, 1, 0), nullptr);
    }
    EXPECT_EQ(table.size(), 0u);
}

TEST(MemoryTable, RefusesKeysThatNeverWere) {
    MemoryTable table;
    const std::uint32_t key = table.add(region(remote_read));
    for (std::uint64_t other = 0; other < 1 << 16; ++other) {
        const auto guess = static_cast<std::uint32_t>(other * 65521);
        EXPECT_TRUE(guess == key || table.find(guess, 3, 0x1000, 1, 0) == nullptr);
    }
}

TEST(MemoryTable, ReplacesWhatAKeyStandsFor) {
    MemoryTable table;
    const std::uint32_t key = table.add(region(remote_read));

    EXPECT_TRUE(table.replace(key, region(remote_write)));
    EXPECT_EQ(table.find(key, 3, 0x1000, 1, remote_read), nullptr);
    EXPECT_NE(table.find(key, 3, 0x1000, 1, remote_write), nullptr);
    EXPECT_FALSE(table.replace(key + 1, region(remote_write)));
}

}  // namespace
}  // namespace lanewise::verbs
