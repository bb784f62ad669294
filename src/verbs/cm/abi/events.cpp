// SPDX-License-Identifier: BSD-3-Clause
//
// Event channels, and how events of the machine become events of a program.

#include <algorithm>
#include <array>
#include <cerrno>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "base/clock.hpp"
#include "verbs/cm/abi/objects.hpp"
#include "verbs/cm/message/ip_service.hpp"
#include "verbs/port/random.hpp"

namespace lanewise::verbs::cm {
namespace {

// What the machine's numbers belong to.
struct Owners {
    std::map<std::uint32_t, IdObject *> of_connections;
    std::map<std::uint64_t, IdObject *> of_listeners;
};

// Under the lock of the manager. Never destroyed, as the manager is not: its thread delivers until
// the process has ended.
Owners *& owners() {
    static auto *all = new Owners;
    return all;
}
std::map<std::uint32_t, IdObject *>& connections() {
    return owners()->of_connections;
}
std::map<std::uint64_t, IdObject *>& listening() {
    return owners()->of_listeners;
}

// A child has a machine of its own, with the same numbers. Those of its parent may be in the middle
// of a change.
void begin_anew_in_child() {
    abi::handle_pool_lock().unlock();
    owners() = new Owners;
}

// Reads and atomics are told by who asks: what the peer starts is what this end responds to.
Terms terms_of(const Message& from, std::uint8_t path_mtu) {
    Terms terms;
    terms.remote_qpn = from.qpn;
    terms.remote_qkey = from.qkey;
    terms.send_psn = from.psn;
    terms.path_mtu = path_mtu;
    terms.responder_resources = from.initiator_depth;
    terms.initiator_depth = from.responder_resources;
    terms.rnr_retry_count = from.rnr_retry_count;
    terms.ack_timeout = from.ack_timeout;
    return terms;
}

void set_private_data(EventObject& event, Bytes data) {
    event.private_data = std::move(data);
    rdma_conn_param& shown = event.shown.param.conn;
    shown.private_data = event.private_data.empty() ? nullptr : event.private_data.data();
    shown.private_data_len = static_cast<std::uint8_t>(event.private_data.size());
}

void show_parameters(EventObject& event, const Message& from) {
    rdma_conn_param& shown = event.shown.param.conn;
    shown.responder_resources = from.initiator_depth;
    shown.initiator_depth = from.responder_resources;
    shown.flow_control = from.flow_control;
    shown.retry_count = from.retry_count;
    shown.rnr_retry_count = from.rnr_retry_count;
    shown.srq = from.srq;
    shown.qp_num = from.qpn;
}

Bytes behind_ip_header(const Bytes& data) {
    return Bytes(data.begin() + static_cast<std::ptrdiff_t>(ip_header_bytes), data.end());
}

// A request is an event of the listener, about an id that is made for it.
void deliver_request(const ConnectionEvent& connection_event, Manager& shared) {
    const auto found = listening().find(connection_event.listener);
    const std::optional<IpHeader> header = ip_header_of(connection_event.message.private_data);
    if (found == listening().end() || !header) {
        shared.agent().reject(connection_event.id, Reason::consumer, {}, monotonic_ns());
        return;
    }
    IdObject& listener = *found->second;
    // The service has queue pairs of one kind, and the program could not accept another.
    if (is_datagram(listener) != (connection_event.kind == ConnectionEventKind::datagram_request)) {
        shared.agent().reject(connection_event.id, Reason::consumer, {}, monotonic_ns());
        return;
    }
    IdObject *made = make_id(listener.shown.channel, listener.shown.context, listener.shown.ps,
                             listener.shown.qp_type);
    made->passive = true;
    made->local = {connection_event.ends.source, listener.local.port};
    made->remote = {connection_event.ends.destination, header->source_port};
    write_name(made->local, made->shown.route.addr.src_storage);
    write_name(made->remote, made->shown.route.addr.dst_storage);
    made->connection = connection_event.id;
    made->terms = terms_of(connection_event.message, connection_event.message.path_mtu);
    // Now, since a program may make its own queue pair ready before it accepts.
    made->terms.receive_psn = port::random_number() & 0xffffff;
    made->terms.retry_count = connection_event.message.retry_count;
    made->traffic_class = connection_event.message.traffic_class;
    made->shown.verbs = listener.shown.verbs;
    remember(*made);

    auto event = make_event(listener, RDMA_CM_EVENT_CONNECT_REQUEST);
    event->shown.id = &made->shown;
    event->shown.listen_id = &listener.shown;
    if (!is_datagram(listener)) show_parameters(*event, connection_event.message);
    set_private_data(*event, behind_ip_header(connection_event.message.private_data));
    add_event(listener, std::move(event));
}

void deliver_response(IdObject& id, const ConnectionEvent& connection_event) {
    Terms terms = terms_of(connection_event.message, id.terms.path_mtu);
    terms.receive_psn = id.terms.receive_psn;
    terms.retry_count = id.terms.retry_count;
    terms.ack_timeout = id.terms.ack_timeout;
    // The peer decides, within what the device can do.
    terms.responder_resources = std::min(terms.responder_resources, id.outstanding_max);
    terms.initiator_depth = std::min(terms.initiator_depth, id.outstanding_max);
    id.terms = terms;
    auto event = make_event(id, RDMA_CM_EVENT_CONNECT_RESPONSE);
    event->response = true;
    show_parameters(*event, connection_event.message);
    set_private_data(*event, connection_event.message.private_data);
    add_event(id, std::move(event));
}

void deliver_datagram_reply(IdObject& id, const ConnectionEvent& connection_event) {
    const bool valid =
        connection_event.message.status == static_cast<std::uint8_t>(DatagramStatus::valid);
    auto event = make_event(id, valid ? RDMA_CM_EVENT_ESTABLISHED : RDMA_CM_EVENT_UNREACHABLE);
    event->shown.status = valid ? 0 : connection_event.message.status;
    event->private_data = connection_event.message.private_data;
    rdma_ud_param& shown = event->shown.param.ud;
    shown.private_data = event->private_data.data();
    shown.private_data_len = static_cast<std::uint8_t>(event->private_data.size());
    shown.qp_num = connection_event.message.qpn;
    shown.qkey = connection_event.message.qkey;
    id.terms.remote_qpn = shown.qp_num;
    id.terms.remote_qkey = shown.qkey;
    connections().erase(id.connection);
    id.connection = 0;
    add_event(id, std::move(event));
}

void deliver_end(IdObject& id, const ConnectionEvent& connection_event) {
    const bool rejected = connection_event.kind == ConnectionEventKind::rejected;
    auto event = make_event(id, rejected ? RDMA_CM_EVENT_REJECTED : RDMA_CM_EVENT_UNREACHABLE);
    event->shown.status = rejected ? connection_event.message.reason : -ETIMEDOUT;
    if (rejected) set_private_data(*event, connection_event.message.private_data);
    add_event(id, std::move(event));
}

void deliver(const ConnectionEvent& connection_event) {
    if (connection_event.kind == ConnectionEventKind::request ||
        connection_event.kind == ConnectionEventKind::datagram_request) {
        return deliver_request(connection_event, *manager());
    }
    const auto found = connections().find(connection_event.id);
    if (found == connections().end()) return;
    IdObject& id = *found->second;
    switch (connection_event.kind) {
        case ConnectionEventKind::response: return deliver_response(id, connection_event);
        case ConnectionEventKind::established:
            id.connected = true;
            return add_event(id, RDMA_CM_EVENT_ESTABLISHED);
        case ConnectionEventKind::disconnected: return add_event(id, RDMA_CM_EVENT_DISCONNECTED);
        case ConnectionEventKind::abandoned:
            return add_event(id, RDMA_CM_EVENT_DISCONNECTED, -ETIMEDOUT);
        case ConnectionEventKind::time_wait_over: return add_event(id, RDMA_CM_EVENT_TIMEWAIT_EXIT);
        case ConnectionEventKind::datagram_reply:
            return deliver_datagram_reply(id, connection_event);
        default: return deliver_end(id, connection_event);
    }
}

// A peer has accepted: the queue pair follows, and the peer is told. Where the program has its
// queue pair elsewhere it does both itself (rdma_establish(3)).
void answer_response(EventObject& event) {
    IdObject& id = *event.about;
    if (!id.shown.qp) return;
    int error = make_ready(id);
    Manager *shared = manager();
    const std::lock_guard guard(shared->lock());
    if (error == 0) error = shared->agent().establish(id.connection, monotonic_ns());
    if (error == 0) {
        id.connected = true;
        event.shown.event = RDMA_CM_EVENT_ESTABLISHED;
    } else {
        shared->agent().reject(id.connection, Reason::consumer, {}, monotonic_ns());
        event.shown.event = RDMA_CM_EVENT_CONNECT_ERROR;
        event.shown.status = -error;
    }
    shared->settle();
}

// How a request came: a connection's path has the MTU that it asks for.
void show_way(IdObject& id) {
    show_addresses(id);
    if (is_datagram(id)) return;
    show_route(id);
    id.path.mtu = id.terms.path_mtu;
}

void leave_backlog(const IdObject& id) {
    Manager *shared = manager();
    const std::lock_guard guard(shared->lock());
    shared->agent().take_request(id.connection);
}

void follow(EventObject& event) {
    IdObject& id = *event.about;
    switch (event.shown.event) {
        case RDMA_CM_EVENT_CONNECT_REQUEST: {
            IdObject& made = own(event.shown.id);
            if (bind_device(made)) show_way(made);
            leave_backlog(made);
            // Of a listener that waits in each call, so does what it gets.
            if (id.own_channel) rdma_migrate_id(&made.shown, nullptr);
            return;
        }
        case RDMA_CM_EVENT_CONNECT_RESPONSE: return answer_response(event);
        case RDMA_CM_EVENT_REJECTED:
        case RDMA_CM_EVENT_UNREACHABLE:
            if (!is_datagram(id)) make_broken(id);
            return;
        case RDMA_CM_EVENT_ESTABLISHED:
            if (is_datagram(id)) event.shown.param.ud.ah_attr = path_of(id);
            return;
        case RDMA_CM_EVENT_MULTICAST_JOIN:
            if (const int error = join_queue_pair(id, event)) {
                event.shown.event = RDMA_CM_EVENT_MULTICAST_ERROR;
                event.shown.status = -error;
            }
            return;
        default: return;
    }
}

}  // namespace

Manager *manager() {
    static const int registered =
        pthread_atfork([] { abi::handle_pool_lock().lock(); },
                       [] { abi::handle_pool_lock().unlock(); }, begin_anew_in_child);
    static_cast<void>(registered);
    return Manager::get(deliver);
}

void remember(IdObject& id) {
    if (id.connection != 0) connections()[id.connection] = &id;
    if (id.listener != 0) listening()[id.listener] = &id;
}

void forget(IdObject& id) {
    if (id.connection != 0) connections().erase(id.connection);
    if (id.listener != 0) listening().erase(id.listener);
}

std::unique_ptr<EventObject> make_event(IdObject& about, rdma_cm_event_type type) {
    auto event = std::make_unique<EventObject>();
    event->about = &about;
    event->shown.id = &about.shown;
    event->shown.event = type;
    return event;
}

void add_event(IdObject& id, std::unique_ptr<EventObject> event) {
    own(id.shown.channel).notices.add(event.release());
}

void add_event(IdObject& id, rdma_cm_event_type type, int status) {
    auto event = make_event(id, type);
    event->shown.status = status;
    add_event(id, std::move(event));
}

void forget_events(IdObject& id) {
    std::vector<IdObject *> unseen;
    own(id.shown.channel).notices.forget_if([&](EventObject *event) {
        if (event->about != &id) return false;
        if (event->shown.event == RDMA_CM_EVENT_CONNECT_REQUEST) {
            unseen.push_back(&own(event->shown.id));
        }
        delete event;
        return true;
    });
    for (IdObject *one : unseen) rdma_destroy_id(&one->shown);
}

int complete(IdObject& id) {
    if (!id.own_channel) return 0;
    if (id.shown.event) {
        rdma_ack_cm_event(id.shown.event);
        id.shown.event = nullptr;
    }
    if (rdma_get_cm_event(id.shown.channel, &id.shown.event) != 0) return -1;
    const int status = id.shown.event->status;
    if (status == 0) return 0;
    if (id.shown.event->event == RDMA_CM_EVENT_REJECTED) return refuse(ECONNREFUSED);
    return refuse(status < 0 ? -status : status);
}

}  // namespace lanewise::verbs::cm

