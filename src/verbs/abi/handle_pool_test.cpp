// SPDX-License-Identifier: BSD-3-Clause

#include "verbs/abi/handle_pool.hpp"

#include <gtest/gtest.h>

#include <set>

namespace lanewise::verbs::abi {
namespace {

struct Thing {
    int number = 0;
    std::shared_ptr<int> held = nullptr;
};

TEST(HandlePool, AnObjectLivesUntilItIsBuried) {
    Thing *thing = HandlePool<Thing>::make(7).release();
    EXPECT_TRUE(HandlePool<Thing>::lives(thing));
    EXPECT_EQ(thing->number, 7);
    HandlePool<Thing>::destroy(thing);
    EXPECT_FALSE(HandlePool<Thing>::lives(thing));
    EXPECT_FALSE(HandlePool<Thing>::lives(nullptr));
}

TEST(HandlePool, CountsThoseThatLive) {
    struct Counted {};
    Counted *first = HandlePool<Counted>::make().release();
    Counted *second = HandlePool<Counted>::make().release();
    HandlePool<Counted>::make();
    EXPECT_EQ(HandlePool<Counted>::count(), 2U);
    HandlePool<Counted>::destroy(first);
    EXPECT_EQ(HandlePool<Counted>::count(), 1U);
    HandlePool<Counted>::destroy(second);
    EXPECT_EQ(HandlePool<Counted>::count(), 0U);
}

TEST(HandlePool, WhatAnObjectHoldsIsLetGoWithIt) {
    const auto held = std::make_shared<int>(1);
    HandlePool<Thing>::make(1, held);
    EXPECT_EQ(held.use_count(), 1);
}

TEST(HandlePool, ACellRestsBeforeItTakesAnotherObject) {
    Thing *destroyed = HandlePool<Thing>::make().release();
    HandlePool<Thing>::destroy(destroyed);
    std::set<Thing *> places;
    for (std::size_t i = 0; i < quarantine_slots; ++i) {
        Thing *next = HandlePool<Thing>::make().release();
        EXPECT_NE(next, destroyed) << i;
        places.insert(next);
        HandlePool<Thing>::destroy(next);
    }
    EXPECT_FALSE(HandlePool<Thing>::lives(destroyed));
    // Whoever goes on making and destroying does not go on taking memory.
    for (std::size_t i = 0; i < 10 * quarantine_slots; ++i) {
        Thing *next = HandlePool<Thing>::make().release();
        places.insert(next);
        HandlePool<Thing>::destroy(next);
    }
    EXPECT_LE(places.size(), quarantine_slots + 2);
}

}  // namespace
}  // namespace lanewise::verbs::abi
