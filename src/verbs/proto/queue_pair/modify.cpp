// SPDX-License-Identifier: BSD-3-Clause
//
// Modifying a queue pair: which attributes a change of state needs and which it allows, as a table
// (ibv_modify_qp(3); IBA 1, table 91), then the values, and only then what follows from them.

#include <algorithm>
#include <array>
#include <cerrno>

#include "verbs/proto/connection/migration.hpp"
#include "verbs/proto/queue_pair/queue_pair_parts.hpp"

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
constexpr std::uint32_t meeting =
    address | path_mtu_attribute | destination_qpn_attribute | receive_psn_attribute;
constexpr std::uint32_t patience =
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
           {meeting | destination_read_atomic_attribute | rnr_timer, alternate | access | pkey},
           {meeting, alternate | access | pkey},
           {0, pkey | qkey}},
    // Beyond the standard: a queue pair that only ever receives can be armed as well.
    Change{State::ready_to_receive,
           State::ready_to_receive,
           {migration, alternate},
           {migration, alternate},
           refused},
    Change{State::ready_to_receive,
           State::ready_to_send,
           {send_psn_attribute | patience, running | rnr_timer},
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
           {0, port | address | patience | destination_read_atomic_attribute | alternate | access |
                   pkey | rnr_timer | migration},
           {0, address | alternate | access | pkey | migration},
           {0, pkey | qkey}},
    Change{State::send_queue_error,
           State::ready_to_send,
           {0, 0},
           {0, current | access},
           {0, current | qkey}},
};

const Needs& needs_of(const Change& change, Transport transport) {
    switch (transport) {
        case Transport::rc:
            return change.reliable;
        case Transport::uc:
            return change.unreliable;
        default:
            return change.datagram;
    }
}

bool may_change(Transport transport, State from, State to, std::uint32_t mask) {
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
    const Needs& needs = needs_of(*found, transport);
    return (given & needs.required) == needs.required &&
           (given & ~(needs.required | needs.allowed)) == 0;
}

bool is_path(const DeviceParts& device, const AddressVector& vector) {
    return device.has_port(vector.port);
}

bool has_valid_values(const Connection& connection, const Attributes& wanted, std::uint32_t mask) {
    const DeviceParts& device = connection.device;
    const auto given = [&](std::uint32_t attribute) { return (mask & attribute) != 0; };
    const auto most = device.config.read_atomic_max;
    const bool wrong =
        (given(port) && !device.has_port(wanted.port)) ||
        (given(pkey) && wanted.primary.pkey_index != 0) ||
        (given(address) && !is_path(device, wanted.primary.address)) ||
        (given(path_mtu_attribute) &&
         (wanted.path_mtu < Mtu::b256 || wanted.path_mtu > Mtu::b4096)) ||
        (given(timeout_attribute) && wanted.primary.timeout > 31) ||
        (given(retry_count_attribute) && wanted.retry_count > 7) ||
        (given(rnr_retry_attribute) && wanted.rnr_retry > 7) ||
        (given(rnr_timer) && wanted.rnr_timer > 31) ||
        (given(read_atomic_attribute) && wanted.read_atomic_max > most) ||
        (given(destination_read_atomic_attribute) && wanted.destination_read_atomic_max > most) ||
        (given(destination_qpn_attribute) && wanted.destination_qpn > Psn::mask) ||
        (given(alternate) && (!is_path(device, wanted.alternate.address) ||
                              wanted.alternate.pkey_index != 0 || wanted.alternate.timeout > 31)) ||
        (given(current) && wanted.current_state != connection.state());
    return !wrong;
}

void take_values(Connection& connection, const Attributes& wanted, std::uint32_t mask) {
    Attributes& now = connection.attributes;
    const auto take = [&](std::uint32_t attribute, auto member) {
        if ((mask & attribute) != 0) {
            now.*member = wanted.*member;
        }
    };
    take(access, &Attributes::access);
    take(port, &Attributes::port);
    take(qkey, &Attributes::qkey);
    take(path_mtu_attribute, &Attributes::path_mtu);
    take(destination_qpn_attribute, &Attributes::destination_qpn);
    take(receive_psn_attribute, &Attributes::receive_psn);
    take(send_psn_attribute, &Attributes::send_psn);
    take(read_atomic_attribute, &Attributes::read_atomic_max);
    take(destination_read_atomic_attribute, &Attributes::destination_read_atomic_max);
    take(retry_count_attribute, &Attributes::retry_count);
    take(rnr_retry_attribute, &Attributes::rnr_retry);
    take(rnr_timer, &Attributes::rnr_timer);
    take(notice, &Attributes::drained_notice);
    if ((mask & address) != 0) {
        now.primary.address = wanted.primary.address;
        now.port = now.primary.address.port;
    }
    if ((mask & timeout_attribute) != 0) {
        now.primary.timeout = wanted.primary.timeout;
    }
    if ((mask & alternate) != 0) {
        now.alternate = wanted.alternate;
        connection.alternate_loaded = true;
    }
}

void forget_everything(QueuePairParts& parts) {
    Connection& connection = parts.connection;
    // Whoever starts anew must not find what became of work before.
    connection.init.send_queue->forget(connection.init.number);
    connection.init.receive_queue->forget(connection.init.number);
    parts.requester.forget_everything();
    parts.responder.forget_everything();
    connection.attributes = {};
    connection.alternate_loaded = false;
    connection.established_told = false;
    connection.retired.reset();
    parts.flushed = false;
    parts.announcements_left = 0;
    parts.announce_at = never;
}

void take_migration(QueuePairParts& parts, Migration wanted) {
    Connection& connection = parts.connection;
    if (wanted == Migration::rearm) {
        connection.attributes.migration = Migration::rearm;
        connection.migration_error_told = false;
        return;
    }
    if (connection.attributes.migration == Migration::armed) {
        parts.leave_path();
    }
}

void enter(QueuePairParts& parts, State from, State to) {
    parts.connection.attributes.state = to;
    if (from == State::init && to == State::ready_to_receive) {
        // Datagrams have no path; they may be as long as the port allows.
        Attributes& attributes = parts.connection.attributes;
        attributes.path_mtu =
            parts.connection.connected() ? attributes.path_mtu : parts.connection.device.config.mtu;
        parts.responder.start(Psn(attributes.receive_psn));
    }
    if (from == State::ready_to_receive && to == State::ready_to_send) {
        parts.requester.start(Psn(parts.connection.attributes.send_psn));
    }
    if (to == State::send_queue_drained && from == State::ready_to_send) {
        parts.drained_told = false;
    }
}

}  // namespace

int QueuePair::modify(const Attributes& wanted, std::uint32_t mask) {
    Connection& connection = parts_->connection;
    const State from = connection.state();
    const State to = (mask & state_attribute) != 0 ? wanted.state : from;
    if (!may_change(connection.init.transport, from, to, mask) ||
        !has_valid_values(connection, wanted, mask)) {
        return EINVAL;
    }
    if ((mask & migration) != 0 &&
        check_migration(connection, wanted.migration, to, (mask & alternate) != 0) != 0) {
        return EINVAL;
    }
    if (to == State::reset) {
        forget_everything(*parts_);
        parts_->settle();
        return 0;
    }
    take_values(connection, wanted, mask);
    enter(*parts_, from, to);
    if ((mask & migration) != 0) {
        take_migration(*parts_, wanted.migration);
    }
    parts_->settle();
    return 0;
}

}  // namespace lanewise::verbs
