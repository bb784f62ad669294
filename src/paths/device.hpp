// SPDX-License-Identifier: BSD-3-Clause
//
// Reads a device and its queue pairs through verbs, and modifies their paths.

#pragma once

#include <infiniband/verbs.h>

#include <cstdint>
#include <optional>
#include <vector>

#include "base/result.hpp"
#include "paths/gid_type.hpp"
#include "paths/path_machine.hpp"
#include "paths/route.hpp"

namespace lanewise::paths {

// The verbs that this part calls. A program's own library is linked to them; the interposer, which
// takes their place, looks up the next ones.
struct Calls {
    int (*modify_qp)(ibv_qp *, ibv_qp_attr *, int) = nullptr;
    int (*query_qp)(ibv_qp *, ibv_qp_attr *, int, ibv_qp_init_attr *) = nullptr;
    int (*query_device)(ibv_context *, ibv_device_attr *) = nullptr;
    int (*query_gid)(ibv_context *, std::uint8_t, int, ibv_gid *) = nullptr;
    GidEntryQuery *query_gid_ex = nullptr;  // an old library has none
    int (*get_async_event)(ibv_context *, ibv_async_event *) = nullptr;
    void (*ack_async_event)(ibv_async_event *) = nullptr;
    // Of our own device: why the n-th migration took place (MigrationCause). Null on others.
    int (*migration_cause)(ibv_qp *, std::uint64_t) = nullptr;
};

std::vector<Port> read_ports(ibv_context *context, const Calls& calls);

// A failure where the device cannot migrate paths.
Outcome check_device(ibv_context *context, const Calls& calls);

// A failure where queue pairs of this type have no paths, as datagrams have none.
Outcome check_type(const ibv_qp& queue_pair);

struct Alternate {
    ibv_ah_attr address{};
    std::uint16_t pkey_index = 0;
    std::uint8_t timeout = 0;
};

struct QueuePairStatus {
    Communication communication = Communication::reset;
    PathState path = PathState::migrated;
    Route primary;
    std::uint32_t peer_number = 0;
    unsigned mtu_bytes = 0;
    Alternate like_primary;  // what an alternate takes over from the primary path
};

std::optional<QueuePairStatus> read_status(ibv_qp *queue_pair, std::vector<Port>& ports,
                                           const Calls& calls);

Alternate alternate_on(const Route& route, const Alternate& like_primary);
Route route_of(const ibv_ah_attr& address, const std::vector<Port>& ports);

// modify_qp: the alternate and REARM in one call, and MIGRATED. 0 or an errno.
int load_alternate(ibv_qp *queue_pair, const Alternate& alternate, const Calls& calls);
int migrate(ibv_qp *queue_pair, const Calls& calls);

}  // namespace lanewise::paths
