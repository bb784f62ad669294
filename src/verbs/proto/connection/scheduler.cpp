// SPDX-License-Identifier: BSD-3-Clause

#include "verbs/proto/connection/scheduler.hpp"

#include <algorithm>

namespace lanewise::verbs {
namespace {

constexpr auto later = [](const auto& a, const auto& b) { return a.at > b.at; };

}  // namespace

void Scheduler::add_ready(ScheduleSlot& slot) {
    if (!slot.ready) {
        slot.ready = true;
        ready_.push_back(&slot);
    }
}

QueuePair *Scheduler::take_ready() {
    if (ready_.empty()) {
        return nullptr;
    }
    ScheduleSlot& slot = *ready_.front();
    ready_.pop_front();
    slot.ready = false;
    return slot.queue_pair;
}

void Scheduler::add_delayed_ack(ScheduleSlot& slot) {
    if (!slot.delays_ack) {
        slot.delays_ack = true;
        delayed_acks_.push_back(&slot);
    }
}

QueuePair *Scheduler::take_delayed_ack() {
    if (delayed_acks_.empty()) {
        return nullptr;
    }
    ScheduleSlot& slot = *delayed_acks_.back();
    delayed_acks_.pop_back();
    slot.delays_ack = false;
    return slot.queue_pair;
}

void Scheduler::set_deadline(ScheduleSlot& slot, Nanoseconds deadline) {
    slot.deadline = deadline;
    if (deadline < slot.in_heap_at) {
        slot.in_heap_at = deadline;
        heap_.push_back({deadline, &slot});
        std::push_heap(heap_.begin(), heap_.end(), later);
    }
}

// An entry is stale if its queue pair has meanwhile chosen another deadline; an entry for that one
// replaces it.
void Scheduler::drop_stale() {
    while (!heap_.empty() && heap_.front().at != heap_.front().slot->deadline) {
        const Entry stale = heap_.front();
        std::pop_heap(heap_.begin(), heap_.end(), later);
        heap_.pop_back();
        ScheduleSlot& slot = *stale.slot;
        if (stale.at == slot.in_heap_at) {
            slot.in_heap_at = never;
            set_deadline(slot, slot.deadline);
        }
    }
}

Nanoseconds Scheduler::next_deadline() {
    drop_stale();
    return heap_.empty() ? never : heap_.front().at;
}

QueuePair *Scheduler::take_due(Nanoseconds now) {
    if (next_deadline() > now || heap_.empty()) {
        return nullptr;
    }
    ScheduleSlot& slot = *heap_.front().slot;
    std::pop_heap(heap_.begin(), heap_.end(), later);
    heap_.pop_back();
    slot.deadline = slot.in_heap_at = never;
    return slot.queue_pair;
}

void Scheduler::forget(const ScheduleSlot& slot) {
    std::erase(ready_, &slot);
    std::erase(delayed_acks_, &slot);
    std::erase_if(heap_, [&](const Entry& entry) { return entry.slot == &slot; });
    std::make_heap(heap_.begin(), heap_.end(), later);
}

}  // namespace lanewise::verbs
