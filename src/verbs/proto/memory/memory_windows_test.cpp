// SPDX-License-Identifier: BSD-3-Clause
//
// Memory windows: which accesses they grant, and in which order of steps they can be bound, moved
// and removed.

#include <gtest/gtest.h>

#include <array>
#include <optional>
#include <vector>

#include "verbs/proto/memory/memory_table.hpp"

namespace lanewise::verbs {
namespace {

constexpr std::uint32_t rights_of_windows = remote_write | remote_read | remote_atomic;
constexpr Accessor owner{.domain = 3, .qpn = 7};
constexpr Accessor neighbour{.domain = 3, .qpn = 8};
constexpr Accessor stranger{.domain = 4, .qpn = 7};
constexpr std::array both_types{WindowType::type_1, WindowType::type_2};

std::array<std::byte, 256> bytes_of_region;

MemoryRegion bindable(std::uint32_t access) {
    return {.domain = 3,
            .start = bytes_of_region.data(),
            .address = 0x1000,
            .length_bytes = bytes_of_region.size(),
            .access = access};
}

// A table with a region that may be bound to, and a window.
struct Bench {
    MemoryTable table;
    std::uint32_t region_key;
    std::uint32_t window_key;

    explicit Bench(WindowType type)
        : region_key(table.add(bindable(local_write | window_bind))),
          window_key(table.add_window(3, type)) {}

