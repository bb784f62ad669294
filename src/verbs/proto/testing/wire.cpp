// SPDX-License-Identifier: BSD-3-Clause

#include "verbs/proto/testing/wire.hpp"

#include <algorithm>
#include <utility>

namespace lanewise::verbs::testing {

Address address_of(Family family, std::size_t peer, std::uint8_t port) {
    Address address{};
    if (family == Family::ipv4) {
        address[10] = address[11] = 0xff;
        address[12] = 10;
    } else {
        address[0] = 0xfd;
    }
    address[14] = port;
    address[15] = static_cast<std::uint8_t>(peer + 1);
    return address;
}

Wire::Wire(const DeviceConfig& config, std::uint64_t seed)
    : random(seed),
      devices_{Device(config, origin_of(0)), Device(config, origin_of(1))},
      paths_(config.port_count),
      buffer_(std::size_t{64} * 1024) {}

OriginOf Wire::origin_of(std::size_t sender) {
    return [this, sender](const AddressVector& to, std::uint32_t) {
        return Origin{.source_udp_port = to.source_udp_port, .ip_id = next_ip_ids_[sender]};
    };
}

bool Wire::chance(double probability) {
    return probability > 0 && std::uniform_real_distribution<>()(random) < probability;
}

void Wire::cut(std::uint8_t port) {
    path(port).cut = true;
    std::erase_if(flights_, [&](const auto& entry) { return entry.second.arrival.port == port; });
    for (Device& device : devices_) {
        device.on_port_state(port, PortState::down);
    }
}

void Wire::mend(std::uint8_t port) {
    path(port).cut = false;
    for (Device& device : devices_) {
        device.on_port_state(port, PortState::active);
    }
}

void Wire::deliver(std::size_t peer, std::span<const std::byte> datagram, const Arrival& arrival) {
    devices_[peer].on_packet(datagram, arrival, now_);
}

// Waits for the packets before it, and is marked or lost where that takes too long. Returns how
// long until it has left.
std::optional<Nanoseconds> Wire::pass(Flight& flight, const Faults& faults) {
    Nanoseconds& free_at = free_at_[{flight.arrival.port, flight.receiver}];
    const Nanoseconds wait = std::max(free_at - now_, Nanoseconds{0});
    if (wait > faults.drops_above_ns) {
        return std::nullopt;
    }
    longest_wait_ns = std::max(longest_wait_ns, wait);
    if (wait > faults.marks_above_ns && (flight.arrival.traffic_class & congestion_bits) != 0) {
        flight.arrival.traffic_class |= marked;
    }
    const double passage_ns =
        faults.rate_bits_per_s > 0
            ? 8e9 * static_cast<double>(flight.bytes.size()) / faults.rate_bits_per_s
            : 0;
    free_at = now_ + wait + static_cast<Nanoseconds>(passage_ns);
    return free_at - now_;
}

void Wire::fly(const Flight& flight, const Faults& faults) {
    Flight flown = flight;
    if (chance(faults.corrupt)) {
        const std::size_t bit = random() % (flown.bytes.size() * 8);
        flown.bytes[bit / 8] ^= static_cast<std::byte>(1u << bit % 8);
    }
    const auto passage_ns = pass(flown, faults);
    if (!passage_ns) {
        return;
    }
    Nanoseconds delay = faults.delay_ns + *passage_ns;
    if (chance(faults.reorder)) {
        delay += faults.held_ns > 0
                     ? faults.held_ns
                     : static_cast<Nanoseconds>(random() %
                                                static_cast<std::uint64_t>(10 * faults.delay_ns));
    }
    flights_.emplace(now_ + delay, std::move(flown));
}

void Wire::launch(std::size_t sender, const Transmission& run, std::span<const std::byte> bytes) {
    const Faults& faults = path(run.port);
    ++transmissions;
    ++next_ip_ids_[sender];
    for (std::size_t segment = 0; segment < run.segments; ++segment) {
        ++datagrams;
        const std::size_t from = segment * run.segment_bytes;
        const std::size_t length = std::min(run.segment_bytes, run.bytes - from);
        const auto whole = bytes.subspan(from, length);
        Flight flight{.receiver = 1 - sender, .arrival = {}, .bytes = {whole.begin(), whole.end()}};
        if (tap && !tap(sender, flight.bytes)) {
            continue;
        }
        if (faults.cut || faults.deaf == flight.receiver || chance(faults.loss)) {
            continue;
        }
        flight.arrival = {.port = run.port,
                          .traffic_class = run.traffic_class,
                          .hop_limit = run.hop_limit,
                          .source_udp_port = run.origin.source_udp_port,
                          .source = run.source,
                          .destination = run.destination};
        if (random() % 2 == 0) {
            flight.arrival.ip_id = static_cast<std::uint16_t>(run.origin.ip_id + segment);
        }
        fly(flight, faults);
        if (chance(faults.duplicate)) {
            fly(flight, faults);
        }
    }
}

void Wire::pump() {
    for (std::size_t sender = 0; sender < 2; ++sender) {
        while (const auto run = devices_[sender].poll_transmit(now_, buffer_, 64)) {
            launch(sender, *run, std::span(buffer_).first(run->bytes));
        }
    }
}

bool Wire::run_until(const std::function<bool()>& done, Nanoseconds until) {
    while (true) {
        pump();
        if (done()) {
            return true;
        }
        Nanoseconds next = flights_.empty() ? never : flights_.begin()->first;
        for (Device& device : devices_) {
            next = std::min(next, device.next_deadline());
        }
        if (next == never || next > until) {
            now_ = until == never ? now_ : until;
            return false;
        }
        now_ = std::max(now_, next);
        for (Device& device : devices_) {
            device.on_deadline(now_);
        }
        while (!flights_.empty() && flights_.begin()->first <= now_) {
            const Flight flight = std::move(flights_.begin()->second);
            flights_.erase(flights_.begin());
            deliver(flight.receiver, flight.bytes, flight.arrival);
        }
    }
}

void Wire::run_for(Nanoseconds duration_ns) {
    run_until([] { return false; }, now_ + duration_ns);
}

}  // namespace lanewise::verbs::testing
