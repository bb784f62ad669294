// SPDX-License-Identifier: BSD-3-Clause
//
// Panel pass: a pass over a store in tiles, panel by panel; see plan/panels.hpp.
//
// The calling thread moves windows: it reads that of the next strip while waves
// work on those before, and writes tiles that no wave will touch again. What
// lies between two panels goes to the file `carried` beside the data, and comes
// back from it; a run that is killed begins its pass again and needs none of it.

#pragma once

#include "wavefront/run/pass.hpp"

namespace lanewise::wavefront {

/* As run_pass; `panel_vectors` is the plan's, and the ring holds what panel_memory says. `place` is
 * that of a part. */
Result<PassResult> run_panel_pass(const PassRequest& request, std::uint64_t panel_vectors,
                                  const PanelPlace& place);

}  // namespace lanewise::wavefront
