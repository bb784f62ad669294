// SPDX-License-Identifier: BSD-3-Clause
//
// ReservedTags: tags of the private duplicate of a communicator that belong to one user each for
// as long as it lives. Calls that the program starts in another order on each rank cannot count
// their tags as others do. Users begin in the same order on every rank and end in any, so all ranks
// take the same tag: the next one of those that no rank used when they asked each other last, which
// they do when they have come to the end.

#pragma once

#include <mpi.h>

#include <cstddef>
#include <cstdint>
#include <mutex>
#include <vector>

namespace lanewise::collectives {

class ReservedTags {
  public:
    /* Tags from `first` on. */
    ReservedTags(int first, int count) : first_(first), count_(static_cast<std::size_t>(count)) {}

    /* The next tag; less than 0 where none is left. Collective over `comm`, the same everywhere. */
    int take(MPI_Comm comm);

    /* The user of `tag` has ended on this rank. From any thread. */
    void give_back(int tag);

  private:
    using Words = std::vector<std::uint64_t>;

    /* The next of those that are free everywhere; `count_` if there is none. */
    std::size_t next_free();
    bool ask_all(MPI_Comm comm);

    int first_;
    std::size_t count_;
    std::size_t next_ = 0;
    Words taken_anywhere_; /* one bit each; as of when the ranks asked last */
    std::mutex lock_;
    Words taken_here_;
};

}  // namespace lanewise::collectives
