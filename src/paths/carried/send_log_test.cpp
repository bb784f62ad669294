// SPDX-License-Identifier: BSD-3-Clause

#include "paths/carried/send_log.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace lanewise::paths::carried {
namespace {

constexpr std::uint32_t payload_bytes = 100;

Request request(Operation operation, std::uint32_t length_bytes = 10) {
    Request made;
    made.operation = operation;
    made.length_bytes = length_bytes;
    return made;
}

std::vector<std::uint64_t> post_all(SendLog& log) {
    std::vector<std::uint64_t> numbers;
    while (const auto message = log.next()) {
        numbers.push_back(message->number);
        log.on_posted();
    }
    return numbers;
}

TEST(SendLogTest, AMessageHasANumberUnlessItIsARead) {
    SendLog log(payload_bytes);
    for (const Operation operation : {Operation::send, Operation::read, Operation::write,
                                      Operation::announced_write, Operation::fetch_add}) {
        log.add(request(operation));
    }
    EXPECT_EQ(post_all(log), (std::vector<std::uint64_t>{1, 0, 2, 3, 4, 5}));
}

TEST(SendLogTest, ALongSendIsCutIntoFrames) {
    SendLog log(payload_bytes);
    log.add(request(Operation::send, 250));
    std::vector<std::uint32_t> lengths;
    for (int i = 0; i < 3; ++i) {
        const auto message = log.next();
        ASSERT_TRUE(message);
        EXPECT_EQ(message->is_last, i == 2);
        EXPECT_EQ(message->offset_bytes, lengths.size() * payload_bytes);
        lengths.push_back(message->length_bytes);
        log.on_posted();
    }
    EXPECT_EQ(lengths, (std::vector<std::uint32_t>{100, 100, 50}));
    EXPECT_FALSE(log.next());
}

TEST(SendLogTest, RequestsEndInOrderAndOnlyWhole) {
    SendLog log(payload_bytes);
    log.add(request(Operation::send, 150));
    log.add(request(Operation::write));
    post_all(log);
    log.on_done();
    EXPECT_FALSE(log.take_ended());
    log.on_done();
    EXPECT_TRUE(log.take_ended());
    EXPECT_FALSE(log.take_ended());
    log.on_done();
    EXPECT_TRUE(log.take_ended());
    EXPECT_TRUE(log.empty());
}

TEST(SendLogTest, WhatThePeerHasReceivedEndsAndTheRestIsSentAgain) {
    SendLog log(payload_bytes);
    for (int i = 0; i < 3; ++i) log.add(request(Operation::send, 200));
    post_all(log);
    ASSERT_TRUE(log.restart(3));
    EXPECT_TRUE(log.take_ended());
    EXPECT_FALSE(log.take_ended());
    EXPECT_EQ(post_all(log), (std::vector<std::uint64_t>{4, 5, 6}));
}

TEST(SendLogTest, AReadThatHasNotEndedIsRepeatedEvenIfLaterWritesAreDone) {
    SendLog log(payload_bytes);
    log.add(request(Operation::read));
    log.add(request(Operation::write));
    post_all(log);
    ASSERT_TRUE(log.restart(1));
    EXPECT_FALSE(log.take_ended());
    EXPECT_EQ(post_all(log), std::vector<std::uint64_t>{0});
    log.on_done();
    EXPECT_TRUE(log.take_ended());
    EXPECT_TRUE(log.take_ended());
}

TEST(SendLogTest, AnAtomicEndsWithItsResult) {
    SendLog log(payload_bytes);
    log.add(request(Operation::compare_swap, 8));
    post_all(log);
    log.on_done();
    EXPECT_FALSE(log.take_ended());
    ASSERT_TRUE(log.awaiting_result());
    log.on_result();
    EXPECT_TRUE(log.take_ended());
    EXPECT_FALSE(log.awaiting_result());
}

TEST(SendLogTest, AnAtomicThatWasExecutedIsNotSentAgainAndStillWaitsForItsResult) {
    SendLog log(payload_bytes);
    log.add(request(Operation::fetch_add, 8));
    post_all(log);
    ASSERT_TRUE(log.restart(1));
    EXPECT_TRUE(post_all(log).empty());
    EXPECT_FALSE(log.take_ended());
    log.on_result();
    EXPECT_TRUE(log.take_ended());
}

TEST(SendLogTest, AFencedRequestWaitsForTheReadsBeforeIt) {
    SendLog log(payload_bytes);
    log.add(request(Operation::read));
    Request fenced = request(Operation::send);
    fenced.fenced = true;
    log.add(fenced);
    EXPECT_EQ(post_all(log), std::vector<std::uint64_t>{0});
    log.on_done();
    EXPECT_EQ(post_all(log), std::vector<std::uint64_t>{1});
}

TEST(SendLogTest, AReadWaitsForTheAtomicsBeforeItAndForNothingElse) {
    SendLog log(payload_bytes);
    log.add(request(Operation::read));
    log.add(request(Operation::write));
    log.add(request(Operation::fetch_add, 8));
    log.add(request(Operation::read));
    EXPECT_EQ(post_all(log), (std::vector<std::uint64_t>{0, 1, 2}));
    for (int i = 0; i < 3; ++i) log.on_done();
    EXPECT_TRUE(post_all(log).empty());
    log.on_result();
    EXPECT_EQ(post_all(log), std::vector<std::uint64_t>{0});
}

TEST(SendLogTest, WhatWaitsForAResultDoesNotHoldBackResultsForThePeer) {
    SendLog log(payload_bytes);
    log.add(request(Operation::fetch_add, 8));
    Request fenced = request(Operation::send);
    fenced.fenced = true;
    log.add(fenced);
    EXPECT_EQ(post_all(log), std::vector<std::uint64_t>{1});

    log.add(request(Operation::result, 0));
    log.add(request(Operation::result, 0));

    EXPECT_EQ(post_all(log), (std::vector<std::uint64_t>{2, 3}));
    for (int i = 0; i < 3; ++i) log.on_done();
    log.on_result();
    EXPECT_EQ(post_all(log), std::vector<std::uint64_t>{4});
}

TEST(SendLogTest, AResultTakesNoNumberOfWhatHasBegunOrWasExecuted) {
    SendLog log(payload_bytes);
    log.add(request(Operation::read));
    log.add(request(Operation::write));
    log.add(request(Operation::send, 250));
    for (int posted = 0; posted < 3; ++posted) log.on_posted();
    log.add(request(Operation::result, 0));
    EXPECT_EQ(log.next()->number, 3U);

    ASSERT_TRUE(log.restart(2));
    log.add(request(Operation::result, 0));

    EXPECT_EQ(post_all(log), (std::vector<std::uint64_t>{0, 3, 4, 5, 6}));
}

TEST(SendLogTest, ResultsForThePeerAreNoRequestsOfTheProgram) {
    SendLog log(payload_bytes);
    log.add(request(Operation::result, 0));
    EXPECT_EQ(log.requests(), 0U);
    EXPECT_FALSE(log.empty());
}

TEST(SendLogTest, APeerCannotHaveReceivedMoreThanWasSentOrLessThanWasAcknowledged) {
    SendLog log(payload_bytes);
    log.add(request(Operation::send, 150));
    post_all(log);
    log.on_done();
    EXPECT_FALSE(log.restart(3));
    EXPECT_FALSE(log.restart(0));
}

}  // namespace
}  // namespace lanewise::paths::carried
