// SPDX-License-Identifier: BSD-3-Clause
//
// Buffers: the memory that messages lie in. Where it lies, on what pages, and
// whether it is in a cache when a repetition begins changes what a network
// seems to do, so all of it can be chosen and is kept with the results.

#pragma once

#include <lanewise/measure.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "base/result.hpp"

namespace lanewise::measure {

/* Refuses what no host can give; what this host cannot give `Buffer::create` tells. */
Outcome admit_buffers(const lw_measure_options& options);

/* Whether all is as LW_MEASURE_OPTIONS has it. */
bool are_plain(const lw_buffers& buffers);

/* A mapping of its own. Every byte is written once, so that no page fault is ever timed. */
class Buffer {
  public:
    static Result<Buffer> create(std::uint64_t bytes, const lw_buffers& layout);

    Buffer() = default;
    Buffer(Buffer&& other) noexcept { swap(other); }
    Buffer& operator=(Buffer&& other) noexcept {
        swap(other);
        return *this;
    }
    ~Buffer();

    std::byte *data() const { return begin_; }
    std::span<std::byte> bytes() const { return {begin_, bytes_}; }

  private:
    void swap(Buffer& other) noexcept {
        std::swap(region_, other.region_);
        std::swap(region_bytes_, other.region_bytes_);
        std::swap(begin_, other.begin_);
        std::swap(bytes_, other.bytes_);
    }

    void *region_ = nullptr;
    std::size_t region_bytes_ = 0;
    std::byte *begin_ = nullptr;
    std::size_t bytes_ = 0;
};

/* The memory a Buffer of `bytes` takes; huge pages are taken whole. */
double mapped_bytes(double bytes, const lw_buffers& layout);

/*
 * Takes buffers out of every cache, and whatever else the program had in the
 * caches of its own core (the MPI's queues) out of those: what an application
 * finds that computed in between. The rest of the cache that cores share is
 * left alone: to fill it would take longer than most messages.
 */
class Chill {
  public:
    Chill();
    /* From every cache. */
    void flush(std::span<std::byte> bytes) const;
    /* From the caches of this core. */
    void displace_others() const;

  private:
    std::vector<std::byte> other_; /* twice as much as a core caches for itself, or more */
};

}  // namespace lanewise::measure
