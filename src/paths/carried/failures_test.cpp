// SPDX-License-Identifier: BSD-3-Clause
//
// What becomes of a carried queue pair whose second device is of no use, whose peer is gone, or
// whose request fails.

#include <gtest/gtest.h>

#include <array>
#include <cerrno>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "paths/carried/device_pair.hpp"
#include "paths/carried/queue_pair.hpp"
#include "paths/carried/testing/virtual_devices.hpp"

namespace lanewise::paths::carried::testing {
namespace {

constexpr Nanoseconds ms = 1'000'000;
constexpr unsigned to_init = IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS;
constexpr unsigned to_rtr = IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN |
                            IBV_QP_RQ_PSN | IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER;
constexpr unsigned to_rts = IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
                            IBV_QP_SQ_PSN | IBV_QP_MAX_QP_RD_ATOMIC;

constexpr std::uint32_t memory_bytes = 2U << 20;

enum class Homes { first_device, both_devices };

// A program with a queue pair.
class End {
  public:
    End(VirtualNetwork& network, std::size_t host, Homes homes);
    ~End();
    End(const End&) = delete;
    End& operator=(const End&) = delete;

    DevicePair& pair() { return *pair_; }
    ibv_qp *queue_pair() { return queue_pair_; }
    std::uint32_t number() const { return queue_pair_->qp_num; }
    const std::vector<std::string>& warnings() const { return warnings_; }
    int modify(ibv_qp_attr attributes, ibv_qp_state state, unsigned mask);
    int connect(std::uint32_t peer, const ibv_ah_attr& path);
    // Whose memory is written and added to.
    void aim_at(const End& peer) { aim_ = &peer; }
    void post_receive();
    void post(ibv_wr_opcode operation, std::uint32_t bytes = 8);
    void destroy() { pair_->destroy_qp(std::exchange(queue_pair_, nullptr)); }
    std::vector<ibv_wc_status> statuses();

