// SPDX-License-Identifier: BSD-3-Clause

#include "tune/guidelines.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <set>

#include "measure/harness/operation.hpp"
#include "tune/collectives_named.hpp"

namespace lanewise::tune {
namespace {

using collectives::Collective;

TEST(Guidelines, NameOperationsThatCanBeMeasuredAtTheirSizes) {
    const auto all = *collectives_named({});
    for (int ranks = 1; ranks < 10; ++ranks) {
        for (const auto& guideline : guidelines(all, {4, 20, 1024}, ranks)) {
            for (const auto& part : guideline.parts) {
                const auto *entry = measure::find_entry(part.operation);
                ASSERT_NE(entry, nullptr) << part.operation;
                if (entry->element != measure::Element::real) continue;
                EXPECT_EQ(part.message_bytes % 4, 0u) << guideline.text;
            }
        }
    }
}

TEST(Guidelines, LetNoMockUpMoveLess) {
    int mock_ups = 0;
    for (const auto& guideline : guidelines({Collective::bcast}, {1, 4, 1000, 1024}, 3)) {
        if (guideline.kind != "mock-up") continue;
        ++mock_ups;
        ASSERT_EQ(guideline.parts.size(), 2u);
        EXPECT_GE(3 * guideline.parts[0].message_bytes, guideline.message_bytes);
    }
    EXPECT_GT(mock_ups, 0);
}

TEST(Guidelines, CompareEachSizeWithTheNext) {
    std::vector<std::pair<std::uint64_t, std::uint64_t>> pairs;
    for (const auto& guideline : guidelines({Collective::alltoall}, {8, 64, 512}, 4)) {
        if (guideline.kind == "monotony")
            pairs.emplace_back(guideline.message_bytes, guideline.parts[0].message_bytes);
    }

    EXPECT_EQ(pairs, (std::vector<std::pair<std::uint64_t, std::uint64_t>>{{8, 64}, {64, 512}}));
}

TEST(Guidelines, SplitOnlyWhatHasTwoHalves) {
    std::set<std::uint64_t> split;
    for (const auto& guideline : guidelines({Collective::allreduce}, {4, 8}, 4)) {
        if (guideline.kind == "split") split.insert(guideline.message_bytes);
    }

    EXPECT_EQ(split, std::set<std::uint64_t>{8});
}

}  // namespace
}  // namespace lanewise::tune
