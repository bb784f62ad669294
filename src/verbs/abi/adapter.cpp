// SPDX-License-Identifier: BSD-3-Clause

#include "verbs/abi/adapter.hpp"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <utility>

#include "verbs/faults/injector.hpp"
#include "verbs/port/random.hpp"
#include "verbs/proto/wire/icrc.hpp"
#include "verbs/proto/wire/packet.hpp"

namespace lanewise::verbs::abi {
namespace {

// How many batches a round of progress reads at most, before it looks at deadlines.
constexpr int batches_per_round = 8;
// Longer than a program takes from finding a message to posting its answer.
constexpr Nanoseconds ack_delay_ns = 20'000;
// Half of what a requester waits for before it asks (probe_ns), since the peer may be late, too.
constexpr Nanoseconds lazy_ack_ns = 250'000;
// What lies within the noise of schedulers is not taken for a loss.
constexpr Nanoseconds reorder_ns = 200'000;
constexpr Nanoseconds probe_ns = 500'000;
// A peer that misses an acknowledgement asks five times within this (probe_ns, each time doubled).
constexpr Nanoseconds time_wait_ns = 20'000'000;
// Ethernet has no service levels. ConnectX reports in their place what stands in the 40 bytes
// before a datagram, and UCX believes it: bit 3 is UDP, the lower ones are 1 for IPv6 and 2 for
// IPv4.
constexpr std::uint8_t came_over_ipv6 = 8 | 1;
constexpr std::uint8_t came_over_ipv4 = 8 | 2;

// Takes packets at the time when the first of them was read, which it stores. A caller that waited
// for the lock, or was not running, has read the clock long before: round trips would seem too
// short. Those of packets in memory are of no interest.
template <typename Take>
auto at_arrival(Nanoseconds& time, Take take) {
    return [&time, take, is_first = true](const port::Datagram& one) mutable {
        if (is_first && !one.in_memory) {
            time = monotonic_ns();
            is_first = false;
        }
        take(one, time);
    };
}

// Half of what a peer like this one can take in before it reads.
std::uint32_t window_bytes() {
    return std::clamp(port::Wire::receive_buffer_bytes() / 2, 128U << 10, window_bytes_max);
}

std::vector<port::Home> homes_of(std::span<const port::Interface> interfaces) {
    std::vector<port::Home> homes;
    for (const port::Interface& one : interfaces) {
        for (const Address& address : one.addresses) homes.push_back({address, one.index});
    }
    return homes;
}

}  // namespace

void warn(const std::string& sentence) {
    std::fprintf(stderr, "lanewise rdma run: %s\n", sentence.c_str());
}

Result<std::unique_ptr<Adapter>> Adapter::open(const Config& config,
                                               std::function<void(const Event&)> notify) {
    Result<port::Wire> wire = port::Wire::open(homes_of(port::read_interfaces(config.interfaces)));
    if (!wire) return wire.failure();
    Result<Descriptor> watch = port::watch_interfaces();
    if (!watch) return watch.failure();
    std::unique_ptr<Adapter> made(
        new Adapter(config, std::move(*wire), std::move(*watch), std::move(notify)));
    if (config.pcap.empty()) return made;
    Result<port::Capture> capture = port::Capture::open(config.pcap);
    if (!capture) return capture.failure();
    made->capture_ = std::move(*capture);
    return made;
}

Adapter::Adapter(Config config, port::Wire wire, Descriptor watch,
                 std::function<void(const Event&)> notify)
    : config_(std::move(config)),
      wire_(std::move(wire)),
      watch_(std::move(watch)),
      ports_(config_.interfaces.size()),
      engine_(std::make_unique<Device>(
          engine_config(),
          [this](const AddressVector& to, std::uint32_t qpn) { return origin_of(to, qpn); })),
      outgoing_(port::batch_bytes_max) {
    engine_->memory().draw_keys_with(port::random_number);
    // A capture shows what is on the wire, and has no place for packets without an ICRC.
    if (!config_.pcap.empty() || !config_.uses_memory) wire_.keep_to_sockets();
    if (config_.is_protected && ports_.size() == 2) {
        engine_->send_datagrams_also(
            [this](const AddressVector& to) { return other_way(ports_, to); });
    }
    take_interfaces(look_at_interfaces());
    while (engine_->poll_event()) {
    }
    notify_ = std::move(notify);
    wire_.answer_with([this] { return status_of(*this); });
}

DeviceConfig Adapter::engine_config() const {
    DeviceConfig made;
    made.window_bytes = window_bytes();
    made.reassembly_bytes = made.window_bytes;
    made.port_count = static_cast<std::uint8_t>(config_.interfaces.size());
    made.ack_delay_ns = ack_delay_ns;
    made.lazy_ack_ns = lazy_ack_ns;
    made.reorder_ns = reorder_ns;
    made.probe_ns = probe_ns;
    made.time_wait_ns = time_wait_ns;
    made.confirm_alternates = config_.is_protected;
    made.retry_window_ns = Nanoseconds{config_.retry_window_ms} * 1'000'000;
    made.congestion = config_.congestion;
    return made;
}

port::Route Adapter::route_of(std::uint8_t port, const Address& source,
                              const Address& destination) const {
    return {source, destination, ports_[port - 1U].interface.index};
}

Origin Adapter::origin_of(const AddressVector& to, std::uint32_t reliable_qpn) {
    return wire_.origin(route_of(to.port, to.source, to.destination), reliable_qpn);
}

bool Adapter::read_batch(Nanoseconds& time) {
    auto taker =
        at_arrival(time, [this](const port::Datagram& one, Nanoseconds at) { take(one, at); });
    return wire_.receive(std::ref(taker));
}

bool Adapter::read_likely_batch(Nanoseconds& time) {
    auto taker =
        at_arrival(time, [this](const port::Datagram& one, Nanoseconds at) { take(one, at); });
    return wire_.receive_likely(std::ref(taker));
}

void Adapter::finish_round(Nanoseconds time) {
    rounded_at_ = time;
    take_late(time);
    release_ports(time);
    if (engine_->next_deadline() <= time) engine_->on_deadline(time);
    send(time);
    notify_events();
}

bool Adapter::serve(Nanoseconds time) {
    int batches = 0;
    taken_bytes_ = 0;
    for (; batches < batches_per_round && read_batch(time); ++batches) send(time);
    finish_round(time);
    return batches > 0;
}

void Adapter::progress(Nanoseconds time) {
    serve(time);
    send_all(time);
}

void Adapter::progress_towards_completion(Nanoseconds time) {
    const std::uint64_t before = engine_->completions();
    taken_bytes_ = 0;
    send(time);
    int batches = 0;
    while (batches < batches_per_round && read_likely_batch(time)) {
        ++batches;
        if (engine_->completions() != before) break;
        send(time);
    }
    if (batches == 0) engine_->send_delayed_acks();
    finish_round(time);
}

void Adapter::transmit(Nanoseconds time) {
    send(time);
    notify_events();
}

void Adapter::send_all(Nanoseconds time) {
    engine_->send_delayed_acks();
    transmit(time);
}

void Adapter::take_forwarded() {
    const Nanoseconds time = monotonic_ns();
    while (wire_.receive_forwarded([&](const port::Datagram& datagram) { take(datagram, time); })) {
    }
    send(time);
    notify_events();
}

// Most packets come to the address of the one before.
std::optional<std::uint8_t> Adapter::port_at(const Address& address) {
    if (address == last_address_ && last_port_ > 0) return last_port_;
    const std::optional<std::uint8_t> port = port_of(ports_, address);
    if (port) {
        last_address_ = address;
        last_port_ = *port;
    }
    return port;
}

std::optional<std::uint8_t> Adapter::port_of_interface(unsigned interface) const {
    for (std::size_t index = 0; index < ports_.size(); ++index) {
        if (ports_[index].interface.index == interface) return static_cast<std::uint8_t>(index + 1);
    }
    return std::nullopt;
}

std::vector<port::Home> Adapter::homes() const {
    std::vector<port::Home> all;
    for (const Port& one : ports_) {
        for (const Address& address : one.interface.addresses) {
            all.push_back({address, one.interface.index});
        }
    }
    all.insert(all.end(), groups_.begin(), groups_.end());
    return all;
}

int Adapter::attach(QueuePair *queue_pair, const Address& group) {
    const std::uint8_t port = queue_pair->query().port;
    if (port < 1 || port > ports_.size()) return EINVAL;
    if (const int error = engine_->attach(queue_pair, group)) return error;
    const port::Home home{group, ports_[port - 1U].interface.index};
    if (std::find(groups_.begin(), groups_.end(), home) != groups_.end()) return 0;
    groups_.push_back(home);
    if (wire_.listen(homes())) return 0;
    groups_.pop_back();
    engine_->detach(queue_pair, group);
    return EADDRNOTAVAIL;
}

int Adapter::detach(QueuePair *queue_pair, const Address& group) {
    if (const int error = engine_->detach(queue_pair, group)) return error;
    if (engine_->has_members(group)) return 0;
    std::erase_if(groups_, [&](const port::Home& one) { return one.address == group; });
    return wire_.listen(homes()) ? 0 : EIO;
}

void Adapter::take(const port::Datagram& datagram, Nanoseconds now) {
    Arrival arrival;
    arrival.source = datagram.source;
    arrival.destination = datagram.destination;
    arrival.source_udp_port = datagram.source_port;
    arrival.in_memory = datagram.in_memory;
    arrival.traffic_class = datagram.traffic_class;
    arrival.hop_limit = datagram.hop_limit;
    arrival.likely_ip_id = static_cast<std::uint16_t>(datagram.number);
    if (config_.link_layer == LinkLayer::ethernet) {
        arrival.service_level = is_ipv4(datagram.source) ? came_over_ipv4 : came_over_ipv6;
    }
    if (capture_) capture(datagram.packet, arrival);
    arrived_at_.store(now, std::memory_order_relaxed);
    taken_bytes_ += datagram.packet.size();
    const std::optional<std::uint8_t> port = is_multicast(datagram.destination)
                                                 ? port_of_interface(datagram.interface)
                                                 : port_at(datagram.destination);
    if (!port || !ports_[*port - 1U].active || is_dead_) return;
    arrival.port = *port;
    if (faults::Injector::get()) {
        take_with_faults(datagram.packet, arrival, now);
    } else {
        engine_->on_packet(datagram.packet, arrival, now);
    }
}

// What the socket had no room for comes first, and still lies in the buffer.
std::optional<Transmission> Adapter::take_transmission(Nanoseconds now) {
    if (waiting_) return std::exchange(waiting_, std::nullopt);
    return engine_->poll_transmit(now, outgoing_, port::batch_segments_max);
}

void Adapter::send(Nanoseconds now) {
    while (const std::optional<Transmission> next = take_transmission(now)) {
        const Port& port = ports_[next->port - 1U];
        const iovec piece{outgoing_.data(), next->bytes};
        const port::Departure departure{
            .route = route_of(next->port, next->source, next->destination),
            .origin = next->origin,
            .segment_bytes = next->segments > 1 ? next->segment_bytes : 0,
            .traffic_class = next->traffic_class,
            .pieces = {&piece, 1}};
        const bool leaves = port.active && !is_dead_;
        const port::Sent sent = leaves ? wire_.send(departure) : port::Sent::lost;
        if (sent == port::Sent::later) {
            waiting_ = next;
            break;
        }
        if (sent == port::Sent::lost) engine_->on_send_failed(next->port);
        if (capture_) capture(*next);
    }
    full_socket_.store(waiting_ ? wire_.full_socket() : -1, std::memory_order_relaxed);
}

void Adapter::capture(std::span<const std::byte> packet, const Arrival& from) {
    capture_->add({.source = from.source,
                   .destination = from.destination,
                   .source_port = from.source_udp_port,
                   .ip_id = likely_ip_id(packet, from),
                   .traffic_class = from.traffic_class,
                   .hop_limit = from.hop_limit,
                   .packet = packet},
                  std::chrono::system_clock::now());
    end_full_capture();
}

void Adapter::capture(const Transmission& sent) {
    const auto at = std::chrono::system_clock::now();
    const auto bytes = std::span<const std::byte>(outgoing_).first(sent.bytes);
    const std::size_t step = sent.segments > 1 ? sent.segment_bytes : sent.bytes;
    std::uint16_t ip_id = sent.origin.ip_id;
    for (std::size_t from = 0; from < bytes.size(); from += step, ++ip_id) {
        capture_->add({.source = sent.source,
                       .destination = sent.destination,
                       .source_port = sent.origin.source_udp_port,
                       .ip_id = ip_id,
                       .traffic_class = sent.traffic_class,
                       .packet = bytes.subspan(from, std::min(step, bytes.size() - from))},
                      at);
    }
    end_full_capture();
}

// The program goes on: what it does matters more than what is seen of it.
void Adapter::end_full_capture() {
    const auto flushed = capture_->flush();
    if (flushed) return;
    warn(flushed.failure().sentence);
    capture_.reset();
}

void Adapter::notify_events() {
    while (const std::optional<Event> event = engine_->poll_event()) {
        if (notify_) notify_(*event);
    }
}

std::vector<port::Interface> Adapter::look_at_interfaces() const {
    port::drain_watch(watch_);
    return port::read_interfaces(config_.interfaces);
}

void Adapter::take_interfaces(std::vector<port::Interface> found) {
    last_port_ = 0;
    // Notices about other interfaces come here, too.
    bool has_changed = false;
    for (std::size_t index = 0; index < found.size(); ++index) {
        const auto number = static_cast<std::uint8_t>(index + 1);
        Port next = updated(ports_[index], std::move(found[index]));
        next.active = next.active && !is_held_down(number);
        std::swap(next, ports_[index]);
        has_changed = has_changed || !(next == ports_[index]);
        const PortState state = ports_[index].active ? PortState::active : PortState::down;
        if (engine_->port_state(number) != state) engine_->on_port_state(number, state);
        if (next.gids != ports_[index].gids) on_addresses_changed(number, next.gids);
    }
    const Outcome listens = wire_.listen(homes());
    if (!listens) warn(listens.failure().sentence);
    if (has_changed) wire_.close_connected();
    Mtu shortest = config_.mtu_max;
    for (const Port& port : ports_) shortest = std::min(shortest, active_mtu(port, config_));
    engine_->set_datagram_mtu(shortest);
    if (notify_) transmit(monotonic_ns());
}

void Adapter::on_addresses_changed(std::uint8_t port, const GidTable& before) {
    const GidTable& now = ports_[port - 1U].gids;
    for (std::size_t index = 0; index < now.size(); ++index) {
        const bool replaced = before[index] != no_address && now[index] != no_address;
        if (replaced) engine_->on_address_change(port, before[index], now[index]);
    }
    if (notify_) notify_({.kind = EventKind::gid_changed, .port = port});
}

std::uint32_t Adapter::take_number() {
    // The low bits count, so that a number is not soon used again; the others are not foretold.
    constexpr std::uint32_t counted = 64;
    std::uint32_t within = port::random_number() / counted * counted + ++last_number_ % counted;
    for (std::uint32_t step = 0; step < port::numbers_per_slot; ++step, ++within) {
        const std::uint32_t number =
            port::first_number(wire_.slot()) + within % port::numbers_per_slot;
        if (!engine_->find(number)) return number;
    }
    return 0;
}

void Adapter::abandon() {
    wire_.close_in_child();
    close(watch_.number());
}

}  // namespace lanewise::verbs::abi
