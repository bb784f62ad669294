// SPDX-License-Identifier: BSD-3-Clause

#include "verbs/proto/connection/agenda.hpp"

#include <algorithm>

#include "verbs/proto/queue_pair/queue_pair_parts.hpp"

namespace lanewise::verbs {
namespace {

constexpr auto later = [](const auto& a, const auto& b) { return a.at > b.at; };

}  // namespace

void Agenda::offer(QueuePairParts& parts) {
    if (!parts.appointment.ready) {
        parts.appointment.ready = true;
        ready_.push_back(&parts);
    }
}

QueuePairParts *Agenda::take_ready() {
    if (ready_.empty()) {
        return nullptr;
    }
    QueuePairParts *parts = ready_.front();
    ready_.pop_front();
    parts->appointment.ready = false;
    return parts;
}

void Agenda::wait(QueuePairParts& parts) {
    if (!parts.appointment.waits) {
        parts.appointment.waits = true;
        waiting_.push_back(&parts);
    }
}

QueuePairParts *Agenda::take_waiting() {
    if (waiting_.empty()) {
        return nullptr;
    }
    QueuePairParts *parts = waiting_.back();
    waiting_.pop_back();
    parts->appointment.waits = false;
    return parts;
}

void Agenda::schedule(QueuePairParts& parts, Nanoseconds deadline) {
    Appointment& appointment = parts.appointment;
    appointment.deadline = deadline;
    if (deadline < appointment.scheduled) {
        appointment.scheduled = deadline;
        heap_.push_back({deadline, &parts});
        std::push_heap(heap_.begin(), heap_.end(), later);
    }
}

// An entry is stale where its queue pair meanwhile wants another moment; an entry for that moment
// is put in its place.
void Agenda::drop_stale() {
    while (!heap_.empty() && heap_.front().at != heap_.front().parts->appointment.deadline) {
        const Entry stale = heap_.front();
        std::pop_heap(heap_.begin(), heap_.end(), later);
        heap_.pop_back();
        Appointment& appointment = stale.parts->appointment;
        if (stale.at == appointment.scheduled) {
            appointment.scheduled = never;
            schedule(*stale.parts, appointment.deadline);
        }
    }
}

Nanoseconds Agenda::next_deadline() {
    drop_stale();
    return heap_.empty() ? never : heap_.front().at;
}

QueuePairParts *Agenda::take_due(Nanoseconds now) {
    if (next_deadline() > now || heap_.empty()) {
        return nullptr;
    }
    QueuePairParts *parts = heap_.front().parts;
    std::pop_heap(heap_.begin(), heap_.end(), later);
    heap_.pop_back();
    parts->appointment.deadline = parts->appointment.scheduled = never;
    return parts;
}

void Agenda::forget(const QueuePairParts& parts) {
    std::erase(ready_, &parts);
    std::erase(waiting_, &parts);
    std::erase_if(heap_, [&](const Entry& entry) { return entry.parts == &parts; });
    std::make_heap(heap_.begin(), heap_.end(), later);
}

}  // namespace lanewise::verbs
