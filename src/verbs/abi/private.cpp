// SPDX-License-Identifier: BSD-3-Clause
//
// What vendors' drivers (libmlx5, libefa) and rdma-core's own tools import from libibverbs. The
// loader resolves all of it when such a library is loaded, used or not. Their devices are not here:
// registering a driver does nothing, and the rest says EOPNOTSUPP.
//
// rdma-core gives these names a version node that changes with its releases: 34 from v34 to v56,
// then 57, 59 and 64. Each name is defined at all of them.

#include <cerrno>

#include "verbs/abi/objects.hpp"

// clang-format off
#define DRIVER_FUNCTIONS(DO)                                                                      \
    DO(__ioctl_final_num_attrs) DO(_verbs_init_and_alloc_context) DO(execute_ioctl)               \
    DO(ibv_cmd_advise_mr) DO(ibv_cmd_alloc_dm) DO(ibv_cmd_alloc_mw) DO(ibv_cmd_alloc_pd)          \
    DO(ibv_cmd_attach_mcast) DO(ibv_cmd_close_xrcd) DO(ibv_cmd_create_ah)                         \
    DO(ibv_cmd_create_counters) DO(ibv_cmd_create_cq) DO(ibv_cmd_create_cq_ex)                    \
    DO(ibv_cmd_create_flow) DO(ibv_cmd_create_flow_action_esp) DO(ibv_cmd_create_qp)              \
    DO(ibv_cmd_create_qp_ex) DO(ibv_cmd_create_qp_ex2) DO(ibv_cmd_create_rwq_ind_table)           \
    DO(ibv_cmd_create_srq) DO(ibv_cmd_create_srq_ex) DO(ibv_cmd_create_wq)                        \
    DO(ibv_cmd_dealloc_mw) DO(ibv_cmd_dealloc_pd) DO(ibv_cmd_dereg_mr) DO(ibv_cmd_destroy_ah)     \
    DO(ibv_cmd_destroy_counters) DO(ibv_cmd_destroy_cq) DO(ibv_cmd_destroy_flow)                  \
    DO(ibv_cmd_destroy_flow_action) DO(ibv_cmd_destroy_qp) DO(ibv_cmd_destroy_rwq_ind_table)      \
    DO(ibv_cmd_destroy_srq) DO(ibv_cmd_destroy_wq) DO(ibv_cmd_detach_mcast)                       \
    DO(ibv_cmd_free_dm) DO(ibv_cmd_get_context) DO(ibv_cmd_modify_cq)                             \
    DO(ibv_cmd_modify_flow_action_esp) DO(ibv_cmd_modify_qp) DO(ibv_cmd_modify_qp_ex)             \
    DO(ibv_cmd_modify_srq) DO(ibv_cmd_modify_wq) DO(ibv_cmd_open_qp) DO(ibv_cmd_open_xrcd)        \
    DO(ibv_cmd_poll_cq) DO(ibv_cmd_post_recv) DO(ibv_cmd_post_send) DO(ibv_cmd_post_srq_recv)     \
    DO(ibv_cmd_query_context) DO(ibv_cmd_query_device_any) DO(ibv_cmd_query_mr)                   \
    DO(ibv_cmd_query_port) DO(ibv_cmd_query_qp) DO(ibv_cmd_query_srq)                             \
    DO(ibv_cmd_read_counters) DO(ibv_cmd_reg_dm_mr) DO(ibv_cmd_reg_dmabuf_mr)                     \
    DO(ibv_cmd_reg_mr) DO(ibv_cmd_req_notify_cq) DO(ibv_cmd_rereg_mr) DO(ibv_cmd_resize_cq)       \
    DO(verbs_init_cq) DO(verbs_open_device) DO(verbs_set_ops) DO(verbs_uninit_context)
// clang-format on

#define AT_NODE(function, name, node) \
    __asm__(".symver " #function ", " #name "@IBVERBS_PRIVATE_" #node);
#define AT_ALL_NODES(function, name) \
    AT_NODE(function, name, 34)      \
    AT_NODE(function, name, 57) AT_NODE(function, name, 59) AT_NODE(function, name, 64)
#define NOT_SUPPORTED(name) AT_ALL_NODES(lanewise_not_supported, name)

extern "C" {

[[gnu::used]] int lanewise_not_supported(void) {
    errno = EOPNOTSUPP;
    return EOPNOTSUPP;
}

[[gnu::used]] void lanewise_register_driver(const void *) {}

[[gnu::used]] void lanewise_log(ibv_context *, std::uint32_t, const char *, ...) {}

[[gnu::used]] int lanewise_read_device_file(char *, std::size_t, ibv_device *, const char *, ...) {
    return -1;
}

// Numbered as in sysfs: RoCE v2 is 1, all else 0.
[[gnu::used]] int lanewise_query_gid_type(ibv_context *context, std::uint8_t port_num,
                                          unsigned index, unsigned *type) {
    ibv_gid_entry entry{};
    const int error = ibv_query_gid_ex(context, port_num, index, &entry, 0);
    if (error != 0 && error != ENODATA) {
        errno = error;
        return -1;
    }
    *type = entry.gid_type == IBV_GID_TYPE_ROCE_V2 ? 1 : 0;
    return 0;
}

[[gnu::used]] bool lanewise_allow_destroy = false;

}  // extern "C"

DRIVER_FUNCTIONS(NOT_SUPPORTED)
AT_NODE(lanewise_register_driver, verbs_register_driver_34, 34)
AT_NODE(lanewise_register_driver, verbs_register_driver_57, 57)
AT_NODE(lanewise_register_driver, verbs_register_driver_59, 59)
AT_NODE(lanewise_register_driver, verbs_register_driver_64, 64)
AT_ALL_NODES(lanewise_log, __verbs_log)
AT_ALL_NODES(lanewise_read_device_file, ibv_read_ibdev_sysfs_file)
AT_ALL_NODES(lanewise_query_gid_type, ibv_query_gid_type)
AT_ALL_NODES(lanewise_allow_destroy, verbs_allow_disassociate_destroy)

// Public names that belong to drivers, or that hand objects from one process to another.
extern "C" {

void ibv_register_driver(const char *, void *) {}
void ibv_copy_ah_attr_from_kern(ibv_ah_attr *, void *) {}
void ibv_copy_qp_attr_from_kern(ibv_qp_attr *, void *) {}
void ibv_copy_path_rec_from_kern(void *, void *) {}
void ibv_copy_path_rec_to_kern(void *, void *) {}

ibv_pd *ibv_import_pd(ibv_context *, std::uint32_t) {
    return lanewise::verbs::abi::refuse(EOPNOTSUPP);
}
void ibv_unimport_pd(ibv_pd *) {}
ibv_mr *ibv_import_mr(ibv_pd *, std::uint32_t) {
    return lanewise::verbs::abi::refuse(EOPNOTSUPP);
}
void ibv_unimport_mr(ibv_mr *) {}
ibv_dm *ibv_import_dm(ibv_context *, std::uint32_t) {
    return lanewise::verbs::abi::refuse(EOPNOTSUPP);
}
void ibv_unimport_dm(ibv_dm *) {}

}  // extern "C"
