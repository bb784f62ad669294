// SPDX-License-Identifier: BSD-3-Clause

#include "verbs/proto/connection/migration.hpp"

#include <cerrno>

namespace lanewise::verbs {
namespace {

bool on_path(const Path& path, const Arrival& from) {
    return path.address.port == from.port && path.address.destination == from.source &&
           path.address.source == from.destination;
}

bool on_loaded_alternate(const Connection& connection, const Arrival& from) {
    const Attributes& attributes = connection.attributes;
    return connection.alternate_loaded && attributes.migration != Migration::migrated &&
           on_path(attributes.alternate, from);
}

bool is_answer(const Connection& connection, const Packet& packet) {
    return is_path_probe(connection, packet) && !packet.base.ack_request;
}

void report_error_once(Connection& connection) {
    if (!connection.migration_error_reported) {
        connection.migration_error_reported = true;
        connection.report(EventKind::path_migration_error);
    }
}

}  // namespace

bool has_usable_alternate(const Connection& connection) {
    const Migration migration = connection.attributes.migration;
    const bool loaded_is_enough = connection.device.config.retry_window_ns != 0;
    return migration == Migration::armed || (loaded_is_enough && migration == Migration::rearm);
}

bool is_from_peer(const Connection& connection, const Arrival& from) {
    const Attributes& attributes = connection.attributes;
    const std::optional<Path>& previous = connection.previous_path;
    return from.source == attributes.primary.address.destination ||
           (connection.alternate_loaded &&
            from.source == attributes.alternate.address.destination) ||
           (previous && from.source == previous->address.destination);
}

Admission admit(Connection& connection, const Packet& packet, const Arrival& from) {
    Attributes& attributes = connection.attributes;
    const bool peer_migrated = packet.base.migration_request;
    const bool confirming = connection.device.config.confirm_alternates;
    if (!peer_migrated && confirming && on_loaded_alternate(connection, from)) {
        if (is_answer(connection, packet) || !connection.reliable()) {
            connection.alternate_confirmed = true;
            attributes.migration = Migration::armed;
        }
        return Admission::on_path;
    }
    if (peer_migrated && has_usable_alternate(connection) && on_path(attributes.alternate, from)) {
        migrate(connection, MigrationCause::peer);
        return Admission::followed;
    }
    if (peer_migrated && attributes.migration == Migration::armed) {
        report_error_once(connection);
        return Admission::foreign;
    }
    if (on_path(attributes.primary, from)) {
        const bool asks = confirming && connection.reliable();
        const bool may_arm = connection.alternate_confirmed || !asks;
        if (attributes.migration == Migration::rearm && !peer_migrated && may_arm) {
            attributes.migration = Migration::armed;
        }
        return Admission::on_path;
    }
    const bool late = connection.previous_path && on_path(*connection.previous_path, from);
    return late ? Admission::on_path : Admission::foreign;
}

void migrate(Connection& connection, MigrationCause cause) {
    Attributes& attributes = connection.attributes;
    connection.previous_path = attributes.primary;
    attributes.primary = attributes.alternate;
    attributes.port = attributes.primary.address.port;
    attributes.migration = Migration::migrated;
    connection.alternate_confirmed = false;
    const std::uint64_t number = ++connection.counters.migrations;
    connection.migration_causes[number % migration_causes_max] = cause;
    connection.report(EventKind::path_migrated);
}

MigrationCause migration_cause(const Connection& connection, std::uint64_t number) {
    const std::uint64_t last = connection.counters.migrations;
    const bool is_kept = number >= 1 && number <= last && last - number < migration_causes_max;
    return is_kept ? connection.migration_causes[number % migration_causes_max]
                   : MigrationCause::unknown;
}

bool may_migrate(const Connection& connection) {
    const std::uint8_t other = connection.attributes.alternate.address.port;
    const bool strict = connection.device.config.retry_window_ns == 0;
    return has_usable_alternate(connection) &&
           (strict || connection.device.port(other).state == PortState::active);
}

bool leaves_silent_path(const Connection& connection) {
    return connection.device.config.retry_window_ns != 0 && connection.alternate_confirmed &&
           may_migrate(connection);
}

bool must_leave_port(Connection& connection, std::uint8_t port) {
    const Attributes& attributes = connection.attributes;
    if (!connection.connected() || !connection.receives() || !has_usable_alternate(connection) ||
        attributes.primary.address.port != port) {
        return false;
    }
    const std::uint8_t other = attributes.alternate.address.port;
    if (other == port || connection.device.port(other).state != PortState::active) {
        report_error_once(connection);
        return false;
    }
    return true;
}

bool starts_on_dead_port(const Connection& connection) {
    const Attributes& attributes = connection.attributes;
    const std::uint8_t primary = attributes.primary.address.port;
    const std::uint8_t other = attributes.alternate.address.port;
    return connection.device.config.retry_window_ns != 0 && connection.receives() &&
           connection.device.port(primary).state == PortState::down &&
           connection.device.port(other).state == PortState::active;
}

bool awaits_confirmation(const Connection& connection) {
    return connection.device.config.confirm_alternates && connection.reliable() &&
           connection.receives() && connection.attributes.migration == Migration::rearm &&
           !connection.alternate_confirmed;
}

bool is_path_probe(const Connection& connection, const Packet& packet) {
    return connection.device.config.confirm_alternates &&
           packet.row.kind == PacketKind::acknowledge && packet.base.solicited;
}

Probe answer_to(const Connection& connection, const Arrival& from) {
    if (on_path(connection.attributes.primary, from)) {
        return Probe::answer_on_primary;
    }
    return on_loaded_alternate(connection, from) ? Probe::answer_on_alternate : Probe::none;
}

int check_migration(const Connection& connection, Migration wanted, State next,
                    bool alternate_given) {
    const Migration current = connection.attributes.migration;
    const bool ready = next == State::ready_to_send || next == State::ready_to_receive;
    if (wanted == Migration::rearm) {
        const bool loaded = alternate_given || connection.alternate_loaded;
        return current != Migration::armed && ready && loaded ? 0 : EINVAL;
    }
    if (wanted == Migration::migrated) {
        const bool may = ready || next == State::send_queue_drained;
        return current != Migration::rearm && may ? 0 : EINVAL;
    }
    return EINVAL;
}

}  // namespace lanewise::verbs
