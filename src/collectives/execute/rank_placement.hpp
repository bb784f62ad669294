// SPDX-License-Identifier: BSD-3-Clause
//
// RankPlacement: at which host and site the ranks of a communicator are. Each rank
// looks itself up in the file that LANEWISE_PLACEMENT names, then tells the
// others, so that all know the same.

#pragma once

#include <mpi.h>

#include <string>
#include <vector>

namespace lanewise::collectives {

struct RankPlacement {
    std::vector<int> hosts; /* of each rank, numbered by their first ranks */
    std::vector<int> sites; /* the same; empty where a rank's site is not known */
    std::string complaint;  /* why a placement is not followed; empty: it is, or there is none */

    int host_count() const;
    int site_count() const;
};

/* Collective over `comm`. */
RankPlacement rank_placement(MPI_Comm comm);

}  // namespace lanewise::collectives
