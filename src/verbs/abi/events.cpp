// SPDX-License-Identifier: BSD-3-Clause
//
// Asynchronous events: ibv_get_async_event(3).

#include <cerrno>

#include "verbs/abi/objects.hpp"

namespace lanewise::verbs::abi {
namespace {

void report_completion(CompletionQueue *queue) {
    auto *object = static_cast<CompletionObject *>(queue->cookie());
    if (object->shown.channel) own(object->shown.channel).notices.add(object);
}

// Calls `act` with the queue or queue pair that the event is about; a port or device is none.
template <typename Act>
void with_object(const ibv_async_event& event, const Act& act) {
    switch (event.event_type) {
        case IBV_EVENT_CQ_ERR: act(event.element.cq); return;
        case IBV_EVENT_SRQ_ERR:
        case IBV_EVENT_SRQ_LIMIT_REACHED: act(event.element.srq); return;
        case IBV_EVENT_QP_FATAL:
        case IBV_EVENT_QP_REQ_ERR:
        case IBV_EVENT_QP_ACCESS_ERR:
        case IBV_EVENT_COMM_EST:
        case IBV_EVENT_SQ_DRAINED:
        case IBV_EVENT_PATH_MIG:
        case IBV_EVENT_PATH_MIG_ERR:
        case IBV_EVENT_QP_LAST_WQE_REACHED: act(event.element.qp); return;
        default: return;
    }
}

std::uint32_t& acknowledged_events(ibv_cq *queue) {
    return queue->async_events_completed;
}
std::uint32_t& acknowledged_events(ibv_srq *queue) {
    return queue->events_completed;
}
std::uint32_t& acknowledged_events(ibv_qp *queue_pair) {
    return queue_pair->events_completed;
}

// One event of an object was acknowledged; whoever destroys it may be waiting for that.
template <typename Shown>
void count_acknowledged(Shown *object) {
    if (!is_live(object)) return;
    pthread_mutex_lock(&object->mutex);
    ++acknowledged_events(object);
    pthread_cond_signal(&object->cond);
    pthread_mutex_unlock(&object->mutex);
}

}  // namespace

void notify(Context& context, const Event& event) {
    if (event.kind == EventKind::completion) {
        report_completion(event.completion_queue);
        return;
    }
    ibv_async_event shown_event{};
    shown_event.event_type = static_cast<ibv_event_type>(event.kind);
    if (event.queue_pair) {
        shown_event.element.qp =
            shown(*static_cast<QueuePairObject *>(event.queue_pair->init().cookie));
    } else if (event.completion_queue) {
        shown_event.element.cq =
            shown(*static_cast<CompletionObject *>(event.completion_queue->cookie()));
    } else if (event.shared_receive_queue) {
        auto *srq = static_cast<SharedReceiveObject *>(event.shared_receive_queue->cookie());
        shown_event.element.srq = &srq->shown;
    } else {
        shown_event.element.port_num = event.port;
    }
    context.events.add(shown_event);
}

}  // namespace lanewise::verbs::abi

using namespace lanewise::verbs::abi;

extern "C" {

int ibv_get_async_event(ibv_context *context, ibv_async_event *event) {
    if (const int error = refusal(context)) return errno = error, -1;
    const std::optional<ibv_async_event> taken =
        own(context).events.take([](const ibv_async_event& one) {
            with_object(one, [](auto *object) { ++own(object).events_taken; });
        });
    if (!taken) return -1;
    *event = *taken;
    return 0;
}

void ibv_ack_async_event(ibv_async_event *event) {
    with_object(*event, [](auto *object) { count_acknowledged(object); });
}

}  // extern "C"
