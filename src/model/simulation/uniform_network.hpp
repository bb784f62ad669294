// SPDX-License-Identifier: BSD-3-Clause
//
// Uniform network: every message costs the same between any two ranks. For tests, benchmarks and
// closed formulas.

#pragma once

#include "model/simulation/network.hpp"

namespace lanewise::model {

/* A message of M bytes costs `fixed` and M times `per_byte`; a host a rank. */
inline Network uniform_network(int ranks, const MessageCost& fixed, const MessageCost& per_byte) {
    Network network;
    network.ranks = ranks;
    network.cost = [fixed, per_byte](int, int, std::int64_t message_bytes) {
        const auto bytes = static_cast<double>(message_bytes);
        return MessageCost{.send_s = fixed.send_s + bytes * per_byte.send_s,
                           .egress_s = fixed.egress_s + bytes * per_byte.egress_s,
                           .latency_s = fixed.latency_s + bytes * per_byte.latency_s,
                           .ingress_s = fixed.ingress_s + bytes * per_byte.ingress_s,
                           .receive_s = fixed.receive_s + bytes * per_byte.receive_s,
                           .shared_links = fixed.shared_links};
    };
    return network;
}

}  // namespace lanewise::model
