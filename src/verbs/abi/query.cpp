// SPDX-License-Identifier: BSD-3-Clause
//
// What a program can ask about the device, its ports and their tables.

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "verbs/abi/objects.hpp"

#undef ibv_query_port

namespace lanewise::verbs::abi {
namespace {

constexpr int objects_max = 1 << 20;
// No vendor: the bit of locally administered numbers is set.
constexpr std::uint32_t vendor_id = 0x024c57;
constexpr std::uint64_t pages_of_4_kib_and_more = ~std::uint64_t{0xfff};
constexpr std::uint8_t linked_up = 5;
constexpr std::uint8_t disabled = 3;
constexpr std::uint8_t four_lanes = 2;
constexpr std::uint8_t lane_25_gbps = 32;
constexpr std::uint64_t clock_khz = 1'000'000;  // of times of completion, in nanoseconds

// A child of the process that opened the device may ask as well.
int query_device(ibv_context *context, ibv_device_attr *attributes) {
    if (const int error = command_error("ibv_query_device", context)) return error;
    if (!is_live(context)) return EINVAL;
    Context& owner = own(context);
    const DeviceConfig& config = owner.adapter->engine().config();
    *attributes = {};
    std::strcpy(attributes->fw_ver, LANEWISE_VERSION);
    attributes->node_guid = ibv_get_device_guid(context->device);
    attributes->sys_image_guid = attributes->node_guid;
    attributes->max_mr_size = ~std::uint64_t{0};
    attributes->page_size_cap = pages_of_4_kib_and_more;
    attributes->device_cap_flags =
        IBV_DEVICE_AUTO_PATH_MIG | IBV_DEVICE_CHANGE_PHY_PORT | IBV_DEVICE_PORT_ACTIVE_EVENT |
        IBV_DEVICE_SYS_IMAGE_GUID | IBV_DEVICE_RC_RNR_NAK_GEN | IBV_DEVICE_SRQ_RESIZE |
        IBV_DEVICE_MEM_WINDOW | IBV_DEVICE_MEM_WINDOW_TYPE_2B | IBV_DEVICE_XRC |
        IBV_DEVICE_MEM_MGT_EXTENSIONS | IBV_DEVICE_CURR_QP_STATE_MOD;
    attributes->vendor_id = vendor_id;
    attributes->vendor_part_id = 1;
    attributes->max_qp = static_cast<int>(port::numbers_per_slot);
    attributes->max_qp_wr = static_cast<int>(config.requests_max);
    attributes->max_sge = static_cast<int>(config.slices_max);
    attributes->max_sge_rd = attributes->max_sge;
    attributes->max_cq = objects_max;
    attributes->max_cqe = completions_max;
    attributes->max_mr = objects_max;
    attributes->max_mw = objects_max;
    attributes->max_pd = objects_max;
    attributes->max_qp_rd_atom = config.read_atomic_max;
    attributes->max_qp_init_rd_atom = config.read_atomic_max;
    attributes->max_res_rd_atom = config.read_atomic_max * attributes->max_qp;
    attributes->atomic_cap = IBV_ATOMIC_HCA;
    attributes->max_ah = objects_max;
    attributes->max_srq = objects_max;
    attributes->max_srq_wr = static_cast<int>(config.requests_max);
    attributes->max_srq_sge = static_cast<int>(config.slices_max);
    attributes->max_mcast_grp = objects_max;
    attributes->max_mcast_qp_attach = objects_max;
    attributes->max_total_mcast_qp_attach = objects_max;
    attributes->max_pkeys = 1;
    attributes->phys_port_cnt = config.port_count;
    return 0;
}

// What on-demand paging serves: all that the device does.
ibv_odp_caps paging() {
    constexpr std::uint32_t messages = IBV_ODP_SUPPORT_SEND | IBV_ODP_SUPPORT_RECV;
    constexpr std::uint32_t writes = messages | IBV_ODP_SUPPORT_WRITE;
    constexpr std::uint32_t all =
        writes | IBV_ODP_SUPPORT_READ | IBV_ODP_SUPPORT_ATOMIC | IBV_ODP_SUPPORT_SRQ_RECV;
    ibv_odp_caps made{};
    made.general_caps = IBV_ODP_SUPPORT | IBV_ODP_SUPPORT_IMPLICIT;
    made.per_transport_caps = {all, writes | IBV_ODP_SUPPORT_SRQ_RECV,
                               messages | IBV_ODP_SUPPORT_SRQ_RECV};
    return made;
}

int query_device_ex(ibv_context *context, const ibv_query_device_ex_input *,
                    ibv_device_attr_ex *attributes, std::size_t bytes) {
    if (bytes < sizeof attributes->orig_attr) return EINVAL;
    std::memset(attributes, 0, bytes);
    ibv_device_attr_ex made{};
    const int error = query_device(context, &made.orig_attr);
    made.device_cap_flags_ex = made.orig_attr.device_cap_flags;
    made.phys_port_cnt_ex = made.orig_attr.phys_port_cnt;
    made.odp_caps = paging();
    made.xrc_odp_caps = made.odp_caps.per_transport_caps.rc_odp_caps;
    made.max_dm_size = device_memory_bytes_max;
    made.completion_timestamp_mask = ~std::uint64_t{0};
    made.hca_core_clock = clock_khz;
    std::memcpy(attributes, &made, std::min(bytes, sizeof made));
    return error;
}

// Under protection a port without a carrier is usable while the other one can stand in for it.
// Programs such as UCX open no port that is down. The physical state tells how it really is.
bool is_usable(const Adapter& adapter, const Port& port) {
    const std::vector<Port>& ports = adapter.ports();
    const auto is_active = [](const Port& one) { return one.active; };
    return port.active ||
           (adapter.config().is_protected && std::any_of(ports.begin(), ports.end(), is_active));
}

ibv_port_attr port_attributes(const Adapter& adapter, const DeviceConfig& config,
                              const Port& port) {
    const bool infiniband = adapter.config().link_layer == LinkLayer::infiniband;
    ibv_port_attr made{};
    made.state = is_usable(adapter, port) ? IBV_PORT_ACTIVE : IBV_PORT_DOWN;
    const bool is_linked =
        port.active || (port.interface.carrier && !adapter.config().is_protected);
    made.phys_state = is_linked ? linked_up : disabled;
    made.max_mtu = IBV_MTU_4096;
    made.active_mtu = static_cast<ibv_mtu>(active_mtu(port, adapter.config()));
    made.gid_tbl_len = static_cast<int>(gid_table_length);
    made.port_cap_flags = IBV_PORT_CM_SUP | IBV_PORT_AUTO_MIGR_SUP;
    made.max_msg_sz = static_cast<std::uint32_t>(config.message_bytes_max);
    made.pkey_tbl_len = 1;
    made.max_vl_num = 1;
    made.active_width = four_lanes;
    made.active_speed = lane_25_gbps;
    made.link_layer = infiniband ? IBV_LINK_LAYER_INFINIBAND : IBV_LINK_LAYER_ETHERNET;
    if (infiniband) {
        made.lid = lid_of(port, adapter.config().lids);
        made.sm_lid = made.lid;
        made.lmc = static_cast<std::uint8_t>(adapter.config().lids.mask_bits);
    } else {
        made.port_cap_flags |= IBV_PORT_IP_BASED_GIDS;
        made.flags = IBV_QPF_GRH_REQUIRED;
    }
    return made;
}

int query_port(ibv_context *context, std::uint8_t port_num, ibv_port_attr *attributes,
               std::size_t bytes) {
    if (const int error = command_error("ibv_query_port", context)) return error;
    if (const int error = refusal(context)) return error;
    Context& owner = own(context);
    const std::lock_guard guard(owner.adapter->lock());
    if (port_num < 1 || port_num > owner.adapter->ports().size()) return told(EINVAL);
    const ibv_port_attr made = port_attributes(*owner.adapter, owner.adapter->engine().config(),
                                               owner.adapter->ports()[port_num - 1U]);
    std::memset(attributes, 0, bytes);
    std::memcpy(attributes, &made, std::min(bytes, sizeof made));
    return 0;
}

// The clock by which completions are timed: one count, as of a card, and no seconds.
int query_rt_values(ibv_context *, ibv_values_ex *values) {
    if (values->comp_mask != IBV_VALUES_MASK_RAW_CLOCK) return EINVAL;
    values->raw_clock = {0, monotonic_ns()};
    return 0;
}

// An entry of the GID table; none where the index or the entry is empty.
std::optional<ibv_gid_entry> gid_entry(Context& context, std::uint32_t port_num,
                                       std::uint32_t index) {
    const std::lock_guard guard(context.adapter->lock());
    const std::vector<Port>& ports = context.adapter->ports();
    if (port_num < 1 || port_num > ports.size() || index >= gid_table_length) return std::nullopt;
    const Port& port = ports[port_num - 1];
    ibv_gid_entry entry{};
    std::copy(port.gids[index].begin(), port.gids[index].end(), std::begin(entry.gid.raw));
    entry.gid_index = index;
    entry.port_num = port_num;
    entry.gid_type = context.adapter->config().link_layer == LinkLayer::infiniband
                         ? IBV_GID_TYPE_IB
                         : IBV_GID_TYPE_ROCE_V2;
    entry.ndev_ifindex = port.interface.index;
    return entry;
}

bool is_empty(const ibv_gid_entry& entry) {
    return std::all_of(std::begin(entry.gid.raw), std::end(entry.gid.raw),
                       [](std::uint8_t byte) { return byte == 0; });
}

}  // namespace

void set_queries(verbs_context& context) {
    context.query_port = query_port;
    context.query_device_ex = query_device_ex;
    context.query_rt_values = query_rt_values;
}

}  // namespace lanewise::verbs::abi

