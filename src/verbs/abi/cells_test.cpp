// SPDX-License-Identifier: BSD-3-Clause
#include "verbs/abi/cells.hpp"

#include <gtest/gtest.h>

#include <set>

namespace lanewise::verbs::abi {
namespace {

struct Thing {
    int number = 0;
    std::shared_ptr<int> held = nullptr;
};

TEST(CellsTest, AnObjectLivesUntilItIsBuried) {
    Thing *thing = Cells<Thing>::make(7).release();
    EXPECT_TRUE(Cells<Thing>::lives(thing));
    EXPECT_EQ(thing->number, 7);
    Cells<Thing>::bury(thing);
    EXPECT_FALSE(Cells<Thing>::lives(thing));
    EXPECT_FALSE(Cells<Thing>::lives(nullptr));
}

TEST(CellsTest, WhatAnObjectHoldsIsLetGoWithIt) {
    const auto held = std::make_shared<int>(1);
    Cells<Thing>::make(1, held);
    EXPECT_EQ(held.use_count(), 1);
}

TEST(CellsTest, ACellRestsBeforeItTakesAnotherObject) {
    Thing *buried = Cells<Thing>::make().release();
    Cells<Thing>::bury(buried);
    std::set<Thing *> places;
    for (std::size_t i = 0; i < cells_at_rest; ++i) {
        Thing *next = Cells<Thing>::make().release();
        EXPECT_NE(next, buried) << i;
        places.insert(next);
        Cells<Thing>::bury(next);
    }
    EXPECT_FALSE(Cells<Thing>::lives(buried));
    // Whoever goes on making and destroying does not go on taking memory.
    for (std::size_t i = 0; i < 10 * cells_at_rest; ++i) {
        Thing *next = Cells<Thing>::make().release();
        places.insert(next);
        Cells<Thing>::bury(next);
    }
    EXPECT_LE(places.size(), cells_at_rest + 2);
}

}  // namespace
}  // namespace lanewise::verbs::abi
