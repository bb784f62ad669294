// SPDX-License-Identifier: BSD-3-Clause

#include "paths/device.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstring>

namespace lanewise::paths {
namespace {

constexpr int gids_max = 64;
constexpr Gid no_gid{};
// The physical state of a port without a carrier, which our own device may show as active.
constexpr std::uint8_t disabled = 3;

unsigned bytes_of(ibv_mtu mtu) {
    return 128U << static_cast<unsigned>(mtu);
}

// As the inline ibv_query_port does, without naming the symbol that it falls back to.
bool query_port(ibv_context *context, std::uint8_t number, ibv_port_attr& attributes) {
    const verbs_context *extended = verbs_get_ctx(context);
    // Libraries grow this structure at its front: how far an operation is from its end stays.
    constexpr auto reach_bytes = sizeof(verbs_context) - offsetof(verbs_context, query_port);
    if (!extended || extended->sz < reach_bytes || !extended->query_port) return false;
    return extended->query_port(context, number, &attributes, sizeof attributes) == 0;
}

Gid gid_of(const ibv_gid& from) {
    Gid made{};
    std::copy(std::begin(from.raw), std::end(from.raw), made.begin());
    return made;
}

// Whether an address is nobody's: an entry of zeros, or only a link-local prefix.
bool is_free(const Gid& gid) {
    const auto zero = [](std::uint8_t byte) { return byte == 0; };
    return gid == no_gid || std::all_of(gid.begin() + 8, gid.end(), zero);
}

}  // namespace

std::vector<Port> read_ports(ibv_context *context, const Calls& calls) {
    std::vector<Port> ports;
    ibv_device_attr device{};
    if (calls.query_device(context, &device) != 0) return ports;
    for (std::uint8_t number = 1; number <= device.phys_port_cnt; ++number) {
        ibv_port_attr attributes{};
        if (!query_port(context, number, attributes)) continue;
        Port port;
        port.number = number;
        port.active = attributes.state == IBV_PORT_ACTIVE && attributes.phys_state != disabled;
        port.mtu_bytes = bytes_of(attributes.active_mtu);
        port.lid = attributes.lid;
        port.lid_mask_bits = attributes.lmc;
        for (int index = 0; index < std::min(attributes.gid_tbl_len, gids_max); ++index) {
            ibv_gid gid{};
            if (calls.query_gid(context, number, index, &gid) != 0) break;
            if (is_free(gid_of(gid))) continue;
            const GidType type =
                gid_type(context, number, static_cast<unsigned>(index), calls.query_gid_ex);
            port.gids.push_back({static_cast<std::uint8_t>(index), gid_of(gid), type});
        }
        ports.push_back(std::move(port));
    }
    return ports;
}

Outcome check_device(ibv_context *context, const Calls& calls) {
    ibv_device_attr device{};
    if (const int error = calls.query_device(context, &device)) {
        return Failure{LW_ERR_IO, fmt::format("{} cannot be queried: {}", context->device->name,
                                              std::strerror(error))};
    }
    if (!(device.device_cap_flags & IBV_DEVICE_AUTO_PATH_MIG)) {
        return Failure{LW_ERR_UNSUPPORTED, fmt::format("{} cannot migrate paths (it lacks "
                                                       "IBV_DEVICE_AUTO_PATH_MIG)",
                                                       context->device->name)};
    }
    return Done{};
}

Outcome check_type(const ibv_qp& queue_pair) {
    if (queue_pair.qp_type == IBV_QPT_RC || queue_pair.qp_type == IBV_QPT_UC) return Done{};
    return Failure{LW_ERR_UNSUPPORTED,
                   "only queue pairs of type RC and UC have paths that can migrate"};
}

Route route_of(const ibv_ah_attr& address, const std::vector<Port>& ports) {
    Route made;
    made.port = address.port_num;
    made.is_global = address.is_global != 0;
    made.source_bits = address.src_path_bits;
    made.destination_lid = address.dlid;
    if (!made.is_global) return made;
    made.source_index = address.grh.sgid_index;
    made.destination = gid_of(address.grh.dgid);
    for (const Port& port : ports) {
        if (port.number != made.port) continue;
        for (const GidEntry& entry : port.gids) {
            if (entry.index == made.source_index) made.source = entry.gid;
        }
    }
    return made;
}

std::optional<QueuePairStatus> read_status(ibv_qp *queue_pair, std::vector<Port>& ports,
                                           const Calls& calls) {
    ibv_qp_attr attributes{};
    ibv_qp_init_attr init{};
    constexpr int wanted = IBV_QP_STATE | IBV_QP_PATH_MIG_STATE | IBV_QP_AV | IBV_QP_PATH_MTU |
                           IBV_QP_PORT | IBV_QP_PKEY_INDEX | IBV_QP_TIMEOUT | IBV_QP_DEST_QPN;
    if (calls.query_qp(queue_pair, &attributes, wanted, &init) != 0) return std::nullopt;
    if (attributes.ah_attr.port_num == 0) attributes.ah_attr.port_num = attributes.port_num;
    QueuePairStatus made;
    made.communication = static_cast<Communication>(attributes.qp_state);
    made.path = static_cast<PathState>(attributes.path_mig_state);
    made.primary = route_of(attributes.ah_attr, ports);
    made.peer_number = attributes.dest_qp_num;
    made.mtu_bytes = bytes_of(attributes.path_mtu);
    made.like_primary = {attributes.ah_attr, attributes.pkey_index, attributes.timeout};
    return made;
}

Alternate alternate_on(const Route& route, const Alternate& like_primary) {
    Alternate made = like_primary;
    made.address.port_num = route.port;
    made.address.src_path_bits = route.source_bits;
    made.address.dlid = route.destination_lid;
    if (route.is_global) {
        made.address.grh.sgid_index = route.source_index;
        std::copy(route.destination.begin(), route.destination.end(),
                  std::begin(made.address.grh.dgid.raw));
    }
    return made;
}

int load_alternate(ibv_qp *queue_pair, const Alternate& alternate, const Calls& calls) {
    ibv_qp_attr attributes{};
    attributes.alt_ah_attr = alternate.address;
    attributes.alt_port_num = alternate.address.port_num;
    attributes.alt_pkey_index = alternate.pkey_index;
    attributes.alt_timeout = alternate.timeout;
    attributes.path_mig_state = IBV_MIG_REARM;
    return calls.modify_qp(queue_pair, &attributes, IBV_QP_ALT_PATH | IBV_QP_PATH_MIG_STATE);
}

int migrate(ibv_qp *queue_pair, const Calls& calls) {
    ibv_qp_attr attributes{};
    attributes.path_mig_state = IBV_MIG_MIGRATED;
    return calls.modify_qp(queue_pair, &attributes, IBV_QP_PATH_MIG_STATE);
}

}  // namespace lanewise::paths
