// SPDX-License-Identifier: BSD-3-Clause
//
// Two programs with a queue pair each, carried by whole pairs of virtual devices
// (testing/virtual_devices.hpp), whose links are cut, fall silent, lose packets and deliver
// them late, even in the next epoch, while the programs are now and then not run for a while.
// Whatever happens, each message, write and atomic takes effect once and in order. A failure names
// the seed.

#include "paths/carried/queue_pair.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "paths/carried/device_pair.hpp"
#include "paths/carried/testing/virtual_devices.hpp"
#include "testing/cases.hpp"

namespace lanewise::paths::carried::testing {
namespace {

constexpr Nanoseconds microsecond = 1'000;
constexpr Nanoseconds ms = 1'000 * microsecond;
constexpr std::uint32_t window = 8;
constexpr std::uint32_t receives = 2 * window;
constexpr std::uint32_t usual_bytes = 256;
constexpr std::uint32_t message_bytes_max = 20'000;  // several frames
constexpr std::uint32_t written_slots = 512;
constexpr std::uint32_t written_bytes = 3'000;  // several packets
constexpr std::uint32_t add_every = 5;

enum class Work : std::uint64_t { send, receive, add, write, read };

std::uint64_t id_of(Work work, std::uint64_t number) {
    return static_cast<std::uint64_t>(work) << 56 | number;
}

// What a program and its peer share by their rendezvous.
struct Address {
    std::uint32_t number = 0;
    ibv_gid gid{};
    std::uint64_t memory = 0;
    std::uint32_t key = 0;
};

// The memory of a program: a counter for atomics of the peer, the results of its own, three words
// of a letterbox (the peer's, that to be written, that which was read), then slots.
struct Shared {
    std::uint64_t counter = 0;
    std::uint64_t result = 0;
    std::array<std::uint64_t, 3> words{};
    std::array<std::array<std::uint64_t, message_bytes_max / 8>, window> outgoing{};
    std::array<std::array<std::uint64_t, message_bytes_max / 8>, receives> incoming{};
    std::array<std::array<std::uint64_t, written_bytes / 8>, written_slots> written{};
};

class Program {
  public:
    Program(VirtualNetwork& network, std::size_t host);
    ~Program();
    Program(const Program&) = delete;
    Program& operator=(const Program&) = delete;

    Address address() const;
    void connect(const Address& peer);
    void work(bool goes_on);
    bool idle() const { return confirmed_ == next_ && added_ == adding_ && !busy_; }

    std::uint64_t sent() const { return next_; }
    std::uint64_t received() const { return expected_; }
    std::uint64_t added() const { return added_; }
    std::uint64_t written() const { return word_; }
    std::uint64_t seen() const { return seen_; }
    std::uint64_t counter() const { return memory_->counter; }
    PairCounters counters() const { return pair_->counters(); }
    const std::vector<std::string>& complaints() const { return complaints_; }

