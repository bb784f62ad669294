// SPDX-License-Identifier: BSD-3-Clause
//
// rdma_getaddrinfo(3), and endpoints: identifiers that are bound or resolved, with a queue pair,
// and wait for their events in each call.

#include <netdb.h>
#include <rdma/rdma_verbs.h>

#include <cstdlib>
#include <cstring>
#include <memory>

#include "verbs/cm/abi/objects.hpp"

namespace lanewise::verbs::cm {
namespace {

sockaddr *copy_of(const sockaddr *address, socklen_t bytes) {
    auto *made = static_cast<sockaddr *>(std::calloc(1, bytes));
    if (made) std::memcpy(made, address, bytes);
    return made;
}

// What the hints leave open follows from what they say.
void take_kind(const rdma_addrinfo *hints, rdma_addrinfo& made) {
    const int type = hints ? hints->ai_qp_type : 0;
    const int space = hints ? hints->ai_port_space : 0;
    made.ai_flags = hints ? hints->ai_flags : 0;
    made.ai_qp_type = type != 0                                        ? type
                      : space == RDMA_PS_UDP || space == RDMA_PS_IPOIB ? IBV_QPT_UD
                                                                       : IBV_QPT_RC;
    made.ai_port_space = space != 0                      ? space
                         : made.ai_qp_type == IBV_QPT_UD ? RDMA_PS_UDP
                                                         : RDMA_PS_TCP;
}

addrinfo translated(const rdma_addrinfo *hints) {
    addrinfo made{};
    const int flags = hints ? hints->ai_flags : 0;
    if (flags & RAI_PASSIVE) made.ai_flags |= AI_PASSIVE;
    if (flags & RAI_NUMERICHOST) made.ai_flags |= AI_NUMERICHOST;
    made.ai_family = hints ? hints->ai_family : AF_UNSPEC;
    if (made.ai_family != AF_INET && made.ai_family != AF_INET6) made.ai_family = AF_UNSPEC;
    made.ai_socktype = SOCK_STREAM;
    return made;
}

bool take_addresses(const rdma_addrinfo *hints, const addrinfo& found, rdma_addrinfo& made) {
    made.ai_family = found.ai_family;
    sockaddr *copied = copy_of(found.ai_addr, found.ai_addrlen);
    if (!copied) return false;
    if (made.ai_flags & RAI_PASSIVE) {
        made.ai_src_addr = copied;
        made.ai_src_len = found.ai_addrlen;
        return true;
    }
    made.ai_dst_addr = copied;
    made.ai_dst_len = found.ai_addrlen;
    if (!hints || !hints->ai_src_addr || hints->ai_src_len == 0) return true;
    made.ai_src_addr = copy_of(hints->ai_src_addr, hints->ai_src_len);
    made.ai_src_len = hints->ai_src_len;
    return made.ai_src_addr != nullptr;
}

int fail_with(rdma_cm_id *id) {
    const int error = errno;
    rdma_destroy_ep(id);
    return refuse(error);
}

struct Freeing {
    void operator()(rdma_addrinfo *one) const { rdma_freeaddrinfo(one); }
};

}  // namespace
}  // namespace lanewise::verbs::cm

using namespace lanewise::verbs::cm;

