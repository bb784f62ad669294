// SPDX-License-Identifier: BSD-3-Clause
//
// The verbs beneath. A program's own library is linked to them; the interposer, which stands in
// their place, has to look for the next ones.

#pragma once

#include <infiniband/verbs.h>

#include <cstdint>

namespace lanewise::paths {

struct Calls {
    int (*modify_qp)(ibv_qp *, ibv_qp_attr *, int) = nullptr;
    int (*query_qp)(ibv_qp *, ibv_qp_attr *, int, ibv_qp_init_attr *) = nullptr;
    int (*query_device)(ibv_context *, ibv_device_attr *) = nullptr;
    int (*query_gid)(ibv_context *, std::uint8_t, int, ibv_gid *) = nullptr;
    int (*get_async_event)(ibv_context *, ibv_async_event *) = nullptr;
    void (*ack_async_event)(ibv_async_event *) = nullptr;
};

}  // namespace lanewise::paths