  private:
    std::vector<std::string> warnings_;
    std::unique_ptr<DevicePair> pair_;
    std::vector<std::byte> memory_ = std::vector<std::byte>(memory_bytes);
    ibv_pd *domain_ = nullptr;
    ibv_mr *region_ = nullptr;
    ibv_cq *completions_ = nullptr;
    ibv_qp *queue_pair_ = nullptr;
    const End *aim_ = this;
};

End::End(VirtualNetwork& network, std::size_t host, Homes homes) {
    PairOptions options;
    options.now = VirtualNetwork::now;
    options.helper = Helper::caller;
    options.balances = homes == Homes::both_devices;
    options.forward = [](const ibv_async_event&) { return false; };
    options.note = [](Occasion, std::uint8_t) {};
    options.warn = [this](const std::string& sentence) { warnings_.push_back(sentence); };
    pair_ = std::move(*DevicePair::open(network.context(host, 0), network.context(host, 1),
                                        VirtualNetwork::verbs(), std::move(options)));
    domain_ = pair_->alloc_pd();
    region_ = pair_->reg_mr(domain_, memory_.data(), memory_.size(),
                            reinterpret_cast<std::uintptr_t>(memory_.data()),
                            IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_ATOMIC);
    completions_ = pair_->create_cq(256, nullptr, nullptr, 0);
    ibv_qp_init_attr init{};
    init.send_cq = init.recv_cq = completions_;
    init.qp_type = IBV_QPT_RC;
    init.cap = {8, 8, 1, 1, 0};
    queue_pair_ = pair_->create_qp(domain_, &init);
}

End::~End() {
    if (queue_pair_) destroy();
    pair_->destroy_cq(completions_);
    pair_->dereg_mr(region_);
    pair_->dealloc_pd(domain_);
}

int End::modify(ibv_qp_attr attributes, ibv_qp_state state, unsigned mask) {
    attributes.qp_state = state;
    return pair_->modify_qp(queue_pair_, attributes, mask);
}

int End::connect(std::uint32_t peer, const ibv_ah_attr& path) {
    ibv_qp_attr attributes{};
    attributes.path_mtu = IBV_MTU_1024;
    attributes.dest_qp_num = peer;
    attributes.ah_attr = path;
    attributes.qp_access_flags = IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_ATOMIC;
    modify(attributes, IBV_QPS_INIT, to_init);
    if (const int error = modify(attributes, IBV_QPS_RTR, to_rtr)) return error;
    return modify(attributes, IBV_QPS_RTS, to_rts);
}

void End::post_receive() {
    ibv_sge piece{reinterpret_cast<std::uintptr_t>(memory_.data()), memory_bytes, region_->lkey};
    ibv_recv_wr work{0, nullptr, &piece, 1};
    ibv_recv_wr *bad = nullptr;
    EXPECT_EQ(pair_->post_receive(queue_pair_, &work, &bad), 0);
}

void End::post(ibv_wr_opcode operation, std::uint32_t bytes) {
    const auto address = reinterpret_cast<std::uintptr_t>(memory_.data());
    ibv_sge piece{address, bytes, region_->lkey};
    ibv_send_wr work{};
    work.sg_list = &piece;
    work.num_sge = 1;
    work.opcode = operation;
    work.send_flags = IBV_SEND_SIGNALED;
    const auto remote = reinterpret_cast<std::uintptr_t>(aim_->memory_.data());
    if (operation == IBV_WR_ATOMIC_FETCH_AND_ADD) {
        work.wr.atomic = {remote, 1, 0, aim_->region_->rkey};
    } else {
        work.wr.rdma = {remote, aim_->region_->rkey};
    }
    ibv_send_wr *bad = nullptr;
    EXPECT_EQ(pair_->post_send(queue_pair_, &work, &bad), 0);
}

std::vector<ibv_wc_status> End::statuses() {
    std::vector<ibv_wc_status> found;
    ibv_wc done{};
    while (pair_->poll_cq(completions_, 1, &done) == 1) found.push_back(done.status);
    return found;
}

ibv_ah_attr by_gid(const ibv_gid& gid) {
    ibv_ah_attr made{};
    made.is_global = 1;
    made.grh.dgid = gid;
    return made;
}

ibv_ah_attr by_lid(std::uint16_t lid) {
    ibv_ah_attr made{};
    made.dlid = lid;
    return made;
}

class FailuresTest : public ::testing::Test {
  protected:
    FailuresTest() { network_.flush_at_once(); }
    void open(Homes homes = Homes::first_device) {
        for (const std::size_t host : {0U, 1U}) {
            ends_.at(host) = std::make_unique<End>(network_, host, homes);
        }
    }
    void connect() {
        for (const std::size_t host : {0U, 1U}) {
            const ibv_ah_attr path = by_gid(network_.gid(1 - host, 0));
            EXPECT_EQ(end(host).connect(end(1 - host).number(), path), 0);
            end(host).aim_at(end(1 - host));
        }
    }
    End& end(std::size_t host) { return *ends_.at(host); }
    void grant(std::size_t host, unsigned access) {
        ibv_qp_attr attributes{};
        attributes.qp_access_flags = access;
        EXPECT_EQ(end(host).modify(attributes, IBV_QPS_RTS, IBV_QP_STATE | IBV_QP_ACCESS_FLAGS), 0);
    }
    void run(Nanoseconds duration) {
        for (const Nanoseconds until = VirtualNetwork::now() + duration;
             VirtualNetwork::now() < until;) {
            network_.run_until(VirtualNetwork::now() + ms / 10);
            for (const auto& one : ends_) one->pair().serve();
        }
    }
    void expect_a_message_to_arrive(std::size_t from = 0, std::uint32_t bytes = 8) {
        end(1 - from).post_receive();
        end(from).post(IBV_WR_SEND, bytes);
        run(300 * ms);
        EXPECT_EQ(end(from).statuses(), std::vector{IBV_WC_SUCCESS});
        EXPECT_EQ(end(1 - from).statuses(), std::vector{IBV_WC_SUCCESS});
    }

