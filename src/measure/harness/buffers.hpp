// SPDX-License-Identifier: BSD-3-Clause
//
// Buffers: the memory of the messages. Its alignment, its pages, and whether it is
// in a cache when a repetition begins change what a network seems to do, so all of
// them are options, and are kept with the results.

#pragma once

#include <lanewise/measure.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "base/result.hpp"

namespace lanewise::measure {

/* Refuses what no host can provide; `Buffer::create` refuses what this host cannot. */
Outcome admit_buffers(const lw_measure_options& options);

/* Whether all fields are those of LW_MEASURE_OPTIONS. */
bool are_plain(const lw_buffers& buffers);

/* A memory mapping. Every byte is written once at creation, so that no page fault is timed. */
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
 * Evicts buffers from every cache, and everything else (such as the MPI's queues)
 * from the caches of this core. This is what an application finds after it has
 * computed. The rest of the cache that cores share is left alone, since filling it
 * would take longer than most messages.
 */
class CacheEvictor {
  public:
    CacheEvictor();
    /* From every cache. */
    void flush(std::span<std::byte> bytes) const;
    /* From the caches of this core. */
    void evict_others() const;

  private:
    std::vector<std::byte> other_; /* at least twice the size of the core's own caches */
};

}  // namespace lanewise::measure
