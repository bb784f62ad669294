// SPDX-License-Identifier: BSD-3-Clause
//
// Asks a device for the type of a GID.

#pragma once

#include <infiniband/verbs.h>

#include <cstddef>
#include <cstdint>

#include "paths/route.hpp"

namespace lanewise::paths {

// ibv_query_gid_ex() is inline and calls this, which a libibverbs before rdma-core 32 lacks.
using GidEntryQuery = int(ibv_context *, std::uint32_t, std::uint32_t, ibv_gid_entry *,
                          std::uint32_t, std::size_t);

// Unknown where `query` is null or fails.
inline GidType gid_type(ibv_context *context, std::uint8_t port, unsigned index,
                        GidEntryQuery *query) {
    ibv_gid_entry entry{};
    if (!query || query(context, port, index, &entry, 0, sizeof entry) != 0) {
        return GidType::unknown;
    }
    switch (entry.gid_type) {
        case IBV_GID_TYPE_IB: return GidType::infiniband;
        case IBV_GID_TYPE_ROCE_V1: return GidType::roce_v1;
        case IBV_GID_TYPE_ROCE_V2: return GidType::roce_v2;
        default: return GidType::unknown;
    }
}

}  // namespace lanewise::paths
