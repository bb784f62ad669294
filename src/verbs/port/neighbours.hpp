// SPDX-License-Identifier: BSD-3-Clause
//
// Processes of this host: packets for their queue pairs go through memory (shared_ring.hpp) and not
// through the kernel. Who sends often to a process makes a ring and offers it by a letter to the
// mailbox of that process, which takes it if it is of the same user and has the address that is
// meant; and writes to it once a process of its own user has taken it. Until then, and where nobody
// takes it, packets go over UDP.

#pragma once

#include <sys/epoll.h>
#include <unistd.h>

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "verbs/port/address.hpp"
#include "verbs/port/connected_socket.hpp"
#include "verbs/port/shared_ring.hpp"
#include "verbs/port/slot.hpp"

namespace lanewise::verbs::port {

// A letter with the two descriptors of a ring.
struct RingOffer {
    static constexpr std::uint64_t meant = 0x32676e6972657377;
    std::uint64_t what = meant;
    Address destination{};
};

class Neighbours {
  public:
    static constexpr std::uint64_t uses_before_offer = 16;
    // If nobody has taken the ring by then, the process keeps to sockets, or is too busy. The next
    // one is offered after several times as many uses.
    static constexpr std::uint64_t uses_before_refused = 1024;
    static constexpr std::uint64_t next_offer_factor = 16;
    static constexpr std::size_t rings_max = 512;  // in each direction

    // Whether what goes to an address of the process that has `slot` can go through memory. Counts
    // a use, and may offer a ring.
    bool reaches(const Slot& own, std::uint32_t slot, const Address& destination);
    // `later` if there is no room; `lost` if the ring has been given up.
    Sent send(std::uint32_t slot, const RingRecord& record, std::span<const iovec> pieces);

    // Takes the ring of a process of the same user; the caller watches its bell.
    const SharedRing *take(Descriptor memory, Descriptor bell);
    // Hands the next record to `take`, from the ring that the last came from, else from another.
    template <typename Take>
    bool receive(const Take& take);
    bool has_rings() const { return !incoming_.empty(); }
    bool has_records() const;

    // For the thread that takes offers, without the lock: it is about to sleep, true if there is
    // something to read; and it is awake.
    bool sleep();
    void wake();
    // Readable where a process has ended with which this one shares a ring.
    int ended() const { return ended_.number(); }
    // For the same thread: drops the rings of those that have ended, from which the next process
    // with their slot would get nothing, and those to be read once all of it is read. True if there
    // is one left to be read.
    bool drop_ended();

    void close_in_child() const;

  private:
    using Key = std::pair<std::uint32_t, Address>;
    struct Outgoing {
        std::uint64_t uses = 0;
        std::uint64_t offers_at = uses_before_offer;
        std::uint64_t offered_at = 0;
        std::optional<SharedRing> ring;
        std::chrono::steady_clock::time_point full_since{};
    };
    struct Incoming {
        SharedRing ring;
        bool has_ended = false;
    };
    void offer(const Slot& own, const Key& to, Outgoing& outgoing);
    void give_up(Key key, Outgoing& outgoing);
    bool watch(int bell) const;
    void forget(int bell);
    Outgoing *find(const Key& key);

    std::map<Key, Outgoing> outgoing_;
    std::pair<const Key, Outgoing> *last_found_ = nullptr;
    std::vector<Incoming> incoming_;
    uid_t user_ = getuid();
    std::size_t likely_ = 0;
    Descriptor ended_{epoll_create1(EPOLL_CLOEXEC)};
};

template <typename Take>
bool Neighbours::receive(const Take& take) {
    for (std::size_t tried = 0; tried < incoming_.size(); ++tried) {
        const std::size_t at = (likely_ + tried) % incoming_.size();
        SharedRing& ring = incoming_[at].ring;
        RingRecord record;
        const auto packets = ring.front(record);
        if (!packets) continue;
        likely_ = at;
        take(record, *packets);
        ring.pop();
        return true;
    }
    return false;
}

}  // namespace lanewise::verbs::port
