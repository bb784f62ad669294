// SPDX-License-Identifier: BSD-3-Clause
//
// In flight: the transfers of a disk queue that are under way, by slots of memory.
//
// A slot is a number of the caller's choice that stands for memory. It may hold several
// transfers at once; whoever uses its memory again waits for the slot first, so the
// slots bound what is outstanding.

#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <unordered_map>

#include "wavefront/store/disk_queue.hpp"

namespace lanewise::wavefront {

class InFlight {
  public:
    struct Landed {
        std::uint64_t tag = 0; /* of the transfer, as the caller gave it */
        Outcome outcome;
    };

    explicit InFlight(DiskQueue& queue) : queue_(queue) {}
    /* Returns when nothing is under way: the memory may be freed or used again. */
    ~InFlight();
    InFlight(const InFlight&) = delete;
    InFlight& operator=(const InFlight&) = delete;

    /* `what` is named in a failure, such as "reading strip 3 of u"; it may be empty. */
    void submit(std::uint64_t slot, const Transfer& transfer, std::string what);
    /* Blocks until one transfer has landed, or the queue is woken: then nothing comes back. */
    std::optional<Landed> wait();
    /* Blocks until nothing of the slot is under way; its first failure, reported once. */
    Outcome wait_for(std::uint64_t slot);

  private:
    struct Sent {
        std::uint64_t slot = 0;
        std::uint64_t tag = 0;
        std::string what;
    };
    struct Slot {
        std::uint64_t under_way = 0;
        Outcome outcome = Done{};
    };

    DiskQueue& queue_;
    std::uint64_t next_ = 0;
    std::unordered_map<std::uint64_t, Sent> sent_;
    std::unordered_map<std::uint64_t, Slot> slots_;
};

}  // namespace lanewise::wavefront
