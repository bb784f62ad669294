// SPDX-License-Identifier: BSD-3-Clause
//
// Buffers have the property that was asked for: seen in addresses, in what the
// kernel says of the mapping, and in how long memory takes to answer.

#include "measure/harness/buffers.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <numeric>
#include <random>
#include <sstream>

#include "base/clock.hpp"
#include "base/statistics.hpp"
#include "measure/harness/operation.hpp"

namespace lanewise::measure {
namespace {

constexpr std::uint64_t mebibyte = 1 << 20;

lw_buffers layout_of(std::uint32_t offset_bytes, lw_pages pages) {
    auto layout = plain_buffers;
    layout.offset_bytes = offset_bytes;
    layout.pages = pages;
    return layout;
}

bool host_has_huge_pages() {
    std::ifstream file("/sys/kernel/mm/transparent_hugepage/enabled");
    const std::string text((std::istreambuf_iterator<char>(file)), {});
    return !text.empty() && text.find("[never]") == std::string::npos;
}

/* The lines of /proc/self/smaps about the mapping that holds `address`. */
std::string mapping_of(const std::byte *address) {
    std::ifstream file("/proc/self/smaps");
    const auto wanted = reinterpret_cast<std::uintptr_t>(address);
    std::string found;
    bool inside = false;
    for (std::string line; std::getline(file, line);) {
        std::uintptr_t begin = 0;
        std::uintptr_t end = 0;
        char dash = 0;
        std::istringstream words(line);
        if (words >> std::hex >> begin >> dash >> end && dash == '-')
            inside = begin <= wanted && wanted < end;
        if (inside) found += line + '\n';
    }
    return found;
}

/* The kibibytes that a mapping's line `key` tells. */
long kibibytes_of(const std::string& mapping, const std::string& key) {
    const auto at = mapping.find(key + ":");
    return at == std::string::npos ? -1 : std::stol(mapping.substr(at + key.size() + 1));
}

TEST(Buffers, BeginAsFarIntoAPageAsWasAsked) {
    const auto page = static_cast<std::uintptr_t>(sysconf(_SC_PAGESIZE));
    for (const std::uint32_t offset_bytes : {0u, 1u, 4u, 100u}) {
        const auto buffer = Buffer::create(10'000, layout_of(offset_bytes, LW_PAGES_SMALL));

        ASSERT_TRUE(buffer);
        EXPECT_EQ(reinterpret_cast<std::uintptr_t>(buffer->data()) % page, offset_bytes);
        EXPECT_EQ(buffer->bytes().size(), 10'000u);
    }
}

TEST(Buffers, OnHugePagesLieOnThem) {
    if (!host_has_huge_pages()) GTEST_SKIP() << "this host has no transparent huge pages";
    const auto buffer = Buffer::create(8 * mebibyte, layout_of(4, LW_PAGES_HUGE));
    ASSERT_TRUE(buffer);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(buffer->data()) % (2 * mebibyte), 4u);

    const auto mapping = mapping_of(buffer->data());

    EXPECT_GE(kibibytes_of(mapping, "AnonHugePages"), 6 * 1024) << mapping;
}

TEST(Buffers, OnSmallPagesLieOnNoHugeOne) {
    const auto buffer = Buffer::create(8 * mebibyte, plain_buffers);
    ASSERT_TRUE(buffer);

    const auto mapping = mapping_of(buffer->data());

    EXPECT_EQ(mapping.find(" hg"), std::string::npos) << mapping;
}

TEST(Buffers, AreInMemoryBeforeTheyAreUsed) {
    const auto buffer = Buffer::create(3 * mebibyte, plain_buffers);
    ASSERT_TRUE(buffer);

    EXPECT_GE(kibibytes_of(mapping_of(buffer->data()), "Rss"), 3 * 1024);
}

TEST(Buffers, MoreThanThereIsFail) {
    const auto buffer = Buffer::create(std::uint64_t{1} << 62, plain_buffers);

    ASSERT_FALSE(buffer);
    EXPECT_EQ(buffer.failure().status, LW_ERR_MEMORY);
}

/* A chain through all lines of a buffer, in an order that no prefetcher guesses. */
class Chain {
  public:
    explicit Chain(std::span<std::byte> bytes) : first_(bytes.data()) {
        constexpr std::size_t line_bytes = 64;
        std::vector<std::size_t> order(bytes.size() / line_bytes);
        std::iota(order.begin(), order.end(), 0);
        std::shuffle(order.begin() + 1, order.end(), std::mt19937(7));
        for (std::size_t i = 0; i < order.size(); ++i) {
            auto *next = bytes.data() + line_bytes * order[(i + 1) % order.size()];
            *reinterpret_cast<std::byte **>(bytes.data() + line_bytes * order[i]) = next;
        }
        links_ = order.size();
    }
    double walk_s() const {
        const auto clock = monotonic_clock();
        const double begin_s = clock.now_s();
        const auto *at = first_;
        for (std::size_t i = 0; i < links_; ++i) at = *reinterpret_cast<std::byte *const *>(at);
        asm volatile("" ::"r"(at));
        return clock.now_s() - begin_s;
    }

  private:
    const std::byte *first_;
    std::size_t links_ = 0;
};

TEST(CacheEvictor, TakesABufferOutOfTheCaches) {
    const auto buffer = Buffer::create(mebibyte / 4, plain_buffers);
    ASSERT_TRUE(buffer);
    const Chain chain(buffer->bytes());
    const CacheEvictor evictor;
    std::vector<double> warm_s;
    std::vector<double> cold_s;
    for (int i = 0; i < 21; ++i) {
        chain.walk_s();
        warm_s.push_back(chain.walk_s());
        evictor.flush(buffer->bytes());
        cold_s.push_back(chain.walk_s());
    }

    EXPECT_GT(median(cold_s), 2.0 * median(warm_s));
}

TEST(CacheEvictor, TakesOtherDataOutOfTheCachesOfTheCore) {
    const auto buffer = Buffer::create(mebibyte / 4, plain_buffers);
    ASSERT_TRUE(buffer);
    const Chain chain(buffer->bytes());
    const CacheEvictor evictor;
    std::vector<double> warm_s;
    std::vector<double> displaced_s;
    for (int i = 0; i < 21; ++i) {
        chain.walk_s();
        warm_s.push_back(chain.walk_s());
        evictor.evict_others();
        displaced_s.push_back(chain.walk_s());
    }

    EXPECT_GT(median(displaced_s), 1.3 * median(warm_s));
}

std::string refusal_of(const lw_measure_options& options) {
    const auto admitted = admit_buffers(options);
    EXPECT_FALSE(admitted);
    return admitted ? "" : admitted.failure().sentence;
}

TEST(Layouts, ThatCannotBeAreRefusedWithTheRemedy) {
    lw_measure_options none = LW_MEASURE_OPTIONS;
    none.buffers.rotating_sets = 0;
    EXPECT_NE(refusal_of(none).find("1 is the default"), std::string::npos);

    lw_measure_options far = LW_MEASURE_OPTIONS;
    far.buffers.offset_bytes = 1 << 30;
    EXPECT_NE(refusal_of(far).find("less than a page"), std::string::npos);

    lw_measure_options pipelined = LW_MEASURE_OPTIONS;
    pipelined.buffers.caches = LW_CACHES_COLD;
    pipelined.pipeline_length = 4;
    EXPECT_NE(refusal_of(pipelined).find("isolate them"), std::string::npos);
}

// A C program can store any number in an enumeration. Sanitizers stop a C++ program that does.
#ifndef LANEWISE_SANITIZES_ADDRESSES
TEST(Layouts, OfNoKnownKindAreRefusedWithTheRemedy) {
    lw_measure_options strange = LW_MEASURE_OPTIONS;
    strange.buffers.pages = static_cast<lw_pages>(9);
    EXPECT_NE(refusal_of(strange).find("small or huge"), std::string::npos);

    lw_measure_options lukewarm = LW_MEASURE_OPTIONS;
    lukewarm.buffers.caches = static_cast<lw_caches>(9);
    EXPECT_NE(refusal_of(lukewarm).find("warm or cold"), std::string::npos);
}
#endif

}  // namespace
}  // namespace lanewise::measure
