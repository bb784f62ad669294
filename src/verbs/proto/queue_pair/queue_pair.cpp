// SPDX-License-Identifier: BSD-3-Clause

#include "verbs/proto/queue_pair/queue_pair.hpp"

#include <algorithm>
#include <cerrno>

#include "verbs/proto/connection/migration.hpp"
#include "verbs/proto/queue_pair/transitions.hpp"

namespace lanewise::verbs {
namespace {

constexpr std::uint16_t pkey_base = 0x7fff;
constexpr std::uint16_t pkey_full_member = 0x8000;
constexpr unsigned announcements_max = 8;
constexpr unsigned doublings_max = 11;  // of the pauses between announcements, or questions
// Notifications of congestion have the class that ConnectX gives them (CS6), and are not marked.
constexpr std::uint8_t notification_class = 48 << 2;
constexpr std::uint8_t notification_opcode = 0x81;
// Of who has not measured its own, since it sends datagrams or the data of reads only.
constexpr Nanoseconds supposed_round_trip_ns = 2'000'000;
// A peer asks again after about a round trip, and each time waits twice as long.
constexpr int time_wait_round_trips = 16;
constexpr Nanoseconds time_wait_max_ns = 500'000'000;

// Two limited members of a partition may not talk to each other.
bool same_partition(std::uint16_t a, std::uint16_t b) {
    return (a & pkey_base) == (b & pkey_base) && ((a | b) & pkey_full_member) != 0;
}

bool is_marked(const Arrival& from) {
    return (from.traffic_class & congestion_bits) == marked;
}

// Ends the datagram that was begun last, and returns its bytes.
std::size_t finish(Batch& batch, const AddressVector& to, const Origin& origin,
                   std::uint16_t ip_id) {
    return origin.in_memory
               ? batch.finish()
               : batch.finish({to.source, to.destination, origin.source_udp_port}, ip_id);
}

}  // namespace

QueuePair::QueuePair(DeviceContext& device, const QueuePairInit& init)
    : connection_(device, init, this), requester_(connection_), responder_(connection_) {
    slot_.queue_pair = this;
}

int QueuePair::post_send(const SendRequest& request) {
    const int error = requester_.post(request);
    if (error == 0) {
        settle();
    }
    return error;
}

int QueuePair::post_receive(const ReceiveRequest& request) {
    const int error = responder_.post(request);
    if (error == 0 && state() == State::error) {
        settle();
    }
    return error;
}

bool QueuePair::has_valid_values(const Attributes& wanted, std::uint32_t mask) const {
    const DeviceContext& device = connection_.device;
    const auto given = [&](std::uint32_t attribute) { return (mask & attribute) != 0; };
    const auto most = device.config.read_atomic_max;
    const bool wrong =
        (given(port_attribute) && !device.has_port(wanted.port)) ||
        (given(pkey_index_attribute) && wanted.primary.pkey_index != 0) ||
        (given(address_attribute) && !device.has_port(wanted.primary.address.port)) ||
        (given(path_mtu_attribute) &&
         (wanted.path_mtu < Mtu::b256 || wanted.path_mtu > Mtu::b4096)) ||
        (given(timeout_attribute) && wanted.primary.timeout > 31) ||
        (given(retry_count_attribute) && wanted.retry_count > 7) ||
        (given(rnr_retry_attribute) && wanted.rnr_retry > 7) ||
        (given(rnr_timer_attribute) && wanted.rnr_timer > 31) ||
        (given(read_atomic_attribute) && wanted.read_atomic_max > most) ||
        (given(destination_read_atomic_attribute) && wanted.destination_read_atomic_max > most) ||
        (given(destination_qpn_attribute) && wanted.destination_qpn > Psn::mask) ||
        (given(alternate_path_attribute) &&
         (!device.has_port(wanted.alternate.address.port) || wanted.alternate.pkey_index != 0 ||
          wanted.alternate.timeout > 31)) ||
        (given(current_state_attribute) && wanted.current_state != connection_.state());
    return !wrong;
}

void QueuePair::take_values(const Attributes& wanted, std::uint32_t mask) {
    Attributes& now = connection_.attributes;
    const auto take = [&](std::uint32_t attribute, auto member) {
        if ((mask & attribute) != 0) {
            now.*member = wanted.*member;
        }
    };
    take(access_attribute, &Attributes::access);
    take(port_attribute, &Attributes::port);
    take(qkey_attribute, &Attributes::qkey);
    take(path_mtu_attribute, &Attributes::path_mtu);
    take(destination_qpn_attribute, &Attributes::destination_qpn);
    take(receive_psn_attribute, &Attributes::receive_psn);
    take(send_psn_attribute, &Attributes::send_psn);
    take(read_atomic_attribute, &Attributes::read_atomic_max);
    take(destination_read_atomic_attribute, &Attributes::destination_read_atomic_max);
    take(retry_count_attribute, &Attributes::retry_count);
    take(rnr_retry_attribute, &Attributes::rnr_retry);
    take(rnr_timer_attribute, &Attributes::rnr_timer);
    take(drained_notice_attribute, &Attributes::drained_notice);
    if ((mask & address_attribute) != 0) {
        now.primary.address = wanted.primary.address;
        now.port = now.primary.address.port;
    }
    if ((mask & timeout_attribute) != 0) {
        now.primary.timeout = wanted.primary.timeout;
    }
    if ((mask & alternate_path_attribute) != 0) {
        now.alternate = wanted.alternate;
        connection_.alternate_loaded = true;
    }
}

void QueuePair::reset() {
    // A program that reuses the queue pair must not find completions of earlier work.
    for (CompletionQueue *queue : {connection_.init.send_queue, connection_.init.receive_queue}) {
        if (queue != nullptr) {
            queue->forget(connection_.init.number);
        }
    }
    requester_.reset();
    responder_.reset();
    connection_.attributes = {};
    connection_.alternate_loaded = false;
    connection_.established_reported = false;
    connection_.previous_path.reset();
    connection_.alternate_confirmed = false;
    copy_filter_.clear();
    answers_ = flushed_ = false;
    announces_ = false;
    announce_at_ = ask_at_ = turn_at_ = never;
    rate_.reset();
    mark_report_ = {};
    notification_.reset();
}

void QueuePair::change_migration_state(Migration wanted) {
    if (wanted == Migration::rearm) {
        connection_.attributes.migration = Migration::rearm;
        connection_.migration_error_reported = false;
        connection_.alternate_confirmed = false;
        if (starts_on_dead_port(connection_)) {
            leave_path(MigrationCause::carrier);
        } else if (connection_.reliable() && connection_.device.config.confirm_alternates) {
            ask_peer();
        }
        return;
    }
    if (connection_.attributes.migration == Migration::armed) {
        leave_path(MigrationCause::command);
    }
}

void QueuePair::enter(State from, State to) {
    Attributes& attributes = connection_.attributes;
    attributes.state = to;
    if (from == State::init && to == State::ready_to_receive) {
        // Datagrams have no path; they may be as long as the port allows.
        attributes.path_mtu =
            connection_.connected() ? attributes.path_mtu : connection_.device.config.mtu;
        responder_.start(Psn(attributes.receive_psn));
    }
    if (from == State::ready_to_receive && to == State::ready_to_send) {
        // Who loads an alternate path before has no timeout yet from which to take that of the
        // path.
        if (attributes.alternate.timeout == 0) {
            attributes.alternate.timeout = attributes.primary.timeout;
        }
        requester_.start(Psn(attributes.send_psn));
    }
    if (to == State::send_queue_drained && from == State::ready_to_send) {
        drained_reported_ = false;
    }
}

Nanoseconds QueuePair::time_wait_ends_at() const {
    const DeviceConfig& config = connection_.device.config;
    if (!connection_.reliable() || !connection_.receives() || config.time_wait_ns == 0 ||
        responder_.served_at() == 0 || requested_in_memory_) {
        return 0;
    }
    return responder_.served_at() + std::clamp(time_wait_round_trips * requester_.round_trip_ns(),
                                               config.time_wait_ns, time_wait_max_ns);
}

// A peer that has moved to the alternate path finds an acknowledgement there that has moved as
// well.
void QueuePair::leave_last_acknowledgement() const {
    DeviceContext& device = connection_.device;
    LastAcknowledgement last{.qpn = number(),
                             .transport = connection_.init.transport,
                             .expected = responder_.expected(),
                             .answers = {},
                             .until = time_wait_ends_at()};
    if (last.until <= device.now) {
        return;
    }
    Packet packet = responder_.acknowledgement();
    const auto answer_on = [&](const Path& path) {
        std::vector<std::byte> datagram(datagram_bytes(packet.row, 0));
        encode_headers(packet, datagram);
        last.answers.push_back({path.address, std::move(datagram)});
    };
    answer_on(connection_.attributes.primary);
    if (has_usable_alternate(connection_)) {
        packet.base.migration_request = true;
        answer_on(connection_.attributes.alternate);
    }
    device.time_wait.add(std::move(last), device.now);
}

int QueuePair::modify(const Attributes& wanted, std::uint32_t mask) {
    const State from = state();
    const State to = (mask & state_attribute) != 0 ? wanted.state : from;
    const bool migrates = (mask & migration_attribute) != 0;
    if (!may_change(connection_.init.transport, connection_.init.role, from, to, mask) ||
        !has_valid_values(wanted, mask)) {
        return EINVAL;
    }
    if (migrates && check_migration(connection_, wanted.migration, to,
                                    (mask & alternate_path_attribute) != 0) != 0) {
        return EINVAL;
    }
    if (to == State::error) {
        leave_last_acknowledgement();
    }
    if (to == State::reset) {
        connection_.device.time_wait.forget(number());
        reset();
        settle();
        return 0;
    }
    take_values(wanted, mask);
    enter(from, to);
    if (migrates) {
        change_migration_state(wanted.migration);
    }
    settle();
    return 0;
}

Attributes QueuePair::query() const {
    Attributes attributes = connection_.attributes;
    attributes.current_state = attributes.state;
    attributes.draining =
        attributes.state == State::send_queue_drained && !requester_.is_between_messages();
    return attributes;
}

// Whether the peer can have sent this sequence number now. A request far behind may be a repeated
// one of a peer that keeps more in flight than this device does; but it moves no path.
bool QueuePair::is_plausible(const Packet& packet) {
    const Psn psn = packet.base.psn;
    if (packet.row.is_response()) {
        return connection_.sends() ? requester_.is_plausible(packet)
                                   : is_path_probe(connection_, packet);
    }
    if (!connection_.reliable()) {
        return responder_.finds_near(psn);
    }
    const std::int32_t ahead = distance(responder_.expected(), psn);
    const bool may_move_path =
        packet.base.migration_request && connection_.attributes.migration != Migration::migrated;
    return ahead < window_packets_max && (ahead > -window_packets_max || !may_move_path);
}

void QueuePair::on_packet(const Packet& packet, const Arrival& from, Nanoseconds now) {
    const bool is_notification = packet.transport == Transport::notification;
    const bool is_ours = packet.transport == connection_.init.transport || is_notification;
    if (!connection_.receives() || !is_ours) {
        ++connection_.counters.dropped;
        return;
    }
    if (connection_.init.role == Role::initiator && !packet.row.is_response() && !is_notification) {
        ++connection_.counters.dropped;
        return;
    }
    if (!same_partition(packet.base.pkey, connection_.device.config.pkey)) {
        ++connection_.device.port(from.port).counters.pkey_violations;
        ++connection_.counters.dropped;
        return;
    }
    if (connection_.connected() && !is_from_peer(connection_, from)) {
        ++connection_.counters.foreign_packets;
        return;
    }
    if (is_notification) {
        on_notification(from, now);
        return;
    }
    if (connection_.connected() && !is_plausible(packet)) {
        ++connection_.counters.outside_window;
        return;
    }
    if (!connection_.connected()) {
        take_datagram(packet, from, now);
        return;
    }
    const Admission admission = admit(connection_, packet, from);
    if (admission == Admission::foreign) {
        ++connection_.counters.foreign_packets;
        return;
    }
    if (admission == Admission::followed && connection_.reliable()) {
        requester_.on_other_path();
    }
    if (packet.base.migration_request) {  // it has followed, or was there before
        announces_ = false;
        announce_at_ = never;
    }
    if (is_path_probe(connection_, packet)) {
        if (packet.base.ack_request) {
            on_question(from, now);
        }
        settle();
        return;
    }
    count_received(packet);
    if (is_marked(from)) {
        on_marked(packet, from, now);
    }
    if (!connection_.reliable()) {
        responder_.on_unreliable(packet);
    } else if (!packet.row.is_response()) {
        answers_ = answers_ || packet.row.kind == PacketKind::send;
        requested_in_memory_ = from.in_memory;
        responder_.on_request(packet, now);
    } else if (connection_.sends()) {
        requester_.on_response(packet, now);
    }
    settle();
}

void QueuePair::count_received(const Packet& packet) {
    ++connection_.counters.packets_received;
    connection_.counters.bytes_received += packet.payload.size();
    if (connection_.state() == State::ready_to_receive && !connection_.established_reported) {
        connection_.established_reported = true;
        connection_.report(EventKind::communication_established);
    }
}

std::optional<Arrival> QueuePair::at_own_port(const Arrival& from) const {
    const OtherWay& other_way = connection_.device.other_way;
    const std::uint8_t own = connection_.attributes.port;
    if (from.port == own) {
        return from;
    }
    AddressVector back{.port = from.port};
    back.source = from.destination;
    back.destination = from.source;
    const auto other = other_way ? other_way(back) : std::nullopt;
    if (!other || other->port != own) {
        return std::nullopt;
    }
    Arrival moved = from;
    moved.port = own;
    moved.source = other->destination;
    moved.destination = other->source;
    return moved;
}

void QueuePair::take_datagram(const Packet& packet, const Arrival& from, Nanoseconds now) {
    const std::optional<Arrival> arrival = at_own_port(from);
    if (!arrival) {
        ++connection_.counters.foreign_packets;
        return;
    }
    if (connection_.device.other_way && packet.datagram.qkey == connection_.attributes.qkey &&
        copy_filter_.is_copy(arrival->source, packet.datagram.source_qpn, packet.base.psn,
                             from.port)) {
        ++connection_.counters.duplicates;
        return;
    }
    count_received(packet);
    if (is_marked(from) && packet.datagram.qkey == connection_.attributes.qkey) {
        on_marked(packet, from, now);
    }
    responder_.on_datagram(packet, *arrival);
    settle();
}

// The network marked a packet instead of dropping it, and its sender is to hear of it. Every member
// of a group would say so, so nobody does.
void QueuePair::on_marked(const Packet& packet, const Arrival& from, Nanoseconds now) {
    DeviceContext& device = connection_.device;
    ++device.port(from.port).counters.np_ecn_marked_roce_packets;
    if (device.config.congestion == Congestion::none || is_multicast(from.destination) ||
        !mark_report_.is_due(now)) {
        return;
    }
    AddressVector to{.port = from.port, .traffic_class = notification_class};
    to.source = from.destination;
    to.destination = from.source;
    notification_ = {to, connection_.connected() ? connection_.attributes.destination_qpn
                                                 : packet.datagram.source_qpn};
}

void QueuePair::on_notification(const Arrival& from, Nanoseconds now) {
    const Nanoseconds measured = requester_.round_trip_ns();
    const bool is_heeded =
        connection_.device.config.congestion != Congestion::none &&
        rate_.on_notification(now, measured > 0 ? measured : supposed_round_trip_ns);
    PortCounters& counters = connection_.device.port(from.port).counters;
    ++(is_heeded ? counters.rp_cnp_handled : counters.rp_cnp_ignored);
    settle();
}

// A path that brings a question may be whole, so its own question need not wait any longer.
void QueuePair::on_question(const Arrival& from, Nanoseconds now) {
    const Probe answer = answer_to(connection_, from);
    if (answer == Probe::none) {
        return;
    }
    responder_.send_probe(answer);
    if (answer == Probe::answer_on_alternate && awaits_confirmation(connection_)) {
        asked_ = 0;
        ask_at_ = std::min(ask_at_, now + connection_.device.config.probe_ns);
    }
}

void QueuePair::on_deadline(Nanoseconds now) {
    if (announce_at_ <= now) {
        announce_at_ = never;
        ++announced_;
        responder_.announce();
    }
    if (ask_at_ <= now) {
        ask_at_ = never;
        if (awaits_confirmation(connection_)) {
            responder_.send_probe(Probe::question);
        }
    }
    turn_at_ = turn_at_ <= now ? never : turn_at_;
    requester_.on_deadline(now);
    responder_.on_deadline(now);
    settle();
}

void QueuePair::fail() {
    if (state() == State::reset) return;
    connection_.fail();
    settle();
}

void QueuePair::on_port_down(std::uint8_t port) {
    if (must_leave_port(connection_, port)) {
        leave_path(MigrationCause::carrier);
        settle();
    }
}

// What was asked while the port had no carrier is lost, and the next question may be far off.
void QueuePair::on_port_up(std::uint8_t port) {
    if (awaits_confirmation(connection_) && connection_.attributes.alternate.address.port == port) {
        ask_peer();
        settle();
    }
}

void QueuePair::ask_peer() {
    asked_ = 0;
    ask_at_ = never;
    responder_.send_probe(Probe::question);
}

void QueuePair::on_address_change(std::uint8_t port, const Address& from, const Address& to) {
    Attributes& attributes = connection_.attributes;
    for (Path *path : {&attributes.primary, &attributes.alternate}) {
        if (path->address.port == port && path->address.source == from) {
            path->address.source = to;
        }
    }
}

void QueuePair::send_delayed_ack() {
    responder_.cancel_ack_delay();
    connection_.device.scheduler.add_ready(slot_);
}

MigrationCause QueuePair::cause_of_migration(std::uint64_t number) const {
    return migration_cause(connection_, number);
}

void QueuePair::leave_path(MigrationCause cause) {
    migrate(connection_, cause);
    if (connection_.reliable()) {
        requester_.on_other_path();
        responder_.announce();
        announces_ = true;
        announced_ = 0;
        announce_at_ = never;
    }
}

// Announcements are repeated, at growing intervals, because one may be lost, and a peer that only
// sends would otherwise notice the migration no earlier than its ack timeout. With a retry window
// they go on: a peer that is just being set up may have no alternate path yet.
void QueuePair::schedule_announcement(Nanoseconds now) {
    const DeviceConfig& config = connection_.device.config;
    const bool goes_on = announced_ < announcements_max || config.retry_window_ns != 0;
    if (announces_ && goes_on && announce_at_ == never && config.probe_ns > 0) {
        announce_at_ = now + (config.probe_ns << std::min(announced_, doublings_max));
    }
}

void QueuePair::schedule_question(Nanoseconds now) {
    const DeviceConfig& config = connection_.device.config;
    if (awaits_confirmation(connection_) && ask_at_ == never && config.probe_ns > 0) {
        ask_at_ = now + (config.probe_ns << std::min(asked_++, doublings_max));
    }
}

void QueuePair::send_copies(const AddressVector& to, const Transmission& run, const Batch& batch) {
    DeviceContext& device = connection_.device;
    if (connection_.connected() || !device.other_way) {
        return;
    }
    const auto other = device.other_way(to);
    if (!other || device.port(other->port).state != PortState::active) {
        return;
    }
    const std::span<const std::byte> sent = batch.written();
    device.copies.push_back({*other, {sent.begin(), sent.end()}, run.segment_bytes});
}

void QueuePair::settle() {
    const State state = connection_.state();
    if (state == State::error || state == State::send_queue_error) {
        requester_.flush();
    }
    if (state == State::error) {
        if (!flushed_ || connection_.init.shared_receive_queue == nullptr) {
            responder_.flush();
        }
        flushed_ = true;
    }
    if (state == State::send_queue_drained && requester_.is_between_messages() &&
        !drained_reported_) {
        drained_reported_ = true;
        if (connection_.attributes.drained_notice) {
            connection_.report(EventKind::send_queue_drained);
        }
    }
    set_deadline();
    const bool delays_ack = responder_.delays_ack();
    if (delays_ack) {
        connection_.device.scheduler.add_delayed_ack(slot_);
    }
    const bool responds = responder_.has_responses() && !delays_ack;
    if (responds || requester_.has_unsent() || notification_) {
        connection_.device.scheduler.add_ready(slot_);
    }
}

void QueuePair::set_deadline() {
    const Nanoseconds sender = connection_.sends() ? requester_.deadline() : never;
    connection_.device.scheduler.set_deadline(
        slot_, std::min({sender, responder_.deadline(), announce_at_, ask_at_, turn_at_}));
}

std::optional<Transmission> QueuePair::transmit_notification(Batch& batch) {
    const Notification one = *notification_;
    notification_.reset();
    Packet packet;
    packet.transport = Transport::notification;
    packet.base.opcode = notification_opcode;
    packet.base.backward_congestion = true;
    packet.base.pkey = connection_.device.config.pkey;
    packet.base.destination_qpn = one.qpn;
    packet.row = opcode_row(packet.base.opcode);
    const Origin origin =
        connection_.device.origin_of(one.to, connection_.reliable() ? one.qpn : 0);
    batch.begin();
    batch.wrote(encode_headers(packet, batch.room()));
    const std::size_t bytes = finish(batch, one.to, origin, origin.ip_id);
    ++connection_.device.port(one.to.port).counters.np_cnp_sent;
    settle();
    return Transmission{.port = one.to.port,
                        .source = one.to.source,
                        .destination = one.to.destination,
                        .origin = origin,
                        .traffic_class = one.to.traffic_class,
                        .bytes = bytes,
                        .segment_bytes = bytes,
                        .segments = 1};
}

QueuePair::Turn QueuePair::take_turn(NextPacket& next, Nanoseconds now) {
    Turn turn = Turn::none;
    // A delayed acknowledgement gives way to requests.
    const bool responds_now = responder_.peek(next) && !responder_.delays_ack();
    if (!responds_now && requester_.peek(next)) {
        turn = Turn::request;
    } else if (responds_now || responder_.peek(next)) {
        turn = Turn::response;
    }
    const bool is_paced = turn != Turn::none && next.is_paced;
    const Nanoseconds departs_at = is_paced ? rate_.next_departure(now) : 0;
    turn_at_ = departs_at > now ? departs_at : never;
    if (turn_at_ == never) {
        return turn;
    }
    set_deadline();
    return Turn::none;
}

std::optional<Transmission> QueuePair::transmit(Batch& batch, std::size_t segments_max,
                                                Nanoseconds now) {
    if (notification_) {
        return transmit_notification(batch);
    }
    std::optional<Transmission> run;
    const AddressVector *at = nullptr;
    AddressVector to;  // a copy, since the request may be done when it has been sent
    bool open = true;
    while (open && (!run || run->segments < segments_max)) {
        if (requester_.do_local_work()) {
            settle();
        }
        NextPacket next;
        const Turn turn = take_turn(next, now);
        const bool is_request = turn == Turn::request;
        if (turn == Turn::none || (!is_request && responder_.delays_ack() && !run)) {
            break;
        }
        const std::size_t used = run ? run->bytes : 0;
        if (used + next.bytes > batch.capacity_bytes() ||
            (run && (next.bytes > run->segment_bytes || (next.to != at && *next.to != to)))) {
            break;
        }
        if (next.to != at) {
            at = next.to;
            to = *at;
        }
        const Origin origin =
            run ? run->origin
                : connection_.device.origin_of(
                      to, connection_.reliable() ? connection_.attributes.destination_qpn : 0);
        batch.begin(origin.in_memory ? Check::none : Check::icrc);
        if (!(is_request ? requester_.write_next(batch, now) : responder_.write_next(batch))) {
            batch.drop();
            settle();
            continue;
        }
        answers_ = answers_ && !is_request;
        const auto ip_id = static_cast<std::uint16_t>(origin.ip_id + (run ? run->segments : 0));
        const std::size_t bytes = finish(batch, to, origin, ip_id);
        if (next.is_paced) {
            rate_.on_sent(bytes, now);
        }
        if (!run) {
            run = Transmission{.port = to.port,
                               .source = to.source,
                               .destination = to.destination,
                               .origin = origin,
                               .traffic_class = connection_.device.traffic_class_of(to),
                               .hop_limit = to.hop_limit,
                               .flow_label = to.flow_label,
                               .segment_bytes = bytes};
        }
        run->bytes += bytes;
        ++run->segments;
        open = bytes == run->segment_bytes;
    }
    if (run) {
        connection_.counters.packets_sent += run->segments;
        connection_.counters.bytes_sent += run->bytes;
        schedule_announcement(now);
        schedule_question(now);
        send_copies(to, *run, batch);
        settle();
    }
    return run;
}

}  // namespace lanewise::verbs
