// SPDX-License-Identifier: BSD-3-Clause
//
// What a pair of devices accepts from a program: states and what goes with them, the limits of
// requests.

#include "paths/carried/device_pair.hpp"

#include <gtest/gtest.h>
#include <sys/resource.h>

#include <array>
#include <cerrno>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "paths/carried/testing/virtual_devices.hpp"

namespace lanewise::paths::carried::testing {
namespace {

constexpr unsigned to_init = IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS;
constexpr unsigned to_rtr = IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN |
                            IBV_QP_RQ_PSN | IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER;
constexpr unsigned to_rts = IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
                            IBV_QP_SQ_PSN | IBV_QP_MAX_QP_RD_ATOMIC;

class DevicePairTest : public ::testing::Test {
  protected:
    DevicePairTest() {
        PairOptions options;
        options.now = VirtualNetwork::now;
        options.helper = Helper::caller;
        options.entries_first = 256;
        options.forward = [](const ibv_async_event&) { return false; };
        options.note = [this](Occasion, std::uint8_t) {
            if (on_note_) on_note_();
        };
        options.warn = [](const std::string&) {};
        pair_ = std::move(*DevicePair::open(network_.context(0, 0), network_.context(0, 1),
                                            VirtualNetwork::verbs(), std::move(options)));
        domain_ = pair_->alloc_pd();
        completions_ = pair_->create_cq(256, nullptr, nullptr, 0);
    }
    ~DevicePairTest() override {
        if (queue_pair_) pair_->destroy_qp(queue_pair_);
        pair_->destroy_cq(completions_);
        pair_->dealloc_pd(domain_);
    }

    ibv_qp_init_attr wanted() const {
        ibv_qp_init_attr init{};
        init.send_cq = init.recv_cq = completions_;
        init.qp_type = IBV_QPT_RC;
        init.cap = {8, 8, 2, 2, 0};
        return init;
    }
    void create() {
        ibv_qp_init_attr init = wanted();
        queue_pair_ = pair_->create_qp(domain_, &init);
        ASSERT_NE(queue_pair_, nullptr);
    }
    int modify(ibv_qp_state state, unsigned mask) {
        ibv_qp_attr attributes{};
        attributes.qp_state = state;
        attributes.path_mtu = IBV_MTU_1024;
        attributes.dest_qp_num = 1;
        attributes.ah_attr.is_global = 1;
        attributes.ah_attr.grh.dgid = network_.gid(1, 0);
        return pair_->modify_qp(queue_pair_, attributes, mask);
    }

