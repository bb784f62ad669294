// SPDX-License-Identifier: BSD-3-Clause
//
// Under what conditions a file was measured, as its context record tells.

#pragma once

#include <string>

#include "base/json.hpp"
#include "base/result.hpp"
#include "measure/harness/harness.hpp"

namespace lanewise::measure {

/* Host and processors of each rank. Collective; meaningful on rank 0. */
Json placement(const measure::Harness& harness);

/* Refuses to go on with a file whose ranks were placed on hosts in another way; their names do not
   count, since a batch system may give others of the same kind. */
Outcome refuse_other_hosts(const std::string& path, const Json& before, const Json& now);

/* Family and version of the MPI. */
Json mpi_library();

/* What the MPI says it is built on, such as ch4:ucx; empty where it says nothing. */
std::string mpi_device();

}  // namespace lanewise::measure
