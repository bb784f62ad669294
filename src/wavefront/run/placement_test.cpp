// SPDX-License-Identifier: BSD-3-Clause
//
// Where strips lie in memory: staggered where waves are to work on many row blocks at a time, on
// whole blocks where the disk is what takes long. The bits are the same.

#include <fcntl.h>
#include <gtest/gtest.h>
#include <linux/magic.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <mutex>
#include <set>

#include "wavefront/run/run.hpp"
#include "wavefront/testing/trial.hpp"

namespace lanewise::wavefront {
namespace {

using testing::Folder;
using testing::Medium;

class PlacementTest : public ::testing::Test {
  protected:
    void SetUp() override {
        auto store = Store::create(folder_ / "s",
                                   {.rows = 400,
                                    .columns = 500,
                                    .coefficient_count = 5,
                                    .layout = &layouts::skewed,
                                    .strip_rows = 8},
                                   {"u", "a", "b", "c", "d", "e"}, {});
        ASSERT_TRUE(store && fill_with_demo_values(*store, 1));
        store_.emplace(std::move(*store));
    }

    // Where in a block of the disk the strips begin that one pass of `waves` reads.
    std::set<std::uint64_t> beginnings_in_a_pass(std::uint64_t waves) {
        std::mutex mutex;
        std::set<std::uint64_t> beginnings;
        auto calls = system_calls();
        calls.read = [&, read = calls.read](int file, std::byte *to, std::size_t bytes,
                                            std::uint64_t offset) {
            {
                const std::lock_guard lock(mutex);
                beginnings.insert(reinterpret_cast<std::uintptr_t>(to) % disk_block_bytes);
            }
            return read(file, to, bytes, offset);
        };
        RunOptions options;
        options.iterations = options.waves = waves;
        options.threads = 2;
        options.wrap_queue = [&](std::unique_ptr<DiskQueue> /*queue*/) {
            return std::move(*make_thread_queue(calls));
        };
        const auto report =
            run(*store_, *make_kernel("livermore23", {}, Element::f64, &layouts::skewed), options);
        EXPECT_TRUE(report) << report.failure().sentence;
        return beginnings;
    }

    Folder folder_{Medium::memory};
    std::optional<Store> store_;
};

TEST_F(PlacementTest, StripsBeginAtAllStepsOfABlockWhereWavesAreChained) {
    EXPECT_EQ(beginnings_in_a_pass(12),
              (std::set<std::uint64_t>{0, 512, 1024, 1536, 2048, 2560, 3072, 3584}));
}

TEST_F(PlacementTest, StripsBeginWithABlockWhereOneWaveWaitsForTheDisk) {
    EXPECT_EQ(beginnings_in_a_pass(1), (std::set<std::uint64_t>{0}));
}

// As Btrfs does: reads to addresses that are not whole blocks go through the page cache.
ssize_t read_as_btrfs(int file, std::byte *to, std::size_t bytes, std::uint64_t offset) {
    const auto place = static_cast<off_t>(offset);
    if (reinterpret_cast<std::uintptr_t>(to) % disk_block_bytes == 0)
        return ::pread(file, to, bytes, place);
    const int cached = ::open(("/proc/self/fd/" + std::to_string(file)).c_str(), O_RDONLY);
    const auto count = ::pread(cached, to, bytes, place);
    ::close(cached);
    return count;
}

bool reads_past_cache(const std::string& folder) {
    struct statfs about {};
    if (::statfs(folder.c_str(), &about) != 0 || about.f_type == TMPFS_MAGIC) return false;
    const int file = ::open((folder + "/u.a.0").c_str(), O_RDONLY | O_DIRECT);
    if (file >= 0) ::close(file);
    return file >= 0;
}

TEST(StripFilesTest, StripsBeginWithABlockWhereOtherAddressesWouldGoThroughThePageCache) {
    const Folder folder{Medium::disk};
    auto store =
        Store::create(folder / "s", {.rows = 64, .columns = 100, .strip_rows = 8}, {"u"}, {});
    ASSERT_TRUE(store && fill_with_demo_values(*store, 1));
    const auto strips = store->open_current(0);
    ASSERT_TRUE(strips);
    if (!reads_past_cache(folder / "s") || strips->placement() != Placement::staggered)
        GTEST_SKIP() << "the file system here takes no direct I/O to such addresses";
    auto calls = system_calls();
    calls.read = read_as_btrfs;

    EXPECT_EQ(strips->placement(calls), Placement::whole_blocks);
}

TEST(SlotsTest, NeighboursBeginAtDifferentPlacesOfABlock) {
    for (std::uint32_t coefficients = 0; coefficients < 12; ++coefficients) {
        const MatrixShape shape{.rows = 64,
                                .columns = 1024,
                                .coefficient_count = coefficients,
                                .layout = &layouts::skewed,
                                .strip_rows = 8};
        const auto slots = slots_of(shape, shape, Placement::staggered);
        for (std::uint64_t buffer = 1; buffer < 8; ++buffer)
            EXPECT_NE(slots.offset(buffer, 0) % disk_block_bytes, 0u) << coefficients;
        for (std::uint32_t m = 0; m < coefficients; ++m)
            EXPECT_EQ((slots.offset(0, m + 1) - slots.offset(0, m)) % disk_block_bytes,
                      stagger_bytes);
    }
}

TEST(SlotsTest, StripsLieSideBySideOnWholeBlocks) {
    const MatrixShape shape{.rows = 64, .columns = 100, .coefficient_count = 2, .strip_rows = 8};
    const auto slots = slots_of(shape, shape, Placement::whole_blocks);

    EXPECT_EQ(slots.offset(1, 0), 3 * strip_bytes(shape));
    EXPECT_EQ(slots.offset(2, 1), 7 * strip_bytes(shape));
}

}  // namespace
}  // namespace lanewise::wavefront
