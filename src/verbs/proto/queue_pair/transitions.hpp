// SPDX-License-Identifier: BSD-3-Clause
//
// Which attributes a change of a queue pair's state requires and which it allows, as a table
// (ibv_modify_qp(3); IBA 1, table 91).

#pragma once

#include <cstdint>

#include "verbs/proto/connection/attributes.hpp"

namespace lanewise::verbs {

// Whether a queue pair may go from one state to another with the attributes in `mask`.
bool may_change(Transport transport, Role role, State from, State to, std::uint32_t mask);

}  // namespace lanewise::verbs
