// SPDX-License-Identifier: BSD-3-Clause
//
// Queue pairs of identifiers: made with what they need, and taken along by their connections.

#include <rdma/rdma_verbs.h>

#include <algorithm>

#include "verbs/cm/abi/objects.hpp"

namespace lanewise::verbs::cm {
namespace {

// 655.36 ms until the peer sends again what no receive was posted for, as from the kernel: programs
// that let it try five times expect it to wait for three seconds, not for three milliseconds.
constexpr std::uint8_t rnr_timer = 0;
constexpr std::uint8_t hop_limit_usual = 64;

bool is_reliable(const IdObject& id) {
    const ibv_qp_type type = id.shown.qp ? id.shown.qp->qp_type : id.shown.qp_type;
    return type == IBV_QPT_RC;
}

int fill_init(IdObject& id, ibv_qp_attr& attributes) {
    attributes.pkey_index = 0;
    attributes.port_num = id.shown.port_num;
    const int mask = IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT;
    if (is_datagram(id)) {
        attributes.qkey = RDMA_UDP_QKEY;
        return mask | IBV_QP_QKEY;
    }
    attributes.qp_access_flags = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE;
    if (is_reliable(id)) {
        attributes.qp_access_flags |= IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC;
    }
    return mask | IBV_QP_ACCESS_FLAGS;
}

int fill_ready_to_receive(IdObject& id, ibv_qp_attr& attributes) {
    if (is_datagram(id)) return IBV_QP_STATE;
    attributes.ah_attr = path_of(id);
    attributes.path_mtu = static_cast<ibv_mtu>(id.terms.path_mtu);
    attributes.dest_qp_num = id.terms.remote_qpn;
    attributes.rq_psn = id.terms.receive_psn;
    const int mask = IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN;
    if (!is_reliable(id)) return mask;
    attributes.max_dest_rd_atomic = id.terms.responder_resources;
    attributes.min_rnr_timer = rnr_timer;
    return mask | IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER;
}

int fill_ready_to_send(IdObject& id, ibv_qp_attr& attributes) {
    attributes.sq_psn = id.terms.send_psn;
    const int mask = IBV_QP_STATE | IBV_QP_SQ_PSN;
    if (!is_reliable(id)) return mask;
    attributes.timeout = id.terms.ack_timeout;
    attributes.retry_cnt = id.terms.retry_count;
    attributes.rnr_retry = id.terms.rnr_retry_count;
    attributes.max_rd_atomic = id.terms.initiator_depth;
    return mask | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_MAX_QP_RD_ATOMIC;
}

// The mask of what was filled in for a state; 0 for a state that the connection says nothing of.
int fill(IdObject& id, ibv_qp_attr& attributes) {
    switch (attributes.qp_state) {
        case IBV_QPS_INIT: return fill_init(id, attributes);
        case IBV_QPS_RTR: return fill_ready_to_receive(id, attributes);
        case IBV_QPS_RTS: return fill_ready_to_send(id, attributes);
        default: return 0;
    }
}

int enter(IdObject& id, ibv_qp_state state) {
    ibv_qp_attr attributes{};
    attributes.qp_state = state;
    const int mask = fill(id, attributes);
    return ibv_modify_qp(id.shown.qp, &attributes, mask);
}

// A completion queue with a channel, for a program that brings none.
bool make_queue(IdObject& id, std::uint32_t entries, ibv_comp_channel *& channel, ibv_cq *& queue) {
    channel = ibv_create_comp_channel(id.shown.verbs);
    if (!channel) return false;
    const int count = static_cast<int>(std::max(entries, 1U));
    queue = ibv_create_cq(id.shown.verbs, count, &id.shown, channel, 0);
    if (queue) return true;
    ibv_destroy_comp_channel(channel);
    channel = nullptr;
    return false;
}

void destroy_queue(ibv_comp_channel *& channel, ibv_cq *& queue) {
    if (queue) ibv_destroy_cq(queue);
    if (channel) ibv_destroy_comp_channel(channel);
    queue = nullptr;
    channel = nullptr;
}

void destroy_queues(IdObject& id) {
    if (id.owns_receive_queue) destroy_queue(id.shown.recv_cq_channel, id.shown.recv_cq);
    if (id.owns_send_queue) destroy_queue(id.shown.send_cq_channel, id.shown.send_cq);
    id.owns_receive_queue = id.owns_send_queue = false;
}

bool make_queues(IdObject& id, ibv_qp_init_attr_ex& attributes) {
    rdma_cm_id& shown = id.shown;
    if (!attributes.recv_cq) {
        id.owns_receive_queue =
            make_queue(id, attributes.cap.max_recv_wr, shown.recv_cq_channel, shown.recv_cq);
        if (!id.owns_receive_queue) return false;
        attributes.recv_cq = shown.recv_cq;
    }
    if (!attributes.send_cq) {
        id.owns_send_queue =
            make_queue(id, attributes.cap.max_send_wr, shown.send_cq_channel, shown.send_cq);
        if (!id.owns_send_queue) return false;
        attributes.send_cq = shown.send_cq;
    }
    return true;
}

int prepare(IdObject& id) {
    if (const int error = enter(id, IBV_QPS_INIT)) return error;
    if (!is_datagram(id)) return 0;
    if (const int error = enter(id, IBV_QPS_RTR)) return error;
    return enter(id, IBV_QPS_RTS);
}

}  // namespace

ibv_ah_attr path_of(IdObject& id) {
    ibv_ah_attr path{};
    path.is_global = 1;
    std::copy(id.remote.address.begin(), id.remote.address.end(), path.grh.dgid.raw);
    path.grh.sgid_index = gid_index(id).value_or(0);
    path.grh.hop_limit = hop_limit_usual;
    path.grh.traffic_class = id.traffic_class;
    path.port_num = id.shown.port_num;
    return path;
}

std::uint8_t outstanding_max() {
    ibv_device_attr device{};
    if (ibv_query_device(the_device(), &device) != 0) return 1;
    return static_cast<std::uint8_t>(
        std::min({device.max_qp_rd_atom, device.max_qp_init_rd_atom, int{RDMA_MAX_RESP_RES}}));
}

int make_ready(IdObject& id) {
    if (const int error = enter(id, IBV_QPS_RTR)) return error;
    return enter(id, IBV_QPS_RTS);
}

int make_broken(IdObject& id) {
    if (!id.shown.qp) return 0;
    ibv_qp_attr attributes{};
    attributes.qp_state = IBV_QPS_ERR;
    return ibv_modify_qp(id.shown.qp, &attributes, IBV_QP_STATE);
}

}  // namespace lanewise::verbs::cm

