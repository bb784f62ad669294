// SPDX-License-Identifier: BSD-3-Clause
//
// KeptBlocks: the arrays that describe one side of a call that is started again and again, which
// the program may overwrite or free meanwhile, and the datatypes in them.

#pragma once

#include <mpi.h>

#include <cstdint>
#include <list>
#include <vector>

#include "collectives/execute/call.hpp"
#include "collectives/execute/held_handles.hpp"

namespace lanewise::collectives {

class KeptBlocks {
  public:
    /* Once. Copies what is given of `blocks` blocks, and makes the arguments name the copies. */
    void keep(Numbers& counts, Numbers& displacements, Types& types, int blocks);

  private:
    std::vector<std::int64_t> counts_;
    std::vector<std::int64_t> displacements_;
    std::vector<MPI_Datatype> types_;
    std::list<HeldHandle<Datatypes>> held_;
};

}  // namespace lanewise::collectives
