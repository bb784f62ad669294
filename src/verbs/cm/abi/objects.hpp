// SPDX-License-Identifier: BSD-3-Clause
//
// What stands behind the pointers of the interface of rdma_cm(7). Each object begins with the
// struct that <rdma/rdma_cma.h> shows.

#pragma once

#include <pthread.h>
#include <rdma/rdma_cma.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <vector>

#include "verbs/abi/handle_pool.hpp"
#include "verbs/abi/notices.hpp"
#include "verbs/cm/abi/agent_thread.hpp"

namespace lanewise::verbs::cm {

struct IdObject;

struct EventObject {
    rdma_cm_event shown{};
    Bytes private_data;         // that the shown one points to
    IdObject *about = nullptr;  // who counts its acknowledgement
    bool response = false;      // of a peer that has accepted, and waits for this end
    bool sends_only = false;    // to the group that was joined
};

struct ChannelObject {
    rdma_event_channel shown{};
    pid_t process = getpid();
    abi::Notices<EventObject *> notices;
};

// An IP address with a port, in the order of the host.
struct Name {
    Address address = no_address;
    std::uint16_t port = 0;
};

// What both ends have agreed on, as this one sees it.
struct Terms {
    std::uint32_t remote_qpn = 0;
    std::uint32_t remote_qkey = 0;
    std::uint32_t send_psn = 0;
    std::uint32_t receive_psn = 0;
    std::uint8_t path_mtu = 0;
    std::uint8_t responder_resources = 0;  // reads and atomics of the peer at a time
    std::uint8_t initiator_depth = 0;      // and of this end
    std::uint8_t retry_count = 7;
    std::uint8_t rnr_retry_count = 7;
    std::uint8_t ack_timeout = 0;
};

// A group that was joined.
struct Group {
    ibv_gid gid{};
    bool attached = false;  // to the queue pair
};

struct IdObject {
    rdma_cm_id shown{};
    pid_t process = getpid();
    // Without a channel each call waits for its event, on a channel that only this id has.
    std::unique_ptr<ChannelObject> own_channel;
    bool passive = false;    // it was made by a request
    bool connected = false;  // at some time
    Name local;
    Name remote;
    bool is_resolved = false;  // the address of the peer
    std::optional<std::uint64_t> claimed_service;
    Address claimed_address = no_address;
    std::uint64_t listener = 0;    // the cookie, while it listens
    std::uint32_t connection = 0;  // of the machine; 0: none
    Terms terms;
    std::uint8_t ack_timeout = 0;      // that the program has asked for
    std::uint8_t outstanding_max = 0;  // reads and atomics, on this device
    std::uint8_t traffic_class = 0;
    ibv_sa_path_rec path{};
    std::mutex groups_lock;  // a thread may join while another takes events
    std::vector<Group> groups;
    // What rdma_create_ep() was given, for the connections that come.
    std::unique_ptr<ibv_qp_init_attr> endpoint;
    ibv_pd *endpoint_pd = nullptr;
    // Made for the program, and so to be destroyed for it.
    bool owns_send_queue = false;
    bool owns_receive_queue = false;

    pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
    pthread_cond_t acknowledged = PTHREAD_COND_INITIALIZER;
    std::uint32_t events_taken = 0;
    std::uint32_t events_acknowledged = 0;
};

inline IdObject& own(rdma_cm_id *id) {
    return *reinterpret_cast<IdObject *>(id);
}
inline ChannelObject& own(rdma_event_channel *channel) {
    return *reinterpret_cast<ChannelObject *>(channel);
}
inline bool is_live(rdma_cm_id *id) {
    return id && abi::HandlePool<IdObject>::lives(&own(id));
}

// Whether this is a child of the process that made an object, and so has only a copy of it.
template <typename Object>
bool is_of_parent(const Object& object) {
    return object.process != getpid();
}

// Why an identifier is of no use: EINVAL where it is not live, EPERM in a child; else 0.
inline int refusal(rdma_cm_id *id) {
    if (!is_live(id)) return EINVAL;
    return is_of_parent(own(id)) ? EPERM : 0;
}

// Sets errno and returns -1, as these calls do.
inline int refuse(int error) {
    errno = error;
    return -1;
}
// The same for an error that a verb has returned; 0 stays 0.
inline int result(int error) {
    return error == 0 ? 0 : refuse(error);
}

inline bool is_datagram(const IdObject& id) {
    return id.shown.qp_type == IBV_QPT_UD;
}

// The manager. What happens to its connections is delivered as events (events.cpp).
Manager *manager();

// Adds an event for an id to its channel.
void add_event(IdObject& id, rdma_cm_event_type type, int status = 0);
// The same for an event with more in it, that belongs to the id.
void add_event(IdObject& id, std::unique_ptr<EventObject> event);
// Forgets the events of an id that nobody has taken, and ends what they brought.
void forget_events(IdObject& id);
// Where each call waits for its event, waits for it; 0, or -1 with errno.
int complete(IdObject& id);

// Connections of the machine, and listeners by their cookies, that belong to an id. The lock of the
// manager is held.
void remember(IdObject& id);
void forget(IdObject& id);

std::unique_ptr<EventObject> make_event(IdObject& about, rdma_cm_event_type type);
IdObject *make_id(rdma_event_channel *channel, void *context, rdma_port_space space,
                  ibv_qp_type type);

// The kernel's, in cma.c: 4.096 µs · 2^16 (0.27 s).
constexpr std::uint8_t ethernet_packet_lifetime = 16;
// What the program sees of addresses and of the path to the peer (ids.cpp).
void show_addresses(IdObject& id);
void show_route(IdObject& id);

// The first device, opened once (devices.cpp).
ibv_context *the_device();
// Ties an id to the port that has its local address; false where none has.
bool bind_device(IdObject& id);
// The index of an address in the table of a port.
std::optional<std::uint8_t> gid_index(IdObject& id);

// Addresses (addresses.cpp).
std::optional<Name> name_of(const sockaddr *address);
void write_name(const Name& name, sockaddr_storage& into);
bool is_any(const Address& address);
bool is_loopback(const Address& address);
// The address that packets to `remote` leave from; none without a route, with errno.
std::optional<Address> source_towards(const sockaddr *remote);

// The queue pair of an id follows its connection (queue_pairs.cpp): 0, or an errno.
int make_ready(IdObject& id);
int make_broken(IdObject& id);
ibv_ah_attr path_of(IdObject& id);
// What may be outstanding at a time at most, on this device.
std::uint8_t outstanding_max();
int join_queue_pair(IdObject& id, const EventObject& event);
void leave_groups(IdObject& id);

}  // namespace lanewise::verbs::cm
