// SPDX-License-Identifier: BSD-3-Clause
//
// MpiAlgorithms: the algorithms that the MPI itself selects from, each forced while it is measured.
//
// The library tells which it has, through MPI_T. Open MPI (mpi_algorithms_openmpi.cpp) reads
// coll_tuned_<collective>_algorithm when a communicator is made, so each algorithm gets a
// duplicate; MPICH (mpi_algorithms_mpich.cpp) reads MPIR_CVAR_<COLLECTIVE>_INTRA_ALGORITHM in each
// call, so it is written before and restored after. Other MPIs (mpi_algorithms_none.cpp) cannot be
// forced.

#pragma once

#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "tune/program_calls.hpp"

namespace lanewise::tune {

struct MpiAlgorithm {
    std::string name;
    int number = 0;
    bool segmented = false;
};

class MpiAlgorithms {
  public:
    /* Before MPI_Init: what the library must be told to let algorithms be forced. */
    static void announce();

    MpiAlgorithms();
    ~MpiAlgorithms();
    MpiAlgorithms(const MpiAlgorithms&) = delete;
    MpiAlgorithms& operator=(const MpiAlgorithms&) = delete;

    /* Those that `ranks` ranks can run; empty where the MPI cannot be told. */
    std::vector<MpiAlgorithm> of(collectives::Collective collective, int ranks) const;
    /* The number that the environment forces now; 0: the MPI decides. */
    int forced(collectives::Collective collective) const;
    /* `calls` by this algorithm. Refers to this object. */
    Implementation implementation(const SharedCalls& calls, collectives::Collective collective,
                                  const MpiAlgorithm& algorithm, int segment_bytes);

  private:
    using Key = std::tuple<MPI_Comm, collectives::Collective, int, int>;
    std::map<Key, MPI_Comm> duplicates_;
};

}  // namespace lanewise::tune
