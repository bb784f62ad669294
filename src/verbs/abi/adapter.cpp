// SPDX-License-Identifier: BSD-3-Clause
#include "verbs/abi/adapter.hpp"

#include <chrono>
#include <utility>

#include "verbs/abi/status.hpp"

namespace lanewise::verbs::abi {
namespace {

// Batches that are read before time and sending get their turn.
constexpr int batches_per_turn = 8;
// Longer than a program takes from finding a message to posting its answer.
constexpr Nanoseconds ack_delay_ns = 20'000;
// What lies within the noise of schedulers is not taken for a loss.
constexpr Nanoseconds reorder_ns = 200'000;
constexpr Nanoseconds probe_ns = 500'000;
// Ethernet has no service levels. ConnectX tells in their place what stands in the 40 bytes before
// a datagram, and UCX believes it: bit 3 is UDP, the lower ones are 1 for IPv6 and 2 for IPv4.
constexpr std::uint8_t came_over_ipv6 = 8 | 1;
constexpr std::uint8_t came_over_ipv4 = 8 | 2;

DeviceConfig engine_config(const Config& config) {
    DeviceConfig made;
    made.port_count = static_cast<std::uint8_t>(config.interfaces.size());
    made.ack_delay_ns = ack_delay_ns;
    made.reorder_ns = reorder_ns;
    made.probe_ns = probe_ns;
    made.grace_ns = Nanoseconds{config.grace_ms} * 1'000'000;
    return made;
}

}  // namespace

Result<std::unique_ptr<Adapter>> Adapter::open(const Config& config,
                                               std::function<void(const Event&)> tell) {
    Result<port::Wire> wire = port::Wire::open();
    if (!wire) return wire.failure();
    Result<port::Descriptor> watch = port::watch_interfaces();
    if (!watch) return watch.failure();
    std::unique_ptr<Adapter> made(
        new Adapter(config, std::move(*wire), std::move(*watch), std::move(tell)));
    if (config.pcap.empty()) return made;
    Result<port::Capture> capture = port::Capture::open(config.pcap);
    if (!capture) return capture.failure();
    made->capture_ = std::move(*capture);
    return made;
}

Adapter::Adapter(Config config, port::Wire wire, port::Descriptor watch,
                 std::function<void(const Event&)> tell)
    : config_(std::move(config)),
      wire_(std::move(wire)),
      watch_(std::move(watch)),
      ports_(config_.interfaces.size()),
      engine_(std::make_unique<Device>(engine_config(config_))),
      outgoing_(port::batch_bytes_max) {
    read_ports();
    while (engine_->poll_event()) {
    }
    tell_ = std::move(tell);
    wire_.answer_with([this] { return status_of(*this); });
}

Nanoseconds Adapter::now() {
    return std::chrono::steady_clock::now().time_since_epoch() / std::chrono::nanoseconds(1);
}

bool Adapter::read_batch(Nanoseconds time) {
    const auto taker = [&](const port::Datagram& datagram) { take(datagram, time); };
    return wire_.receive(std::ref(taker));
}

void Adapter::finish_turn(Nanoseconds time) {
    if (engine_->next_deadline() <= time) engine_->on_deadline(time);
    send(time);
    tell_events();
}

void Adapter::progress(Nanoseconds time) {
    int batches = 0;
    for (; batches < batches_per_turn && read_batch(time); ++batches) send(time);
    if (batches < batches_per_turn) engine_->on_lull();
    finish_turn(time);
}

void Adapter::progress_towards(const CompletionQueue& queue, Nanoseconds time) {
    int batches = 0;
    while (batches < batches_per_turn && read_batch(time)) {
        ++batches;
        if (queue.size() > 0) break;
        send(time);
    }
    if (batches == 0) engine_->on_lull();
    finish_turn(time);
}

void Adapter::transmit(Nanoseconds time) {
    send(time);
    tell_events();
}

void Adapter::take_forwarded() {
    const Nanoseconds time = now();
    while (wire_.receive_forwarded([&](const port::Datagram& datagram) { take(datagram, time); })) {
    }
    send(time);
    tell_events();
}

void Adapter::take(const port::Datagram& datagram, Nanoseconds now) {
    if (capture_) capture(datagram);
    const std::optional<std::uint8_t> port = port_of(ports_, datagram.destination);
    if (!port || !ports_[*port - 1U].interface.carrier) return;
    Arrival arrival;
    arrival.port = *port;
    arrival.source = datagram.source;
    arrival.destination = datagram.destination;
    arrival.source_udp_port = datagram.source_port;
    arrival.likely_ip_id = static_cast<std::uint16_t>(datagram.number);
    if (config_.personality == Personality::ethernet) {
        arrival.service_level = is_ipv4(datagram.source) ? came_over_ipv4 : came_over_ipv6;
    }
    engine_->on_packet(datagram.packet, arrival, now);
}

void Adapter::send(Nanoseconds now) {
    for (;;) {
        if (!waiting_) {
            waiting_ = engine_->poll_transmit(now, outgoing_, port::batch_segments_max);
        }
        if (!waiting_) return;
        const Port& port = ports_[waiting_->port - 1U];
        const iovec piece{outgoing_.data(), waiting_->bytes};
        const port::Departure departure{
            .source = waiting_->source,
            .destination = waiting_->destination,
            .interface = port.interface.index,
            .segment_bytes = waiting_->segments > 1 ? waiting_->segment_bytes : 0,
            .pieces = std::span(&piece, 1)};
        if (port.interface.carrier && wire_.send(departure) == port::Sent::later) return;
        if (capture_) capture(*waiting_);
        waiting_.reset();
    }
}

void Adapter::capture(const port::Datagram& datagram) {
    capture_->add({.source = datagram.source,
                   .destination = datagram.destination,
                   .source_port = datagram.source_port,
                   .number = static_cast<std::uint16_t>(datagram.number),
                   .packet = datagram.packet},
                  std::chrono::system_clock::now());
    capture_->flush();
}

void Adapter::capture(const Transmission& sent) {
    const auto at = std::chrono::system_clock::now();
    const std::span<const std::byte> bytes = std::span(outgoing_).first(sent.bytes);
    const std::size_t step = sent.segments > 1 ? sent.segment_bytes : sent.bytes;
    std::uint16_t number = 0;
    for (std::size_t from = 0; from < bytes.size(); from += step, ++number) {
        capture_->add({.source = sent.source,
                       .destination = sent.destination,
                       .source_port = sent.source_udp_port,
                       .number = number,
                       .packet = bytes.subspan(from, std::min(step, bytes.size() - from))},
                      at);
    }
    capture_->flush();
}

void Adapter::tell_events() {
    while (const std::optional<Event> event = engine_->poll_event()) {
        if (tell_) tell_(*event);
    }
}

void Adapter::read_ports() {
    port::drain_watch(watch_);
    std::vector<port::Interface> found = port::read_interfaces(config_.interfaces);
    for (std::size_t index = 0; index < found.size(); ++index) {
        Port& port = ports_[index];
        port.gids = updated(port.gids, found[index].addresses);
        port.interface = std::move(found[index]);
        const PortState state = port.interface.carrier ? PortState::active : PortState::down;
        const auto number = static_cast<std::uint8_t>(index + 1);
        if (engine_->port_state(number) != state) engine_->on_port_state(number, state);
    }
    if (tell_) transmit(now());
}

std::uint32_t Adapter::take_number() {
    for (std::uint32_t step = 0; step < port::numbers_per_slot; ++step) {
        last_number_ = (last_number_ + 1) % port::numbers_per_slot;
        const std::uint32_t number = port::first_number(wire_.slot()) + last_number_;
        if (!engine_->find(number)) return number;
    }
    return 0;
}

void Adapter::abandon() {
    close(wire_.socket());
    close(wire_.mailbox());
    close(watch_.number());
}

}  // namespace lanewise::verbs::abi
