// SPDX-License-Identifier: BSD-3-Clause
//
// See line.hpp.

#include "testbed/line.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <tuple>
#include <utility>

namespace lanewise::testbed {
namespace {

constexpr std::size_t remembered_flows = 4096;

std::int64_t passage_ns(std::uint64_t bytes, double rate_bits_per_s) {
    if (rate_bits_per_s <= 0) return 0;
    return std::llround(8e9 * static_cast<double>(bytes) / rate_bits_per_s);
}

/* When what would have been served until `until_ns` is, the rest being served at another rate. */
std::int64_t served_ns(std::int64_t now_ns, std::int64_t until_ns, double former, double rate) {
    if (until_ns <= now_ns) return until_ns;
    if (former <= 0 || rate <= 0) return now_ns;
    return now_ns + std::llround(static_cast<double>(until_ns - now_ns) * former / rate);
}

}  // namespace

void Line::Agenda::add(Item item) {
    push_back(std::move(item));
    std::push_heap(begin(), end(), Later());
}

Line::Item Line::Agenda::pop() {
    std::pop_heap(begin(), end(), Later());
    Item item = std::move(back());
    pop_back();
    return item;
}

Line::Line(const LinkSettings& settings, Layer layer, std::uint64_t seed)
    : settings_(settings), layer_(layer), random_(seed) {}

void Line::offer(std::int64_t now_ns, PacketView packet) {
    release(now_ns);
    const auto shape = shape_of(packet, layer_);
    counters_.offered += shape.segments;
    if (settings_.carrier == Carrier::cut) {
        counters_.dropped_by_cut += shape.segments;
        return;
    }
    if (settings_.loss > 0 || settings_.reorder > 0) {
        accept_in_pieces(now_ns, packet, shape.segments);
        return;
    }
    accept(now_ns, Packet(packet.begin(), packet.end()), shape, 0);
}

/* Each segment meets its own fate; neighbours of the same fate stay together. */
void Line::accept_in_pieces(std::int64_t now_ns, PacketView packet, std::uint32_t segments) {
    enum class Fate { pass, lose, hold };
    const auto fate_of_one = [&] {
        if (uniform() < settings_.loss) return Fate::lose;
        return uniform() < settings_.reorder ? Fate::hold : Fate::pass;
    };
    Fate fate = fate_of_one();
    for (std::uint32_t first = 0, next = 1; first < segments; first = next++) {
        Fate following = fate;
        for (; next < segments && (following = fate_of_one()) == fate;) ++next;
        const auto count = next - first;
        if (fate == Fate::lose) counters_.lost += count;
        if (fate == Fate::hold) counters_.held += count;
        if (fate != Fate::lose) {
            Packet piece = count == segments ? Packet(packet.begin(), packet.end())
                                             : cut(packet, layer_, first, count);
            const auto shape = shape_of(piece, layer_);
            accept(now_ns, std::move(piece), shape, fate == Fate::hold ? hold_ns : 0);
        }
        fate = following;
    }
}

void Line::accept(std::int64_t now_ns, Packet packet, const PacketShape& shape,
                  std::int64_t extra_ns) {
    Item item{now_ns, order_++, extra_ns, shape, std::move(packet)};
    const double rate = settings_.flow_rate_bits_per_s;
    if (rate <= 0) return enter(std::move(item));
    if (flow_free_ns_.size() > remembered_flows)
        std::erase_if(flow_free_ns_, [&](const auto& flow) { return flow.second < now_ns; });
    auto& free_ns = flow_free_ns_[shape.flow];
    if (!keep_what_fits(now_ns, free_ns, rate, item)) return;
    free_ns = std::max(now_ns, free_ns) + passage_ns(item.shape.wire_bytes, rate);
    item.time_ns = free_ns;
    waiting_.add(std::move(item));
}

/* Keeps the segments for which the queue before a server that is busy until `free_ns` has room, and
   counts the others. False where there is room for none. */
bool Line::keep_what_fits(std::int64_t now_ns, std::int64_t free_ns, double rate, Item& item) {
    if (free_ns <= now_ns || rate <= 0) return true;
    const double queued_bytes = static_cast<double>(free_ns - now_ns) * rate / 8e9;
    const double room_bytes = static_cast<double>(settings_.queue_bytes) - queued_bytes;
    if (static_cast<double>(item.shape.wire_bytes) <= room_bytes) return true;
    const double whole = room_bytes / static_cast<double>(item.shape.segment_bytes);
    const auto kept =
        std::min(static_cast<std::uint32_t>(std::max(whole, 0.0)), item.shape.segments - 1);
    counters_.dropped_by_queue += item.shape.segments - kept;
    if (kept == 0) return false;
    item.packet = cut(item.packet, layer_, 0, kept);
    item.shape = shape_of(item.packet, layer_);
    return true;
}

void Line::enter(Item item) {
    const auto now_ns = item.time_ns;
    if (!keep_what_fits(now_ns, free_ns_, settings_.rate_bits_per_s, item)) return;
    mark_some(now_ns, item);
    free_ns_ =
        std::max(now_ns, free_ns_) + passage_ns(item.shape.wire_bytes, settings_.rate_bits_per_s);
    item.left_ns = free_ns_;
    fly(std::move(item));
}

/* Behind all others that are not held: packets keep their order. */
void Line::fly(Item item) {
    auto due_ns = item.left_ns + settings_.delay_ns + jitter_ns_of(item);
    if (item.extra_ns == 0) last_due_ns_ = due_ns = std::max(due_ns, last_due_ns_);
    item.time_ns = due_ns + item.extra_ns;
    flying_.add(std::move(item));
}

/* A packet keeps its draw when the settings change. */
std::int64_t Line::jitter_ns_of(Item& item) {
    if (settings_.jitter_ns == 0) return 0;
    if (!item.jitter_share) item.jitter_share = 2 * uniform() - 1;
    return std::llround(*item.jitter_share * static_cast<double>(settings_.jitter_ns));
}

void Line::mark_some(std::int64_t now_ns, Item& item) {
    if (settings_.mark_bytes == 0 || free_ns_ <= now_ns) return;
    const double queued_bytes =
        static_cast<double>(free_ns_ - now_ns) * settings_.rate_bits_per_s / 8e9;
    const auto first_bytes = static_cast<double>(settings_.mark_bytes);
    const double share = (queued_bytes - first_bytes) / (3 * first_bytes);
    if (share <= 0 || uniform() >= share) return;
    if (mark(item.packet, layer_)) counters_.marked += item.shape.segments;
}

/* Lets onto the link what its flow's cap has let go, each at its own time. */
void Line::release(std::int64_t now_ns) {
    while (!waiting_.empty() && waiting_.front().time_ns <= now_ns) enter(waiting_.pop());
}

std::optional<std::int64_t> Line::next_ns() const {
    if (waiting_.empty() && flying_.empty()) return std::nullopt;
    if (waiting_.empty()) return flying_.front().time_ns;
    if (flying_.empty()) return waiting_.front().time_ns;
    return std::min(waiting_.front().time_ns, flying_.front().time_ns);
}

std::optional<Packet> Line::take(std::int64_t now_ns) {
    release(now_ns);
    if (flying_.empty() || flying_.front().time_ns > now_ns) return std::nullopt;
    Item item = flying_.pop();
    counters_.delivered += item.shape.segments;
    counters_.delivered_bytes += item.shape.wire_bytes;
    return std::move(item.packet);
}

void Line::not_delivered(PacketView packet) {
    const auto shape = shape_of(packet, layer_);
    counters_.delivered -= shape.segments;
    counters_.delivered_bytes -= shape.wire_bytes;
}

void Line::change(std::int64_t now_ns, const LinkSettings& settings) {
    release(now_ns);
    const auto former = std::exchange(settings_, settings);
    if (settings_.carrier != Carrier::up) return drop_all();
    leave_anew(now_ns, former.rate_bits_per_s);
    wait_anew(now_ns, former.flow_rate_bits_per_s);
}

void Line::drop_all() {
    for (auto *agenda : {&waiting_, &flying_}) {
        for (const auto& item : *agenda) counters_.dropped_by_cut += item.shape.segments;
        agenda->clear();
    }
    flow_free_ns_.clear();
    free_ns_ = last_due_ns_ = 0;
}

/* What the caps of flows keep waits as long as it takes at the new rate. */
void Line::wait_anew(std::int64_t now_ns, double former_rate) {
    const double rate = settings_.flow_rate_bits_per_s;
    const auto served = [&](std::int64_t& time_ns) {
        time_ns = served_ns(now_ns, time_ns, former_rate, rate);
    };
    for (auto& [flow, free_ns] : flow_free_ns_) served(free_ns);
    for (auto& item : waiting_) served(item.time_ns);
    std::make_heap(waiting_.begin(), waiting_.end(), Later());
}

/* What is before the link leaves at the new rate, and only what has left keeps its time. */
void Line::leave_anew(std::int64_t now_ns, double former_rate) {
    const auto has_left = [&](const Item& item) { return item.left_ns <= now_ns; };
    const auto first = std::partition(flying_.begin(), flying_.end(), has_left);
    std::vector<Item> queued(std::make_move_iterator(first),
                             std::make_move_iterator(flying_.end()));
    flying_.erase(first, flying_.end());
    std::make_heap(flying_.begin(), flying_.end(), Later());
    last_due_ns_ = 0;
    for (const auto& item : flying_)
        if (item.extra_ns == 0) last_due_ns_ = std::max(last_due_ns_, item.time_ns);
    std::sort(queued.begin(), queued.end(), [](const Item& a, const Item& b) {
        return std::tie(a.left_ns, a.order) < std::tie(b.left_ns, b.order);
    });
    const double rate = settings_.rate_bits_per_s;
    free_ns_ = served_ns(now_ns, free_ns_, former_rate, rate);
    for (auto& item : queued) {
        item.left_ns = served_ns(now_ns, item.left_ns, former_rate, rate);
        fly(std::move(item));
    }
}

double Line::uniform() {
    return static_cast<double>(random_() >> 11) * 0x1.0p-53;
}

}  // namespace lanewise::testbed
