// SPDX-License-Identifier: BSD-3-Clause
//
// The verbs that objects of a pair of devices need, in place of libibverbs' own. For all other
// contexts they go straight to the library behind.

#include <cerrno>
#include <cstdint>

#include "paths/preload/pairs.hpp"

using namespace lanewise::paths::preload;
using lanewise::paths::carried::Channel;
using lanewise::paths::carried::CompletionQueue;
using lanewise::paths::carried::SharedReceives;

// Macros of <infiniband/verbs.h>.
#undef ibv_reg_mr
#undef ibv_reg_mr_iova

#define SHOWN extern "C" __attribute__((visibility("default")))

namespace {

// Whether a queue pair is ours, of which a driver knows nothing.
bool is_carried(const ibv_qp *qp) {
    return qp->qp_type == IBV_QPT_RC && pair_on(qp->context);
}

}  // namespace

SHOWN int ibv_query_device(ibv_context *context, ibv_device_attr *device_attr) {
    const auto pair = pair_on(context);
    return pair ? pair->devices->query_device(*device_attr)
                : pair_calls().verbs.query_device(context, device_attr);
}

SHOWN ibv_pd *ibv_alloc_pd(ibv_context *context) {
    const auto pair = pair_on(context);
    return pair ? pair->devices->alloc_pd() : pair_calls().verbs.alloc_pd(context);
}

SHOWN int ibv_dealloc_pd(ibv_pd *pd) {
    const auto pair = pair_on(pd->context);
    return pair ? pair->devices->dealloc_pd(pd) : pair_calls().verbs.dealloc_pd(pd);
}

SHOWN ibv_mr *ibv_reg_mr_iova2(ibv_pd *pd, void *addr, size_t length, uint64_t iova,
                               unsigned access) {
    const auto pair = pair_on(pd->context);
    return pair ? pair->devices->reg_mr(pd, addr, length, iova, access)
                : pair_calls().verbs.reg_mr_iova2(pd, addr, length, iova, access);
}

SHOWN ibv_mr *ibv_reg_mr(ibv_pd *pd, void *addr, size_t length, int access) {
    const auto pair = pair_on(pd->context);
    const auto address = reinterpret_cast<std::uintptr_t>(addr);
    return pair ? pair->devices->reg_mr(pd, addr, length, address, static_cast<unsigned>(access))
                : pair_calls().reg_mr(pd, addr, length, access);
}

SHOWN ibv_mr *ibv_reg_mr_iova(ibv_pd *pd, void *addr, size_t length, uint64_t iova, int access) {
    const auto pair = pair_on(pd->context);
    return pair ? pair->devices->reg_mr(pd, addr, length, iova, static_cast<unsigned>(access))
                : pair_calls().reg_mr_iova(pd, addr, length, iova, access);
}

// The keys of the second region would change, and peers know them.
SHOWN int ibv_rereg_mr(ibv_mr *mr, int flags, ibv_pd *pd, void *addr, size_t length, int access) {
    if (pair_on(mr->context)) return errno = EOPNOTSUPP, IBV_REREG_MR_ERR_INPUT;
    return pair_calls().rereg_mr(mr, flags, pd, addr, length, access);
}

SHOWN int ibv_dereg_mr(ibv_mr *mr) {
    const auto pair = pair_on(mr->context);
    return pair ? pair->devices->dereg_mr(mr) : pair_calls().verbs.dereg_mr(mr);
}

SHOWN ibv_comp_channel *ibv_create_comp_channel(ibv_context *context) {
    const auto pair = pair_on(context);
    return pair ? pair->devices->create_channel() : pair_calls().verbs.create_comp_channel(context);
}

SHOWN int ibv_destroy_comp_channel(ibv_comp_channel *channel) {
    const auto pair = pair_on(channel->context);
    return pair ? pair->devices->destroy_channel(channel)
                : pair_calls().verbs.destroy_comp_channel(channel);
}

SHOWN int ibv_get_cq_event(ibv_comp_channel *channel, ibv_cq **cq, void **cq_context) {
    if (!pair_on(channel->context)) {
        return pair_calls().verbs.get_cq_event(channel, cq, cq_context);
    }
    CompletionQueue *queue = reinterpret_cast<Channel *>(channel)->take();
    if (!queue) return -1;
    *cq = &queue->shown;
    *cq_context = queue->shown.cq_context;
    return 0;
}

