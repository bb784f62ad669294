// SPDX-License-Identifier: BSD-3-Clause
//
// CallShape: all that an algorithm may know of a call. It is the same on every rank except for
// `rank` itself, for `counts` and `send_counts` if a rank knows only its own, and for `sources` and
// `destinations`.
//
// Where data lies, by collective (n ranks, block r has count_of(r) units and
// begins offset_of(r) units into the buffer of blocks):
//   bcast           receive: the vector, on every rank; the root's is filled
//   scatter(v)      send at root: blocks            receive: the own block
//   gather(v)       send: the own block             receive at root: blocks
//   allgather(v)    send: the own block             receive: blocks
//   alltoall        send: blocks, one for each rank receive: blocks, one from each rank
//   alltoallv, w    the same; block r of `send` has send_count_of(r) units from send_offset_of(r)
//   reduce          send: a vector of `count`       receive at root: the result
//   allreduce       send: a vector of `count`       receive: the result
//   reduce_scatter  send: blocks, one for each rank receive: the own block of the result
//   scan            send: a vector of `count`       receive: the result over ranks up to this one
//   exscan          send: a vector of `count`       receive: that over ranks before it, off rank 0
//   barrier         nothing
//   neighbor_allgather(v)
//                   send: the own block             receive: blocks, one from each source
//   neighbor_alltoall(v, w)
//                   send: blocks, one for each      receive: blocks, one from each source
//                   destination
// In the last two lines, block i is that of neighbor number i, with counts and offsets in any case.
// The n-th block that a rank sends to another is the n-th that the other receives from it. `send`
// may be the same memory as the part of `receive` (or the reverse) that MPI_IN_PLACE puts there,
// except in alltoall(v, w) and reduce_scatter. An algorithm therefore writes to `receive` only what
// it no longer needs to read there through `send`, and copies its own block although that may be a
// copy onto itself. `send` is never written to.

#pragma once

#include <cstdint>
#include <span>

namespace lanewise::model {
struct Network;
}

namespace lanewise::collectives {

struct CallShape {
    int ranks = 1;
    int rank = 0;
    int root = 0;
    std::int64_t count = 0;                         /* units of a block, or of the vector */
    std::span<const std::int64_t> counts = {};      /* v-collectives, reduce_scatter; else empty */
    std::span<const std::int64_t> offsets = {};     /* with counts, where the rank knows them */
    std::span<const std::int64_t> send_counts = {}; /* of blocks that differ from those received */
    std::span<const std::int64_t> send_offsets = {};
    std::span<const int> sources = {}; /* ranks that are neighbors; less than 0: nobody */
    std::span<const int> destinations = {};
    std::int64_t unit_bytes = 1; /* size of a unit */
    std::int64_t segment = 0;    /* units of a segment; 0: the algorithm's own choice */
    int lanes = 1;
    std::span<const int> hosts = {};         /* host of each rank; empty: unknown */
    std::span<const int> sites = {};         /* site of each rank; empty: one site */
    const model::Network *network = nullptr; /* the platform, where the algorithm asks for one */

    std::int64_t count_of(int r) const {
        return counts.empty() ? count : counts[static_cast<std::size_t>(r)];
    }
    std::int64_t offset_of(int r) const {
        return offsets.empty() ? count * r : offsets[static_cast<std::size_t>(r)];
    }
    std::int64_t send_count_of(int r) const {
        return send_counts.empty() ? count_of(r) : send_counts[static_cast<std::size_t>(r)];
    }
    std::int64_t send_offset_of(int r) const {
        return send_offsets.empty() ? offset_of(r) : send_offsets[static_cast<std::size_t>(r)];
    }
    bool is_root() const { return rank == root; }
    /* This rank's number when the root is 0, and back. */
    int relative() const { return (rank - root + ranks) % ranks; }
    int absolute(int relative_rank) const { return (relative_rank + root) % ranks; }
};

}  // namespace lanewise::collectives
