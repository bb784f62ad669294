// SPDX-License-Identifier: BSD-3-Clause
//
// Tile stream: tiles of a matrix on their way to or from the disk, in order,
// as many at a time as the disk takes at full speed.

#pragma once

#include <memory>

#include "wavefront/store/in_flight.hpp"
#include "wavefront/store/memory.hpp"
#include "wavefront/store/store.hpp"

namespace lanewise::wavefront {

class TileStream {
  public:
    /* Memory for `tiles` at a time, 0: as many as keep a disk busy; their files are on that many
     * `disks`. */
    static Result<TileStream> reserve(std::uint64_t tile_bytes, std::uint64_t tiles,
                                      std::uint64_t disks);

    /* Tiles that are in memory at a time; tile `index` lies where tile index - depth() lay. */
    std::uint64_t depth() const { return depth_; }
    std::byte *at(std::uint64_t index) const {
        return memory_.begin() + index % depth() * tile_bytes_;
    }
    std::uint64_t tile_bytes() const { return tile_bytes_; }

    /* The slot of `index` is free; see wait_for. */
    void submit(Transfer::Direction direction, const StripFiles::Place& place, std::uint64_t index);
    /* Blocks until the slot of `index` has nothing in flight; a failure is reported once. */
    Outcome wait_for(std::uint64_t index);
    /* The same for all slots. */
    Outcome wait_for_all();

  private:
    std::uint64_t tile_bytes_ = 0;
    std::uint64_t depth_ = 0;
    Memory memory_;
    std::unique_ptr<DiskQueue> queue_; /* after the memory that its transfers go to */
    std::unique_ptr<InFlight> in_flight_;
};

}  // namespace lanewise::wavefront
