// SPDX-License-Identifier: BSD-3-Clause
//
// Parallelogram pass: a pass over a store in tiles; see plan/parallelograms.hpp.
//
// The calling thread moves windows: it reads that of the next strip while waves work on
// those before, and writes tiles that no wave will touch again. What lies between two
// parallelograms is written to the file `carried` beside the data and read back from
// it; a run that is killed begins its pass again and does not need that file.

#pragma once

#include "wavefront/run/pass.hpp"

namespace lanewise::wavefront {

/* As run_pass; `parallelogram_vectors` is the plan's, and the ring holds what parallelogram_memory
 * says. `place` is that of a part. */
Result<PassResult> run_parallelogram_pass(const PassRequest& request,
                                          std::uint64_t parallelogram_vectors,
                                          const ParallelogramPlace& place);

}  // namespace lanewise::wavefront