  private:
    static constexpr std::array turns{IBV_WR_SEND, IBV_WR_SEND_WITH_IMM,
                                      IBV_WR_RDMA_WRITE_WITH_IMM};
    static ibv_wr_opcode opcode_of(std::uint64_t number) { return turns[number % turns.size()]; }
    static std::uint32_t bytes_of(std::uint64_t number) {
        const bool writes = opcode_of(number) == IBV_WR_RDMA_WRITE_WITH_IMM;
        const auto largest = number % 8 > 0 ? usual_bytes
                             : writes       ? written_bytes
                                            : message_bytes_max;
        return static_cast<std::uint32_t>(8 + number * 2'654'435'761U % (largest / 8) * 8);
    }
    template <typename Of>
    std::uint64_t remote(const Of& mine) const {
        return peer_.memory +
               static_cast<std::uint64_t>(reinterpret_cast<const std::byte *>(&mine) -
                                          reinterpret_cast<const std::byte *>(memory_.get()));
    }
    template <typename Of>
    ibv_sge piece(Of& at, std::size_t bytes) const {
        return {reinterpret_cast<std::uintptr_t>(&at), static_cast<std::uint32_t>(bytes),
                region_->lkey};
    }
    void complain(const std::string& sentence) { complaints_.push_back(sentence); }
    void modify(ibv_qp_attr attributes, int mask);
    void post(ibv_send_wr work, ibv_sge data);
    void post_receive(std::uint64_t slot);
    void post_message();
    void post_add();
    void post_word(Work work);
    void poll();
    void take(const ibv_wc& done);
    void take_message(const ibv_wc& done);
    void look_into_letterbox();

    std::vector<std::string> complaints_;
    std::unique_ptr<DevicePair> pair_;
    ibv_gid gid_{};
    std::unique_ptr<Shared> memory_ = std::make_unique<Shared>();
    Address peer_;
    ibv_pd *domain_ = nullptr;
    ibv_mr *region_ = nullptr;
    ibv_cq *completions_ = nullptr;
    ibv_qp *queue_pair_ = nullptr;
    std::uint64_t next_ = 0;
    std::uint64_t confirmed_ = 0;
    std::uint64_t expected_ = 0;
    std::uint64_t adding_ = 0;
    std::uint64_t added_ = 0;
    std::uint64_t word_ = 0;
    std::uint64_t seen_ = 0;
    bool busy_ = false;  // with a word
};

// What goes with each change of state.
constexpr int to_init = IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS;
constexpr int to_rtr = IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN |
                       IBV_QP_RQ_PSN | IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER;
constexpr int to_rts = IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
                       IBV_QP_SQ_PSN | IBV_QP_MAX_QP_RD_ATOMIC;

PairOptions options_for(std::vector<std::string>& complaints) {
    PairOptions made;
    made.now = VirtualNetwork::now;
    made.helper = Helper::caller;
    made.rules.failback_delay_ns = 50 * ms;
    made.rules.retry_window_ns = 60'000 * ms;
    made.forward = [](const ibv_async_event&) { return false; };
    made.note = [](Occasion, std::uint8_t) {};
    made.warn = [&complaints](const std::string& sentence) { complaints.push_back(sentence); };
    return made;
}

Program::Program(VirtualNetwork& network, std::size_t host) : gid_(network.gid(host, 0)) {
    auto opened = DevicePair::open(network.context(host, 0), network.context(host, 1),
                                   VirtualNetwork::verbs(), options_for(complaints_));
    pair_ = std::move(*opened);
    domain_ = pair_->alloc_pd();
    region_ = pair_->reg_mr(domain_, memory_.get(), sizeof *memory_,
                            reinterpret_cast<std::uintptr_t>(memory_.get()),
                            IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE |
                                IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC);
    completions_ = pair_->create_cq(256, nullptr, nullptr, 0);
    ibv_qp_init_attr init{};
    init.send_cq = init.recv_cq = completions_;
    init.qp_type = IBV_QPT_RC;
    init.cap = {4 * window, receives, 1, 1, 0};
    queue_pair_ = pair_->create_qp(domain_, &init);
}

Program::~Program() {
    pair_->destroy_qp(queue_pair_);
    pair_->destroy_cq(completions_);
    pair_->dereg_mr(region_);
    pair_->dealloc_pd(domain_);
}

Address Program::address() const {
    return {queue_pair_->qp_num, gid_, reinterpret_cast<std::uintptr_t>(memory_.get()),
            region_->rkey};
}

void Program::modify(ibv_qp_attr attributes, int mask) {
    if (pair_->modify_qp(queue_pair_, attributes, static_cast<unsigned>(mask)) != 0) {
        complain("modify_qp");
    }
}

void Program::connect(const Address& peer) {
    peer_ = peer;
    ibv_qp_attr attributes{};
    attributes.qp_state = IBV_QPS_INIT;
    attributes.qp_access_flags =
        IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC;
    modify(attributes, to_init);
    for (std::uint64_t slot = 0; slot < receives; ++slot) post_receive(slot);
    attributes.qp_state = IBV_QPS_RTR;
    attributes.path_mtu = IBV_MTU_1024;
    attributes.dest_qp_num = peer.number;
    attributes.ah_attr.is_global = 1;
    attributes.ah_attr.grh.dgid = peer.gid;
    modify(attributes, to_rtr);
    attributes.qp_state = IBV_QPS_RTS;
    modify(attributes, to_rts);
}

void Program::post(ibv_send_wr work, ibv_sge data) {
    work.sg_list = &data;
    work.num_sge = 1;
    work.send_flags = IBV_SEND_SIGNALED;
    ibv_send_wr *bad = nullptr;
    if (pair_->post_send(queue_pair_, &work, &bad) != 0) complain("post_send");
}

void Program::post_receive(std::uint64_t slot) {
    ibv_sge to = piece(memory_->incoming.at(slot), message_bytes_max);
    ibv_recv_wr work{id_of(Work::receive, slot), nullptr, &to, 1};
    ibv_recv_wr *bad = nullptr;
    if (pair_->post_receive(queue_pair_, &work, &bad) != 0) complain("post_recv");
}

void Program::post_message() {
    auto& data = memory_->outgoing.at(next_ % window);
    const std::uint32_t bytes = bytes_of(next_);
    std::fill_n(data.begin(), bytes / 8, next_);
    ibv_send_wr work{};
    work.wr_id = id_of(Work::send, next_);
    work.opcode = opcode_of(next_);
    work.imm_data = static_cast<std::uint32_t>(next_);
    work.wr.rdma = {remote(memory_->written.at(next_ % written_slots)), peer_.key};
    post(work, piece(data, bytes));
    ++next_;
}

void Program::post_add() {
    ibv_send_wr work{};
    work.wr_id = id_of(Work::add, adding_++);
    work.opcode = IBV_WR_ATOMIC_FETCH_AND_ADD;
    work.wr.atomic = {remote(memory_->counter), 1, 0, peer_.key};
    post(work, piece(memory_->result, sizeof memory_->result));
}

void Program::post_word(Work kind) {
    busy_ = true;
    if (kind == Work::write) memory_->words[1] = ++word_;
    ibv_send_wr work{};
    work.wr_id = id_of(kind, word_);
    work.opcode = kind == Work::write ? IBV_WR_RDMA_WRITE : IBV_WR_RDMA_READ;
    work.wr.rdma = {remote(memory_->words[0]), peer_.key};
    post(work, piece(memory_->words.at(kind == Work::write ? 1 : 2), sizeof(std::uint64_t)));
}

void Program::look_into_letterbox() {
    std::uint64_t& word = memory_->words[0];
    if (word == 0) return;
    if (word != seen_ + 1)
        complain("word " + std::to_string(word) + " after " + std::to_string(seen_));
    seen_ = word;
    word = 0;
}

void Program::take_message(const ibv_wc& done) {
    const std::uint64_t slot = done.wr_id & 0xffffff;
    const bool is_written = done.opcode == IBV_WC_RECV_RDMA_WITH_IMM;
    const ibv_wr_opcode sent_by = opcode_of(expected_);
    const std::uint64_t *data = is_written ? memory_->written.at(expected_ % written_slots).data()
                                           : memory_->incoming.at(slot).data();
    const std::uint32_t bytes = bytes_of(expected_);
    const bool whole =
        std::all_of(data, data + bytes / 8, [&](std::uint64_t one) { return one == expected_; });
    const bool as_sent = done.byte_len == bytes &&
                         is_written == (sent_by == IBV_WR_RDMA_WRITE_WITH_IMM) &&
                         (sent_by == IBV_WR_SEND || done.imm_data == expected_);
    if (!whole || !as_sent) {
        complain("message " + std::to_string(expected_) + " is " + std::to_string(*data));
    }
    ++expected_;
    post_receive(slot);
}

void Program::take(const ibv_wc& done) {
    if (done.status != IBV_WC_SUCCESS) return complain("status " + std::to_string(done.status));
    switch (static_cast<Work>(done.wr_id >> 56)) {
        case Work::send:
            if ((done.wr_id & 0xffffff) != confirmed_) complain("confirmed out of order");
            ++confirmed_;
            return;
        case Work::receive: return take_message(done);
        case Work::add: ++added_; return;
        case Work::write: return post_word(Work::read);
        case Work::read:
            if (memory_->words[2] == word_) return post_word(Work::read);
            if (memory_->words[2] != 0) complain("a word that nobody wrote");
            busy_ = false;
    }
}

void Program::poll() {
    std::array<ibv_wc, 16> done{};
    const int count = pair_->poll_cq(completions_, static_cast<int>(done.size()), done.data());
    for (int at = 0; at < count; ++at) take(done.at(static_cast<std::size_t>(at)));
    look_into_letterbox();
}

void Program::work(bool goes_on) {
    pair_->serve();
    poll();
    while (goes_on && next_ - confirmed_ < window) {
        post_message();
        if (next_ % add_every == 0 && adding_ == added_) post_add();
    }
    if (goes_on && !busy_) post_word(Work::write);
}

enum class Peer { the_other, itself };

class World {
  public:
    explicit World(std::uint32_t seed, Peer peer = Peer::the_other)
        : network_(seed), programs_{Program(network_, 0), Program(network_, 1)} {
        for (const std::size_t host : {0U, 1U}) {
            const std::size_t to = peer == Peer::itself ? host : 1 - host;
            programs_[host].connect(programs_[to].address());
        }
        for (std::size_t host = 0; host < host_count; ++host) plan_work(host);
    }
    // What is being flushed already comes first, since time does not move while a queue pair is
    // destroyed.
    ~World() {
        const Nanoseconds longest = network_.flush_max_ns();
        network_.flush_at_once();
        run(longest);
    }
    World(const World&) = delete;
    World& operator=(const World&) = delete;

