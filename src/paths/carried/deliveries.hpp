// SPDX-License-Identifier: BSD-3-Clause
//
// What arrives for a program. The hardware receives frames into slots of the carrier, where they
// wait, in order, until the program has posted receives; then data is copied there. Atomic
// operations of the peer are executed here, by the processor. Pure, but for the memory that it
// copies to.

#pragma once

#include <infiniband/verbs.h>

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <vector>

#include "paths/carried/completions.hpp"
#include "paths/carried/frame.hpp"
#include "paths/carried/receives.hpp"
#include "paths/carried/regions.hpp"
#include "paths/carried/send_log.hpp"

namespace lanewise::paths::carried {

// The frame that the hardware has received into a slot; none where it is not the message that must
// come next. Whether a write is that: of its number it tells the lower half, as immediate data.
std::optional<Frame> read_frame(const std::byte *slot, std::uint32_t received_bytes,
                                std::uint64_t next);
bool is_write_number(std::uint32_t immediate, std::uint64_t next);

// Does what the frame asks for, once. The hardware would not say whether it has. `access` is what
// the program has allowed its peer. Returns the result, to be sent as a request of ours.
Request perform_atomic(const Frame& frame, const DomainRegions& regions, unsigned access);
// Puts the result of an atomic operation where its request says.
ibv_wc_status put_result(const Frame& result, const Request& request, const DomainRegions& regions);

class Deliveries {
  public:
    Deliveries(Receives& source, DomainRegions regions) : source_(source), regions_(regions) {}

    // A frame with data, or one that announces a write. The memory of its slot is kept as it is
    // until the frame has been delivered, or the slots are given back.
    void hold(std::uint32_t slot, const std::byte *memory, std::uint32_t data_bytes) {
        held_.push_back({slot, memory, data_bytes, {}});
        ++slots_;
    }
    bool empty() const { return held_.empty(); }
    // That hold frames.
    std::size_t slots() const { return slots_; }
    // Copies the frames to memory of its own; the slots are free again.
    std::vector<std::uint32_t> give_slots_back();

    struct Delivered {
        std::optional<std::uint32_t> slot;  // is free again
        std::optional<ibv_wc> completion;
        Waking waking = Waking::usual;
    };
    // Delivers the oldest frame; none if there is none, or no receive for it.
    std::optional<Delivered> next();
    // The receive that a send of several frames has begun to fill.
    std::optional<Receive> take_current();

  private:
    struct Held {
        std::optional<std::uint32_t> slot;
        const std::byte *memory = nullptr;
        std::uint32_t data_bytes = 0;  // behind the frame
        std::vector<std::byte> copy;   // if it has no slot
    };
    ibv_wc_status scatter(const std::byte *data, std::uint32_t length_bytes);

    Receives& source_;
    DomainRegions regions_;
    std::deque<Held> held_;
    std::size_t slots_ = 0;
    std::optional<Receive> current_;
    std::uint64_t current_bytes_ = 0;
};

}  // namespace lanewise::paths::carried
