// SPDX-License-Identifier: BSD-3-Clause
//
// Completion channels and completion queues.

#include <sched.h>

#include <algorithm>
#include <cerrno>
#include <string_view>

#include "verbs/abi/objects.hpp"

namespace lanewise::verbs::abi {
namespace {

// A poll that finds nothing returns at once, as long as an answer may come within the round trip of
// a fast network. A program that has polled for longer than that, while no packet came, may be
// waiting for a neighbour on the same processor, and yields it: that keeps it ready to run, so that
// the scheduler moves one of the two to an idle processor. Two that sleep for each other look idle
// half of the time and stay together. It never sleeps: who polls may have work of its own between
// two polls (HPCC's RandomAccess makes one update at a time), and would do it that much later.
constexpr Nanoseconds spin_ns = 25'000;

// A queue may hold more than was asked for (ibv_create_cq(3)). perftest asks for a queue of one,
// and with events it takes the completion of a message that came for the one of its send, which was
// lost and comes later: a queue of exactly one would overrun.
constexpr std::uint32_t completions_least = 64;

constexpr std::string_view name_of(CompletedWork work) {
    switch (work) {
        case CompletedWork::send: return "send";
        case CompletedWork::rdma_write: return "write";
        case CompletedWork::rdma_read: return "read";
        case CompletedWork::compare_swap: return "compare_swap";
        case CompletedWork::fetch_add: return "fetch_add";
        case CompletedWork::bind_window: return "bind_window";
        case CompletedWork::local_invalidate: return "local_invalidate";
        default: return "receive";
    }
}

// A completion that is to have an error, and a queue pair that is broken by it as by a true one.
void spoil(Context& owner, Completion& completion, faults::Injector& injector) {
    if (completion.status != Status::success) return;
    const auto fault =
        injector.decide({.place = faults::Place::completion,
                         .name = name_of(completion.work),
                         .device = owner.adapter->config().name,
                         .queue_pair = ordinal_of(owner.adapter->engine(), completion.qpn)});
    if (!fault) return;
    completion.status = static_cast<Status>(fault->value);
    QueuePair *queue_pair = owner.adapter->engine().find(completion.qpn);
    if (!queue_pair || queue_pair->init().transport == Transport::ud) return;
    Attributes broken;
    broken.state = State::error;
    queue_pair->modify(broken, state_attribute);
}

std::optional<std::size_t> try_poll(Context& owner, CompletionObject& object,
                                    std::span<Completion> into, Nanoseconds now) {
    Polls& polls = owner.progress->polls();
    std::unique_lock guard(owner.adapter->lock(), std::try_to_lock);
    const bool is_polling = owner.progress->program_polls(now);
    if (guard && is_polling && !gone(object) && object.engine->size() == 0 &&
        owner.adapter->may_skip_round(now)) {
        polls.was_short(now);
        return 0;
    }
    polls.begin();
    if (!guard) guard.lock();
    if (gone(object)) {
        polls.end(now);
        return std::nullopt;
    }
    const std::size_t found = object.engine->size();
    bool was_long = false;
    if (found < into.size() && (!is_polling || object.wire_polling.looks(found))) {
        if (is_polling) {
            owner.adapter->progress_towards_completion(now);
        } else {
            owner.adapter->progress(now);
        }
        was_long = owner.adapter->took_much();
    }
    polls.end(was_long ? monotonic_ns() : now);
    const std::size_t got = object.engine->poll(into);
    if (faults::Injector *injector = faults::Injector::get()) {
        for (Completion& one : into.first(got)) spoil(owner, one, *injector);
    }
    return got;
}

}  // namespace

CompletionObject *make_completion_queue(ibv_context *context, std::uint32_t entries,
                                        void *cq_context, ibv_comp_channel *channel,
                                        int comp_vector) {
    if (const int error = command_error("ibv_create_cq", context)) return refuse(error);
    if (const int error = refusal(context)) return refuse(error);
    Context& owner = own(context);
    if (channel && (!is_live(channel) || channel->context != context)) return refuse(EINVAL);
    if (entries < 1 || entries > completions_max || comp_vector != 0) return refuse(EINVAL);
    auto object = HandlePool<CompletionObject>::make();
    const std::uint32_t capacity = std::max(entries, completions_least);
    const std::lock_guard guard(owner.adapter->lock());
    object->engine = owner.adapter->engine().create_completion_queue(capacity, object.get());
    if (!object->engine) return refuse(ENOMEM);
    object->shown.context = context;
    object->shown.channel = channel;
    object->shown.cq_context = cq_context;
    object->shown.cqe = static_cast<int>(capacity);
    pthread_mutex_init(&object->shown.mutex, nullptr);
    pthread_cond_init(&object->shown.cond, nullptr);
    if (channel) ++channel->refcnt;
    return object.release();
}

ibv_wc shown_completion(const Completion& from) {
    ibv_wc to{};
    to.wr_id = from.id;
    to.status = static_cast<ibv_wc_status>(from.status);
    to.opcode = static_cast<ibv_wc_opcode>(from.work);
    to.byte_len = from.length_bytes;
    to.imm_data = from.immediate;
    to.qp_num = from.qpn;
    to.src_qp = from.source_qpn;
    if (from.has_grh) to.wc_flags |= IBV_WC_GRH;
    if (from.has_immediate) to.wc_flags |= IBV_WC_WITH_IMM;
    if (from.invalidated_key != 0) {
        to.wc_flags |= IBV_WC_WITH_INV;
        to.invalidated_rkey = from.invalidated_key;
    }
    to.pkey_index = from.pkey_index;
    to.slid = from.source_lid;
    to.sl = from.service_level;
    to.dlid_path_bits = from.path_bits;
    return to;
}

std::optional<std::size_t> poll_completions(CompletionObject& object, std::span<Completion> into) {
    Context& owner = own(object.shown.context);
    const Nanoseconds now = monotonic_ns();
    const std::optional<std::size_t> got = try_poll(owner, object, into, now);
    if (got != 0 || into.empty()) {
        object.waits_since.store(0, std::memory_order_relaxed);
        return got;
    }
    Nanoseconds since = object.waits_since.load(std::memory_order_relaxed);
    if (since == 0) {
        since = now;
        object.waits_since.store(now, std::memory_order_relaxed);
    }
    const Nanoseconds waited = now - std::max(since, owner.adapter->arrived_at());
    if (waited >= spin_ns) sched_yield();
    return 0;
}

}  // namespace lanewise::verbs::abi

