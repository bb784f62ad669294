// SPDX-License-Identifier: BSD-3-Clause

#include "measure/clock_sync/lessons.hpp"

#include <gtest/gtest.h>

#include <bit>
#include <set>

namespace lanewise::measure {
namespace {

TEST(Lessons, EveryoneLearnsOnceFromSomebodyWhoKnowsForEveryCountTo300) {
    for (int count = 1; count <= 300; ++count) {
        std::set<int> knowing = {0};
        for (const auto& round : hca3_rounds(count)) {
            std::set<int> busy;
            std::set<int> learned;
            for (const auto& lesson : round) {
                EXPECT_TRUE(knowing.contains(lesson.teacher)) << count;
                EXPECT_FALSE(knowing.contains(lesson.pupil)) << count;
                EXPECT_TRUE(busy.insert(lesson.teacher).second) << count;
                EXPECT_TRUE(busy.insert(lesson.pupil).second) << count;
                learned.insert(lesson.pupil);
            }
            knowing.merge(learned);
        }
        EXPECT_EQ(knowing.size(), static_cast<std::size_t>(count));
    }
}

TEST(Lessons, TakeAsManyRoundsAsTheLogarithmRoundedUp) {
    for (unsigned count = 1; count <= 300; ++count) {
        EXPECT_EQ(hca3_rounds(static_cast<int>(count)).size(),
                  static_cast<std::size_t>(std::bit_width(count - 1)));
    }
}

}  // namespace
}  // namespace lanewise::measure
