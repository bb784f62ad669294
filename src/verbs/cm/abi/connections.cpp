// SPDX-License-Identifier: BSD-3-Clause
//
// Connections: asked for, accepted, rejected and ended.

#include <algorithm>
#include <vector>

#include "base/clock.hpp"
#include "verbs/cm/abi/objects.hpp"
#include "verbs/cm/message/ip_service.hpp"
#include "verbs/port/random.hpp"

namespace lanewise::verbs::cm {
namespace {

// 4.096 µs · 2^17 = 0.54 s without an answer use up a retry: one more than the lifetime of a packet
// that the kernel's rdma_cm assumes on Ethernet.
constexpr std::uint8_t ack_timeout_usual = ethernet_packet_lifetime + 1;
constexpr std::uint8_t retries_most = 7;

Bytes bytes_of(const void *data, std::size_t count) {
    const auto *first = static_cast<const std::byte *>(data);
    return data ? Bytes(first, first + count) : Bytes{};
}

// What a program says that says nothing.
rdma_conn_param usual_parameters() {
    rdma_conn_param made{};
    made.responder_resources = RDMA_MAX_RESP_RES;
    made.initiator_depth = RDMA_MAX_INIT_DEPTH;
    made.retry_count = retries_most;
    made.rnr_retry_count = retries_most;
    return made;
}

std::size_t ip_private_bytes(const IdObject& id) {
    const Kind kind = is_datagram(id) ? Kind::datagram_request : Kind::request;
    return private_bytes(kind) - ip_header_bytes;
}

// How long private data may be with which a request is answered.
std::size_t answer_private_bytes(const IdObject& id, Kind kind) {
    return private_bytes(is_datagram(id) ? Kind::datagram_reply : kind);
}

Message request_of(IdObject& id, const rdma_conn_param& given) {
    Message made;
    made.service = ip_service(id.shown.ps, id.remote.port);
    made.private_data = with_ip_header({id.local.address, id.remote.address, id.local.port},
                                       bytes_of(given.private_data, given.private_data_len));
    made.pkey = 0xffff;
    if (is_datagram(id)) return made;
    made.adapter_guid = be64toh(ibv_get_device_guid(id.shown.verbs->device));
    made.qpn = id.shown.qp ? id.shown.qp->qp_num : given.qp_num;
    made.srq = id.shown.qp ? id.shown.qp->srq != nullptr : given.srq;
    made.psn = id.terms.receive_psn;
    made.responder_resources = id.terms.responder_resources;
    made.initiator_depth = id.terms.initiator_depth;
    made.flow_control = given.flow_control;
    made.retry_count = id.terms.retry_count;
    made.rnr_retry_count = static_cast<std::uint8_t>(std::min(given.rnr_retry_count, retries_most));
    made.path_mtu = id.terms.path_mtu;
    made.ack_timeout = id.terms.ack_timeout;
    made.traffic_class = id.traffic_class;
    return made;
}

Message reply_of(IdObject& id, const rdma_conn_param& given) {
    Message made;
    made.private_data = bytes_of(given.private_data, given.private_data_len);
    made.qpn = id.shown.qp ? id.shown.qp->qp_num : given.qp_num;
    if (is_datagram(id)) {
        made.qkey = RDMA_UDP_QKEY;
        return made;
    }
    made.adapter_guid = be64toh(ibv_get_device_guid(id.shown.verbs->device));
    made.psn = id.terms.receive_psn;
    made.responder_resources = id.terms.responder_resources;
    made.initiator_depth = id.terms.initiator_depth;
    made.flow_control = given.flow_control;
    made.rnr_retry_count = static_cast<std::uint8_t>(std::min(given.rnr_retry_count, retries_most));
    made.srq = id.shown.qp ? id.shown.qp->srq != nullptr : given.srq;
    made.ack_timeout = id.terms.ack_timeout;
    return made;
}

// The program names how many reads and atomics it wants, whatever the peer has offered, or leaves
// the number, as RDMA_MAX_RESP_RES and RDMA_MAX_INIT_DEPTH do, to the offer and the device.
std::uint8_t granted(std::uint8_t asked, std::uint8_t offered) {
    static_assert(RDMA_MAX_RESP_RES == RDMA_MAX_INIT_DEPTH);
    return std::min(asked == RDMA_MAX_RESP_RES ? offered : asked, outstanding_max());
}

// Whether a connection can be made of this: there is a queue pair, and no more reads and atomics
// are asked for than the device allows at a time. Two constants leave their number to the device.
bool is_sufficient(const IdObject& id, const rdma_conn_param *given) {
    if (id.shown.ps != RDMA_PS_TCP) return true;
    if (!given) return id.shown.qp != nullptr;
    const auto fits = [](std::uint8_t asked, std::uint8_t left_open) {
        return asked == left_open || asked <= outstanding_max();
    };
    return fits(given->responder_resources, RDMA_MAX_RESP_RES) &&
           fits(given->initiator_depth, RDMA_MAX_INIT_DEPTH);
}

int start(IdObject& id, const rdma_conn_param& given) {
    id.outstanding_max = outstanding_max();
    id.terms.receive_psn = port::random_number() & 0xffffff;
    id.terms.responder_resources = granted(given.responder_resources, RDMA_MAX_RESP_RES);
    id.terms.initiator_depth = granted(given.initiator_depth, RDMA_MAX_INIT_DEPTH);
    id.terms.retry_count = std::min(given.retry_count, retries_most);
    id.terms.ack_timeout = id.ack_timeout != 0 ? id.ack_timeout : ack_timeout_usual;
    Manager *shared = manager();
    const std::lock_guard guard(shared->lock());
    const Endpoints ends{id.local.address, id.remote.address};
    const Message request = request_of(id, given);
    id.connection = is_datagram(id) ? shared->agent().resolve(request, ends, monotonic_ns())
                                    : shared->agent().connect(request, ends, monotonic_ns());
    remember(id);
    shared->settle();
    return 0;
}

int accept_datagrams(IdObject& id, const rdma_conn_param& given) {
    Manager *shared = manager();
    const std::lock_guard guard(shared->lock());
    const int error = shared->agent().answer(id.connection, reply_of(id, given), monotonic_ns());
    shared->settle();
    return result(error);
}

int reject_with(rdma_cm_id *id, const void *private_data, std::uint8_t bytes) {
    if (const int error = refusal(id)) return refuse(error);
    if (own(id).connection == 0) return refuse(EINVAL);
    if (bytes > answer_private_bytes(own(id), Kind::rejection)) return refuse(EINVAL);
    Manager *shared = manager();
    const std::lock_guard guard(shared->lock());
    const int error = shared->agent().reject(own(id).connection, Reason::consumer,
                                             bytes_of(private_data, bytes), monotonic_ns());
    shared->settle();
    return result(error);
}

}  // namespace
}  // namespace lanewise::verbs::cm

