// SPDX-License-Identifier: BSD-3-Clause

#include "collectives/tuned/switch.hpp"

#include <atomic>

#include "collectives/execute/communicator_state.hpp"
#include "collectives/tuned/environment.hpp"
#include "collectives/tuned/functions.hpp"

namespace lanewise::tuned {
namespace {

struct Switched {
    std::uint32_t operation = 0;
    collectives::Rule rule; /* without an algorithm: none */
};

Switched& switched() {
    static Switched instance;
    return instance;
}

std::atomic<std::uint64_t> served{0};

}  // namespace

bool is_switched() {
    return environment().switched;
}

const collectives::Rule *switched_rule(collectives::Operation operation,
                                       std::uint64_t message_bytes) {
    const auto& [index, rule] = switched();
    const bool applies = rule.algorithm && index == operation.index() &&
                         rule.from_bytes <= message_bytes && message_bytes <= rule.to_bytes;
    return applies ? &rule : nullptr;
}

void count_served() {
    served.fetch_add(1, std::memory_order_relaxed);
}

}  // namespace lanewise::tuned

using namespace lanewise;

extern "C" LANEWISE_EXPORT int lanewise_switch(const lanewise_switched_rule *rule) {
    constexpr auto collective_count = static_cast<std::uint32_t>(collectives::collective_count);
    if (!tuned::is_switched() || !rule || rule->operation >= 2 * collective_count) return 1;
    tuned::Switched next{.operation = rule->operation, .rule = {}};
    if (rule->algorithm) {
        const auto collective =
            static_cast<collectives::Collective>(rule->operation % collective_count);
        next.rule = {.from_bytes = rule->from_bytes,
                     .to_bytes = rule->to_bytes,
                     .algorithm = collectives::find_algorithm(collective, rule->algorithm),
                     .segment_bytes = rule->segment_bytes,
                     .lanes = rule->lanes};
        if (!next.rule.algorithm) return 1;
    }
    tuned::switched() = next;
    // What was decided under the rule before is not valid any more.
    collectives::generation.fetch_add(1, std::memory_order_release);
    return 0;
}

extern "C" LANEWISE_EXPORT std::uint64_t lanewise_served() {
    return tuned::served.load(std::memory_order_relaxed);
}
