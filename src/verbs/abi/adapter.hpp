// SPDX-License-Identifier: BSD-3-Clause
//
// The adapter: what a card would be. The pure engine (verbs/proto), the socket
// and the interfaces (verbs/port) and the clock, joined by one lock.
//
// Nothing runs by itself. A round of progress reads what has arrived, lets time
// pass, and sends what is due. A program that polls makes progress inside its
// poll; for one that does not, the helper thread (progress_thread.hpp) does.

#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.hpp"
#include "base/result.hpp"
#include "verbs/abi/config.hpp"
#include "verbs/abi/ports.hpp"
#include "verbs/faults/arrived.hpp"
#include "verbs/port/capture.hpp"
#include "verbs/port/wire.hpp"
#include "verbs/proto/device/device.hpp"

namespace lanewise::verbs::abi {

/* Prints one line on standard error. */
void warn(const std::string& sentence);

class Adapter {
  public:
    // `notify` is called for each event of the engine, under the lock.
    static Result<std::unique_ptr<Adapter>> open(const Config& config,
                                                 std::function<void(const Event&)> notify);

    std::mutex& lock() { return lock_; }
    // What follows wants the lock held.
    Device& engine() { return *engine_; }
    const std::vector<Port>& ports() const { return ports_; }
    const Config& config() const { return config_; }

    // A round of progress: reads all there is, lets time pass, sends, and reports events.
    void progress(Nanoseconds now);
    // The same for the helper thread, while the program may be about to answer: acknowledgements
    // wait for that. True where there was something to read.
    bool serve(Nanoseconds now);
    // The same for a program that polls a queue, and will be back at once: reads no further than to
    // the first completion, in any queue, since the program polls the others next; and lets
    // acknowledgements wait for what the program sends then.
    void progress_towards_completion(Nanoseconds now);
    // Whether a program that polls all the time may do without a round: there was one just before,
    // nothing has come through memory since, and nothing is to be sent.
    bool may_skip_round(Nanoseconds now) const {
        return now - rounded_at_ < round_least_ns && !waiting_ && engine_->idle() &&
               wire_.is_idle_in_memory();
    }
    // Whether the last round took so much that it lasted for a while.
    bool took_much() const { return taken_bytes_ > 4096; }
    // Sends what is due and reports events.
    void transmit(Nanoseconds now);
    // The same, and acknowledgements that wait for data to the same peer as well.
    void send_all(Nanoseconds now);
    // Reads what other processes forwarded.
    void take_forwarded();
    // Datagrams to the group reach a queue pair, or no longer: 0, or an errno.
    int attach(QueuePair *queue_pair, const Address& group);
    int detach(QueuePair *queue_pair, const Address& group);
    // The interfaces as they are now; called without the lock when the watch is readable. The
    // kernel has one lock for the networks of all namespaces, and may take long to answer.
    std::vector<port::Interface> look_at_interfaces() const;
    void take_interfaces(std::vector<port::Interface> found);
    Nanoseconds next_deadline() { return std::min(engine_->next_deadline(), next_fault_end()); }
    // Whether the device has failed for good (IBV_EVENT_DEVICE_FATAL); to be had without the lock.
    bool is_dead() const { return is_dead_.load(std::memory_order_relaxed); }
    // When the last packet came; to be had without the lock.
    Nanoseconds arrived_at() const { return arrived_at_.load(std::memory_order_relaxed); }

    // Packets that reached this process by mistake.
    std::uint64_t forwarded() const { return wire_.forwarded(); }
    // Letters of other users.
    std::uint64_t letters_refused() const { return wire_.letters_refused(); }

    // For faults: a queue pair is reset or destroyed, and what arrives for its number is new.
    void forget_arrived(std::uint32_t number) { arrived_.forget(number); }

    // A queue-pair number that nobody else uses; 0 where all are taken.
    std::uint32_t take_number();