    WindowBinding binding(std::uint32_t key, std::uint32_t access) const {
        return {key, region_key, 0x1040, 64, access};
    }
    std::byte *find(std::uint32_t key, const Accessor& by) const {
        return table.find_remote(key, by, 0x1040, 64, remote_write);
    }
};

TEST(MemoryWindow, OpensEveryRangeInsideItAndNoOther) {
    Bench bench(WindowType::type_1);
    ASSERT_TRUE(bench.table.bind(bench.binding(bench.window_key, remote_read), owner));
    for (std::uint64_t address = 0x1000; address < 0x1110; ++address) {
        for (std::uint64_t bytes = 0; bytes < 100; ++bytes) {
            const bool inside = address >= 0x1040 && address + bytes <= 0x1080;
            std::byte *expected = inside ? bytes_of_region.data() + (address - 0x1000) : nullptr;

            ASSERT_EQ(bench.table.find_remote(bench.window_key, owner, address, bytes, remote_read),
                      expected);
        }
    }
}

TEST(MemoryWindow, CountsItsAddressesFromZeroWhereThatIsAsked) {
    Bench bench(WindowType::type_2);
    const std::uint32_t key = bench.window_key;
    ASSERT_TRUE(bench.table.bind(bench.binding(key, remote_read | zero_based), owner));

    EXPECT_EQ(bench.table.find_remote(key, owner, 0, 64, remote_read), bytes_of_region.data() + 64);
    EXPECT_EQ(bench.table.find_remote(key, owner, 63, 2, remote_read), nullptr);
    EXPECT_EQ(bench.table.find_remote(key, owner, 0x1040, 1, remote_read), nullptr);
}

TEST(MemoryWindow, GrantsWhatItWasBoundWithWhateverItsRegionGrants) {
    for (std::uint32_t of_region = 0; of_region < 32; ++of_region) {
        for (std::uint32_t of_window = 0; of_window < 16; ++of_window) {
            MemoryTable table;
            const std::uint32_t region_key = table.add(bindable(of_region));
            const std::uint32_t key = table.add_window(3, WindowType::type_1);
            const bool writes = (of_window & (remote_write | remote_atomic)) != 0;
            const bool may =
                (of_region & window_bind) != 0 && (!writes || (of_region & local_write) != 0);

            ASSERT_EQ(table.bind({key, region_key, 0x1000, 1, of_window}, owner), may);
            for (std::uint32_t wanted = 0; wanted < 16; ++wanted) {
                const bool granted = (of_window & rights_of_windows & wanted) == wanted;
                ASSERT_EQ(table.find_remote(key, owner, 0x1000, 1, wanted) != nullptr,
                          may && granted);
            }
        }
    }
}

TEST(MemoryWindow, IsBoundToNothingOutsideItsRegion) {
    Bench bench(WindowType::type_1);
    for (std::uint64_t address = 0xff0; address < 0x1110; ++address) {
        for (std::uint64_t bytes = 1; bytes < 300; ++bytes) {
            const bool inside = address >= 0x1000 && address + bytes <= 0x1100;

            ASSERT_EQ(bench.table.bind(
                          {bench.window_key, bench.region_key, address, bytes, remote_read}, owner),
                      inside);
        }
    }
    EXPECT_FALSE(bench.table.bind({bench.window_key, bench.region_key, 0x1001, ~0ull, 0}, owner));
}

TEST(MemoryWindow, IsNotBoundToAZeroBasedRegionNorToOneOfAnotherDomain) {
    MemoryTable table;
    const std::uint32_t key = table.add_window(3, WindowType::type_1);
    const std::uint32_t based = table.add(bindable(window_bind | zero_based));
    MemoryRegion elsewhere = bindable(window_bind);
    elsewhere.domain = 4;
    const std::uint32_t foreign = table.add(elsewhere);
    const std::uint32_t good = table.add(bindable(window_bind));

    EXPECT_FALSE(table.bind({key, based, 0x1000, 1, remote_read}, owner));
    EXPECT_FALSE(table.bind({key, foreign, 0x1000, 1, remote_read}, owner));
    EXPECT_FALSE(table.bind({key, good, 0x1000, 1, remote_read}, stranger));
    EXPECT_FALSE(table.bind({key, good + 1, 0x1000, 1, remote_read}, owner));
    EXPECT_TRUE(table.bind({key, good, 0x1000, 1, remote_read}, owner));
}

TEST(MemoryWindow, OfType1IsOpenToItsDomainAndOfType2ToOneQueuePair) {
    for (const WindowType type : both_types) {
        Bench bench(type);
        const std::uint32_t key = bench.window_key;
        ASSERT_TRUE(bench.table.bind(bench.binding(key, remote_write), owner));

        EXPECT_NE(bench.find(key, owner), nullptr);
        EXPECT_EQ(bench.find(key, neighbour) != nullptr, type == WindowType::type_1);
        EXPECT_EQ(bench.find(key, stranger), nullptr);
    }
}

TEST(MemoryWindow, HasNoLocalKey) {
    Bench bench(WindowType::type_1);
    ASSERT_TRUE(bench.table.bind(bench.binding(bench.window_key, remote_write), owner));

    EXPECT_EQ(bench.table.find(bench.window_key, 3, 0x1040, 1, 0), nullptr);
}

TEST(MemoryWindow, SharesItsIndexWithNoRegion) {
    MemoryTable table;
    std::vector<std::uint32_t> drawn{0x0102, 0x0104, 0x0a01, 0x00ff, 0x0a7f, 0x0b01};
    table.draw_keys_with([&] {
        const std::uint32_t key = drawn.front();
        drawn.erase(drawn.begin());
        return key;
    });

    EXPECT_EQ(table.add(bindable(remote_read)), 0x0102u);
    EXPECT_EQ(table.add_window(3, WindowType::type_1), 0x0a01u);
    EXPECT_EQ(table.add(bindable(remote_read)), 0x00ffu);
    EXPECT_EQ(table.add(bindable(remote_read)), 0x0b01u);
}

TEST(MemoryWindow, SharesItsIndexWithNoneOfManyRegions) {
    MemoryTable table;
    std::uint32_t next = 0x010000;
    table.draw_keys_with([&] { return next += 0x100; });
    for (int i = 0; i < 300; ++i) table.add(bindable(remote_read));
    next = 0x010000;

    EXPECT_EQ(table.add_window(3, WindowType::type_1), 0x010000u + 301 * 0x100);
}

// What the standard says of one window, for all that a program and its peers may do to it.
struct Model {
    WindowType type;
    bool has_region = true;
    std::optional<std::uint32_t> open_key{};
    std::uint32_t qpn = 0;

