// SPDX-License-Identifier: BSD-3-Clause
#include "experiments/migration/exchange/traffic.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <deque>
#include <string>

#include "base/clock.hpp"
#include "base/fnv.hpp"

namespace lanewise::exchange {
namespace {

constexpr std::uint64_t atomic_every = 16;
constexpr std::size_t atomic_bytes = 8;
constexpr double linger_s = 20;
constexpr std::int64_t look_every_ns = 1'000'000;

struct Header {
    std::uint64_t number;
    std::uint64_t checksum;
};

// FNV-1a over words: fast enough not to be what is measured.
std::uint64_t checksum_of(std::uint64_t number, const std::byte *data, std::size_t bytes) {
    std::uint64_t hash = lanewise::fnv1a_basis ^ number;
    for (std::size_t at = 0; at + 8 <= bytes; at += 8) {
        std::uint64_t word = 0;
        std::memcpy(&word, data + at, sizeof word);
        hash = lanewise::fnv1a(hash, word);
    }
    return hash;
}

enum class Kind : std::uint64_t { send, receive, add };

std::uint64_t work_number(Kind kind, std::size_t queue_pair, std::size_t slot) {
    return static_cast<std::uint64_t>(kind) << 56 | static_cast<std::uint64_t>(queue_pair) << 32 |
           slot;
}

// Of one queue pair.
struct Lane {
    std::uint64_t next = 0;      // to be sent
    std::uint64_t expected = 0;  // to be received
    std::uint64_t confirmed = 0;
    std::uint64_t adding = 0;
    std::uint64_t added = 0;
    std::deque<std::int64_t> posted_ns;
    bool left = false;      // its port
    bool returned = false;  // to it
};

class Exchange {
  public:
    Exchange(const Settings& settings, Endpoint& endpoint)
        : settings_(settings), endpoint_(endpoint), lanes_(endpoint.queue_pairs().size()) {}

    void prepare();
    void run(Cuts& cuts);
    // Until nothing is in flight.
    void drain();
    bool poll();
    void receive_until(const std::vector<std::uint64_t>& totals);
    std::vector<std::uint64_t> totals() const;
    std::vector<std::uint64_t> additions() const;
    std::uint64_t counter(std::size_t lane) const;

    Found found;

  private:
    std::size_t slot_bytes() const { return static_cast<std::size_t>(settings_.message_bytes); }
    std::byte *send_slot(std::size_t lane, std::size_t slot) {
        return endpoint_.memory(lane) + 2 * atomic_bytes + slot * slot_bytes();
    }
    std::byte *receive_slot(std::size_t lane, std::size_t slot) {
        return send_slot(lane, static_cast<std::size_t>(settings_.window) + slot);
    }
    void post_receive(std::size_t lane, std::size_t slot);
    void post_send(std::size_t lane);
    void post_add(std::size_t lane);
    void take(const ibv_wc& done);
    void check(std::size_t lane, const std::byte *data, std::size_t bytes);
    void confirm(Lane& lane);
    bool idle() const;
    // Whether a message followed each cut.
    bool resumed() const { return found.resumed_ns.size() >= settings_.cuts.size(); }
    // Looks which of the queue pairs have left their port, and which of these have come back.
    void look_for_returns(std::int64_t now);
    bool returned() const;