SHOWN void ibv_ack_cq_events(ibv_cq *cq, unsigned nevents) {
    if (!pair_on(cq->context)) return pair_calls().verbs.ack_cq_events(cq, nevents);
    pthread_mutex_lock(&cq->mutex);
    cq->comp_events_completed += nevents;
    pthread_cond_signal(&cq->cond);
    pthread_mutex_unlock(&cq->mutex);
}

SHOWN ibv_cq *ibv_create_cq(ibv_context *context, int cqe, void *cq_context,
                            ibv_comp_channel *channel, int comp_vector) {
    const auto pair = pair_on(context);
    return pair ? pair->devices->create_cq(cqe, cq_context, channel, comp_vector)
                : pair_calls().verbs.create_cq(context, cqe, cq_context, channel, comp_vector);
}

SHOWN int ibv_resize_cq(ibv_cq *cq, int cqe) {
    const auto pair = pair_on(cq->context);
    if (!pair) return pair_calls().verbs.resize_cq(cq, cqe);
    return pair->devices->resize_cq(cq, cqe);
}

SHOWN ibv_qp *ibv_create_qp(ibv_pd *pd, ibv_qp_init_attr *qp_init_attr) {
    const auto pair = pair_on(pd->context);
    return pair ? pair->devices->create_qp(pd, qp_init_attr)
                : pair_calls().verbs.create_qp(pd, qp_init_attr);
}

SHOWN int ibv_query_qp(ibv_qp *qp, ibv_qp_attr *attr, int attr_mask, ibv_qp_init_attr *init_attr) {
    const auto pair = qp->qp_type == IBV_QPT_RC ? pair_on(qp->context) : nullptr;
    return pair ? pair->devices->query_qp(qp, attr, init_attr)
                : pair_calls().query_qp(qp, attr, attr_mask, init_attr);
}

// Enhanced connection establishment is between drivers, of which two carry the queue pair.
SHOWN int ibv_query_ece(ibv_qp *qp, ibv_ece *ece) {
    if (is_carried(qp)) return *ece = {}, 0;
    return pair_calls().query_ece ? pair_calls().query_ece(qp, ece) : EOPNOTSUPP;
}

SHOWN int ibv_set_ece(ibv_qp *qp, ibv_ece *ece) {
    if (is_carried(qp)) return ece->vendor_id == 0 && ece->options == 0 ? 0 : EOPNOTSUPP;
    return pair_calls().set_ece ? pair_calls().set_ece(qp, ece) : EOPNOTSUPP;
}

SHOWN ibv_qp_ex *ibv_qp_to_qp_ex(ibv_qp *qp) {
    if (is_carried(qp) || !pair_calls().qp_to_qp_ex) return nullptr;
    return pair_calls().qp_to_qp_ex(qp);
}

SHOWN int ibv_query_qp_data_in_order(ibv_qp *qp, ibv_wr_opcode op, uint32_t flags) {
    if (is_carried(qp) || !pair_calls().query_qp_data_in_order) return 0;
    return pair_calls().query_qp_data_in_order(qp, op, flags);
}

// The data of sends is copied by the processor, for which such memory has no address.
SHOWN ibv_mr *ibv_reg_dmabuf_mr(ibv_pd *pd, uint64_t offset, size_t length, uint64_t iova, int fd,
                                int access) {
    if (pair_on(pd->context) || !pair_calls().reg_dmabuf_mr) return errno = EOPNOTSUPP, nullptr;
    return pair_calls().reg_dmabuf_mr(pd, offset, length, iova, fd, access);
}

SHOWN ibv_srq *ibv_create_srq(ibv_pd *pd, ibv_srq_init_attr *srq_init_attr) {
    const auto pair = pair_on(pd->context);
    return pair ? pair->devices->create_srq(pd, *srq_init_attr)
                : pair_calls().create_srq(pd, srq_init_attr);
}

SHOWN int ibv_modify_srq(ibv_srq *srq, ibv_srq_attr *srq_attr, int srq_attr_mask) {
    if (!pair_on(srq->context)) return pair_calls().modify_srq(srq, srq_attr, srq_attr_mask);
    return EOPNOTSUPP;
}

SHOWN int ibv_query_srq(ibv_srq *srq, ibv_srq_attr *srq_attr) {
    if (!pair_on(srq->context)) return pair_calls().query_srq(srq, srq_attr);
    *srq_attr = reinterpret_cast<SharedReceives *>(srq)->attributes;
    return 0;
}
