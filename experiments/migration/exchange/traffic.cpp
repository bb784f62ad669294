// SPDX-License-Identifier: BSD-3-Clause

#include "experiments/migration/exchange/traffic.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstring>
#include <deque>
#include <string>
#include <string_view>

#include "base/clock.hpp"
#include "base/fnv.hpp"

namespace lanewise::exchange {
namespace {

constexpr std::uint64_t atomic_every = 16;
constexpr std::size_t atomic_bytes = 8;
constexpr double linger_s = 20;
constexpr std::int64_t look_every_ns = 1'000'000;
// Whoever protects a queue pair notices on a thread of its own that it has come back, and reports
// what it has noticed when the program ends.
constexpr std::int64_t noticed_after_ns = 100'000'000;
constexpr std::size_t twice_told_max = 16;

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

enum class Kind : std::uint64_t { send, receive, add, write, read };

// Where writes with immediate data go, one after the other. The peer may be behind by as many as a
// device keeps for it.
constexpr std::size_t written_slots = 512;

// A word at the peer that this side writes and the peer sets to 0 when it has seen it. This side
// reads it until it is 0, and then writes the next number: one that comes twice is seen twice.
struct Letterbox {
    std::uint64_t written = 0;
    std::uint64_t seen = 0;  // of what the peer writes here
    bool is_busy = false;    // with a write, or with reads
};

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
    Letterbox letterbox;
    std::deque<std::int64_t> posted_ns;
    bool left = false;                // its port
    std::int64_t returned_at_ns = 0;  // to it; 0 until then
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
    std::vector<std::uint64_t> written() const;
    // Adds what is missing of the peer's writes.
    void compare_written(const std::vector<std::uint64_t>& theirs);

    Found found;

  private:
    std::size_t slot_bytes() const { return static_cast<std::size_t>(settings_.message_bytes); }
    std::byte *send_slot(std::size_t lane, std::size_t slot) {
        return endpoint_.memory(lane) + 2 * atomic_bytes + slot * slot_bytes();
    }
    std::byte *receive_slot(std::size_t lane, std::size_t slot) {
        return send_slot(lane, static_cast<std::size_t>(settings_.window) + slot);
    }
    // Behind the slots: what the peer writes with immediate data, and three words of a letterbox,
    // which are the peer's, the one to be written to it, and the one that was read from it.
    std::size_t written_offset() const {
        return 2 * atomic_bytes + 3 * static_cast<std::size_t>(settings_.window) * slot_bytes();
    }
    std::size_t word_offset(std::size_t word) const {
        return written_offset() + written_slots * slot_bytes() + word * sizeof(std::uint64_t);
    }
    std::uint64_t *word(std::size_t lane, std::size_t at) {
        return reinterpret_cast<std::uint64_t *>(endpoint_.memory(lane) + word_offset(at));
    }
    void post_word(std::size_t lane, Kind kind);
    void on_word(std::size_t lane, Kind kind);
    void look_into_letterbox(std::size_t lane);
    void note_twice(std::string_view what, std::size_t lane, std::uint64_t number,
                    std::uint64_t last);
    void post_receive(std::size_t lane, std::size_t slot);
    void post_send(std::size_t lane);
    void post_add(std::size_t lane);
    void take(const ibv_wc& done);
    ibv_wr_opcode opcode_of(std::uint64_t number) const;
    void take_message(std::size_t lane, std::size_t slot, const ibv_wc& done);
    void check(std::size_t lane, const std::byte *data, std::size_t bytes);
    void confirm(Lane& lane);
    bool idle() const;
    // Whether a message followed each cut.
    bool resumed() const { return found.resumed_ns.size() >= settings_.cuts.size(); }
    // Looks which of the queue pairs have left their port, and which of these have come back.
    void look_for_returns(std::int64_t now);
    bool returned(std::int64_t now) const;

