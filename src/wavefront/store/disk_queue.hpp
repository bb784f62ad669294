// SPDX-License-Identifier: BSD-3-Clause
//
// Disk queue: transfers between memory and files, many under way at once.
//
// One thread submits and waits; any thread may wake it. By io_uring where the
// kernel offers it, else by a few threads that call pread and pwrite. A
// transfer is cut into pieces of a mebibyte, which the disk serves at full
// speed, and a piece that came back short is continued, so a completion means
// either the whole transfer or an error.

#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>

#include "base/result.hpp"
#include "wavefront/layout/shape.hpp"
#include "wavefront/store/memory.hpp"

struct io_uring;
struct io_uring_sqe;
struct io_uring_cqe;

namespace lanewise::wavefront {

struct Transfer {
    enum class Direction { read, write };
    Direction direction = Direction::read;
    int file = -1;
    std::byte *memory = nullptr;
    std::uint64_t bytes = 0;
    std::uint64_t offset = 0;
    std::uint64_t tag = 0; /* of the caller's choice; comes back with the completion */
};

struct Completion {
    std::uint64_t tag = 0;
    int error = 0;              /* an errno; ENODATA where the file ends too early */
    const char *call = nullptr; /* of the queue, where that failed and not the transfer */
};

class DiskQueue {
  public:
    virtual ~DiskQueue() = default;
    /* Registers the memory of later transfers, so that the kernel need not look its pages up each
     * time; the memory outlives the queue's last transfer. Does nothing where that is refused. */
    virtual void register_memory(const Memory& /*memory*/) {}
    virtual void submit(const Transfer& transfer) = 0;
    /* Sleeps until a transfer is complete, or until woken: then nothing comes back. */
    virtual std::optional<Completion> wait() = 0;
    virtual void wake() = 0;
    virtual const char *name() const = 0;
};

enum class QueueKind { automatic, io_uring, threads };

/* `automatic` takes io_uring, and threads where the kernel or the container refuses it. The files
 * of the transfers are on that many `disks`. */
Result<std::unique_ptr<DiskQueue>> make_disk_queue(QueueKind kind, std::uint64_t disks);

/* What the threads call to move bytes; tests give calls that come back short, fail or tear. */
struct FileCalls {
    std::function<ssize_t(int file, std::byte *to, std::size_t bytes, std::uint64_t offset)> read;
    std::function<ssize_t(int file, const std::byte *from, std::size_t bytes, std::uint64_t offset)>
        write;
};
FileCalls system_calls();

/* What is called on a ring; tests give calls that fail, for a while or for good. */
struct RingCalls {
    std::function<io_uring_sqe *(io_uring *ring)> entry;
    std::function<int(io_uring *ring)> submit; /* how many entries the kernel took; -errno */
    std::function<int(io_uring *ring, io_uring_cqe **cqe)> wait;
};
RingCalls ring_calls();

/* LW_ERR_UNSUPPORTED where the kernel or the container refuses it. */
Result<std::unique_ptr<DiskQueue>> make_uring_queue(RingCalls calls = ring_calls(),
                                                    std::uint64_t disks = 1);
Result<std::unique_ptr<DiskQueue>> make_thread_queue(FileCalls calls = system_calls());

inline constexpr std::uint64_t piece_bytes = 1 << 20;

/* Where the piece that begins at `begin` of `bytes` ends. What little is left behind a whole piece,
 * such as the shifted columns of a skewed strip, goes with it: it is no request of its own. */
inline std::uint64_t end_of_piece(std::uint64_t begin, std::uint64_t bytes) {
    return bytes - begin <= piece_bytes + piece_bytes / 8 ? bytes : begin + piece_bytes;
}

/* How many bytes of a piece are done after `moved` of `wanted`: direct I/O continues at a whole
 * block only, so a partly moved block is moved again. */
inline std::uint64_t settled_bytes(std::uint64_t moved, std::uint64_t wanted) {
    return moved >= wanted ? wanted : moved / disk_block_bytes * disk_block_bytes;
}

}  // namespace lanewise::wavefront
