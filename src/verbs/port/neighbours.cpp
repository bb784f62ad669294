// SPDX-License-Identifier: BSD-3-Clause

#include "verbs/port/neighbours.hpp"

#include <algorithm>
#include <array>

namespace lanewise::verbs::port {
namespace {

using std::chrono::steady_clock;

// A reader that takes nothing for so long is stopped, or has died; over UDP the retries of the
// queue pair decide what becomes of it.
constexpr auto full_max = std::chrono::milliseconds(100);

}  // namespace

// Most packets go to where the one before went.
Neighbours::Outgoing *Neighbours::find(const Key& key) {
    if (last_found_ && last_found_->first == key) return &last_found_->second;
    const auto found = outgoing_.find(key);
    if (found == outgoing_.end()) return nullptr;
    last_found_ = &*found;
    return &found->second;
}

bool Neighbours::reaches(const Slot& own, std::uint32_t slot, const Address& destination) {
    const Key key{slot, destination};
    Outgoing *known = find(key);
    if (!known && outgoing_.size() >= rings_max) return false;
    Outgoing& outgoing = known ? *known : outgoing_[key];
    ++outgoing.uses;
    if (!outgoing.ring) {
        if (outgoing.uses >= outgoing.offers_at) offer(own, key, outgoing);
        return false;
    }
    if (outgoing.ring->is_accepted(user_)) return true;
    const bool is_refused = outgoing.uses - outgoing.offered_at >= uses_before_refused;
    if (is_refused || outgoing.ring->is_broken()) give_up(key, outgoing);
    return false;
}

// Who has taken a ring has ended, and the next process of its slot has refused none.
void Neighbours::give_up(Key key, Outgoing& outgoing) {
    if (outgoing.ring->was_accepted()) {
        last_found_ = nullptr;
        outgoing_.erase(key);
    } else {
        outgoing.ring.reset();
        outgoing.offers_at = outgoing.uses * next_offer_factor;
    }
}

void Neighbours::offer(const Slot& own, const Key& to, Outgoing& outgoing) {
    auto ends = SharedRing::make();
    const RingOffer letter{.destination = to.second};
    const bool sent =
        ends && watch(ends->writer.bell()) &&
        forward_to_name(own, mailbox_name(to.first), std::as_bytes(std::span(&letter, 1)),
                        {ends->writer.memory(), ends->reader_bell.number()});
    if (!sent) {
        outgoing.offers_at = outgoing.uses * next_offer_factor;
        return;
    }
    outgoing.offered_at = outgoing.uses;
    ends->writer.close_memory();
    outgoing.ring = std::move(ends->writer);
}

Sent Neighbours::send(std::uint32_t slot, const RingRecord& record, std::span<const iovec> pieces) {
    const Key key{slot, record.destination};
    Outgoing *outgoing = find(key);
    if (!outgoing || !outgoing->ring) return Sent::lost;
    if (outgoing->ring->write(record, pieces)) {
        outgoing->full_since = {};
        return Sent::yes;
    }
    const auto now = steady_clock::now();
    if (outgoing->full_since == steady_clock::time_point{}) outgoing->full_since = now;
    if (now - outgoing->full_since < full_max && !outgoing->ring->is_broken()) return Sent::later;
    last_found_ = nullptr;
    outgoing_.erase(key);  // a new one is offered when it has been used for a while
    return Sent::lost;
}

const SharedRing *Neighbours::take(Descriptor memory, Descriptor bell) {
    if (incoming_.size() >= rings_max) return nullptr;
    auto ring = SharedRing::map(std::move(memory), std::move(bell));
    if (!ring || !watch(ring->bell())) return nullptr;
    incoming_.push_back({std::move(*ring)});
    incoming_.back().ring.accept();
    return &incoming_.back().ring;
}

bool Neighbours::has_records() const {
    return std::any_of(incoming_.begin(), incoming_.end(),
                       [](const Incoming& one) { return !one.ring.empty(); });
}

bool Neighbours::sleep() {
    bool has_more = false;
    for (Incoming& one : incoming_) has_more = one.ring.sleep() || has_more;
    return has_more;
}

void Neighbours::wake() {
    for (Incoming& one : incoming_) one.ring.wake();
}

// Of hang-ups the kernel tells unasked, and with EPOLLET once.
bool Neighbours::watch(int bell) const {
    epoll_event wanted{};
    wanted.events = EPOLLET;
    wanted.data.fd = bell;
    return epoll_ctl(ended_.number(), EPOLL_CTL_ADD, bell, &wanted) == 0;
}

// The number may meanwhile be that of the bell of another ring.
void Neighbours::forget(int bell) {
    for (Incoming& one : incoming_) {
        if (one.ring.bell() == bell) one.has_ended = one.ring.is_left();
    }
    const auto found = std::find_if(outgoing_.begin(), outgoing_.end(), [&](const auto& one) {
        return one.second.ring && one.second.ring->bell() == bell;
    });
    if (found == outgoing_.end() || !found->second.ring->is_left()) return;
    found->second.ring->is_accepted(user_);  // what it said before it ended
    give_up(found->first, found->second);
}

bool Neighbours::drop_ended() {
    std::array<epoll_event, 16> told{};
    constexpr int room = told.size();
    int count = 0;
    while ((count = epoll_wait(ended_.number(), told.data(), room, 0)) > 0) {
        for (int at = 0; at < count; ++at) forget(told[static_cast<std::size_t>(at)].data.fd);
    }
    const auto has_ended = [](const Incoming& one) { return one.has_ended; };
    std::erase_if(incoming_, [](const Incoming& one) { return one.has_ended && one.ring.empty(); });
    return std::any_of(incoming_.begin(), incoming_.end(), has_ended);
}

void Neighbours::close_in_child() const {
    for (const auto& [key, outgoing] : outgoing_) {
        if (outgoing.ring) outgoing.ring->close_in_child();
    }
    for (const Incoming& one : incoming_) one.ring.close_in_child();
    close(ended_.number());
}

}  // namespace lanewise::verbs::port