    const Settings& settings_;
    Endpoint& endpoint_;
    std::vector<Lane> lanes_;
    std::int64_t last_confirmed_ns_ = 0;
    // The device starts its timeout when it processes a response, perhaps in a thread of its own,
    // but after the poll that did not find the response.
    std::int64_t not_yet_confirmed_ns_ = 0;
    std::int64_t looked_before_ns_ = 0;
    std::int64_t looked_ns_ = 0;  // when it last looked for completions
    std::vector<std::int64_t> waiting_cuts_;
    std::int64_t next_look_ns_ = 0;  // for queue pairs that have returned
};

void Exchange::prepare() {
    for (std::size_t lane = 0; lane < lanes_.size(); ++lane) {
        const auto slots = 2 * static_cast<std::size_t>(settings_.window);
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
    work.opcode = opcode_of(lane.next);
    work.send_flags = IBV_SEND_SIGNALED;
    work.imm_data = static_cast<std::uint32_t>(lane.next);
    if (work.opcode == IBV_WR_RDMA_WRITE_WITH_IMM) {
        const std::size_t at = written_offset() + lane.next % written_slots * slot_bytes();
        work.wr.rdma = {endpoint_.remote(index) + at, endpoint_.remote_key()};
    }
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

ibv_wr_opcode Exchange::opcode_of(std::uint64_t number) const {
    constexpr std::array turns{IBV_WR_SEND, IBV_WR_SEND_WITH_IMM, IBV_WR_RDMA_WRITE_WITH_IMM};
    return settings_.mixed ? turns[number % turns.size()] : IBV_WR_SEND;
}

// Writes the next number to the peer's letterbox, or reads what is there.
void Exchange::post_word(std::size_t index, Kind kind) {
    Letterbox& letterbox = lanes_[index].letterbox;
    letterbox.is_busy = true;
    if (kind == Kind::write) *word(index, 1) = ++letterbox.written;
    ibv_sge piece{reinterpret_cast<std::uintptr_t>(word(index, kind == Kind::write ? 1 : 2)),
                  sizeof(std::uint64_t), endpoint_.key()};
    ibv_send_wr work{};
    work.wr_id = work_number(kind, index, 0);
    work.sg_list = &piece;
    work.num_sge = 1;
    work.opcode = kind == Kind::write ? IBV_WR_RDMA_WRITE : IBV_WR_RDMA_READ;
    work.send_flags = IBV_SEND_SIGNALED;
    work.wr.rdma = {endpoint_.remote(index) + word_offset(0), endpoint_.remote_key()};
    ibv_send_wr *bad = nullptr;
    require(ibv_post_send(endpoint_.queue_pairs()[index].get(), &work, &bad) == 0, "write or read");
}

void Exchange::on_word(std::size_t index, Kind kind) {
    Letterbox& letterbox = lanes_[index].letterbox;
    const std::uint64_t found_there = *word(index, 2);
    if (kind == Kind::write || found_there == letterbox.written) {
        post_word(index, Kind::read);
        return;
    }
    if (found_there != 0) ++found.corrupted;
    letterbox.is_busy = false;
}

void Exchange::look_into_letterbox(std::size_t index) {
    Letterbox& letterbox = lanes_[index].letterbox;
    const std::uint64_t number = __atomic_load_n(word(index, 0), __ATOMIC_ACQUIRE);
    if (number == 0) return;
    if (number <= letterbox.seen) {
        note_twice("write", index, number, letterbox.seen);
    } else {
        found.lost += number - letterbox.seen - 1;
        letterbox.seen = number;
    }
    __atomic_store_n(word(index, 0), std::uint64_t{0}, __ATOMIC_RELEASE);
}

void Exchange::note_twice(std::string_view what, std::size_t lane, std::uint64_t number,
                          std::uint64_t last) {
    ++found.duplicated;
    if (found.twice.size() == twice_told_max) return;
    found.twice.push_back(
        fmt::format("{} {} of queue pair {}, after {}", what, number, lane, last));
}

void Exchange::take_message(std::size_t index, std::size_t slot, const ibv_wc& done) {
    const ibv_wr_opcode sent_by = opcode_of(lanes_[index].expected);
    const auto number = static_cast<std::uint32_t>(lanes_[index].expected);
    const bool with_immediate = (done.wc_flags & IBV_WC_WITH_IMM) != 0;
    const bool written = done.opcode == IBV_WC_RECV_RDMA_WITH_IMM;
    const std::byte *data = receive_slot(index, slot);
    if (written) {
        data = endpoint_.memory(index) + written_offset() +
               done.imm_data % written_slots * slot_bytes();
    }
    const bool as_sent = with_immediate == (sent_by != IBV_WR_SEND) &&
                         written == (sent_by == IBV_WR_RDMA_WRITE_WITH_IMM) &&
                         (!with_immediate || done.imm_data == number);
    if (!as_sent) ++found.corrupted;
    check(index, data, done.byte_len);
    post_receive(index, slot);
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
        note_twice("message", index, header.number, lane.expected - 1);
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
    not_yet_confirmed_ns_ = looked_before_ns_;
    while (found.resumed_ns.size() < waiting_cuts_.size() / 2) {
        const std::size_t at = 2 * found.resumed_ns.size();
        if (posted < waiting_cuts_[at + 1]) return;
        found.resumed_ns.push_back(now - waiting_cuts_[at]);
    }
}

void Exchange::take(const ibv_wc& done) {
    if (done.status != IBV_WC_SUCCESS) {
        const auto silent_ms = static_cast<double>(monotonic_ns() - not_yet_confirmed_ns_) / 1e6;
        throw Broken(fmt::format("work ended with: {}, {:.1f} ms after the last that was confirmed",
                                 ibv_wc_status_str(done.status), silent_ms));
    }
    const auto index = static_cast<std::size_t>(done.wr_id >> 32 & 0xffffff);
    const auto slot = static_cast<std::size_t>(done.wr_id & 0xffffffff);
    switch (static_cast<Kind>(done.wr_id >> 56)) {
        case Kind::send: confirm(lanes_[index]); return;
        case Kind::add: ++lanes_[index].added; return;
        case Kind::receive: take_message(index, slot, done); return;
        case Kind::write:
        case Kind::read: on_word(index, static_cast<Kind>(done.wr_id >> 56));
    }
}

bool Exchange::poll() {
    std::array<ibv_wc, 16> done{};
    looked_before_ns_ = looked_ns_;
    looked_ns_ = monotonic_ns();
    const int count = ibv_poll_cq(endpoint_.completions(), done.size(), done.data());
    require(count >= 0, "the completion queue cannot be polled");
    for (int i = 0; i < count; ++i) take(done[static_cast<std::size_t>(i)]);
    for (std::size_t index = 0; settings_.mixed && index < lanes_.size(); ++index) {
        look_into_letterbox(index);
    }
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
        if (!lane.left || away)
            lane.returned_at_ns = 0;
        else if (lane.returned_at_ns == 0)
            lane.returned_at_ns = now;
    }
}

bool Exchange::returned(std::int64_t now) const {
    return settings_.return_timeout_s == 0 ||
           std::all_of(lanes_.begin(), lanes_.end(), [&](const Lane& lane) {
               return lane.returned_at_ns != 0 && now - lane.returned_at_ns >= noticed_after_ns;
           });
}

void Exchange::run(Cuts& cuts) {
    const std::int64_t until = monotonic_ns() + nanoseconds(settings_.seconds);
    const std::int64_t resumed_until = until + nanoseconds(settings_.resume_timeout_s);
    const std::int64_t returned_until = until + nanoseconds(settings_.return_timeout_s);
    const auto goes_on = [&] {
        const std::int64_t now = monotonic_ns() - cuts.held_ns();
        look_for_returns(now);
        return now < until || (now < resumed_until && !resumed()) ||
               (now < returned_until && !returned(now));
    };
    std::size_t seen = 0;
    while (goes_on()) {
        for (; seen < cuts.count(); ++seen) {
            const Pulled& pulled = cuts.pulled(seen);
            waiting_cuts_.insert(waiting_cuts_.end(), {pulled.from_ns, pulled.done_ns});
        }
        for (std::size_t index = 0; index < lanes_.size(); ++index) {
            Lane& lane = lanes_[index];
            if (settings_.mixed && !lane.letterbox.is_busy) post_word(index, Kind::write);
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
        return lane.confirmed == lane.next && lane.added == lane.adding && !lane.letterbox.is_busy;
    });
}

void Exchange::drain() {
    while (!idle()) poll();
    for (const Lane& lane : lanes_) {
        found.sent += lane.next;
        found.atomics += lane.added;
        found.writes += lane.letterbox.written;
    }
}

std::vector<std::uint64_t> Exchange::written() const {
    std::vector<std::uint64_t> made;
    for (const Lane& lane : lanes_) made.push_back(lane.letterbox.written);
    return made;
}

void Exchange::compare_written(const std::vector<std::uint64_t>& theirs) {
    for (std::size_t i = 0; i < lanes_.size(); ++i) {
        found.lost += theirs[i] - lanes_[i].letterbox.seen;
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
    const auto slots = 3 * static_cast<std::size_t>(settings.window);
    const auto message_bytes = static_cast<std::size_t>(settings.message_bytes);
    const std::size_t plain = 2 * atomic_bytes + slots * message_bytes;
    if (!settings.mixed) return plain;
    return plain + written_slots * message_bytes + 3 * sizeof(std::uint64_t);
}

Found exchange(const Settings& settings, Rendezvous& rendezvous, Endpoint& endpoint, Cuts& cuts) {
    Exchange one(settings, endpoint);
    one.prepare();
    rendezvous.swap({1});
    // Whoever started the programs tells by this what failed under traffic from what never began.
    std::fputs("lanewise-exchange: traffic begins\n", stderr);
    cuts.start();
    one.run(cuts);
    one.drain();
    // The peer needs the receives of this side while it drains.
    const auto meanwhile = [&] { one.poll(); };
    one.receive_until(rendezvous.swap(one.totals(), meanwhile));
    const std::vector<std::uint64_t> additions = rendezvous.swap(one.additions(), meanwhile);
    one.compare_written(rendezvous.swap(one.written(), meanwhile));
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
