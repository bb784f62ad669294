// SPDX-License-Identifier: BSD-3-Clause

#include "verbs/proto/device/device.hpp"

#include <algorithm>
#include <cerrno>

#include "verbs/proto/connection/device_parts.hpp"
#include "verbs/proto/queue_pair/queue_pair_parts.hpp"
#include "verbs/proto/wire/icrc.hpp"
#include "verbs/proto/wire/packet.hpp"

namespace lanewise::verbs {
namespace {

template <typename Object>
void erase_object(std::vector<std::unique_ptr<Object>>& objects, const Object *object) {
    std::erase_if(objects, [&](const auto& owned) { return owned.get() == object; });
}

bool makes_sense(const DeviceConfig& config, const QueuePairInit& init) {
    const SharedReceiveQueue *shared = init.shared_receive_queue;
    return init.send_queue != nullptr && init.receive_queue != nullptr && init.number <= 0xffffff &&
           init.send_requests_max <= config.requests_max &&
           init.receive_requests_max <= config.requests_max &&
           init.send_slices_max <= config.slices_max &&
           init.receive_slices_max <= config.slices_max &&
           init.inline_bytes_max <= config.inline_bytes_max &&
           (shared == nullptr || shared->domain() == init.domain);
}

}  // namespace

Device::Device(const DeviceConfig& config, OriginOf origin_of)
    : parts_(std::make_unique<DeviceParts>()) {
    parts_->given_origin_of = std::move(origin_of);
    parts_->config = config;
    parts_->ports.resize(config.port_count);
}

Device::~Device() = default;

const DeviceConfig& Device::config() const {
    return parts_->config;
}

MemoryTable& Device::memory() {
    return parts_->memory;
}

CompletionQueue *Device::create_completion_queue(std::uint32_t capacity, void *cookie) {
    auto& queues = parts_->completion_queues;
    queues.push_back(std::make_unique<CompletionQueue>(capacity, parts_->events, cookie));
    return queues.back().get();
}

SharedReceiveQueue *Device::create_shared_receive_queue(ProtectionDomain domain,
                                                        std::uint32_t requests_max,
                                                        std::uint32_t slices_max, void *cookie) {
    auto& queues = parts_->shared_receive_queues;
    queues.push_back(std::make_unique<SharedReceiveQueue>(domain, requests_max, slices_max,
                                                          parts_->events, cookie));
    return queues.back().get();
}

QueuePair *Device::create_queue_pair(const QueuePairInit& init) {
    if (!makes_sense(parts_->config, init)) {
        errno = EINVAL;
        return nullptr;
    }
    auto& slot = parts_->queue_pairs[init.number];
    if (slot != nullptr) {
        errno = EEXIST;
        return nullptr;
    }
    slot = std::make_unique<QueuePair>(std::make_unique<QueuePairParts>(*parts_, init));
    ++init.send_queue->users;
    ++init.receive_queue->users;
    if (init.shared_receive_queue != nullptr) {
        ++init.shared_receive_queue->users;
    }
    return slot.get();
}

int Device::destroy(CompletionQueue *queue) {
    if (queue->users > 0) {
        return EBUSY;
    }
    std::erase_if(parts_->events,
                  [&](const Event& event) { return event.completion_queue == queue; });
    erase_object(parts_->completion_queues, queue);
    return 0;
}

int Device::destroy(SharedReceiveQueue *queue) {
    if (queue->users > 0) {
        return EBUSY;
    }
    std::erase_if(parts_->events,
                  [&](const Event& event) { return event.shared_receive_queue == queue; });
    erase_object(parts_->shared_receive_queues, queue);
    return 0;
}

int Device::destroy(QueuePair *queue_pair) {
    const QueuePairInit init = queue_pair->init();
    parts_->agenda.forget(queue_pair->parts());
    std::erase_if(parts_->events,
                  [&](const Event& event) { return event.queue_pair == queue_pair; });
    --init.send_queue->users;
    --init.receive_queue->users;
    init.send_queue->forget(init.number);
    init.receive_queue->forget(init.number);
    if (init.shared_receive_queue != nullptr) {
        --init.shared_receive_queue->users;
    }
    parts_->queue_pairs.erase(init.number);
    return 0;
}

QueuePair *Device::find(std::uint32_t number) {
    const auto found = parts_->queue_pairs.find(number);
    return found == parts_->queue_pairs.end() ? nullptr : found->second.get();
}

std::vector<const QueuePair *> Device::queue_pairs() const {
    std::vector<const QueuePair *> found;
    for (const auto& [number, queue_pair] : parts_->queue_pairs) found.push_back(queue_pair.get());
    std::sort(found.begin(), found.end(), [](const QueuePair *one, const QueuePair *other) {
        return one->number() < other->number();
    });
    return found;
}

void Device::on_packet(std::span<const std::byte> datagram, const Arrival& from, Nanoseconds now) {
    if (!parts_->has_port(from.port)) {
        return;
    }
    PortCounters& counters = parts_->port(from.port).counters;
    ++counters.packets_received;
    counters.bytes_received += datagram.size();
    const Decoded decoded = decode(datagram);
    if (!decoded.packet) {
        ++counters.malformed;
        return;
    }
    QueuePair *queue_pair = find(decoded.packet->base.destination_qpn);
    if (queue_pair == nullptr) {
        ++counters.unknown_queue_pair;
        return;
    }
    if (!intact(datagram, from)) {
        ++counters.icrc_errors;
        return;
    }
    queue_pair->parts().on_packet(*decoded.packet, from, now);
}

std::optional<Transmission> Device::poll_transmit(Nanoseconds now, std::span<std::byte> buffer,
                                                  std::size_t segments_max) {
    return transmit(now, {buffer, nullptr}, segments_max);
}

std::optional<Transmission> Device::poll_transmit(Nanoseconds now, std::span<std::byte> buffer,
                                                  std::size_t segments_max, Pieces& pieces) {
    pieces.clear();
    return transmit(now, {buffer, &pieces}, segments_max);
}

std::optional<Transmission> Device::transmit(Nanoseconds now, Batch batch,
                                             std::size_t segments_max) {
    while (QueuePairParts *next = parts_->agenda.take_ready()) {
        if (auto run = next->transmit(batch, segments_max, now)) {
            PortCounters& counters = parts_->port(run->port).counters;
            counters.packets_sent += run->segments;
            counters.bytes_sent += run->bytes;
            return run;
        }
    }
    return std::nullopt;
}

void Device::on_lull() {
    while (QueuePairParts *waiting = parts_->agenda.take_waiting()) {
        waiting->responder.hurry();
        parts_->agenda.offer(*waiting);
    }
}

Nanoseconds Device::next_deadline() {
    return parts_->agenda.next_deadline();
}

void Device::on_deadline(Nanoseconds now) {
    while (QueuePairParts *due = parts_->agenda.take_due(now)) {
        due->on_deadline(now);
    }
}

void Device::on_port_state(std::uint8_t port, PortState state) {
    if (!parts_->has_port(port) || parts_->port(port).state == state) {
        return;
    }
    parts_->port(port).state = state;
    const bool active = state == PortState::active;
    parts_->events.push_back(
        {.kind = active ? EventKind::port_active : EventKind::port_error, .port = port});
    if (active) {
        return;
    }
    for (const auto& [number, queue_pair] : parts_->queue_pairs) {
        queue_pair->parts().on_port_down(port);
    }
}

void Device::on_address_change(std::uint8_t port, const Address& from, const Address& to) {
    for (const auto& [number, queue_pair] : parts_->queue_pairs) {
        Attributes& attributes = queue_pair->parts().connection.attributes;
        for (Path *path : {&attributes.primary, &attributes.alternate}) {
            if (path->address.port == port && path->address.source == from) {
                path->address.source = to;
            }
        }
    }
}

PortState Device::port_state(std::uint8_t port) const {
    return parts_->has_port(port) ? parts_->port(port).state : PortState::down;
}

std::optional<Event> Device::poll_event() {
    if (parts_->events.empty()) {
        return std::nullopt;
    }
    const Event event = parts_->events.front();
    parts_->events.pop_front();
    return event;
}

const PortCounters& Device::counters(std::uint8_t port) const {
    return parts_->port(port).counters;
}

}  // namespace lanewise::verbs
