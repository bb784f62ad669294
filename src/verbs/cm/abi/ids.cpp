// SPDX-License-Identifier: BSD-3-Clause
//
// Identifiers: made and destroyed, bound to addresses, and what is found out about a destination.

#include <algorithm>
#include <span>
#include <utility>
#include <vector>

#include "base/clock.hpp"
#include "verbs/cm/abi/objects.hpp"
#include "verbs/cm/message/ip_service.hpp"
#include "verbs/port/random.hpp"

namespace lanewise::verbs::cm {
namespace {

// What a port number may be that nobody has asked for (RFC 6335).
constexpr std::uint16_t first_dynamic_port = 49152;
constexpr unsigned dynamic_ports = 65536 - first_dynamic_port;
// As rdma_ucm's limit for a listener that names none.
constexpr std::size_t backlog_max = 1024;
constexpr std::uint8_t ack_timeout_max = 31;
constexpr std::uint8_t selector_exactly = 2;

std::uint16_t dynamic_port() {
    return static_cast<std::uint16_t>(first_dynamic_port + port::random_number() % dynamic_ports);
}

// Takes the port number for the id, or any where that is 0.
int claim_port(IdObject& id) {
    Manager *shared = manager();
    const std::lock_guard guard(shared->lock());
    const bool any = id.local.port == 0;
    for (unsigned tries = 0; tries < (any ? dynamic_ports : 1); ++tries) {
        const std::uint16_t number = any ? dynamic_port() : id.local.port;
        const std::uint64_t service = ip_service(id.shown.ps, number);
        if (!shared->wire().offer(service, id.local.address)) continue;
        shared->agent().reserve(service, id.local.address);
        id.local.port = number;
        id.claimed_service = service;
        id.claimed_address = id.local.address;
        return 0;
    }
    return EADDRINUSE;
}

bool has_primary_path(const ibv_path_data *paths, std::size_t bytes) {
    constexpr std::uint32_t wanted =
        IBV_PATH_FLAG_GMP | IBV_PATH_FLAG_PRIMARY | IBV_PATH_FLAG_BIDIRECTIONAL;
    const std::span given(paths, bytes / sizeof *paths);
    return bytes % sizeof *paths == 0 &&
           std::any_of(given.begin(), given.end(),
                       [](const ibv_path_data& one) { return one.flags == wanted; });
}

void take_route(IdObject& id) {
    show_route(id);
    id.terms.path_mtu = id.path.mtu;
    add_event(id, RDMA_CM_EVENT_ROUTE_RESOLVED);
}

// The loopback address and 0.0.0.0 mean this host, whichever address its ports have, as for
// rdma_cm(7) of a kernel.
Address reached(const Address& address, sa_family_t family) {
    Manager *shared = manager();
    const std::lock_guard guard(shared->lock());
    if (!is_any(address) && (!is_loopback(address) || port_of(shared->ports(), address))) {
        return address;
    }
    for (const abi::Port& one : shared->ports()) {
        for (const Address& gid : one.gids) {
            if (gid != no_address && is_ipv4(gid) == (family == AF_INET)) return gid;
        }
    }
    return address;
}

ibv_qp_type type_of(rdma_port_space space) {
    return space == RDMA_PS_UDP || space == RDMA_PS_IPOIB ? IBV_QPT_UD : IBV_QPT_RC;
}

bool is_known(rdma_port_space space) {
    switch (space) {
        case RDMA_PS_IPOIB:
        case RDMA_PS_TCP:
        case RDMA_PS_UDP:
        case RDMA_PS_IB: return true;
    }
    return false;
}

void leave_manager(IdObject& id) {
    Manager *shared = manager();
    if (!shared) return;
    const std::lock_guard guard(shared->lock());
    forget(id);
    if (id.connection != 0) shared->agent().forget(id.connection, monotonic_ns());
    if (id.listener != 0) shared->agent().stop_listening(id.listener);
    if (id.claimed_service) {
        shared->agent().release(*id.claimed_service, id.claimed_address);
        shared->wire().withdraw(*id.claimed_service, id.claimed_address);
    }
    shared->settle();
}

void await_acknowledgements(IdObject& id) {
    pthread_mutex_lock(&id.mutex);
    while (id.events_acknowledged != id.events_taken) {
        pthread_cond_wait(&id.acknowledged, &id.mutex);
    }
    pthread_mutex_unlock(&id.mutex);
}

std::unique_ptr<ChannelObject> make_own_channel() {
    auto channel = std::make_unique<ChannelObject>();
    channel->shown.fd = channel->notices.descriptor();
    return channel;
}

void destroy_object(IdObject& id) {
    abi::HandlePool<IdObject>::destroy(&id);
}

}  // namespace

void show_route(IdObject& id) {
    std::copy(id.local.address.begin(), id.local.address.end(), id.path.sgid.raw);
    std::copy(id.remote.address.begin(), id.remote.address.end(), id.path.dgid.raw);
    ibv_port_attr port{};
    ibv_query_port(id.shown.verbs, id.shown.port_num, &port);
    id.path.hop_limit = 64;
    id.path.traffic_class = id.traffic_class;
    id.path.reversible = 1;
    id.path.numb_path = 1;
    id.path.pkey = 0xffff;
    id.path.mtu_selector = selector_exactly;
    id.path.mtu = static_cast<std::uint8_t>(port.active_mtu);
    id.path.rate_selector = selector_exactly;
    id.path.rate = IBV_RATE_10_GBPS;
    id.path.packet_life_time_selector = selector_exactly;
    id.path.packet_life_time = id.ack_timeout != 0 ? static_cast<std::uint8_t>(id.ack_timeout - 1)
                                                   : ethernet_packet_lifetime;
    id.shown.route.path_rec = &id.path;
    id.shown.route.num_paths = 1;
}

void show_addresses(IdObject& id) {
    write_name(id.local, id.shown.route.addr.src_storage);
    write_name(id.remote, id.shown.route.addr.dst_storage);
    rdma_ib_addr& shown = id.shown.route.addr.addr.ibaddr;
    std::copy(id.local.address.begin(), id.local.address.end(), shown.sgid.raw);
    std::copy(id.remote.address.begin(), id.remote.address.end(), shown.dgid.raw);
    shown.pkey = 0xffff;
}

IdObject *make_id(rdma_event_channel *channel, void *context, rdma_port_space space,
                  ibv_qp_type type) {
    auto made = abi::HandlePool<IdObject>::make();
    if (!channel) {
        made->own_channel = make_own_channel();
        if (const int error = made->own_channel->notices.error()) {
            errno = error;
            return nullptr;
        }
        channel = &made->own_channel->shown;
    }
    made->shown.channel = channel;
    made->shown.context = context;
    made->shown.ps = space;
    made->shown.qp_type = type;
    return made.release();
}

}  // namespace lanewise::verbs::cm