using namespace lanewise::verbs::abi;
using lanewise::verbs::Completion;

extern "C" {

ibv_comp_channel *ibv_create_comp_channel(ibv_context *context) {
    if (const int error = command_error("ibv_create_comp_channel", context)) return refuse(error);
    if (const int error = refusal(context)) return refuse(error);
    auto object = HandlePool<ChannelObject>::make();
    if (const int error = object->notices.error()) return refuse(error);
    object->shown = {context, object->notices.descriptor(), 0};
    return &object.release()->shown;
}

int ibv_destroy_comp_channel(ibv_comp_channel *channel) {
    if (!is_live(channel)) return told(EINVAL);
    const Context& context = own(channel->context);
    if (context.forked) return 0;
    {
        const std::lock_guard guard(context.adapter->lock());
        if (channel->refcnt > 0) return told(EBUSY);
    }
    HandlePool<ChannelObject>::destroy(&own(channel));
    return 0;
}

ibv_cq *ibv_create_cq(ibv_context *context, int cqe, void *cq_context, ibv_comp_channel *channel,
                      int comp_vector) {
    const std::uint32_t entries = cqe < 0 ? 0 : static_cast<std::uint32_t>(cqe);
    CompletionObject *made =
        make_completion_queue(context, entries, cq_context, channel, comp_vector);
    return made ? shown(*made) : nullptr;
}

int ibv_resize_cq(ibv_cq *cq, int cqe) {
    if (const int error = command_error("ibv_resize_cq", cq)) return error;
    if (const int error = refusal(cq)) return error;
    if (cqe < 1 || cqe > completions_max) return told(EINVAL);
    Context& context = own(cq->context);
    const std::lock_guard guard(context.adapter->lock());
    if (const int error = gone(own(cq))) return error;
    const int error = own(cq).engine->resize(static_cast<std::uint32_t>(cqe));
    if (error == 0) cq->cqe = cqe;
    return told(error);
}

int ibv_destroy_cq(ibv_cq *cq) {
    if (!is_live(cq)) return EINVAL;
    CompletionObject& object = own(cq);
    Context& context = own(cq->context);
    if (context.forked) return 0;
    {
        const std::lock_guard guard(context.adapter->lock());
        if (const int error = gone(object)) return error;
        if (const int error = context.adapter->engine().destroy(object.engine)) return told(error);
        object.engine = nullptr;
    }
    if (cq->channel) {
        own(cq->channel).notices.forget_if([&](CompletionObject *one) { return one == &object; });
        const std::lock_guard guard(context.adapter->lock());
        --cq->channel->refcnt;
    }
    context.events.forget_if([&](const ibv_async_event& event) {
        return event.event_type == IBV_EVENT_CQ_ERR && event.element.cq == cq;
    });
    wait_for(cq->mutex, cq->cond, cq->comp_events_completed, object.completion_notices_taken);
    wait_for(cq->mutex, cq->cond, cq->async_events_completed, object.events_taken);
    HandlePool<CompletionObject>::destroy(&object);
    return 0;
}

int ibv_get_cq_event(ibv_comp_channel *channel, ibv_cq **cq, void **cq_context) {
    if (const int error = refusal(channel)) return errno = error, -1;
    const std::optional<CompletionObject *> taken = own(channel).notices.take(
        [](CompletionObject *object) { ++object->completion_notices_taken; });
    if (!taken) return -1;
    *cq = shown(**taken);
    *cq_context = (*taken)->shown.cq_context;
    return 0;
}

void ibv_ack_cq_events(ibv_cq *cq, unsigned nevents) {
    if (!is_live(cq)) return;
    pthread_mutex_lock(&cq->mutex);
    cq->comp_events_completed += nevents;
    pthread_cond_signal(&cq->cond);
    pthread_mutex_unlock(&cq->mutex);
}

}  // extern "C"
