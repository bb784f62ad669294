// SPDX-License-Identifier: BSD-3-Clause
//
// The connection manager of this process: the machine (machine/agent.hpp), the socket, the
// interfaces and the clock, joined by one lock, and a thread that reads messages and lets time
// pass. It has a slot and sockets of its own beside those of devices that the program opens.

#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "base/descriptor.hpp"
#include "base/result.hpp"
#include "verbs/abi/config.hpp"
#include "verbs/abi/ports.hpp"
#include "verbs/cm/machine/agent.hpp"
#include "verbs/port/wire.hpp"

namespace lanewise::verbs::cm {

// Prints one line on standard error.
void warn(const std::string& sentence);

// Whether the program has opened this device, and a fault has ended it (devices.cpp).
bool has_failed(std::size_t device);

// A mutex that knows whether the calling thread holds it.
class Lock {
  public:
    void lock() {
        mutex_.lock();
        holder_ = std::this_thread::get_id();
    }
    bool try_lock() {
        const bool is_locked = mutex_.try_lock();
        if (is_locked) holder_ = std::this_thread::get_id();
        return is_locked;
    }
    void unlock() {
        holder_ = std::thread::id();
        mutex_.unlock();
    }
    bool is_mine() const { return holder_ == std::this_thread::get_id(); }

  private:
    std::mutex mutex_;
    std::atomic<std::thread::id> holder_;
};

class Manager {
  public:
    // That of this process, opened by the first call; null where there can be none, with a line on
    // standard error the first time. `deliver` is called for each event, under the lock.
    static Manager *get(void (*deliver)(const ConnectionEvent&));

    Lock& lock() { return lock_; }
    // What follows wants the lock held.
    Agent& agent() { return agent_; }
    // Of all devices, one after the other.
    const std::vector<abi::Port>& ports() const { return ports_; }
    // Where a port of those lies: the number of its device, and its own on that device.
    struct Place {
        std::size_t device = 0;
        std::uint8_t port = 1;
    };
    Place place_of(std::uint8_t number) const;
    port::Wire& wire() { return wire_; }
    // Sends what the machine has to say and delivers what happened; ends what changes the machine.
    void settle();
    // A number that tells listeners apart.
    std::uint64_t take_cookie() { return ++cookies_; }

  private:
    Manager(std::vector<abi::Config> devices, port::Wire wire, Descriptor watch, Descriptor wake,
            void (*deliver)(const ConnectionEvent&));

    static Result<std::unique_ptr<Manager>> open(void (*deliver)(const ConnectionEvent&));
    static void leave_to_parent();
    static void end_connections();
    std::string status() const;
    bool is_cut_off(const Address& address) const;
    void read_ports();
    void read_messages();
    void take(const port::Datagram& datagram, bool may_wait);
    void hold(const port::Datagram& datagram);
    void take_held();
    Nanoseconds next_deadline() const;
    void post(const OutgoingMessage& outgoing);
    int start();
    void run();

    std::vector<abi::Config> devices_;
    Lock lock_;
    port::Wire wire_;
    Descriptor watch_;
    Descriptor wake_;
    std::vector<abi::Port> ports_;
    Agent agent_;
    void (*deliver_)(const ConnectionEvent&);
    // Requests for services that nobody offers yet.
    struct Held {
        Nanoseconds until = 0;
        port::Datagram datagram;  // of the bytes below
        Bytes packet;
    };
    std::deque<Held> held_;
    std::uint32_t psn_ = 0;
    std::uint64_t cookies_ = 0;
    std::uint64_t malformed_ = 0;
    Nanoseconds wakes_at_ = never;
};

}  // namespace lanewise::verbs::cm