using namespace lanewise::verbs::cm;
using lanewise::verbs::is_ipv4;
using lanewise::verbs::no_address;

extern "C" {

int rdma_create_id(rdma_event_channel *channel, rdma_cm_id **id, void *context,
                   rdma_port_space ps) {
    if (!id || !is_known(ps)) return refuse(EINVAL);
    if (channel && is_of_parent(own(channel))) return refuse(EPERM);
    if (!manager()) return refuse(ENODEV);
    IdObject *made = make_id(channel, context, ps, type_of(ps));
    if (!made) return -1;
    *id = &made->shown;
    return 0;
}

int rdma_destroy_id(rdma_cm_id *id) {
    if (!is_live(id)) return refuse(EINVAL);
    if (is_of_parent(own(id))) return 0;
    IdObject& object = own(id);
    leave_manager(object);
    forget_events(object);
    if (object.own_channel && id->event) rdma_ack_cm_event(id->event);
    await_acknowledgements(object);
    destroy_object(object);
    return 0;
}

int rdma_bind_addr(rdma_cm_id *id, sockaddr *addr) {
    if (const int error = refusal(id)) return refuse(error);
    IdObject& object = own(id);
    const std::optional<Name> name = name_of(addr);
    if (!name) return refuse(EAFNOSUPPORT);
    if (object.claimed_service) return refuse(EINVAL);
    object.local = *name;
    if (!is_any(name->address) && !bind_device(object)) {
        if (!is_loopback(name->address)) return refuse(EADDRNOTAVAIL);
        object.local.address = no_address;
    }
    if (const int error = claim_port(object)) return refuse(error);
    id->route.addr.src_addr.sa_family = addr->sa_family;
    write_name({name->address, object.local.port}, id->route.addr.src_storage);
    return 0;
}

int rdma_listen(rdma_cm_id *id, int backlog) {
    if (const int error = refusal(id)) return refuse(error);
    IdObject& object = own(id);
    Manager *shared = manager();
    if (!object.claimed_service) {
        if (const int error = claim_port(object)) return refuse(error);
    }
    if (!the_device()) return refuse(ENODEV);
    const std::lock_guard guard(shared->lock());
    const std::size_t waiting_max =
        backlog > 0 ? std::min<std::size_t>(static_cast<unsigned>(backlog), backlog_max)
                    : backlog_max;
    const std::uint64_t cookie = shared->take_cookie();
    if (object.listener != 0 ||
        !shared->agent().listen(*object.claimed_service, object.local.address, cookie,
                                waiting_max)) {
        return refuse(EINVAL);
    }
    object.listener = cookie;
    remember(object);
    return 0;
}

int rdma_resolve_addr(rdma_cm_id *id, sockaddr *src_addr, sockaddr *dst_addr, int) {
    if (const int error = refusal(id)) return refuse(error);
    IdObject& object = own(id);
    if (object.is_resolved) return refuse(EINVAL);
    const std::optional<Name> remote = name_of(dst_addr);
    const std::optional<Name> local = src_addr ? name_of(src_addr) : object.local;
    if (!remote || !local) return refuse(EAFNOSUPPORT);
    if (!object.claimed_service) object.local = *local;
    const bool is_bound_ipv4 = is_ipv4(object.local.address);
    if (is_any(remote->address) && !is_any(object.local.address) &&
        is_bound_ipv4 != (dst_addr->sa_family == AF_INET)) {
        return refuse(EINVAL);
    }
    const Name before = object.local;
    const bool is_own = is_any(remote->address) && !is_any(object.local.address);
    object.remote = {is_own ? object.local.address : reached(remote->address, dst_addr->sa_family),
                     remote->port};
    int why_not = ENODEV;
    if (is_any(object.local.address)) {
        sockaddr_storage to{};
        write_name(object.remote, to);
        const auto source = source_towards(reinterpret_cast<sockaddr *>(&to));
        if (!source) why_not = errno;
        object.local.address = source.value_or(no_address);
    }
    if (object.local.port == 0) object.local.port = dynamic_port();
    const bool same_family = is_ipv4(object.local.address) == is_ipv4(object.remote.address);
    if (!same_family || !bind_device(object)) {
        object.local = before;  // another destination may be tried
        add_event(object, RDMA_CM_EVENT_ADDR_ERROR, -why_not);
        return complete(object);
    }
    object.is_resolved = true;
    show_addresses(object);
    add_event(object, RDMA_CM_EVENT_ADDR_RESOLVED);
    return complete(object);
}

int rdma_resolve_route(rdma_cm_id *id, int) {
    if (const int error = refusal(id)) return refuse(error);
    if (!own(id).is_resolved || id->route.num_paths > 0) return refuse(EINVAL);
    take_route(own(id));
    return complete(own(id));
}

// What has not been taken moves along; it returns when what has been is acknowledged.
int rdma_migrate_id(rdma_cm_id *id, rdma_event_channel *channel) {
    if (const int error = refusal(id)) return refuse(error);
    if (channel == id->channel) return 0;
    if (channel && is_of_parent(own(channel))) return refuse(EPERM);
    IdObject& object = own(id);
    if (object.own_channel && id->event) {
        rdma_ack_cm_event(id->event);
        id->event = nullptr;
    }
    std::unique_ptr<ChannelObject> before;
    {
        const std::lock_guard guard(manager()->lock());
        std::unique_ptr<ChannelObject> made = channel ? nullptr : make_own_channel();
        if (made && made->notices.error()) return refuse(made->notices.error());
        rdma_event_channel *to = channel ? channel : &made->shown;
        // With a request moves what was made for it, and what has happened to that since.
        std::vector<IdObject *> moved{&object};
        own(id->channel).notices.forget_if([&](EventObject *event) {
            if (std::find(moved.begin(), moved.end(), event->about) == moved.end()) return false;
            if (event->shown.event == RDMA_CM_EVENT_CONNECT_REQUEST) {
                moved.push_back(&own(event->shown.id));
            }
            own(to).notices.add(event);
            return true;
        });
        for (IdObject *one : moved) one->shown.channel = to;
        before = std::exchange(object.own_channel, std::move(made));
    }
    await_acknowledgements(object);
    return 0;
}

__be16 rdma_get_src_port(rdma_cm_id *id) {
    return is_live(id) ? htons(own(id).local.port) : 0;
}

__be16 rdma_get_dst_port(rdma_cm_id *id) {
    return is_live(id) ? htons(own(id).remote.port) : 0;
}

int rdma_set_option(rdma_cm_id *id, int level, int optname, void *optval, size_t optlen) {
    if (const int error = refusal(id)) return refuse(error);
    if (!optval) return refuse(EINVAL);
    if (level == RDMA_OPTION_IB) {
        if (optname != RDMA_OPTION_IB_PATH) return refuse(ENOSYS);
        const bool usable = has_primary_path(static_cast<ibv_path_data *>(optval), optlen);
        if (!usable || !own(id).is_resolved || id->route.num_paths > 0) return refuse(EINVAL);
        take_route(own(id));  // in place of rdma_resolve_route(3); there is one path
        return 0;
    }
    if (level != RDMA_OPTION_ID) return refuse(ENOSYS);
    const bool is_number = optname == RDMA_OPTION_ID_REUSEADDR || optname == RDMA_OPTION_ID_AFONLY;
    if (optlen != (is_number ? sizeof(int) : sizeof(std::uint8_t))) return refuse(EINVAL);
    switch (optname) {
        case RDMA_OPTION_ID_TOS:
            own(id).traffic_class = *static_cast<std::uint8_t *>(optval);
            return 0;
        case RDMA_OPTION_ID_ACK_TIMEOUT:
            if (*static_cast<std::uint8_t *>(optval) > ack_timeout_max) return refuse(EINVAL);
            own(id).ack_timeout = *static_cast<std::uint8_t *>(optval);
            return 0;
        case RDMA_OPTION_ID_REUSEADDR:
        case RDMA_OPTION_ID_AFONLY:
            return 0;  // names are free as soon as nobody has them, and the families are apart
        default: return refuse(ENOSYS);
    }
}

}  // extern "C"
