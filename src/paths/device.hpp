// SPDX-License-Identifier: BSD-3-Clause
//
// A device and its queue pairs as verbs tell of them, in the words of this part.

#pragma once

#include <optional>
#include <vector>

#include "base/result.hpp"
#include "paths/calls.hpp"
#include "paths/path_machine.hpp"
#include "paths/route.hpp"

namespace lanewise::paths {

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

struct Standing {
    Communication communication = Communication::reset;
    PathState path = PathState::migrated;
    Route primary;
    std::uint32_t peer_number = 0;
    unsigned mtu_bytes = 0;
    Alternate like_primary;  // what an alternate takes over from the primary path
};

std::optional<Standing> read_standing(ibv_qp *queue_pair, std::vector<Port>& ports,
                                      const Calls& calls);

Alternate alternate_on(const Route& route, const Alternate& like_primary);
Route route_of(const ibv_ah_attr& address, const std::vector<Port>& ports);

// modify_qp: the alternate and REARM in one call, and MIGRATED. 0 or an errno.
int load_alternate(ibv_qp *queue_pair, const Alternate& alternate, const Calls& calls);
int migrate(ibv_qp *queue_pair, const Calls& calls);

}  // namespace lanewise::paths
