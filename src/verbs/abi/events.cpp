// SPDX-License-Identifier: BSD-3-Clause
//
// Asynchronous events: ibv_get_async_event(3).

#include <cerrno>

#include "verbs/abi/objects.hpp"

namespace lanewise::verbs::abi {
namespace {

void tell_completion(CompletionQueue *queue) {
    auto *object = static_cast<CompletionObject *>(queue->cookie());
    if (object->shown.channel) own(object->shown.channel).notices.add(object);
}

void count_taken(const ibv_async_event& event) {
    switch (event.event_type) {
        case IBV_EVENT_CQ_ERR:
            ++own(event.element.cq).events_taken;
            return;
        case IBV_EVENT_SRQ_ERR:
        case IBV_EVENT_SRQ_LIMIT_REACHED:
            ++own(event.element.srq).events_taken;
            return;
        case IBV_EVENT_QP_FATAL:
        case IBV_EVENT_QP_REQ_ERR:
        case IBV_EVENT_QP_ACCESS_ERR:
        case IBV_EVENT_COMM_EST:
        case IBV_EVENT_SQ_DRAINED:
        case IBV_EVENT_PATH_MIG:
        case IBV_EVENT_PATH_MIG_ERR:
        case IBV_EVENT_QP_LAST_WQE_REACHED:
            ++own(event.element.qp).events_taken;
            return;
        default:
            return;
    }
}

// One event of an object was acknowledged; whoever destroys it may be waiting for that.
template <typename Shown>
void count_acknowledged(Shown *object, std::uint32_t Shown::*counter) {
    if (!is_live(object)) return;
    pthread_mutex_lock(&object->mutex);
    ++(object->*counter);
    pthread_cond_signal(&object->cond);
    pthread_mutex_unlock(&object->mutex);
}

}  // namespace

void notify(Context& context, const Event& event) {
    if (event.kind == EventKind::completion) {
        tell_completion(event.completion_queue);
        return;
    }
    ibv_async_event told{};
    told.event_type = static_cast<ibv_event_type>(event.kind);
    if (event.queue_pair) {
        told.element.qp = shown(*static_cast<QueuePairObject *>(event.queue_pair->init().cookie));
    } else if (event.completion_queue) {
        told.element.cq = shown(*static_cast<CompletionObject *>(event.completion_queue->cookie()));
    } else if (event.shared_receive_queue) {
        auto *srq = static_cast<SharedReceiveObject *>(event.shared_receive_queue->cookie());
        told.element.srq = &srq->shown;
    } else {
        told.element.port_num = event.port;
    }
    context.events.add(told);
}

}  // namespace lanewise::verbs::abi

using namespace lanewise::verbs::abi;

extern "C" {

int ibv_get_async_event(ibv_context *context, ibv_async_event *event) {
    if (const int error = refusal(context)) return errno = error, -1;
    const std::optional<ibv_async_event> taken = own(context).events.take();
    if (!taken) return -1;
    count_taken(*taken);
    *event = *taken;
    return 0;
}

void ibv_ack_async_event(ibv_async_event *event) {
    switch (event->event_type) {
        case IBV_EVENT_CQ_ERR:
            count_acknowledged(event->element.cq, &ibv_cq::async_events_completed);
            return;
        case IBV_EVENT_SRQ_ERR:
        case IBV_EVENT_SRQ_LIMIT_REACHED:
            count_acknowledged(event->element.srq, &ibv_srq::events_completed);
            return;
        case IBV_EVENT_QP_FATAL:
        case IBV_EVENT_QP_REQ_ERR:
        case IBV_EVENT_QP_ACCESS_ERR:
        case IBV_EVENT_COMM_EST:
        case IBV_EVENT_SQ_DRAINED:
        case IBV_EVENT_PATH_MIG:
        case IBV_EVENT_PATH_MIG_ERR:
        case IBV_EVENT_QP_LAST_WQE_REACHED:
            count_acknowledged(event->element.qp, &ibv_qp::events_completed);
            return;
        default:
            return;
    }
}

}  // extern "C"
