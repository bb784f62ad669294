// SPDX-License-Identifier: BSD-3-Clause

#include "verbs/proto/device/device.hpp"

#include <algorithm>
#include <cerrno>
#include <utility>

#include "verbs/proto/wire/icrc.hpp"
#include "verbs/proto/wire/packet.hpp"

namespace lanewise::verbs {
namespace {

// What a datagram to a group names in the place of a queue pair.
constexpr std::uint32_t multicast_qpn = 0xffffff;

template <typename Object>
void erase_object(std::vector<std::unique_ptr<Object>>& objects, const Object *object) {
    std::erase_if(objects, [&](const auto& owned) { return owned.get() == object; });
}

bool makes_sense(const DeviceConfig& config, const QueuePairInit& init) {
    const SharedReceiveQueue *shared = init.shared_receive_queue;
    const bool sends = init.role != Role::target;
    const bool completes = init.transport == Transport::xrc
                               ? init.role != Role::both && (init.send_queue != nullptr) == sends
                               : init.send_queue != nullptr && init.receive_queue != nullptr;
    return completes && init.number <= 0xffffff && init.send_requests_max <= config.requests_max &&
           init.receive_requests_max <= config.requests_max &&
           init.send_slices_max <= config.slices_max &&
           init.receive_slices_max <= config.slices_max &&
           init.inline_bytes_max <= config.inline_bytes_max &&
           (shared == nullptr || shared->domain() == init.domain);
}

}  // namespace

Device::Device(const DeviceConfig& config, OriginOf origin_of)
    : context_{.config = config,
               .given_origin_of = std::move(origin_of),
               .other_way = {},
               .memory = {},
               .ports = std::vector<DevicePort>(config.port_count),
               .events = {},
               .scheduler = {},
               .copies = {},
               .time_wait = {},
               .numbered_queues = {}},
      departed_(config.port_count) {}

CompletionQueue *Device::create_completion_queue(std::uint32_t capacity, void *cookie) {
    auto& queues = completion_queues_;
    queues.push_back(std::make_unique<CompletionQueue>(capacity, context_.events, cookie));
    return queues.back().get();
}

SharedReceiveQueue *Device::create_shared_receive_queue(ProtectionDomain domain,
                                                        std::uint32_t requests_max,
                                                        std::uint32_t slices_max, void *cookie) {
    auto& queues = shared_receive_queues_;
    queues.push_back(std::make_unique<SharedReceiveQueue>(domain, requests_max, slices_max,
                                                          context_.events, cookie));
    return queues.back().get();
}

SharedReceiveQueue *Device::create_extended_receive_queue(const ExtendedReceive& extended,
                                                          ProtectionDomain domain,
                                                          std::uint32_t requests_max,
                                                          std::uint32_t slices_max, void *cookie) {
    auto made = std::make_unique<SharedReceiveQueue>(domain, requests_max, slices_max,
                                                     context_.events, cookie, extended);
    if (!context_.numbered_queues.try_emplace(extended.number, made.get()).second) {
        errno = EEXIST;
        return nullptr;
    }
    ++extended.completions->users;
    shared_receive_queues_.push_back(std::move(made));
    return shared_receive_queues_.back().get();
}

QueuePair *Device::create_queue_pair(const QueuePairInit& init) {
    if (!makes_sense(context_.config, init)) {
        errno = EINVAL;
        return nullptr;
    }
    auto& slot = queue_pairs_[init.number];
    if (slot != nullptr) {
        errno = EEXIST;
        return nullptr;
    }
    slot = std::make_unique<QueuePair>(context_, init);
    context_.time_wait.forget(init.number);
    for (CompletionQueue *queue : {init.send_queue, init.receive_queue}) {
        if (queue != nullptr) ++queue->users;
    }
    if (init.shared_receive_queue != nullptr) {
        ++init.shared_receive_queue->users;
    }
    return slot.get();
}

int Device::destroy(CompletionQueue *queue) {
    if (queue->users > 0) {
        return EBUSY;
    }
    std::erase_if(context_.events,
                  [&](const Event& event) { return event.completion_queue == queue; });
    erase_object(completion_queues_, queue);
    return 0;
}

int Device::destroy(SharedReceiveQueue *queue) {
    if (queue->users > 0) {
        return EBUSY;
    }
    std::erase_if(context_.events,
                  [&](const Event& event) { return event.shared_receive_queue == queue; });
    if (queue->extended().number != 0) {
        context_.numbered_queues.erase(queue->extended().number);
        --queue->extended().completions->users;
    }
    erase_object(shared_receive_queues_, queue);
    return 0;
}

int Device::destroy(QueuePair *queue_pair) {
    const QueuePairInit init = queue_pair->init();
    context_.scheduler.forget(queue_pair->schedule_slot());
    std::erase_if(context_.events,
                  [&](const Event& event) { return event.queue_pair == queue_pair; });
    for (CompletionQueue *queue : {init.send_queue, init.receive_queue}) {
        if (queue == nullptr) continue;
        --queue->users;
        queue->forget(init.number);
    }
    if (init.shared_receive_queue != nullptr) {
        --init.shared_receive_queue->users;
    }
    std::erase_if(members_, [&](const auto& member) { return member.second == init.number; });
    context_.memory.invalidate_of(init.number);
    queue_pair->leave_last_acknowledgement();
    departed_.at(queue_pair->query().port - 1U) += queue_pair->counters();
    queue_pairs_.erase(init.number);
    return 0;
}

QueuePair *Device::find(std::uint32_t number) {
    const auto found = queue_pairs_.find(number);
    return found == queue_pairs_.end() ? nullptr : found->second.get();
}

std::vector<const QueuePair *> Device::queue_pairs() const {
    std::vector<const QueuePair *> found;
    for (const auto& [number, queue_pair] : queue_pairs_) found.push_back(queue_pair.get());
    std::sort(found.begin(), found.end(), [](const QueuePair *one, const QueuePair *other) {
        return one->number() < other->number();
    });
    return found;
}

void Device::on_packet(std::span<const std::byte> datagram, const Arrival& from, Nanoseconds now) {
    if (!context_.has_port(from.port)) {
        return;
    }
    context_.now = now;
    PortCounters& counters = context_.port(from.port).counters;
    ++counters.packets_received;
    counters.bytes_received += datagram.size();
    const Decoded decoded = decode(datagram);
    if (!decoded.packet) {
        ++counters.malformed;
        return;
    }
    if (decoded.packet->base.destination_qpn == multicast_qpn) {
        on_group_packet(*decoded.packet, datagram, from, now);
        return;
    }
    QueuePair *queue_pair = find(decoded.packet->base.destination_qpn);
    if ((queue_pair == nullptr || !queue_pair->receives()) &&
        acknowledge_again(*decoded.packet, datagram, from, now)) {
        return;
    }
    if (queue_pair == nullptr) {
        ++counters.unknown_queue_pair;
        return;
    }
    if (!from.in_memory && !intact(datagram, from)) {
        ++counters.icrc_errors;
        return;
    }
    queue_pair->on_packet(*decoded.packet, from, now);
}

// For a queue pair that is gone; false where that is not what the packet asks for.
bool Device::acknowledge_again(const Packet& packet, std::span<const std::byte> datagram,
                               const Arrival& from, Nanoseconds now) {
    const LastAcknowledgement::Answer *answer = context_.time_wait.answer_to(packet, from, now);
    if (answer == nullptr || !intact(datagram, from)) return false;
    context_.copies.push_back({answer->to, answer->datagram, answer->datagram.size()});
    return true;
}

Nanoseconds Device::time_wait_ends_at() const {
    Nanoseconds until = context_.time_wait.ends_at();
    for (const auto& [number, queue_pair] : queue_pairs_) {
        until = std::max(until, queue_pair->time_wait_ends_at());
    }
    return until;
}

void Device::on_packet_without_receives(std::span<const std::byte> datagram, const Arrival& from,
                                        Nanoseconds now) {
    context_.lacks_receives = true;
    on_packet(datagram, from, now);
    context_.lacks_receives = false;
}

void Device::fail_all() {
    for (const auto& [number, queue_pair] : queue_pairs_) queue_pair->fail();
}

// Every member gets a copy, whatever becomes of those of others (IBA 1, 10.5.2.1).
void Device::on_group_packet(const Packet& packet, std::span<const std::byte> datagram,
                             const Arrival& from, Nanoseconds now) {
    PortCounters& counters = context_.port(from.port).counters;
    if (!has_members(from.destination)) {
        ++counters.unknown_queue_pair;
        return;
    }
    if (!intact(datagram, from)) {
        ++counters.icrc_errors;
        return;
    }
    auto member = members_.lower_bound({from.destination, 0});
    for (; member != members_.end() && member->first == from.destination; ++member) {
        find(member->second)->on_packet(packet, from, now);
    }
}

int Device::attach(QueuePair *queue_pair, const Address& group) {
    if (queue_pair->init().transport != Transport::ud || !is_multicast(group)) return EINVAL;
    members_.emplace(group, queue_pair->number());
    return 0;
}

int Device::detach(QueuePair *queue_pair, const Address& group) {
    return members_.erase({group, queue_pair->number()}) == 1 ? 0 : EINVAL;
}

bool Device::is_member(const QueuePair *queue_pair) const {
    return std::any_of(members_.begin(), members_.end(),
                       [&](const auto& member) { return member.second == queue_pair->number(); });
}

bool Device::has_members(const Address& group) const {
    const auto first = members_.lower_bound({group, 0});
    return first != members_.end() && first->first == group;
}

std::optional<Transmission> Device::poll_transmit(Nanoseconds now, std::span<std::byte> buffer,
                                                  std::size_t segments_max) {
    context_.now = now;
    if (!context_.copies.empty()) {
        const Copies copies = std::move(context_.copies.front());
        context_.copies.pop_front();
        const Transmission run = transmit(copies, buffer);
        count(run);
        return run;
    }
    Batch batch(buffer);
    while (QueuePair *next = context_.scheduler.take_ready()) {
        if (auto run = next->transmit(batch, segments_max, now)) {
            count(*run);
            return run;
        }
    }
    return std::nullopt;
}

void Device::count(const Transmission& run) {
    PortCounters& counters = context_.port(run.port).counters;
    counters.packets_sent += run.segments;
    counters.bytes_sent += run.bytes;
}

// Only the ICRC differs, since it covers the addresses. They were written to a buffer of this size.
Transmission Device::transmit(const Copies& copies, std::span<std::byte> buffer) {
    const std::size_t bytes = copies.bytes.size();
    const std::size_t step = copies.segment_bytes;
    Transmission run{.port = copies.to.port,
                     .source = copies.to.source,
                     .destination = copies.to.destination,
                     .origin = context_.origin_of(copies.to, 0),
                     .traffic_class = context_.traffic_class_of(copies.to),
                     .hop_limit = copies.to.hop_limit,
                     .flow_label = copies.to.flow_label,
                     .bytes = bytes,
                     .segment_bytes = step};
    std::copy(copies.bytes.begin(), copies.bytes.end(), buffer.begin());
    for (std::size_t at = 0; at < bytes; at += step, ++run.segments) {
        const auto ip_id = static_cast<std::uint16_t>(run.origin.ip_id + run.segments);
        seal(buffer.subspan(at, std::min(step, bytes - at)),
             {run.source, run.destination, run.origin.source_udp_port}, ip_id);
    }
    return run;
}

void Device::send_delayed_acks() {
    while (QueuePair *delaying = context_.scheduler.take_delayed_ack()) {
        delaying->send_delayed_ack();
    }
}

Nanoseconds Device::next_deadline() {
    return context_.scheduler.next_deadline();
}

void Device::on_deadline(Nanoseconds now) {
    context_.now = now;
    while (QueuePair *due = context_.scheduler.take_due(now)) {
        due->on_deadline(now);
    }
}

void Device::on_port_state(std::uint8_t port, PortState state) {
    if (!context_.has_port(port) || context_.port(port).state == state) {
        return;
    }
    context_.port(port).state = state;
    const bool active = state == PortState::active;
    context_.events.push_back(
        {.kind = active ? EventKind::port_active : EventKind::port_error, .port = port});
    for (const auto& [number, queue_pair] : queue_pairs_) {
        active ? queue_pair->on_port_up(port) : queue_pair->on_port_down(port);
    }
}

void Device::on_address_change(std::uint8_t port, const Address& from, const Address& to) {
    for (const auto& [number, queue_pair] : queue_pairs_) {
        queue_pair->on_address_change(port, from, to);
    }
}

PortState Device::port_state(std::uint8_t port) const {
    return context_.has_port(port) ? context_.port(port).state : PortState::down;
}

std::optional<Event> Device::poll_event() {
    if (context_.events.empty()) {
        return std::nullopt;
    }
    const Event event = context_.events.front();
    context_.events.pop_front();
    return event;
}

QueuePairCounters Device::queue_pair_counters(std::uint8_t port) const {
    QueuePairCounters sum = departed_.at(port - 1U);
    for (const auto& [number, queue_pair] : queue_pairs_) {
        if (queue_pair->query().port == port) sum += queue_pair->counters();
    }
    return sum;
}

const PortCounters& Device::counters(std::uint8_t port) const {
    return context_.port(port).counters;
}

}  // namespace lanewise::verbs