    const Settings& settings_;
    Endpoint& endpoint_;
    std::vector<Lane> lanes_;
    std::int64_t last_confirmed_ns_ = 0;
    std::int64_t looked_ns_ = 0;  // when it last looked for completions
    std::vector<std::int64_t> waiting_cuts_;
    std::int64_t next_look_ns_ = 0;  // for queue pairs that have returned
};

void Exchange::prepare() {
    for (std::size_t lane = 0; lane < lanes_.size(); ++lane) {
        const auto slots = static_cast<std::size_t>(2 * settings_.window);
        for (std::size_t slot = 0; slot < slots; ++slot) post_receive(lane, slot);
    }
}

void Exchange::post_receive(std::size_t lane, std::size_t slot) {
    ibv_sge piece{reinterpret_cast<std::uintptr_t>(receive_slot(lane, slot)),
                  static_cast<std::uint32_t>(slot_bytes()), endpoint_.key()};
    ibv_recv_wr work{work_number(Kind::receive, lane, slot), nullptr, &piece, 1};
    ibv_recv_wr *bad = nullptr;
    require(ibv_post_recv(endpoint_.queue_pairs()[lane].get(), &work, &bad) == 0, "post_recv");
}

void Exchange::post_send(std::size_t index) {
    Lane& lane = lanes_[index];
    const std::size_t slot = lane.next % static_cast<std::uint64_t>(settings_.window);
    std::byte *data = send_slot(index, slot);
    std::byte *payload = data + sizeof(Header);
    const std::size_t payload_bytes = slot_bytes() - sizeof(Header);
    std::memset(payload, static_cast<int>(lane.next & 0xff), payload_bytes);
    const Header header{lane.next, checksum_of(lane.next, payload, payload_bytes)};
    std::memcpy(data, &header, sizeof header);
    ibv_sge piece{reinterpret_cast<std::uintptr_t>(data), static_cast<std::uint32_t>(slot_bytes()),
                  endpoint_.key()};
    ibv_send_wr work{};
    work.wr_id = work_number(Kind::send, index, slot);
    work.sg_list = &piece;
    work.num_sge = 1;
    work.opcode = IBV_WR_SEND;
    work.send_flags = IBV_SEND_SIGNALED;
    ibv_send_wr *bad = nullptr;
    require(ibv_post_send(endpoint_.queue_pairs()[index].get(), &work, &bad) == 0, "post_send");
    lane.posted_ns.push_back(monotonic_ns());
    ++lane.next;
}

void Exchange::post_add(std::size_t index) {
    ibv_sge piece{reinterpret_cast<std::uintptr_t>(endpoint_.memory(index) + atomic_bytes),
                  atomic_bytes, endpoint_.key()};
    ibv_send_wr work{};
    work.wr_id = work_number(Kind::add, index, 0);
    work.sg_list = &piece;
    work.num_sge = 1;
    work.opcode = IBV_WR_ATOMIC_FETCH_AND_ADD;
    work.send_flags = IBV_SEND_SIGNALED;
    work.wr.atomic = {endpoint_.remote(index), 1, 0, endpoint_.remote_key()};
    ibv_send_wr *bad = nullptr;
    require(ibv_post_send(endpoint_.queue_pairs()[index].get(), &work, &bad) == 0, "fetch and add");
    ++lanes_[index].adding;
}

void Exchange::check(std::size_t index, const std::byte *data, std::size_t bytes) {
    Lane& lane = lanes_[index];
    Header header{};
    std::memcpy(&header, data, sizeof header);
    const std::size_t payload_bytes = slot_bytes() - sizeof header;
    if (bytes != slot_bytes() ||
        header.checksum != checksum_of(header.number, data + sizeof header, payload_bytes)) {
        ++found.corrupted;
        return;
    }
    ++found.received;
    if (header.number < lane.expected) {
        ++found.duplicated;
        return;
    }
    found.lost += header.number - lane.expected;
    lane.expected = header.number + 1;
}

void Exchange::confirm(Lane& lane) {
    const std::int64_t now = monotonic_ns();
    ++lane.confirmed;
    const std::int64_t posted = lane.posted_ns.front();
    lane.posted_ns.pop_front();
    if (last_confirmed_ns_) {
        found.longest_gap_ns = std::max(found.longest_gap_ns, now - last_confirmed_ns_);
    }
    last_confirmed_ns_ = looked_ns_;
    while (found.resumed_ns.size() < waiting_cuts_.size() / 2) {
        const std::size_t at = 2 * found.resumed_ns.size();
        if (posted < waiting_cuts_[at + 1]) return;
        found.resumed_ns.push_back(now - waiting_cuts_[at]);
    }
}

void Exchange::take(const ibv_wc& done) {
    if (done.status != IBV_WC_SUCCESS) {
        const auto silent_ms = static_cast<double>(monotonic_ns() - last_confirmed_ns_) / 1e6;
        throw Broken(fmt::format("work ended with: {}, {:.1f} ms after the last that was confirmed",
                                 ibv_wc_status_str(done.status), silent_ms));
    }
    const auto index = static_cast<std::size_t>(done.wr_id >> 32 & 0xffffff);
    const auto slot = static_cast<std::size_t>(done.wr_id & 0xffffffff);
    switch (static_cast<Kind>(done.wr_id >> 56)) {
        case Kind::send:
            confirm(lanes_[index]);
            return;
        case Kind::add:
            ++lanes_[index].added;
            return;
        case Kind::receive:
            check(index, receive_slot(index, slot), done.byte_len);
            post_receive(index, slot);
    }
}

bool Exchange::poll() {
    std::array<ibv_wc, 16> done{};
    // The device starts its timeout when it processes a response, which is after this.
    looked_ns_ = monotonic_ns();
    const int count = ibv_poll_cq(endpoint_.completions(), done.size(), done.data());
    require(count >= 0, "the completion queue cannot be polled");
    for (int i = 0; i < count; ++i) take(done[static_cast<std::size_t>(i)]);
    return count > 0;
}

void Exchange::look_for_returns(std::int64_t now) {
    if (settings_.return_timeout_s == 0 || now < next_look_ns_) return;
    next_look_ns_ = now + look_every_ns;
    for (std::size_t index = 0; index < lanes_.size(); ++index) {
        ibv_qp_attr attributes{};
        ibv_qp_init_attr unused{};
        ibv_qp *queue_pair = endpoint_.queue_pairs()[index].get();
        require(ibv_query_qp(queue_pair, &attributes, IBV_QP_AV, &unused) == 0, "query_qp");
        Lane& lane = lanes_[index];
        const bool away = attributes.ah_attr.port_num != settings_.port;
        lane.left = lane.left || away;
        lane.returned = lane.left && !away;
    }
}

bool Exchange::returned() const {
    return settings_.return_timeout_s == 0 ||
           std::all_of(lanes_.begin(), lanes_.end(),
                       [](const Lane& lane) { return lane.returned; });
}

void Exchange::run(Cuts& cuts) {
    const std::int64_t until = monotonic_ns() + nanoseconds(settings_.seconds);
    const std::int64_t resumed_until = until + nanoseconds(settings_.resume_timeout_s);
    const std::int64_t returned_until = until + nanoseconds(settings_.return_timeout_s);
    const auto goes_on = [&] {
        const std::int64_t now = monotonic_ns() - cuts.held_ns();
        look_for_returns(now);
        return now < until || (now < resumed_until && !resumed()) ||
               (now < returned_until && !returned());
    };
    std::size_t seen = 0;
    while (goes_on()) {
        for (; seen < cuts.count(); ++seen) {
            const Pulled& pulled = cuts.pulled(seen);
            waiting_cuts_.insert(waiting_cuts_.end(), {pulled.from_ns, pulled.done_ns});
        }
        for (std::size_t index = 0; index < lanes_.size(); ++index) {
            Lane& lane = lanes_[index];
            if (lane.next - lane.confirmed >= static_cast<std::uint64_t>(settings_.window)) {
                continue;
            }
            post_send(index);
            if (lane.next % atomic_every == 0 && lane.adding == lane.added) post_add(index);
        }
        poll();
    }
}

bool Exchange::idle() const {
    return std::all_of(lanes_.begin(), lanes_.end(), [](const Lane& lane) {
        return lane.confirmed == lane.next && lane.added == lane.adding;
    });
}

void Exchange::drain() {
    while (!idle()) poll();
    for (const Lane& lane : lanes_) {
        found.sent += lane.next;
        found.atomics += lane.added;
    }
}

void Exchange::receive_until(const std::vector<std::uint64_t>& totals) {
    const std::int64_t until = monotonic_ns() + nanoseconds(linger_s);
    const auto there = [&] {
        for (std::size_t i = 0; i < lanes_.size(); ++i) {
            if (lanes_[i].expected < totals[i]) return false;
        }
        return true;
    };
    while (!there() && monotonic_ns() < until) poll();
    for (std::size_t i = 0; i < lanes_.size(); ++i) found.lost += totals[i] - lanes_[i].expected;
}

std::vector<std::uint64_t> Exchange::totals() const {
    std::vector<std::uint64_t> made;
    for (const Lane& lane : lanes_) made.push_back(lane.next);
    return made;
}

std::vector<std::uint64_t> Exchange::additions() const {
    std::vector<std::uint64_t> made;
    for (const Lane& lane : lanes_) made.push_back(lane.added);
    return made;
}

std::uint64_t Exchange::counter(std::size_t lane) const {
    std::uint64_t value = 0;
    std::memcpy(&value, endpoint_.memory(lane), sizeof value);
    return value;
}

}  // namespace

std::size_t traffic_memory_bytes(const Settings& settings) {
    const auto slots = static_cast<std::size_t>(3 * settings.window);
    return 2 * atomic_bytes + slots * static_cast<std::size_t>(settings.message_bytes);
}

Found exchange(const Settings& settings, Rendezvous& rendezvous, Endpoint& endpoint, Cuts& cuts) {
    Exchange one(settings, endpoint);
    one.prepare();
    rendezvous.swap({1});
    cuts.start();
    one.run(cuts);
    one.drain();
    // The peer needs the receives of this side while it drains.
    const auto meanwhile = [&] { one.poll(); };
    one.receive_until(rendezvous.swap(one.totals(), meanwhile));
    const std::vector<std::uint64_t> additions = rendezvous.swap(one.additions(), meanwhile);
    for (std::size_t i = 0; i < additions.size(); ++i) {
        const std::uint64_t counted = one.counter(i);
        one.found.atomics_wrong +=
            std::max(counted, additions[i]) - std::min(counted, additions[i]);
    }
    cuts.finish();
    one.found.resumed_ns.resize(settings.cuts.size(), -1);
    rendezvous.swap({2});
    return one.found;
}

}  // namespace lanewise::exchange
