// SPDX-License-Identifier: BSD-3-Clause
//
// Devices that exist in a test only, behind the verbs that carrying queue pairs needs: two hosts,
// two devices each, and a link between those of the same number. Time moves only when the test says
// so, and a seed decides about every packet: when it arrives, whether it is lost, or comes long
// after, or comes once more when the queue pair that it is for has begun anew. A reliable queue
// pair is one of the InfiniBand standard (9.7): packet numbers, cumulative acknowledgements, going
// back, receivers that are not ready, work that is flushed, a while later, by the error state. What
// is under way to a queue pair stays under way when that is reset.

#pragma once

#include <infiniband/verbs.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <random>
#include <vector>

#include "paths/carried/verbs.hpp"
#include "paths/path_machine.hpp"

namespace lanewise::paths::carried::testing {

inline constexpr std::size_t host_count = 2;
inline constexpr std::size_t devices_each = 2;
inline constexpr int pieces_max = 32;  // of a request

struct Link {
    bool up = true;               // both ports have a carrier
    bool silent = false;          // packets are lost, and nobody is told
    bool refuses_writes = false;  // as to memory that may not be written
    double loss = 0;
    double late = 0;  // packets that take up to `late_max_ns`
    // Packets of which the network keeps a copy until their queue pair has been reset and is ready
    // again, when it brings them within `kept_max_ns`.
    double kept = 0;
    Nanoseconds delay_max_ns = 30'000;
    Nanoseconds late_max_ns = 20'000'000;
    Nanoseconds kept_max_ns = 2'000'000;
};

struct VirtualDevice;
struct VirtualQueuePair;
struct Packet;

class VirtualNetwork {
  public:
    explicit VirtualNetwork(std::uint32_t seed);
    ~VirtualNetwork();
    VirtualNetwork(const VirtualNetwork&) = delete;
    VirtualNetwork& operator=(const VirtualNetwork&) = delete;

    static Verbs verbs();
    static Nanoseconds now();

    ibv_context *context(std::size_t host, std::size_t device);
    ibv_gid gid(std::size_t host, std::size_t device) const;
    // The address of who has a LID, or that of a path by addresses.
    ibv_gid gid_of(const ibv_ah_attr& path) const;
    static std::uint16_t lid(std::size_t host, std::size_t device) {
        return static_cast<std::uint16_t>(1 + host * devices_each + device);
    }
    Link& link(std::size_t number) { return links_[number]; }
    // The port of a device carries no longer packets from now on.
    void set_mtu(std::size_t host, std::size_t device, ibv_mtu mtu);
    // The ports of a link get or lose their carrier, and the devices report it.
    void set_up(std::size_t number, bool up);
    // A device dies: it flushes all work, reports that, and refuses every call from then on.
    void fail(std::size_t host, std::size_t device);
    // A completion queue of a device has run over, which an event says.
    void lose_completions(std::size_t host, std::size_t device, ibv_cq *queue);
    // A device has no address from now on, or has it again and reports that.
    void remove_address(std::size_t host, std::size_t device);
    void restore_address(std::size_t host, std::size_t device);
    // The next object of any device has the number behind this one.
    static void number_from(std::uint32_t number);

    // From now on work is flushed as soon as a queue pair is in the error state: who destroys one
    // waits for that, and time does not move meanwhile.
    void flush_at_once() { flush_max_ns_ = 0; }
    Nanoseconds flush_max_ns() const { return flush_max_ns_; }

    std::uint32_t draw(std::uint32_t below) {
        return static_cast<std::uint32_t>(random_() % below);
    }
    bool chance(double probability);
    void after(Nanoseconds delay, std::function<void()> then);
    // Until the moment, or the first call of after() that comes before.
    void run_until(Nanoseconds moment);

    // Copies of packets that came to a queue pair which had begun anew, and of these, those that
    // it would have taken for new ones.
    std::uint64_t kept_count() const { return kept_count_; }
    std::uint64_t mistaken_count() const { return mistaken_count_; }

    // For the devices.
    void send(const VirtualDevice& from, Packet packet);
    // A queue pair has begun anew.
    void bring_kept(VirtualQueuePair& queue_pair);

  private:
    std::mt19937 random_;
    Nanoseconds flush_max_ns_ = 3'000'000;
    std::array<Link, devices_each> links_;
    std::vector<std::unique_ptr<VirtualDevice>> devices_;
    std::multimap<std::uint32_t, Packet> kept_;  // by the number of who they are for
    std::uint64_t kept_count_ = 0;
    std::uint64_t mistaken_count_ = 0;
    std::multimap<Nanoseconds, std::function<void()>> events_;
};

}  // namespace lanewise::paths::carried::testing
