// SPDX-License-Identifier: BSD-3-Clause
//
// See tile_stream.hpp.

#include "wavefront/store/tile_stream.hpp"

#include <utility>

#include "wavefront/plan/moving.hpp"

namespace lanewise::wavefront {

Result<TileStream> TileStream::reserve(std::uint64_t tile_bytes, std::uint64_t tiles,
                                       std::uint64_t disks) {
    TileStream stream;
    stream.tile_bytes_ = tile_bytes;
    stream.depth_ = tiles > 0 ? tiles : tiles_under_way(tile_bytes);
    auto memory = Memory::reserve(stream.depth() * tile_bytes);
    if (!memory) return memory.failure();
    stream.memory_ = std::move(*memory);
    auto queue = make_disk_queue(QueueKind::automatic, disks);
    if (!queue) return queue.failure();
    stream.queue_ = std::move(*queue);
    stream.in_flight_ = std::make_unique<InFlight>(*stream.queue_);
    return stream;
}

void TileStream::submit(Transfer::Direction direction, const StripFiles::Place& place,
                        std::uint64_t index) {
    in_flight_->submit(index % depth(),
                       {.direction = direction,
                        .file = place.file,
                        .memory = at(index),
                        .bytes = tile_bytes_,
                        .offset = place.offset},
                       "");
}

Outcome TileStream::wait_for(std::uint64_t index) {
    return in_flight_->wait_for(index % depth());
}

Outcome TileStream::wait_for_all() {
    Outcome outcome = Done{};
    for (std::uint64_t slot = 0; slot < depth(); ++slot) {
        const auto done = wait_for(slot);
        if (outcome) outcome = done;
    }
    return outcome;
}

}  // namespace lanewise::wavefront
