// SPDX-License-Identifier: BSD-3-Clause
//
// Work requests posted by lists, and polling: the operations of struct ibv_context_ops, which
// <infiniband/verbs.h> calls inline.

#include <algorithm>
#include <array>
#include <cerrno>

#include "verbs/abi/objects.hpp"

namespace lanewise::verbs::abi {
namespace {

constexpr std::size_t completions_at_once = 32;

static_assert(sizeof(ibv_sge) == sizeof(Slice));
static_assert(offsetof(ibv_sge, length) == offsetof(Slice, length_bytes));
static_assert(offsetof(ibv_sge, lkey) == offsetof(Slice, lkey));

// A list of ibv_sge has the layout of slices.
std::span<const Slice> slices_of(const ibv_sge *list, int count) {
    if (count <= 0) return {};
    return {reinterpret_cast<const Slice *>(list), static_cast<std::size_t>(count)};
}

SendRequest request_of(const ibv_send_wr& from, ibv_qp_type type) {
    const bool datagram = type == IBV_QPT_UD;
    const bool extended = type == IBV_QPT_XRC_SEND;
    SendRequest to;
    to.id = from.wr_id;
    to.operation = static_cast<Operation>(from.opcode);
    to.flags = from.send_flags;
    to.immediate = from.imm_data;
    to.slices = slices_of(from.sg_list, from.num_sge);
    to.remote_srqn = extended ? from.qp_type.xrc.remote_srqn : 0;
    if (from.opcode == IBV_WR_LOCAL_INV || from.opcode == IBV_WR_SEND_WITH_INV) {
        to.invalidated_key = from.invalidate_rkey;
    }
    if (from.opcode == IBV_WR_LOCAL_INV) {
        to.slices = {};
    } else if (datagram) {
        to.address = from.wr.ud.ah ? &own(from.wr.ud.ah).address : nullptr;
        to.remote_qpn = from.wr.ud.remote_qpn;
        to.remote_qkey = from.wr.ud.remote_qkey;
    } else if (from.opcode == IBV_WR_ATOMIC_CMP_AND_SWP ||
               from.opcode == IBV_WR_ATOMIC_FETCH_AND_ADD) {
        to.remote_address = from.wr.atomic.remote_addr;
        to.rkey = from.wr.atomic.rkey;
        to.compare_add = from.wr.atomic.compare_add;
        to.swap = from.wr.atomic.swap;
    } else {
        to.remote_address = from.wr.rdma.remote_addr;
        to.rkey = from.wr.rdma.rkey;
    }
    return to;
}

int post_binding(QueuePairObject& object, const ibv_send_wr& work) {
    ibv_mw *mw = work.bind_mw.mw;
    const std::uint32_t key = work.bind_mw.rkey;
    const auto binding = binding_of(object.shown.qp_base, mw, key, work.bind_mw.bind_info);
    if (!binding || mw->type != IBV_MW_TYPE_2) return EINVAL;
    const int error = object.engine->post_send({.id = work.wr_id,
                                                .operation = Operation::bind_window,
                                                .flags = work.send_flags,
                                                .binding = &*binding});
    if (error == 0) mw->rkey = key;
    return error;
}

int post_one(QueuePairObject& object, const ibv_send_wr& work) {
    if (const int error = planned_error("ibv_post_send", shown(object))) return error;
    if (work.opcode > IBV_WR_SEND_WITH_INV) return EOPNOTSUPP;
    if (work.opcode == IBV_WR_BIND_MW) return post_binding(object, work);
    const ibv_qp_type type = object.shown.qp_base.qp_type;
    if (type == IBV_QPT_UD && !is_live(work.wr.ud.ah)) return EINVAL;
    return object.engine->post_send(request_of(work, type));
}

template <typename Work>
int refused(Work *work, Work **bad, int error) {
    *bad = work;
    return error;
}

int post_send(ibv_qp *qp, ibv_send_wr *work, ibv_send_wr **bad) {
    if (const int error = refusal(qp)) return refused(work, bad, error);
    Context& context = own(qp->context);
    const std::lock_guard guard(context.adapter->lock());
    if (const int error = gone(own(qp))) return refused(work, bad, error);
    int error = 0;
    for (; work && !error; work = work->next) {
        error = post_one(own(qp), *work);
        if (error) *bad = work;
    }
    send_posted(context, *own(qp).engine);
    return error;
}

int post_recv(ibv_qp *qp, ibv_recv_wr *work, ibv_recv_wr **bad) {
    if (const int error = refusal(qp)) return refused(work, bad, error);
    Context& context = own(qp->context);
    const std::lock_guard guard(context.adapter->lock());
    if (const int error = gone(own(qp))) return refused(work, bad, error);
    for (; work; work = work->next) {
        const ReceiveRequest request{work->wr_id, slices_of(work->sg_list, work->num_sge)};
        int error = planned_error("ibv_post_recv", qp);
        if (error == 0) error = own(qp).engine->post_receive(request);
        if (error != 0) return refused(work, bad, error);
    }
    return 0;
}

int post_srq_recv(ibv_srq *srq, ibv_recv_wr *work, ibv_recv_wr **bad) {
    if (const int error = refusal(srq)) return refused(work, bad, error);
    Context& context = own(srq->context);
    const std::lock_guard guard(context.adapter->lock());
    if (const int error = gone(own(srq))) return refused(work, bad, error);
    for (; work; work = work->next) {
        const ReceiveRequest request{work->wr_id, slices_of(work->sg_list, work->num_sge)};
        int error = planned_error("ibv_post_srq_recv", srq);
        if (error == 0) error = own(srq).engine->post(request);
        if (error != 0) return refused(work, bad, error);
    }
    return 0;
}

int poll_cq(ibv_cq *cq, int count, ibv_wc *into) {
    if (refusal(cq) != 0) return -1;
    // To begin with empty ones at each poll would take longer than the poll.
    thread_local std::array<Completion, completions_at_once> taken;
    int total = 0;
    while (total < count) {
        const auto wanted = std::min(static_cast<std::size_t>(count - total), taken.size());
        const auto got = poll_completions(own(cq), std::span(taken).first(wanted));
        if (!got) return total > 0 ? total : -1;
        std::transform(taken.begin(), taken.begin() + static_cast<std::ptrdiff_t>(*got),
                       into + total, shown_completion);
        total += static_cast<int>(*got);
        if (*got < wanted) break;
    }
    return total;
}

int req_notify_cq(ibv_cq *cq, int solicited_only) {
    if (const int error = planned_error("ibv_req_notify_cq", cq)) return error;
    if (const int error = refusal(cq)) return error;
    Context& context = own(cq->context);
    const std::lock_guard guard(context.adapter->lock());
    if (const int error = gone(own(cq))) return error;
    own(cq).engine->arm(solicited_only ? Wanted::solicited : Wanted::any);
    context.adapter->send_all(monotonic_ns());  // the program is about to sleep
    return 0;
}

}  // namespace

void set_data_operations(ibv_context_ops& operations) {
    operations.poll_cq = poll_cq;
    operations.req_notify_cq = req_notify_cq;
    operations.post_send = post_send;
    operations.post_recv = post_recv;
    operations.post_srq_recv = post_srq_recv;
}

}  // namespace lanewise::verbs::abi