    // What the helper thread waits for.
    int socket() const { return wire_.socket(); }
    int mailbox() const { return wire_.mailbox(); }
    // What has no room for what is to be sent next; -1 if nothing waits for room. To be had without
    // the lock.
    int full_socket() const { return full_socket_.load(std::memory_order_relaxed); }
    int watch() const { return watch_.number(); }
    // For the helper thread, without the lock: it is about to wait, true if there is something to
    // read in memory; and it waits no longer.
    bool sleep() { return wire_.sleep(); }
    void wake() { wire_.wake(); }
    // Readable where a process of this host has ended, for drop_ended(): with the lock, forgets
    // those that have; true if one has left something to read.
    int ended() const { return wire_.ended(); }
    bool drop_ended() { return wire_.drop_ended(); }
    // After fork: closes in the child what belongs to the parent.
    void abandon();

  private:
    // Shorter than anything that happens by time.
    static constexpr Nanoseconds round_least_ns = 1'000;

    Adapter(Config config, port::Wire wire, Descriptor watch,
            std::function<void(const Event&)> notify);

    DeviceConfig engine_config() const;
    Origin origin_of(const AddressVector& to, std::uint32_t reliable_qpn);
    port::Route route_of(std::uint8_t port, const Address& source,
                         const Address& destination) const;
    void capture(std::span<const std::byte> packet, const Arrival& from);
    void capture(const Transmission& sent);
    void end_full_capture();
    void take(const port::Datagram& datagram, Nanoseconds now);
    void take_with_faults(std::span<const std::byte> packet, const Arrival& arrival,
                          Nanoseconds now);
    // What a script of faults asks for (packet_faults.cpp).
    void take_corrupted(std::span<const std::byte> packet, const Arrival& arrival, Nanoseconds now);
    void befall(std::string_view what, std::uint8_t port, Nanoseconds until);
    bool is_held_down(std::uint8_t port) const;
    void release_ports(Nanoseconds now);
    std::vector<port::Interface> known_interfaces() const;
    Nanoseconds next_fault_end() const;
    void move_first_gid(std::uint8_t port);
    void take_late(Nanoseconds now);
    // `time` becomes that of the arrival.
    bool read_batch(Nanoseconds& time);
    bool read_likely_batch(Nanoseconds& time);
    void finish_round(Nanoseconds now);
    void send(Nanoseconds now);
    std::optional<std::uint8_t> port_at(const Address& address);
    std::optional<std::uint8_t> port_of_interface(unsigned interface) const;
    std::vector<port::Home> homes() const;
    std::optional<Transmission> take_transmission(Nanoseconds now);
    void notify_events();
    // The addresses of a port are no longer those of `before`.
    void on_addresses_changed(std::uint8_t port, const GidTable& before);

    Config config_;
    std::mutex lock_;
    port::Wire wire_;
    Descriptor watch_;
    std::vector<Port> ports_;
    std::vector<port::Home> groups_;     // that queue pairs are attached to
    Address last_address_ = no_address;  // that a packet came to, and its port
    std::uint8_t last_port_ = 0;
    std::unique_ptr<Device> engine_;
    std::atomic<Nanoseconds> arrived_at_ = 0;
    Nanoseconds rounded_at_ = 0;   // the last round of progress
    std::size_t taken_bytes_ = 0;  // in that round
    std::atomic<int> full_socket_ = -1;
    std::function<void(const Event&)> notify_;
    std::vector<std::byte> outgoing_;
    std::optional<Transmission> waiting_;  // what lies there and the socket had no room for
    std::optional<port::Capture> capture_;
    struct Late {
        std::vector<std::byte> packet;
        Arrival arrival;
    };
    faults::Arrived arrived_;                // where there are faults
    std::multimap<Nanoseconds, Late> late_;  // packets that a fault delays, by when they arrive
    std::array<Nanoseconds, ports_max> held_down_until_{};  // by a fault; 0: they are not
    bool has_port_fault_ = false;
    std::atomic<bool> is_dead_ = false;  // since a fault
    std::uint32_t last_number_ = 0;
};

// What the device of this process is doing, as one JSON object for `lanewise rdma status`. Call it
// with the adapter's lock held (status.cpp).
std::string status_of(Adapter& adapter);

}  // namespace lanewise::verbs::abi