using namespace lanewise::verbs::cm;

extern "C" {

int rdma_connect(rdma_cm_id *id, rdma_conn_param *conn_param) {
    if (const int error = refusal(id)) return refuse(error);
    if (!id->verbs || id->route.num_paths == 0) return refuse(EINVAL);
    IdObject& object = own(id);
    if (object.connection != 0 || !is_sufficient(object, conn_param)) return refuse(EINVAL);
    const rdma_conn_param given = conn_param ? *conn_param : usual_parameters();
    if (given.private_data_len > ip_private_bytes(object)) return refuse(EINVAL);
    start(object, given);
    return complete(object);
}

int rdma_accept(rdma_cm_id *id, rdma_conn_param *conn_param) {
    if (const int error = refusal(id)) return refuse(error);
    if (own(id).connection == 0) return refuse(EINVAL);
    IdObject& object = own(id);
    if (!is_sufficient(object, conn_param)) return refuse(EINVAL);
    const rdma_conn_param given = conn_param ? *conn_param : usual_parameters();
    if (given.private_data_len > answer_private_bytes(object, Kind::reply)) return refuse(EINVAL);
    if (is_datagram(object)) return accept_datagrams(object, given);
    Terms& terms = object.terms;
    terms.responder_resources = granted(given.responder_resources, terms.responder_resources);
    terms.initiator_depth = granted(given.initiator_depth, terms.initiator_depth);
    if (object.ack_timeout != 0) terms.ack_timeout = object.ack_timeout;
    // Ready before the peer knows that it may send.
    if (id->qp) {
        if (const int error = make_ready(object)) return refuse(error);
    }
    {
        Manager *shared = manager();
        const std::lock_guard guard(shared->lock());
        const int error = shared->agent().accept(object.connection, reply_of(object, given),
                                                 lanewise::monotonic_ns());
        shared->settle();
        if (error) return refuse(error);
    }
    return complete(object);
}

int rdma_establish(rdma_cm_id *id) {
    if (const int error = refusal(id)) return refuse(error);
    if (id->qp) return refuse(EINVAL);
    Manager *shared = manager();
    const std::lock_guard guard(shared->lock());
    const int error = shared->agent().establish(own(id).connection, lanewise::monotonic_ns());
    if (error == 0) own(id).connected = true;
    shared->settle();
    return result(error);
}

int rdma_reject(rdma_cm_id *id, const void *private_data, uint8_t private_data_len) {
    return reject_with(id, private_data, private_data_len);
}

int rdma_reject_ece(rdma_cm_id *id, const void *private_data, uint8_t private_data_len) {
    return reject_with(id, private_data, private_data_len);
}

int rdma_notify(rdma_cm_id *id, ibv_event_type event) {
    if (const int error = refusal(id)) return refuse(error);
    if (event != IBV_EVENT_COMM_EST) return 0;
    Manager *shared = manager();
    const std::lock_guard guard(shared->lock());
    const int error = shared->agent().note_packet(own(id).connection);
    shared->settle();
    return result(error);
}

int rdma_disconnect(rdma_cm_id *id) {
    if (const int error = refusal(id)) return refuse(error);
    if (is_datagram(own(id))) return refuse(EINVAL);
    IdObject& object = own(id);
    make_broken(object);
    {
        Manager *shared = manager();
        const std::lock_guard guard(shared->lock());
        const int error = shared->agent().disconnect(object.connection, lanewise::monotonic_ns());
        shared->settle();
        // Who never asked for a connection is refused. What is over, or not answered yet, needs no
        // end, and no event follows. What the peer has ended and time has closed is disconnected.
        if (error && !object.connected) return object.connection != 0 ? 0 : refuse(error);
    }
    return complete(object);
}

// Enhanced connection establishment is a matter of vendors; this device has nothing to say.
int rdma_set_local_ece(rdma_cm_id *id, ibv_ece *ece) {
    if (const int error = refusal(id)) return refuse(error);
    return result(ece->vendor_id == 0 && ece->options == 0 ? 0 : EOPNOTSUPP);
}

int rdma_get_remote_ece(rdma_cm_id *id, ibv_ece *ece) {
    if (const int error = refusal(id)) return refuse(error);
    *ece = {};
    return 0;
}

}  // extern "C"
