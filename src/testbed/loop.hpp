// SPDX-License-Identifier: BSD-3-Clause
//
// Loop: carries packets between the devices until the process is ended.

#pragma once

#include "base/result.hpp"
#include "testbed/configuration.hpp"

namespace lanewise::testbed {

/* Makes the devices, says "ready" on standard output and carries packets until the process is
   ended; returns only a failure. */
Failure serve(const Configuration& configuration);

}  // namespace lanewise::testbed
