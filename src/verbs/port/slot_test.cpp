// SPDX-License-Identifier: BSD-3-Clause

#include "verbs/port/slot.hpp"

#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <algorithm>
#include <array>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace lanewise::verbs::port {
namespace {

TEST(SlotTest, TwoOwnersNeverShareASlot) {
    Result<Slot> one = claim_slot(700);
    Result<Slot> other = claim_slot(700);
    ASSERT_TRUE(one && other);
    EXPECT_NE(one->number, other->number);
}

TEST(SlotTest, ASlotIsFreeAgainWhenItsOwnerIsGone) {
    std::uint32_t taken = 0;
    {
        Result<Slot> first = claim_slot(800);
        ASSERT_TRUE(first);
        taken = first->number;
    }
    Result<Slot> second = claim_slot(taken - first_slot);
    ASSERT_TRUE(second);
    EXPECT_EQ(second->number, taken);
}

TEST(SlotTest, ReservedNumbersBelongToNoSlotThatCanBeTaken) {
    EXPECT_LT(slot_of(1), first_slot);
    EXPECT_GT(slot_of(0xffffff), last_slot);
}

TEST(SlotTest, ForwardingToASlotThatNobodyOwnsSaysSo) {
    Result<Slot> from = claim_slot(900);
    ASSERT_TRUE(from);
    EXPECT_FALSE(forward_to_name(*from, mailbox_name(slots_max - 1), {}));
}

TEST(SlotTest, MembersAreReadFromTheListingOfTheKernel) {
    const std::string listing =
        "Num       RefCount Protocol Flags    Type St Inode Path\n"
        "0000: 00000002 00000000 00000000 0002 01 1 @lanewise-hca/member/9/1/10.0.0.1\n"
        "0000: 00000002 00000000 00000000 0002 01 2 @lanewise-hca/slot/9\n"
        "0000: 00000002 00000000 00000000 0002 01 3 /run/lanewise-hca/member/5/5\n"
        "0000: 00000002 00000000 00000000 0002 01 4 @lanewise-hca/member/4/0/10.0.0.1\n"
        "0000: 00000002 00000000 00000000 0002 01 5 @lanewise-hca/member/3/0/10.0.0.11\n"
        "0000: 00000002 00000000 00000000 0002 01 6 @lanewise-hca/member/9999/0/10.0.0.1\n";
    EXPECT_EQ(members_in(listing, "10.0.0.1"), (std::vector<Member>{{4, 0}, {9, 1}}));
}

TEST(SlotTest, MailboxesAreReadFromTheListingOfTheKernel) {
    const std::string listing =
        "Num       RefCount Protocol Flags    Type St Inode Path\n"
        "0000: 00000002 00000000 00000000 0002 01 1 @lanewise-hca/slot/9\n"
        "0000: 00000002 00000000 00000000 0002 01 2 @lanewise-hca/member/9/1/10.0.0.1\n"
        "0000: 00000002 00000000 00000000 0002 01 3 /run/lanewise-hca/slot/5\n"
        "0000: 00000002 00000000 00000000 0002 01 4 @lanewise-hca/slot/4\n"
        "0000: 00000002 00000000 00000000 0002 01 5 @lanewise-hca/slot/0\n"
        "0000: 00000002 00000000 00000000 0002 01 6 @lanewise-hca/slot/1023\n"
        "0000: 00000002 00000000 00000000 0002 01 7 @lanewise-hca/slot/7 8\n"
        "0000: 00000002 00000000 00000000 0002 01 8 @x\n@lanewise-hca/slot/9\n";
    EXPECT_EQ(slots_in(listing), (std::vector<std::uint32_t>{4, 9}));
}

// Answers the question that it gets with its name.
class Answering {
  public:
    explicit Answering(std::uint32_t hint) : slot_(std::move(*claim_slot(hint))) {}
    void answer() {
        sockaddr_un asker{};
        socklen_t bytes = sizeof asker;
        std::array<char, 16> question{};
        auto *from = reinterpret_cast<sockaddr *>(&asker);
        pollfd asked{slot_.mailbox.number(), POLLIN, 0};
        ASSERT_EQ(poll(&asked, 1, 10'000), 1);
        ASSERT_GT(
            recvfrom(slot_.mailbox.number(), question.data(), question.size(), 0, from, &bytes), 0);
        const std::string name = mailbox_name(slot_.number);
        sendto(slot_.mailbox.number(), name.data(), name.size(), 0, from, bytes);
    }
    std::string name() const { return mailbox_name(slot_.number); }

  private:
    Slot slot_;
};

TEST(SlotTest, WhoDoesNotAnswerKeepsNobodyElseFromIt) {
    const Answering silent(100);
    Answering first(101);
    Answering second(102);
    std::thread answering([&] {
        second.answer();
        first.answer();
    });

    const std::vector<std::string> answers = ask_all("who");

    answering.join();
    EXPECT_NE(std::ranges::find(answers, first.name()), answers.end());
    EXPECT_NE(std::ranges::find(answers, second.name()), answers.end());
}

TEST(SlotTest, AnAnnouncementLastsAsLongAsItsDescriptor) {
    const Member member{last_slot, 3};
    const auto announced = [&] {
        const std::vector<Member> members = read_members("10.0.0.1");
        return std::find(members.begin(), members.end(), member) != members.end();
    };
    Descriptor announcement = announce(member, "10.0.0.1");
    EXPECT_TRUE(announced());
    announcement = Descriptor();
    EXPECT_FALSE(announced());
}

}  // namespace
}  // namespace lanewise::verbs::port