    VirtualNetwork network_{1};
    std::array<std::unique_ptr<End>, host_count> ends_;
};

class WithoutAnAddress : public FailuresTest,
                         public ::testing::WithParamInterface<std::pair<std::size_t, Homes>> {};

TEST_P(WithoutAnAddress, OfTheSecondDeviceAQueuePairRunsOnTheFirst) {
    const auto [host, homes] = GetParam();
    network_.remove_address(host, 1);
    open(homes);

    connect();

    expect_a_message_to_arrive();
    for (const std::size_t at : {0U, 1U}) {
        EXPECT_EQ(end(at).pair().counters().unprotected_count, 1U);
        EXPECT_EQ(end(at).pair().counters().protected_count, 0U);
        EXPECT_EQ(end(at).warnings().size(), 1U);
        EXPECT_TRUE(end(at).pair().lacks_second_path(end(at).queue_pair()));
    }
}

TEST_P(WithoutAnAddress, AQueuePairIsProtectedOnceTheSecondDeviceHasOne) {
    const auto [host, homes] = GetParam();
    network_.remove_address(host, 1);
    open(homes);
    connect();
    expect_a_message_to_arrive();

    network_.restore_address(host, 1);
    run(300 * ms);

    network_.set_up(0, false);
    expect_a_message_to_arrive();
    for (const std::size_t at : {0U, 1U}) {
        EXPECT_EQ(end(at).pair().counters().protected_count, 1U);
        EXPECT_EQ(end(at).pair().counters().migrations, 1U);
    }
}

INSTANTIATE_TEST_SUITE_P(EitherEnd, WithoutAnAddress,
                         ::testing::Values(std::pair{0U, Homes::first_device},
                                           std::pair{1U, Homes::first_device},
                                           std::pair{0U, Homes::both_devices},
                                           std::pair{1U, Homes::both_devices}));

TEST_F(FailuresTest, APathThatTheFirstDeviceRefusesIsAnErrorAtOnce) {
    open();

    EXPECT_EQ(end(0).connect(end(1).number(), by_gid({})), EINVAL);

    EXPECT_EQ(end(0).queue_pair()->state, IBV_QPS_INIT);
}

TEST_F(FailuresTest, EndsOfOneNumberThatAreConnectedByLidsAgree) {
    for (const std::size_t host : {0U, 1U}) {
        VirtualNetwork::number_from(0x1000);
        ends_.at(host) = std::make_unique<End>(network_, host, Homes::first_device);
    }
    ASSERT_EQ(end(0).number(), end(1).number());

    for (const std::size_t host : {0U, 1U}) {
        const ibv_ah_attr path = by_lid(VirtualNetwork::lid(1 - host, 0));
        EXPECT_EQ(end(host).connect(end(1 - host).number(), path), 0);
    }

    expect_a_message_to_arrive();
}

class APortOfShorterPackets : public FailuresTest,
                              public ::testing::WithParamInterface<std::size_t> {};

TEST_P(APortOfShorterPackets, IsThatOfBothEndsWhicheverDeviceItIsOf) {
    network_.set_mtu(GetParam(), 1, IBV_MTU_256);
    open();
    connect();

    for (const std::size_t from : {0U, 1U}) expect_a_message_to_arrive(from, 2000);
    network_.set_up(0, false);
    for (const std::size_t from : {0U, 1U}) expect_a_message_to_arrive(from, 2000);
}

INSTANTIATE_TEST_SUITE_P(EitherEnd, APortOfShorterPackets, ::testing::Values(0U, 1U));

class AfterThePeer : public FailuresTest, public ::testing::WithParamInterface<std::size_t> {};

TEST_P(AfterThePeer, IsGoneWhatIsSentToItFailsOnce) {
    const std::size_t left = GetParam();
    open();
    connect();
    expect_a_message_to_arrive();
    network_.link(0).silent = true;
    end(left).post(IBV_WR_SEND);

    end(1 - left).destroy();

    run(200 * ms);
    EXPECT_EQ(end(left).statuses(), std::vector{IBV_WC_RETRY_EXC_ERR});
}

INSTANTIATE_TEST_SUITE_P(EitherEnd, AfterThePeer, ::testing::Values(0U, 1U));

TEST_F(FailuresTest, TheRequestThatWasRefusedHasTheStatusAndNotAnAtomicBeforeIt) {
    open();
    connect();
    expect_a_message_to_arrive();
    network_.link(0).refuses_writes = true;

    end(0).post(IBV_WR_ATOMIC_FETCH_AND_ADD);
    end(0).post(IBV_WR_RDMA_WRITE);
    network_.run_until(VirtualNetwork::now() + ms / 2);
    end(0).pair().serve();

    EXPECT_EQ(end(0).statuses(), (std::vector{IBV_WC_WR_FLUSH_ERR, IBV_WC_REM_ACCESS_ERR}));
}

// The result comes behind what the peer sends already, in more frames than there are slots.
TEST_F(FailuresTest, AnAtomicEndsBeforeItsProgramReceivesALongMessageOfThePeer) {
    open();
    connect();
    expect_a_message_to_arrive();

    end(1).post(IBV_WR_SEND, memory_bytes);
    run(50 * ms);
    end(0).post(IBV_WR_ATOMIC_FETCH_AND_ADD);
    run(500 * ms);
    EXPECT_EQ(end(0).statuses(), std::vector{IBV_WC_SUCCESS});

    end(0).post_receive();
    run(100 * ms);
    EXPECT_EQ(end(0).statuses(), std::vector{IBV_WC_SUCCESS});
    EXPECT_EQ(end(1).statuses(), std::vector{IBV_WC_SUCCESS});
}

TEST_F(FailuresTest, WhatThePeerMayDoChangesAtOnce) {
    open();
    connect();
    expect_a_message_to_arrive();

    grant(1, IBV_ACCESS_REMOTE_READ);
    grant(1, IBV_ACCESS_REMOTE_WRITE);
    end(0).post(IBV_WR_RDMA_WRITE);
    run(100 * ms);
    EXPECT_EQ(end(0).statuses(), std::vector{IBV_WC_SUCCESS});

    grant(1, 0);
    end(0).post(IBV_WR_RDMA_WRITE);
    run(100 * ms);
    EXPECT_EQ(end(0).statuses(), std::vector{IBV_WC_REM_ACCESS_ERR});
}

// As after a cut, before the program has polled for the completions that tell of it.
TEST_F(FailuresTest, WhatThePeerMayDoIsKeptWhereTheHardwareHasFailedMeanwhile) {
    open();
    connect();
    expect_a_message_to_arrive();
    ibv_qp_attr failed{};
    failed.qp_state = IBV_QPS_ERR;
    ibv_qp *hardware = QueuePair::of(end(1).queue_pair()).carrier(0).data;
    ASSERT_EQ(VirtualNetwork::verbs().modify_qp(hardware, &failed, IBV_QP_STATE), 0);

    grant(1, IBV_ACCESS_REMOTE_WRITE);

    ibv_qp_attr attributes{};
    ibv_qp_init_attr init{};
    QueuePair::of(end(1).queue_pair()).query(attributes, init);
    EXPECT_EQ(attributes.qp_access_flags, unsigned{IBV_ACCESS_REMOTE_WRITE});
}

class ARefusedRequest : public FailuresTest, public ::testing::WithParamInterface<ibv_wr_opcode> {};

TEST_P(ARefusedRequest, OfThePeerEndsTheQueuePairThatRefusedIt) {
    open();
    connect();
    expect_a_message_to_arrive();
    network_.link(0).refuses_writes = true;
    grant(1, IBV_ACCESS_REMOTE_WRITE);
    end(1).post_receive();

    end(0).post(GetParam());
    run(100 * ms);

    EXPECT_EQ(end(0).statuses(), std::vector{IBV_WC_REM_ACCESS_ERR});
    EXPECT_EQ(end(1).statuses(), std::vector{IBV_WC_WR_FLUSH_ERR});
    EXPECT_EQ(end(1).queue_pair()->state, IBV_QPS_ERR);
}

INSTANTIATE_TEST_SUITE_P(OfEachKind, ARefusedRequest,
                         ::testing::Values(IBV_WR_RDMA_WRITE, IBV_WR_ATOMIC_FETCH_AND_ADD));

}  // namespace
}  // namespace lanewise::paths::carried::testing
