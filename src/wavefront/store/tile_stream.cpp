// SPDX-License-Identifier: BSD-3-Clause
//
// See tile_stream.hpp.

#include "wavefront/store/tile_stream.hpp"

#include <cerrno>
#include <cstring>
#include <utility>

#include "wavefront/plan/moving.hpp"

namespace lanewise::wavefront {

Result<TileStream> TileStream::reserve(std::uint64_t tile_bytes, std::uint64_t tiles) {
    TileStream stream;
    stream.tile_bytes_ = tile_bytes;
    stream.slots_.resize(tiles > 0 ? tiles : tiles_under_way(tile_bytes));
    auto memory = Memory::reserve(stream.depth() * tile_bytes);
    if (!memory) return memory.failure();
    stream.memory_ = std::move(*memory);
    auto queue = make_disk_queue(QueueKind::automatic);
    if (!queue) return queue.failure();
    stream.queue_ = std::move(*queue);
    return stream;
}

void TileStream::submit(Transfer::Direction direction, const StripFiles::Place& place,
                        std::uint64_t index) {
    slots_[index % depth()] = {true, 0};
    queue_->submit({.direction = direction,
                    .file = place.file,
                    .memory = at(index),
                    .bytes = tile_bytes_,
                    .offset = place.offset,
                    .tag = index});
}

Outcome TileStream::wait_for(std::uint64_t index) {
    auto& slot = slots_[index % depth()];
    while (slot.under_way) {
        const auto completion = queue_->wait();
        if (!completion) continue;
        slots_[completion->tag % depth()] = {false, completion->error};
    }
    const int error = std::exchange(slot.error, 0);
    if (error == 0) return Done{};
    return Failure{LW_ERR_IO, error == ENODATA ? "the file ends too early" : std::strerror(error)};
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