extern "C" {

int rdma_getaddrinfo(const char *node, const char *service, const rdma_addrinfo *hints,
                     rdma_addrinfo **res) {
    if (!node && !service && !hints) return refuse(EINVAL);
    const addrinfo wanted = translated(hints);
    std::unique_ptr<rdma_addrinfo, Freeing> made(
        static_cast<rdma_addrinfo *>(std::calloc(1, sizeof(rdma_addrinfo))));
    if (!made) return refuse(ENOMEM);
    take_kind(hints, *made);
    bool complete_now = false;
    if (!node && !service) {
        // Only what the hints name.
        if (hints->ai_dst_addr) made->ai_dst_addr = copy_of(hints->ai_dst_addr, hints->ai_dst_len);
        if (hints->ai_src_addr) made->ai_src_addr = copy_of(hints->ai_src_addr, hints->ai_src_len);
        made->ai_dst_len = made->ai_dst_addr ? hints->ai_dst_len : 0;
        made->ai_src_len = made->ai_src_addr ? hints->ai_src_len : 0;
        const sockaddr *any = made->ai_dst_addr ? made->ai_dst_addr : made->ai_src_addr;
        if (any) made->ai_family = any->sa_family;
        complete_now = any != nullptr;
    } else {
        addrinfo *found = nullptr;
        const int status = getaddrinfo(node, service, &wanted, &found);
        if (status != 0) {
            // As getaddrinfo(3) says it, save that there errno is one of the codes.
            if (status != EAI_SYSTEM) errno = EADDRNOTAVAIL;
            return status;
        }
        complete_now = take_addresses(hints, *found, *made);
        freeaddrinfo(found);
    }
    if (!complete_now) return refuse(ENOMEM);
    *res = made.release();
    return 0;
}

void rdma_freeaddrinfo(rdma_addrinfo *res) {
    while (res) {
        rdma_addrinfo *next = res->ai_next;
        std::free(res->ai_src_addr);
        std::free(res->ai_dst_addr);
        std::free(res);
        res = next;
    }
}

int rdma_create_ep(rdma_cm_id **id, rdma_addrinfo *res, ibv_pd *pd,
                   ibv_qp_init_attr *qp_init_attr) {
    rdma_cm_id *made = nullptr;
    const auto space = static_cast<rdma_port_space>(res->ai_port_space);
    if (rdma_create_id(nullptr, &made, nullptr, space) != 0) return -1;
    made->qp_type = static_cast<ibv_qp_type>(res->ai_qp_type);
    if (res->ai_flags & RAI_PASSIVE) {
        if (rdma_bind_addr(made, res->ai_src_addr) != 0) return fail_with(made);
        own(made).endpoint_pd = pd;
        if (pd) made->pd = pd;
        if (qp_init_attr) own(made).endpoint = std::make_unique<ibv_qp_init_attr>(*qp_init_attr);
        *id = made;
        return 0;
    }
    constexpr int timeout_ms = 2000;
    if (rdma_resolve_addr(made, res->ai_src_addr, res->ai_dst_addr, timeout_ms) != 0 ||
        rdma_resolve_route(made, timeout_ms) != 0) {
        return fail_with(made);
    }
    if (qp_init_attr) {
        qp_init_attr->qp_type = made->qp_type;
        if (rdma_create_qp(made, pd, qp_init_attr) != 0) return fail_with(made);
    }
    *id = made;
    return 0;
}

void rdma_destroy_ep(rdma_cm_id *id) {
    if (refusal(id)) return;
    rdma_destroy_qp(id);
    rdma_destroy_srq(id);
    rdma_destroy_id(id);
}

int rdma_get_request(rdma_cm_id *listen, rdma_cm_id **id) {
    if (const int error = refusal(listen)) return refuse(error);
    if (!own(listen).own_channel) return refuse(EINVAL);
    if (listen->event) {
        rdma_ack_cm_event(listen->event);
        listen->event = nullptr;
    }
    rdma_cm_event *event = nullptr;
    if (rdma_get_cm_event(listen->channel, &event) != 0) return -1;
    if (event->status != 0 || event->event != RDMA_CM_EVENT_CONNECT_REQUEST) {
        listen->event = event;
        return refuse(event->status != 0 ? std::abs(event->status) : EINVAL);
    }
    rdma_cm_id *made = event->id;
    made->event = event;
    const IdObject& listener = own(listen);
    if (listener.endpoint) {
        ibv_qp_init_attr attributes = *listener.endpoint;
        attributes.qp_type = listen->qp_type;
        if (rdma_create_qp(made, listener.endpoint_pd, &attributes) != 0) return fail_with(made);
    }
    *id = made;
    return 0;
}

}  // extern "C"
