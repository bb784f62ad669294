// SPDX-License-Identifier: BSD-3-Clause
//
// The verbs that carrying a queue pair needs, of the library behind the interposer.

#pragma once

#include <infiniband/verbs.h>

#include <cstddef>
#include <cstdint>

#include "paths/gid_type.hpp"

namespace lanewise::paths::carried {

struct Verbs {
    ibv_device **(*get_device_list)(int *) = nullptr;
    void (*free_device_list)(ibv_device **) = nullptr;
    ibv_context *(*open_device)(ibv_device *) = nullptr;
    int (*close_device)(ibv_context *) = nullptr;
    int (*query_device)(ibv_context *, ibv_device_attr *) = nullptr;
    int (*query_gid)(ibv_context *, std::uint8_t, int, ibv_gid *) = nullptr;
    GidEntryQuery *query_gid_ex = nullptr;  // an old library has none
    ibv_pd *(*alloc_pd)(ibv_context *) = nullptr;
    int (*dealloc_pd)(ibv_pd *) = nullptr;
    ibv_mr *(*reg_mr_iova2)(ibv_pd *, void *, std::size_t, std::uint64_t, unsigned) = nullptr;
    int (*dereg_mr)(ibv_mr *) = nullptr;
    ibv_comp_channel *(*create_comp_channel)(ibv_context *) = nullptr;
    int (*destroy_comp_channel)(ibv_comp_channel *) = nullptr;
    int (*get_cq_event)(ibv_comp_channel *, ibv_cq **, void **) = nullptr;
    void (*ack_cq_events)(ibv_cq *, unsigned) = nullptr;
    ibv_cq *(*create_cq)(ibv_context *, int, void *, ibv_comp_channel *, int) = nullptr;
    int (*resize_cq)(ibv_cq *, int) = nullptr;
    int (*destroy_cq)(ibv_cq *) = nullptr;
    ibv_qp *(*create_qp)(ibv_pd *, ibv_qp_init_attr *) = nullptr;
    int (*modify_qp)(ibv_qp *, ibv_qp_attr *, int) = nullptr;
    int (*query_qp)(ibv_qp *, ibv_qp_attr *, int, ibv_qp_init_attr *) = nullptr;
    int (*destroy_qp)(ibv_qp *) = nullptr;
    ibv_ah *(*create_ah)(ibv_pd *, ibv_ah_attr *) = nullptr;
    int (*destroy_ah)(ibv_ah *) = nullptr;
    int (*get_async_event)(ibv_context *, ibv_async_event *) = nullptr;
    void (*ack_async_event)(ibv_async_event *) = nullptr;
};

// Of the one port that a device has.
inline bool query_port(ibv_context *context, ibv_port_attr& attributes) {
    const verbs_context *extended = verbs_get_ctx(context);
    constexpr auto reach_bytes = sizeof(verbs_context) - offsetof(verbs_context, query_port);
    if (!extended || extended->sz < reach_bytes || !extended->query_port) return false;
    return extended->query_port(context, 1, &attributes, sizeof attributes) == 0;
}

}  // namespace lanewise::paths::carried
