// SPDX-License-Identifier: BSD-3-Clause
//
// Shared receive queues.

#include <cerrno>

#include "verbs/abi/objects.hpp"

namespace lanewise::verbs::abi {

SharedReceiveObject *make_shared_receive_queue(ibv_pd *pd, ibv_srq_attr& wanted, void *srq_context,
                                               const ExtendedReceive& extended) {
    Context& context = own(pd->context);
    auto& engine = context.adapter->engine();
    if (wanted.max_wr < 1 || wanted.max_wr > engine.config().requests_max ||
        wanted.max_sge > engine.config().slices_max) {
        return refuse(EINVAL);
    }
    auto object = HandlePool<SharedReceiveObject>::make();
    const std::uint32_t slices = wanted.max_sge > 0 ? wanted.max_sge : 1;
    object->engine = extended.number != 0
                         ? engine.create_extended_receive_queue(extended, own(pd).number,
                                                                wanted.max_wr, slices, object.get())
                         : engine.create_shared_receive_queue(own(pd).number, wanted.max_wr, slices,
                                                              object.get());
    if (!object->engine) return refuse(errno);
    object->shown.context = pd->context;
    object->shown.srq_context = srq_context;
    object->shown.pd = pd;
    pthread_mutex_init(&object->shown.mutex, nullptr);
    pthread_cond_init(&object->shown.cond, nullptr);
    ++own(pd).users;
    wanted.max_sge = slices;  // what it has is told there
    return object.release();
}

}  // namespace lanewise::verbs::abi

using namespace lanewise::verbs::abi;

extern "C" {

ibv_srq *ibv_create_srq(ibv_pd *pd, ibv_srq_init_attr *srq_init_attr) {
    if (const int error = command_error("ibv_create_srq", pd)) return refuse(error);
    if (const int error = refusal(pd)) return refuse(error);
    const std::lock_guard guard(own(pd->context).adapter->lock());
    SharedReceiveObject *made =
        make_shared_receive_queue(pd, srq_init_attr->attr, srq_init_attr->srq_context, {});
    return made ? &made->shown : nullptr;
}

int ibv_modify_srq(ibv_srq *srq, ibv_srq_attr *srq_attr, int srq_attr_mask) {
    if (const int error = command_error("ibv_modify_srq", srq)) return error;
    if (const int error = refusal(srq)) return error;
    if (srq_attr_mask & ~(IBV_SRQ_MAX_WR | IBV_SRQ_LIMIT)) return EINVAL;
    Context& context = own(srq->context);
    const std::lock_guard guard(context.adapter->lock());
    if (const int error = gone(own(srq))) return error;
    auto *engine = own(srq).engine;
    const bool resizes = srq_attr_mask & IBV_SRQ_MAX_WR;
    const bool limits = srq_attr_mask & IBV_SRQ_LIMIT;
    const auto size = resizes ? srq_attr->max_wr : engine->queue().capacity();
    const auto limit = limits ? srq_attr->srq_limit : engine->limit();
    // All of it is changed or nothing.
    if (limit > size || size > context.adapter->engine().config().requests_max) return EINVAL;
    if (const int error = resizes ? engine->resize(size) : 0) return error;
    return limits ? engine->set_limit(limit) : 0;
}

int ibv_query_srq(ibv_srq *srq, ibv_srq_attr *srq_attr) {
    if (const int error = command_error("ibv_query_srq", srq)) return error;
    if (const int error = refusal(srq)) return error;
    Context& context = own(srq->context);
    const std::lock_guard guard(context.adapter->lock());
    if (const int error = gone(own(srq))) return error;
    const auto *engine = own(srq).engine;
    *srq_attr = {engine->queue().capacity(), engine->queue().slices_max(), engine->limit()};
    return 0;
}

int ibv_destroy_srq(ibv_srq *srq) {
    if (!is_live(srq)) return EINVAL;
    Context& context = own(srq->context);
    if (context.forked) return 0;
    SharedReceiveObject& object = own(srq);
    {
        const std::lock_guard guard(context.adapter->lock());
        if (const int error = gone(object)) return error;
        if (const int error = context.adapter->engine().destroy(object.engine)) return error;
        object.engine = nullptr;
        --own(srq->pd).users;
        if (object.extended_domain) --object.extended_domain->users;
    }
    context.events.forget_if([&](const ibv_async_event& event) {
        return event.event_type == IBV_EVENT_SRQ_LIMIT_REACHED && event.element.srq == srq;
    });
    wait_for(srq->mutex, srq->cond, srq->events_completed, object.events_taken);
    HandlePool<SharedReceiveObject>::destroy(&object);
    return 0;
}

}  // extern "C"
