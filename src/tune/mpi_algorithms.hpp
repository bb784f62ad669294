// SPDX-License-Identifier: BSD-3-Clause
//
// Own: the MPI's own algorithms, each forced for as long as it is measured.
//
// The library says itself which it has, through MPI_T. Open MPI (own_openmpi.cpp)
// reads coll_tuned_<collective>_algorithm when a communicator is made, so each
// algorithm gets a duplicate; MPICH (own_mpich.cpp) reads
// MPIR_CVAR_<COLLECTIVE>_INTRA_ALGORITHM in each call, so it is written before
// and put back after. Other MPIs (own_none.cpp) have none that can be forced.

#pragma once

#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "tune/implementation.hpp"

namespace lanewise::tools {

struct OwnAlgorithm {
    std::string name;
    int number = 0;
    bool segmented = false;
};

class OwnAlgorithms {
  public:
    /* Before MPI_Init: what the library must be told to let algorithms be forced. */
    static void announce();

    OwnAlgorithms();
    ~OwnAlgorithms();
    OwnAlgorithms(const OwnAlgorithms&) = delete;
    OwnAlgorithms& operator=(const OwnAlgorithms&) = delete;

    /* Those that `ranks` ranks can run; empty where the MPI cannot be told. */
    std::vector<OwnAlgorithm> of(collectives::Collective collective, int ranks) const;
    /* The number that the environment forces now; 0: the MPI decides. */
    int forced(collectives::Collective collective) const;
    /* Refers to this object. */
    Way way(collectives::Collective collective, const OwnAlgorithm& algorithm, int segment_bytes);

  private:
    using Key = std::tuple<MPI_Comm, collectives::Collective, int, int>;
    std::map<Key, MPI_Comm> duplicates_;
};

}  // namespace lanewise::tools