    bool bind(std::uint32_t key, const Accessor& by) {
        if (!has_region || (type == WindowType::type_2 && open_key)) return false;
        open_key = key;
        qpn = by.qpn;
        return true;
    }
    bool close(std::uint32_t, const Accessor&) {
        if (type == WindowType::type_2) return false;
        open_key.reset();
        return true;
    }
    bool invalidate(std::uint32_t key, const Accessor& by) {
        if (type == WindowType::type_1 || open_key != key || qpn != by.qpn) return false;
        open_key.reset();
        return true;
    }
    bool remove_region() {
        if (open_key || !has_region) return false;
        has_region = false;
        return true;
    }
    void destroy_queue_pair(const Accessor& of) {
        if (type == WindowType::type_2 && qpn == of.qpn) open_key.reset();
    }
    bool is_open(std::uint32_t key, const Accessor& to) const {
        return open_key == key && (type == WindowType::type_1 || qpn == to.qpn);
    }
};

constexpr int steps_there_are = 14;

// Does one of all steps to both, and tells whether they answer the same.
bool same_answer(Bench& bench, Model& model, int step) {
    const Accessor& by = step % 2 == 0 ? owner : neighbour;
    const std::uint32_t key = step / 2 % 2 == 0 ? bench.window_key : bench.window_key ^ 1;
    WindowBinding closing = bench.binding(key, 0);
    closing.length_bytes = 0;
    switch (step / 4) {
        case 0:
            return bench.table.bind(bench.binding(key, remote_write), by) == model.bind(key, by);
        case 1: return bench.table.bind(closing, by) == model.close(key, by);
        case 2: return bench.table.invalidate(key, by) == model.invalidate(key, by);
        default: break;
    }
    if (step % 2 == 0) return bench.table.remove(bench.region_key) == model.remove_region();
    bench.table.invalidate_of(owner.qpn);
    model.destroy_queue_pair(owner);
    return true;
}

bool opens_the_same(const Bench& bench, const Model& model) {
    for (const Accessor& to : {owner, neighbour}) {
        for (const std::uint32_t key : {bench.window_key, bench.window_key ^ 1}) {
            if ((bench.find(key, to) != nullptr) != model.is_open(key, to)) return false;
        }
    }
    return bench.find(bench.window_key ^ 2, owner) == nullptr;
}

TEST(MemoryWindow, DoesAsTheStandardSaysInEverySequenceOfFourSteps) {
    constexpr int sequences = steps_there_are * steps_there_are * steps_there_are * steps_there_are;
    for (const WindowType type : both_types) {
        for (int sequence = 0; sequence < sequences; ++sequence) {
            Bench bench(type);
            Model model{.type = type};
            for (int left = sequence, taken = 0; taken < 4; ++taken, left /= steps_there_are) {
                ASSERT_TRUE(same_answer(bench, model, left % steps_there_are)) << sequence;
                ASSERT_TRUE(opens_the_same(bench, model)) << sequence;
            }
        }
    }
}

TEST(MemoryWindow, LeavesItsRegionWhenItIsRemoved) {
    Bench bench(WindowType::type_1);
    ASSERT_TRUE(bench.table.bind(bench.binding(bench.window_key, remote_write), owner));
    EXPECT_TRUE(bench.table.has_windows(bench.region_key));
    EXPECT_FALSE(bench.table.replace(bench.region_key, bindable(local_write)));
    EXPECT_FALSE(bench.table.remove(bench.region_key));

    EXPECT_TRUE(bench.table.remove_window(bench.window_key ^ 5));

    EXPECT_EQ(bench.find(bench.window_key, owner), nullptr);
    EXPECT_FALSE(bench.table.remove_window(bench.window_key));
    EXPECT_FALSE(bench.table.has_windows(bench.region_key));
    EXPECT_TRUE(bench.table.remove(bench.region_key));
}

TEST(MemoryWindow, ThatMovesToAnotherRegionLeavesTheFirst) {
    Bench bench(WindowType::type_1);
    const std::uint32_t other = bench.table.add(bindable(window_bind));
    ASSERT_TRUE(bench.table.bind(bench.binding(bench.window_key, remote_write), owner));

    ASSERT_TRUE(bench.table.bind({bench.window_key, other, 0x1000, 8, remote_read}, owner));

    EXPECT_TRUE(bench.table.remove(bench.region_key));
    EXPECT_FALSE(bench.table.remove(other));
}

}  // namespace
}  // namespace lanewise::verbs