using namespace lanewise::verbs::cm;

extern "C" {

rdma_event_channel *rdma_create_event_channel(void) {
    if (!manager()) {
        errno = ENODEV;
        return nullptr;
    }
    auto channel = std::make_unique<ChannelObject>();
    if (const int error = channel->notices.error()) {
        errno = error;
        return nullptr;
    }
    channel->shown.fd = channel->notices.descriptor();
    return &channel.release()->shown;
}

// A thread that waits for an event there waits on, as it does in the kernel, with what it needs.
void rdma_destroy_event_channel(rdma_event_channel *channel) {
    if (is_of_parent(own(channel))) return;
    if (own(channel).notices.is_waited_for()) return;
    delete &own(channel);
}

int rdma_get_cm_event(rdma_event_channel *channel, rdma_cm_event **event) {
    if (!channel || !event) return refuse(EINVAL);
    if (is_of_parent(own(channel))) return refuse(EPERM);
    const std::optional<EventObject *> taken = own(channel).notices.take([](EventObject *one) {
        pthread_mutex_lock(&one->about->mutex);
        ++one->about->events_taken;
        pthread_mutex_unlock(&one->about->mutex);
    });
    if (!taken) return -1;
    follow(**taken);
    *event = &(*taken)->shown;
    return 0;
}

int rdma_ack_cm_event(rdma_cm_event *event) {
    if (!event) return refuse(EINVAL);
    auto *object = reinterpret_cast<EventObject *>(event);
    IdObject& about = *object->about;
    if (is_of_parent(about)) return refuse(EPERM);
    pthread_mutex_lock(&about.mutex);
    ++about.events_acknowledged;
    pthread_cond_signal(&about.acknowledged);
    pthread_mutex_unlock(&about.mutex);
    delete object;
    return 0;
}

const char *rdma_event_str(rdma_cm_event_type event) {
    static constexpr std::array names{
        "RDMA_CM_EVENT_ADDR_RESOLVED",   "RDMA_CM_EVENT_ADDR_ERROR",
        "RDMA_CM_EVENT_ROUTE_RESOLVED",  "RDMA_CM_EVENT_ROUTE_ERROR",
        "RDMA_CM_EVENT_CONNECT_REQUEST", "RDMA_CM_EVENT_CONNECT_RESPONSE",
        "RDMA_CM_EVENT_CONNECT_ERROR",   "RDMA_CM_EVENT_UNREACHABLE",
        "RDMA_CM_EVENT_REJECTED",        "RDMA_CM_EVENT_ESTABLISHED",
        "RDMA_CM_EVENT_DISCONNECTED",    "RDMA_CM_EVENT_DEVICE_REMOVAL",
        "RDMA_CM_EVENT_MULTICAST_JOIN",  "RDMA_CM_EVENT_MULTICAST_ERROR",
        "RDMA_CM_EVENT_ADDR_CHANGE",     "RDMA_CM_EVENT_TIMEWAIT_EXIT"};
    const auto number = static_cast<std::size_t>(event);
    return number < names.size() ? names[number] : "UNKNOWN EVENT";
}

}  // extern "C"
