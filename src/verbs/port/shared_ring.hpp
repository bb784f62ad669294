// SPDX-License-Identifier: BSD-3-Clause
//
// A ring of records in memory that two processes of one user share: one writes, one reads, and
// neither waits for the other (Lamport, Specifying Concurrent Program Modules, 1983). The data are
// mapped twice in a row, so that a record is never cut in two. A record begins with a word that is
// zero until all of the record is there, so that a reader finds a small one in a single cache line.
// The reader says when it is about to sleep, and the writer then wakes it through a socket, which
// also tells each that the other has died.

#pragma once

#include <sys/types.h>
#include <sys/uio.h>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "base/descriptor.hpp"
#include "verbs/port/address.hpp"

namespace lanewise::verbs::port {

// What is said of the packets of a departure; the rest is as in Departure.
struct RingRecord {
    std::uint32_t bytes = 0;
    std::uint16_t segment_bytes = 0;
    Address source{};
    Address destination{};
};

class SharedRing {
  public:
    static constexpr std::size_t data_bytes = 2 << 20;
    // More records of the largest size than a window holds.
    static constexpr std::size_t record_bytes_max = data_bytes / 4;

    // Makes the memory and the sockets; the other end is for `map` in another process.
    struct Ends;
    static std::optional<Ends> make();
    // Of descriptors that came from another process: none if they are not those of a ring.
    static std::optional<SharedRing> map(Descriptor memory, Descriptor bell);

    SharedRing(SharedRing&& other) noexcept;
    SharedRing& operator=(SharedRing&& other) noexcept;
    ~SharedRing();

    // For the writer. False if there is no room.
    bool write(const RingRecord& record, std::span<const iovec> pieces);
    // Whether a process of `user` has taken this ring, and is alive as far as is known. Nothing is
    // to be written before: anybody can have the name to which a ring was sent.
    bool is_accepted(uid_t user);
    bool was_accepted() const { return is_accepted_; }
    bool is_broken() const { return is_broken_.load(std::memory_order_relaxed); }

    // For the reader.
    void accept() const;
    bool empty() const;
    // The next record and its packets, which stay valid until pop(); none if there is none, or if
    // the writer has written nonsense, after which nothing more comes.
    std::optional<std::span<const std::byte>> front(RingRecord& record);
    void pop();
    // Asks to be woken by the descriptor; true if there is something to read already.
    bool sleep();
    // The reader is awake.
    void wake();

    int bell() const { return bell_.number(); }
    // Whether the process at the other end has died, or given the ring up.
    bool is_left() const;

    // The memory is kept by both processes; only a descriptor has to be handed over.
    int memory() const { return memory_.number(); }
    void close_memory() { memory_ = {}; }
    // After fork, in the child.
    void close_in_child() const;

  private:
    struct Head;
    SharedRing(Descriptor memory, Descriptor bell, std::byte *base)
        : memory_(std::move(memory)), bell_(std::move(bell)), base_(base) {}

    Head& head() const;
    std::byte *at(std::uint64_t position) const;
    bool has_room(std::size_t bytes);
    Descriptor memory_;
    Descriptor bell_;
    std::byte *base_ = nullptr;
    // Of the writer: what it has written, and how much of that the reader had taken when it last
    // looked. To look each time would take the counter out of the reader's cache.
    std::uint64_t written_ = 0;
    std::uint64_t taken_ = 0;
    // Of the reader: what it has taken, and the bytes of the record that it takes next. A thread
    // that is about to sleep looks whether there is more while another one reads.
    std::atomic<std::uint64_t> read_{0};
    std::size_t front_bytes_ = 0;
    std::uint64_t rings_due_ = 0;  // bytes on the bell that the writer has announced, and not taken
    // The addresses of the last record, which the next one names only if they are others.
    std::array<Address, 2> addresses_{};
    bool is_accepted_ = false;
    std::atomic<bool> is_broken_{false};
};

struct SharedRing::Ends {
    SharedRing writer;
    Descriptor reader_bell;
};

}  // namespace lanewise::verbs::port
