// SPDX-License-Identifier: BSD-3-Clause
//
// See line.hpp.

#include "testbed/line.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

namespace lanewise::testbed {
namespace {

constexpr std::size_t remembered_flows = 4096;

std::int64_t passage_ns(std::uint64_t bytes, double rate_bits_per_s) {
    if (rate_bits_per_s <= 0) return 0;
    return std::llround(8e9 * static_cast<double>(bytes) / rate_bits_per_s);
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
    if (!fits(now_ns, free_ns, rate, shape)) return;
    free_ns = std::max(now_ns, free_ns) + passage_ns(shape.wire_bytes, rate);
    item.time_ns = free_ns;
    waiting_.add(std::move(item));
}

/* Whether the queue before a server that is busy until `free_ns` has room; counts the drop. */
bool Line::fits(std::int64_t now_ns, std::int64_t free_ns, double rate, const PacketShape& shape) {
    if (free_ns <= now_ns || rate <= 0) return true;
    const double queued_bytes = static_cast<double>(free_ns - now_ns) * rate / 8e9;
    if (queued_bytes + static_cast<double>(shape.wire_bytes) <=
        static_cast<double>(settings_.queue_bytes))
        return true;
    counters_.dropped_by_queue += shape.segments;
    return false;
}

void Line::enter(Item item) {
    const auto now_ns = item.time_ns;
    if (!fits(now_ns, free_ns_, settings_.rate_bits_per_s, item.shape)) return;
    mark_some(now_ns, item);
    free_ns_ =
        std::max(now_ns, free_ns_) + passage_ns(item.shape.wire_bytes, settings_.rate_bits_per_s);
    auto due_ns = free_ns_ + settings_.delay_ns;
    if (settings_.jitter_ns > 0)
        due_ns += std::llround((2 * uniform() - 1) * static_cast<double>(settings_.jitter_ns));
    if (item.extra_ns == 0) last_due_ns_ = due_ns = std::max(due_ns, last_due_ns_);
    item.time_ns = due_ns + item.extra_ns;
    flying_.add(std::move(item));
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

void Line::change(const LinkSettings& settings) {
    settings_ = settings;
    if (settings.carrier == Carrier::up) return;
    for (auto *agenda : {&waiting_, &flying_}) {
        for (const auto& item : *agenda) counters_.dropped_by_cut += item.shape.segments;
        agenda->clear();
    }
    flow_free_ns_.clear();
    free_ns_ = last_due_ns_ = 0;
}

double Line::uniform() {
    return static_cast<double>(random_() >> 11) * 0x1.0p-53;
}

}  // namespace lanewise::testbed