using namespace lanewise::verbs::abi;

extern "C" {

int ibv_query_device(ibv_context *context, ibv_device_attr *device_attr) {
    return query_device(context, device_attr);
}

// For programs from before the struct grew: its last field is `flags`.
int ibv_query_port(ibv_context *context, uint8_t port_num, _compat_ibv_port_attr *port_attr) {
    return query_port(context, port_num, reinterpret_cast<ibv_port_attr *>(port_attr),
                      offsetof(ibv_port_attr, port_cap_flags2));
}

int ibv_query_gid(ibv_context *context, uint8_t port_num, int index, ibv_gid *gid) {
    if (const int error = command_error("ibv_query_gid", context)) return errno = error, -1;
    if (const int error = refusal(context)) return errno = error, -1;
    const auto entry = gid_entry(own(context), port_num, static_cast<std::uint32_t>(index));
    if (!entry) return errno = EINVAL, -1;
    *gid = entry->gid;
    return 0;
}

int _ibv_query_gid_ex(ibv_context *context, uint32_t port_num, uint32_t gid_index,
                      ibv_gid_entry *entry, uint32_t flags, size_t entry_size) {
    if (const int error = command_error("ibv_query_gid_ex", context)) return error;
    if (const int error = refusal(context)) return error;
    if (flags != 0) return EOPNOTSUPP;
    const auto found = gid_entry(own(context), port_num, gid_index);
    if (!found) return EINVAL;
    if (is_empty(*found)) return ENODATA;
    std::memcpy(entry, &*found, std::min(entry_size, sizeof *found));
    return 0;
}

ssize_t _ibv_query_gid_table(ibv_context *context, ibv_gid_entry *entries, size_t max_entries,
                             uint32_t flags, size_t entry_size) {
    if (const int error = command_error("ibv_query_gid_table", context)) return -error;
    if (const int error = refusal(context)) return -error;
    if (flags != 0) return -EOPNOTSUPP;
    std::size_t count = 0;
    for (std::uint32_t port = 1; gid_entry(own(context), port, 0); ++port) {
        for (std::uint32_t index = 0; index < gid_table_length; ++index) {
            const auto entry = gid_entry(own(context), port, index);
            if (!entry || is_empty(*entry)) continue;
            if (count == max_entries) return -EINVAL;
            auto *place = reinterpret_cast<char *>(entries) + count++ * entry_size;
            std::memcpy(place, &*entry, std::min(entry_size, sizeof *entry));
        }
    }
    return static_cast<ssize_t>(count);
}

int ibv_query_pkey(ibv_context *context, uint8_t port_num, int index, __be16 *pkey) {
    if (const int error = command_error("ibv_query_pkey", context)) return errno = error, -1;
    if (const int error = refusal(context)) return errno = error, -1;
    Context& owner = own(context);
    if (port_num < 1 || port_num > owner.adapter->ports().size() || index != 0) {
        return errno = EINVAL, -1;
    }
    *pkey = htons(owner.adapter->engine().config().pkey);
    return 0;
}

int ibv_get_pkey_index(ibv_context *context, uint8_t port_num, __be16 pkey) {
    __be16 only = 0;
    if (ibv_query_pkey(context, port_num, 0, &only) != 0 || only != pkey) return errno = EINVAL, -1;
    return 0;
}

}  // extern "C"