    VirtualNetwork network_{1};
    std::function<void()> on_note_;  // with the lock of the pair held
    std::unique_ptr<DevicePair> pair_;
    ibv_pd *domain_ = nullptr;
    ibv_cq *completions_ = nullptr;
    ibv_qp *queue_pair_ = nullptr;
};

TEST_F(DevicePairTest, EachChangeOfStateNeedsAllThatGoesWithIt) {
    create();
    struct Step {
        ibv_qp_state state;
        unsigned mask;
    };
    for (const Step& step :
         std::vector<Step>{{IBV_QPS_INIT, to_init}, {IBV_QPS_RTR, to_rtr}, {IBV_QPS_RTS, to_rts}}) {
        const ibv_qp_state before = queue_pair_->state;
        for (unsigned bit = 1; bit <= step.mask; bit <<= 1U) {
            if (!(step.mask & bit) || bit == IBV_QP_STATE) continue;
            EXPECT_EQ(modify(step.state, step.mask & ~bit), EINVAL) << bit;
            EXPECT_EQ(queue_pair_->state, before);
        }
        EXPECT_EQ(modify(step.state, step.mask), 0);
        EXPECT_EQ(queue_pair_->state, step.state);
    }
}

TEST_F(DevicePairTest, TheSecondDevicesAddressIsOfTheVersionOfRoceThatThePathHas) {
    for (const std::uint8_t wanted : {std::uint8_t{0}, std::uint8_t{1}}) {
        ibv_ah_attr path{};
        path.is_global = 1;
        path.grh.dgid = network_.gid(1, 0);
        path.grh.sgid_index = wanted;
        std::uint8_t index = 9;
        EXPECT_NE(pair_->own_gid(1, pair_->kind_of(path), index), Gid{});
        EXPECT_EQ(index, wanted);
    }
}

TEST_F(DevicePairTest, AQueuePairThatWasNeverBegunHasNoErrorState) {
    create();
    EXPECT_EQ(modify(IBV_QPS_ERR, IBV_QP_STATE), EINVAL);
    EXPECT_EQ(modify(IBV_QPS_INIT, to_init), 0);
    EXPECT_EQ(modify(IBV_QPS_ERR, IBV_QP_STATE), 0);
}

TEST_F(DevicePairTest, AReceiveWithMorePiecesThanAskedForIsRefused) {
    create();
    ASSERT_EQ(modify(IBV_QPS_INIT, to_init), 0);
    std::array<ibv_sge, 3> pieces{};
    ibv_recv_wr fits{1, nullptr, pieces.data(), 2};
    ibv_recv_wr too_many{2, nullptr, pieces.data(), 3};
    ibv_recv_wr negative{3, nullptr, pieces.data(), -1};
    fits.next = &too_many;
    ibv_recv_wr *bad = nullptr;
    EXPECT_EQ(ibv_post_recv(queue_pair_, &fits, &bad), EINVAL);
    EXPECT_EQ(bad, &too_many);
    EXPECT_EQ(ibv_post_recv(queue_pair_, &negative, &bad), EINVAL);

    ibv_srq_init_attr limits{};
    limits.attr = {8, 2, 0};
    ibv_srq *shared = pair_->create_srq(domain_, limits);
    fits.next = &too_many;
    EXPECT_EQ(pair_->post_srq_receive(shared, &fits, &bad), EINVAL);
    EXPECT_EQ(bad, &too_many);
    EXPECT_EQ(pair_->destroy_srq(shared), 0);
}

TEST_F(DevicePairTest, ItsDeviceLeavesRoomForTheHeadOfAMessage) {
    ibv_device_attr attributes{};
    ASSERT_EQ(pair_->query_device(attributes), 0);
    EXPECT_EQ(attributes.max_sge, pieces_max - 1);
    ibv_qp_init_attr init = wanted();
    init.cap.max_send_sge = static_cast<std::uint32_t>(attributes.max_sge);
    queue_pair_ = pair_->create_qp(domain_, &init);
    EXPECT_NE(queue_pair_, nullptr);
}

TEST_F(DevicePairTest, WhatTheDevicesCannotHoldIsRefused) {
    ibv_device_attr most{};
    ASSERT_EQ(pair_->query_device(most), 0);
    const auto count = [](int limit) { return static_cast<std::uint32_t>(limit); };
    const std::vector<ibv_qp_cap> too_large{
        {count(most.max_qp_wr) + 1, 8, 2, 2, 0},
        {8, count(most.max_qp_wr) + 1, 2, 2, 0},
        {8, 8, count(most.max_sge) + 1, 2, 0},
        {8, 8, 2, count(most.max_sge) + 1, 0},
        {8, 8, 2, 2, 1 << 20},
    };
    for (const ibv_qp_cap& cap : too_large) {
        ibv_qp_init_attr init = wanted();
        init.cap = cap;
        errno = 0;
        EXPECT_EQ(pair_->create_qp(domain_, &init), nullptr);
        EXPECT_EQ(errno, EINVAL);
    }
    EXPECT_EQ(pair_->create_cq(most.max_cqe + 1, nullptr, nullptr, 0), nullptr);
    EXPECT_EQ(pair_->resize_cq(completions_, most.max_cqe + 1), EINVAL);
    EXPECT_EQ(pair_->resize_cq(completions_, most.max_cqe), 0);
    for (const ibv_srq_attr& attr : {ibv_srq_attr{0, 1, 0},
                                     {count(most.max_srq_wr) + 1, 1, 0},
                                     {8, count(most.max_srq_sge) + 1, 0}}) {
        ibv_srq_init_attr init{};
        init.attr = attr;
        EXPECT_EQ(pair_->create_srq(domain_, init), nullptr);
    }
}

TEST_F(DevicePairTest, NothingIsLeftOfAQueuePairThatIsDestroyed) {
    create();
    ASSERT_EQ(modify(IBV_QPS_INIT, to_init), 0);
    ibv_recv_wr receive{};
    ibv_recv_wr *bad = nullptr;
    ASSERT_EQ(ibv_post_recv(queue_pair_, &receive, &bad), 0);
    ASSERT_EQ(modify(IBV_QPS_ERR, IBV_QP_STATE), 0);

    pair_->destroy_qp(std::exchange(queue_pair_, nullptr));

    ibv_wc done{};
    EXPECT_EQ(pair_->poll_cq(completions_, 1, &done), 0);
}

TEST_F(DevicePairTest, NothingIsLeftOfWhatAQueuePairWasBeforeItsReset) {
    create();
    ASSERT_EQ(modify(IBV_QPS_INIT, to_init), 0);
    ibv_recv_wr receive{};
    ibv_recv_wr *bad_receive = nullptr;
    ASSERT_EQ(ibv_post_recv(queue_pair_, &receive, &bad_receive), 0);
    ASSERT_EQ(modify(IBV_QPS_RTR, to_rtr), 0);
    ASSERT_EQ(modify(IBV_QPS_RTS, to_rts), 0);
    ibv_send_wr send{};
    ibv_send_wr *bad_send = nullptr;
    ASSERT_EQ(ibv_post_send(queue_pair_, &send, &bad_send), 0);

    ASSERT_EQ(modify(IBV_QPS_RESET, IBV_QP_STATE), 0);

    EXPECT_EQ(pair_->serve().until, never);
    EXPECT_EQ(pair_->counters().idle_count, 0U);
    ibv_qp_attr attributes{};
    EXPECT_EQ(pair_->query_qp(queue_pair_, &attributes, nullptr), 0);
    EXPECT_EQ(attributes.dest_qp_num, 0U);
    ASSERT_EQ(modify(IBV_QPS_INIT, to_init), 0);
    ASSERT_EQ(modify(IBV_QPS_ERR, IBV_QP_STATE), 0);
    ibv_wc done{};
    EXPECT_EQ(pair_->poll_cq(completions_, 1, &done), 0);
}

TEST_F(DevicePairTest, AProcessThatEndsInTheMiddleOfACallDoesNotWaitForIt) {
    bool has_ended = false;
    on_note_ = [&] {
        pair_->depart();
        has_ended = true;
    };
    network_.set_up(0, false);

    pair_->serve();

    EXPECT_TRUE(has_ended);
}

TEST_F(DevicePairTest, ItsCompletionQueuesHoldWhatAllQueuePairsMayHaveInThem) {
    std::vector<ibv_qp *> made;
    ibv_qp_init_attr init = wanted();
    const std::size_t data_most = (1 << 14) / (64 + 128);  // as the devices allow
    while (ibv_qp *one = pair_->create_qp(domain_, &init)) made.push_back(one);
    EXPECT_EQ(errno, ENOMEM);
    EXPECT_EQ(made.size(), data_most);
    for (unsigned device = 0; device < device_count; ++device) {
        EXPECT_EQ(pair_->data_queue(device)->cqe, 1 << 14);
    }
    for (ibv_qp *one : made) pair_->destroy_qp(one);
}

TEST_F(DevicePairTest, QueuePairsFailWhenADeviceHasLostCompletions) {
    create();
    ASSERT_EQ(modify(IBV_QPS_INIT, to_init), 0);

    network_.lose_completions(0, 0, pair_->data_queue(0));
    pair_->serve();

    EXPECT_EQ(queue_pair_->state, IBV_QPS_ERR);
}

TEST_F(DevicePairTest, TheProgramSeesItsDescriptorOfEventsUntilTheEnd) {
    VirtualNetwork network{2};
    ibv_context *context = network.context(0, 0);
    const int own = context->async_fd;
    PairOptions options;
    options.now = VirtualNetwork::now;
    options.helper = Helper::caller;
    options.shown_events = 1234;
    auto pair = std::move(*DevicePair::open(context, network.context(0, 1), VirtualNetwork::verbs(),
                                            std::move(options)));
    EXPECT_EQ(context->async_fd, 1234);

    pair->serve();
    EXPECT_EQ(context->async_fd, 1234);

    pair.reset();
    EXPECT_EQ(context->async_fd, own);
}

TEST_F(DevicePairTest, NoChannelIsMadeWhereNoDescriptorIsLeft) {
    rlimit before{};
    getrlimit(RLIMIT_NOFILE, &before);
    const rlimit none{0, before.rlim_max};
    DevicePair& pair = *pair_;
    setrlimit(RLIMIT_NOFILE, &none);
    errno = 0;

    const ibv_comp_channel *made = pair.create_channel();

    const int error = errno;
    setrlimit(RLIMIT_NOFILE, &before);
    EXPECT_EQ(made, nullptr);
    EXPECT_EQ(error, EMFILE);
}

TEST(CompletionQueueTest, ThatIsArmedForAnyCompletionStaysSoWhenItIsArmedForSolicitedOnes) {
    int armed = 0;
    CompletionQueue queue;
    queue.armed_queues = &armed;
    queue.arm(Waking::usual);
    queue.arm(Waking::solicited);
    queue.add({}, Waking::usual);
    EXPECT_FALSE(queue.armed);

    queue.arm(Waking::solicited);
    queue.add({}, Waking::usual);
    EXPECT_TRUE(queue.armed);
    queue.add({}, Waking::solicited);
    EXPECT_FALSE(queue.armed);
    EXPECT_EQ(armed, 0);
}

TEST_F(DevicePairTest, AQueueIsAskedForOnlyWhatIsWanted) {
    create();
    ibv_qp_attr attributes{};
    EXPECT_EQ(pair_->query_qp(queue_pair_, &attributes, nullptr), 0);
    EXPECT_EQ(attributes.qp_state, IBV_QPS_RESET);
}

}  // namespace
}  // namespace lanewise::paths::carried::testing
