// SPDX-License-Identifier: BSD-3-Clause

#include "verbs/proto/queue_pair/transitions.hpp"

#include <algorithm>
#include <array>

namespace lanewise::verbs {
namespace {

struct Needs {
    std::uint32_t required = 0;
    std::uint32_t allowed = 0;
};

struct Change {
    State from;
    State to;
    Needs reliable;
    Needs unreliable;
    Needs datagram;
};

constexpr std::uint32_t current = current_state_attribute;
constexpr std::uint32_t access = access_attribute;
constexpr std::uint32_t pkey = pkey_index_attribute;
constexpr std::uint32_t port = port_attribute;
constexpr std::uint32_t qkey = qkey_attribute;
constexpr std::uint32_t address = address_attribute;
constexpr std::uint32_t alternate = alternate_path_attribute;
constexpr std::uint32_t migration = migration_attribute;
constexpr std::uint32_t rnr_timer = rnr_timer_attribute;
constexpr std::uint32_t notice = drained_notice_attribute;
constexpr std::uint32_t peer =
    address | path_mtu_attribute | destination_qpn_attribute | receive_psn_attribute;
constexpr std::uint32_t retrying =
    timeout_attribute | retry_count_attribute | rnr_retry_attribute | read_atomic_attribute;
constexpr std::uint32_t running = current | access | alternate | migration;

constexpr Needs refused{.required = ~std::uint32_t{0}};

constexpr std::array changes{
    Change{State::reset,
           State::init,
           {pkey | port | access, 0},
           {pkey | port | access, 0},
           {pkey | port | qkey, 0}},
    Change{State::init,
           State::init,
           {0, pkey | port | access},
           {0, pkey | port | access},
           {0, pkey | port | qkey}},
    Change{State::init,
           State::ready_to_receive,
           {peer | destination_read_atomic_attribute | rnr_timer, alternate | access | pkey},
           {peer, alternate | access | pkey},
           {0, pkey | qkey}},
    // Beyond the standard: a queue pair that only ever receives can be armed as well.
    Change{State::ready_to_receive,
           State::ready_to_receive,
           {migration, alternate},
           {migration, alternate},
           refused},
    Change{State::ready_to_receive,
           State::ready_to_send,
           {send_psn_attribute | retrying, running | rnr_timer},
           {send_psn_attribute, running},
           {send_psn_attribute, current | qkey}},
    Change{State::ready_to_send,
           State::ready_to_send,
           {0, running | rnr_timer},
           {0, running},
           {0, current | qkey}},
    Change{State::ready_to_send, State::send_queue_drained, {0, notice}, {0, notice}, {0, notice}},
    Change{State::send_queue_drained,
           State::ready_to_send,
           {0, running | rnr_timer},
           {0, running},
           {0, current | qkey}},
    Change{State::send_queue_drained,
           State::send_queue_drained,
           {0, port | address | retrying | destination_read_atomic_attribute | alternate | access |
                   pkey | rnr_timer | migration},
           {0, address | alternate | access | pkey | migration},
           {0, pkey | qkey}},
    Change{State::send_queue_error,
           State::ready_to_send,
           {0, 0},
           {0, current | access},
           {0, current | qkey}},
};

// What only the side that sends requests has, and what only the other.
constexpr std::uint32_t of_initiator =
    retry_count_attribute | rnr_retry_attribute | read_atomic_attribute;
constexpr std::uint32_t of_target = destination_read_atomic_attribute | rnr_timer;

Needs without(const Needs& needs, std::uint32_t attributes) {
    return {needs.required & ~attributes, needs.allowed & ~attributes};
}

Needs needs_of(const Change& change, Transport transport, Role role) {
    switch (transport) {
        case Transport::rc: return change.reliable;
        case Transport::xrc:
            return without(change.reliable, role == Role::initiator ? of_target : of_initiator);
        case Transport::uc: return change.unreliable;
        default: return change.datagram;
    }
}

}  // namespace

bool may_change(Transport transport, Role role, State from, State to, std::uint32_t mask) {
    const std::uint32_t given = mask & ~std::uint32_t{state_attribute};
    if (to == State::reset || (to == State::error && from != State::reset)) {
        return given == 0;
    }
    const auto *found = std::find_if(changes.begin(), changes.end(), [&](const Change& change) {
        return change.from == from && change.to == to;
    });
    if (found == changes.end()) {
        return false;
    }
    const Needs needs = needs_of(*found, transport, role);
    return (given & needs.required) == needs.required &&
           (given & ~(needs.required | needs.allowed)) == 0;
}

}  // namespace lanewise::verbs
