// SPDX-License-Identifier: BSD-3-Clause
//
// The verbs that the interposer stands before, found below it.

#pragma once

#include "paths/calls.hpp"

namespace lanewise::paths::preload {

struct Next {
    Calls calls;
    ibv_context *(*open_device)(ibv_device *) = nullptr;
    int (*close_device)(ibv_context *) = nullptr;
    int (*destroy_qp)(ibv_qp *) = nullptr;
    int (*destroy_cq)(ibv_cq *) = nullptr;
    int (*destroy_srq)(ibv_srq *) = nullptr;
};

// Ends the program with a line where there is no libibverbs below.
const Next& next();

}  // namespace lanewise::paths::preload
