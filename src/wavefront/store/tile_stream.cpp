// SPDX-License-Identifier: BSD-3-Clause
//
// See tile_stream.hpp.

#include "wavefront/store/tile_stream.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

namespace lanewise::wavefront {
namespace {

// Under way at a time: eight transfers of a mebibyte keep a disk busy, as measured with fio. Long
// tiles are cut into transfers by the queue; one of them may go while the other is worked on.
constexpr std::uint64_t bytes_under_way = 16 << 20;
constexpr std::uint64_t depth_min = 2;
constexpr std::uint64_t depth_max = 64;

}  // namespace

Result<TileStream> TileStream::reserve(std::uint64_t tile_bytes) {
    TileStream stream;
    stream.tile_bytes_ = tile_bytes;
    stream.slots_.resize(std::clamp(bytes_under_way / tile_bytes, depth_min, depth_max));
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
