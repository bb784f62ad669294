// SPDX-License-Identifier: BSD-3-Clause
//
// The verbs of libibverbs, loaded when they are asked for, by programs that also run where there is
// none. Under `lanewise rdma run` they are the software device's.

#pragma once

#include <infiniband/verbs.h>

#include "base/result.hpp"
#include "paths/device.hpp"

namespace lanewise::paths {

struct LoadedVerbs {
    Calls calls;
    ibv_device **(*get_device_list)(int *) = nullptr;
    void (*free_device_list)(ibv_device **) = nullptr;
    ibv_context *(*open_device)(ibv_device *) = nullptr;
    int (*close_device)(ibv_context *) = nullptr;
};

// A failure where there is no library, or one without these calls.
Result<LoadedVerbs> load_verbs();

}  // namespace lanewise::paths