    VirtualNetwork& network() { return network_; }
    Program& program(std::size_t host) { return programs_[host]; }
    void stall(double share) { stalls_ = share; }
    void run(Nanoseconds duration) { network_.run_until(VirtualNetwork::now() + duration); }
    void drain(Nanoseconds limit) {
        goes_on_ = false;
        const Nanoseconds until = VirtualNetwork::now() + limit;
        const auto is_idle = [](const Program& one) { return one.idle(); };
        while (VirtualNetwork::now() < until && !std::ranges::all_of(programs_, is_idle)) run(ms);
        run(20 * ms);  // what is late comes
    }

  private:
    // A program is run after some microseconds, or milliseconds where its core has other work.
    void plan_work(std::size_t host) {
        const Nanoseconds usual = (40 + network_.draw(120)) * microsecond;
        const Nanoseconds pause = network_.chance(stalls_) ? network_.draw(15) * ms : 0;
        network_.after(usual + pause, [this, host] {
            programs_[host].work(goes_on_);
            plan_work(host);
        });
    }

    VirtualNetwork network_;
    std::array<Program, host_count> programs_;
    bool goes_on_ = true;
    double stalls_ = 0;
};

void expect_once_and_in_order(World& world, Peer peer = Peer::the_other) {
    for (const std::size_t host : {0U, 1U}) {
        const Program& one = world.program(host);
        const Program& other = world.program(peer == Peer::itself ? host : 1 - host);
        EXPECT_EQ(one.complaints(), std::vector<std::string>{});
        EXPECT_TRUE(one.idle());
        EXPECT_EQ(one.received(), other.sent());
        EXPECT_EQ(one.seen(), other.written());
        EXPECT_EQ(one.counter(), other.added());
        EXPECT_GT(one.sent(), 0U);
    }
}

// One of the things that happen to links.
void disturb(World& world) {
    VirtualNetwork& network = world.network();
    const std::size_t number = network.draw(devices_each);
    Link& link = network.link(number);
    const Nanoseconds lasts = (1 + network.draw(network.draw(2) == 0 ? 4 : 60)) * ms;
    if (network.draw(3) == 0) {
        link.silent = true;
        network.after(lasts, [&link] { link.silent = false; });
        return;
    }
    network.set_up(number, false);
    network.after(lasts, [&network, number] { network.set_up(number, true); });
}

TEST(CarriedQueuePairTest, WithoutFaultsItStaysOnItsHomeDevice) {
    World world(1);
    world.run(100 * ms);
    world.drain(1'000 * ms);
    expect_once_and_in_order(world);
    EXPECT_EQ(world.program(0).counters().migrations, 0U);
}

void expect_a_cut_to_lead_to_the_other_device_and_the_mend_back(World& world, Peer peer) {
    world.run(20 * ms);
    EXPECT_GT(world.program(0).received(), 0U);
    world.network().set_up(0, false);
    world.run(200 * ms);
    EXPECT_EQ(world.program(0).counters().migrations, 1U);
    world.network().set_up(0, true);
    world.run(500 * ms);
    EXPECT_EQ(world.program(0).counters().returns, 1U);
    world.drain(1'000 * ms);
    expect_once_and_in_order(world, peer);
}

TEST(CarriedQueuePairTest, ACutLeadsToTheOtherDeviceAndTheMendBack) {
    World world(2);
    expect_a_cut_to_lead_to_the_other_device_and_the_mend_back(world, Peer::the_other);
}

TEST(CarriedQueuePairTest, ThatIsItsOwnPeerLivesThroughACutAndTheMend) {
    World world(4, Peer::itself);
    expect_a_cut_to_lead_to_the_other_device_and_the_mend_back(world, Peer::itself);
}

TEST(CarriedQueuePairTest, PacketsThatComeInTheNextEpochOfTheirDeviceChangeNothing) {
    World world(3);
    VirtualNetwork& network = world.network();
    network.link(0).kept = 0.3;
    world.run(20 * ms);
    for (int cut = 0; cut < 2; ++cut) {
        network.set_up(0, false);
        world.run(30 * ms);
        network.set_up(0, true);
        world.run(250 * ms);
    }
    world.drain(1'000 * ms);
    expect_once_and_in_order(world);
    EXPECT_EQ(world.program(0).counters().returns, 2U);
    EXPECT_GT(network.kept_count(), 1'000U);
    EXPECT_EQ(network.mistaken_count(), 0U);
}

// Whatever is posted to a dead device comes back at once.
TEST(CarriedQueuePairTest, ADeviceThatDiesLeadsToTheOtherOne) {
    World world(5);
    world.run(20 * ms);
    world.network().flush_at_once();

    world.network().fail(0, 0);
    world.run(200 * ms);

    world.drain(1'000 * ms);
    expect_once_and_in_order(world);
    EXPECT_EQ(world.program(0).counters().migrations, 1U);
    EXPECT_EQ(world.program(1).counters().migrations, 1U);
}

void expect_once_and_in_order_whatever_happens(Peer peer, std::uint32_t last) {
    std::uint64_t migrations = 0;
    std::uint64_t kept = 0;
    for (std::uint32_t seed = 1; seed <= last && !::testing::Test::HasFailure(); ++seed) {
        SCOPED_TRACE(seed);
        World world(seed, peer);
        VirtualNetwork& network = world.network();
        world.stall(seed % 2 == 0 ? 0.01 : 0);
        for (std::size_t number = 0; number < devices_each; ++number) {
            network.link(number).loss = seed % 3 == 0 ? 0.01 : 0;
            network.link(number).late = seed % 5 == 0 ? 0 : 0.02;
            network.link(number).kept = seed % 4 == 0 ? 0 : 0.1;
        }
        for (int cut = 0; cut < 8; ++cut) {
            world.run(network.draw(30'000) * microsecond);
            disturb(world);
        }
        world.run(100 * ms);
        world.drain(20'000 * ms);
        expect_once_and_in_order(world, peer);
        EXPECT_EQ(network.mistaken_count(), 0U);
        kept += network.kept_count();
        migrations += world.program(0).counters().migrations;
    }
    EXPECT_GT(migrations, last);
    EXPECT_GT(kept, 100 * last);
}

TEST(CarriedQueuePairTest, WhateverHappensEachMessageWriteAndAtomicTakesEffectOnceAndInOrder) {
    const auto last = lanewise::testing::cases<std::uint32_t>(2'000, 10);
    expect_once_and_in_order_whatever_happens(Peer::the_other, last);
}

TEST(CarriedQueuePairTest, WhateverHappensToOneThatIsItsOwnPeerAllTakesEffectOnceAndInOrder) {
    const auto last = lanewise::testing::cases<std::uint32_t>(500, 10);
    expect_once_and_in_order_whatever_happens(Peer::itself, last);
}

}  // namespace
}  // namespace lanewise::paths::carried::testing
