// SPDX-License-Identifier: BSD-3-Clause
//
// Whether MPI gave this process the company that its launcher promised.

#pragma once

#include "base/result.hpp"

namespace lanewise::tools {

/* `ranks_expected` is what the command line says; 0: what the launcher says counts. */
Outcome check_company(int ranks_expected);

}  // namespace lanewise::tools