using namespace lanewise::verbs::cm;

extern "C" {

int rdma_create_qp_ex(rdma_cm_id *id, ibv_qp_init_attr_ex *qp_init_attr) {
    if (const int error = refusal(id)) return refuse(error);
    if (!id->verbs || id->qp) return refuse(EINVAL);
    IdObject& object = own(id);
    if (!(qp_init_attr->comp_mask & IBV_QP_INIT_ATTR_PD)) {
        qp_init_attr->comp_mask |= IBV_QP_INIT_ATTR_PD;
        qp_init_attr->pd = id->pd;
    } else if (!qp_init_attr->pd) {
        qp_init_attr->pd = id->pd;
    }
    if (!qp_init_attr->pd || qp_init_attr->pd->context != id->verbs) return refuse(EINVAL);
    if (id->srq && !qp_init_attr->srq) qp_init_attr->srq = id->srq;
    const bool made = make_queues(object, *qp_init_attr);
    id->qp = made ? ibv_create_qp_ex(id->verbs, qp_init_attr) : nullptr;
    if (!id->qp) {
        const int error = errno;
        destroy_queues(object);
        return refuse(error);
    }
    id->pd = qp_init_attr->pd;
    if (const int error = prepare(object)) {
        rdma_destroy_qp(id);
        return refuse(error);
    }
    return 0;
}

int rdma_create_qp(rdma_cm_id *id, ibv_pd *pd, ibv_qp_init_attr *qp_init_attr) {
    ibv_qp_init_attr_ex extended{};
    extended.qp_context = qp_init_attr->qp_context;
    extended.send_cq = qp_init_attr->send_cq;
    extended.recv_cq = qp_init_attr->recv_cq;
    extended.srq = qp_init_attr->srq;
    extended.cap = qp_init_attr->cap;
    extended.qp_type = qp_init_attr->qp_type;
    extended.sq_sig_all = qp_init_attr->sq_sig_all;
    extended.comp_mask = IBV_QP_INIT_ATTR_PD;
    extended.pd = pd;
    const int made = rdma_create_qp_ex(id, &extended);
    if (made == 0) {
        qp_init_attr->send_cq = extended.send_cq;
        qp_init_attr->recv_cq = extended.recv_cq;
        qp_init_attr->srq = extended.srq;
        qp_init_attr->cap = extended.cap;
    }
    return made;
}

void rdma_destroy_qp(rdma_cm_id *id) {
    if (refusal(id) || !id->qp) return;
    leave_groups(own(id));
    ibv_destroy_qp(id->qp);
    id->qp = nullptr;
    destroy_queues(own(id));
}

int rdma_create_srq(rdma_cm_id *id, ibv_pd *pd, ibv_srq_init_attr *attr) {
    if (const int error = refusal(id)) return refuse(error);
    if (!id->verbs || id->srq) return refuse(EINVAL);
    if (!pd) pd = id->pd;
    id->srq = ibv_create_srq(pd, attr);
    if (!id->srq) return -1;
    id->pd = pd;
    return 0;
}

int rdma_create_srq_ex(rdma_cm_id *id, ibv_srq_init_attr_ex *attr) {
    const bool basic =
        !(attr->comp_mask & IBV_SRQ_INIT_ATTR_TYPE) || attr->srq_type == IBV_SRQT_BASIC;
    if (!basic) return refuse(EOPNOTSUPP);
    ibv_pd *pd = attr->comp_mask & IBV_SRQ_INIT_ATTR_PD ? attr->pd : nullptr;
    // The extended struct begins with the plain one.
    return rdma_create_srq(id, pd, reinterpret_cast<ibv_srq_init_attr *>(attr));
}

void rdma_destroy_srq(rdma_cm_id *id) {
    if (refusal(id) || !id->srq) return;
    ibv_destroy_srq(id->srq);
    id->srq = nullptr;
}

int rdma_init_qp_attr(rdma_cm_id *id, ibv_qp_attr *qp_attr, int *qp_attr_mask) {
    if (const int error = refusal(id)) return refuse(error);
    if (!id->verbs) return refuse(EINVAL);
    const ibv_qp_state state = qp_attr->qp_state;
    *qp_attr = {};
    qp_attr->qp_state = state;
    *qp_attr_mask = fill(own(id), *qp_attr);
    return *qp_attr_mask != 0 ? 0 : refuse(EINVAL);
}

}  // extern "C"
