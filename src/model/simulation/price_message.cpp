// SPDX-License-Identifier: BSD-3-Clause
//
// The way of a message: processor, interface, wire or shared link, interface,
// processor.

#include "model/simulation/simulation.hpp"

namespace lanewise::model {

Message Simulation::cost_of(int rank, std::uint32_t id) {
    const Task& task = ranks_[index(rank)].tasks[id];
    auto cost = network_.cost(rank, task.peer, task.bytes);
    for (auto *part :
         {&cost.send_s, &cost.egress_s, &cost.latency_s, &cost.ingress_s, &cost.receive_s}) {
        *part = at_least_0(*part);
    }
    const bool eager = network_.eager_bytes == 0 || task.bytes <= network_.eager_bytes;
    return {.from = rank,
            .to = task.peer,
            .send = id,
            .receive = 0,
            .bytes = task.bytes,
            .cost = cost,
            .first_s = 0.0,
            .last_s = 0.0,
            .eager = eager,
            .posted = false,
            .arrived = false};
}

std::uint32_t Simulation::keep(const Message& message) {
    if (unused_messages_.empty()) {
        messages_.push_back(message);
        return static_cast<std::uint32_t>(messages_.size() - 1);
    }
    const auto id = unused_messages_.back();
    unused_messages_.pop_back();
    messages_[id] = message;
    return id;
}

/* The sender's processor sees to the message. */
void Simulation::hand_over(std::uint32_t id) {
    const auto& message = messages_[id];
    const double end_s =
        occupy(message.from, message.cost.send_s, Busy::send, message.to, message.bytes);
    at(end_s, Happens::handed, id);
}

/* Its interface sends it out, after what was handed over before. */
void Simulation::send_out(std::uint32_t id) {
    auto& message = messages_[id];
    const auto& cost = message.cost;
    double begin_s = now_s_;
    double end_s = now_s_;
    if (cost.egress_s > 0.0) {
        auto& free_s = egress_free_s_[host_of(message.from)];
        begin_s = std::max(free_s, now_s_);
        free_s = end_s = begin_s + cost.egress_s;
        tell(Busy::egress, message.from, message.to, begin_s, end_s, message.bytes);
    }
    message.first_s = begin_s + cost.latency_s;
    message.last_s = end_s + cost.latency_s;
    const int sender = message.from;
    const auto step = message.send;
    const bool eager = message.eager;
    const bool shared = cost.shared_link >= 0 && index(cost.shared_link) < links_.size();
    if (shared && message.bytes > 0) {
        at(begin_s, Happens::entered, id);
    } else {
        carry_on(id);
    }
    if (!eager) return at(end_s, Happens::completed, static_cast<std::uint32_t>(sender), step);
    complete(sender, step);
    go_on(sender);
}

void Simulation::enter_link(std::uint32_t id) {
    const auto& message = messages_[id];
    const auto link = static_cast<std::uint32_t>(message.cost.shared_link);
    links_[link].enter(now_s_, id, message.bytes);
    foresee(link);
}

void Simulation::foresee(std::uint32_t link) {
    const auto next_s = links_[link].next_s();
    if (next_s) at(*next_s, Happens::left, link, links_[link].version());
}

void Simulation::leave_link(std::uint32_t link, std::uint32_t version) {
    if (links_[link].version() != version) return;
    const auto id = links_[link].leave(now_s_);
    auto& message = messages_[id];
    message.last_s = std::max(message.last_s, now_s_ + message.cost.latency_s);
    carry_on(id);
    foresee(link);
}

/* The last byte's arrival at the receiving host is known. */
void Simulation::carry_on(std::uint32_t id) {
    auto& message = messages_[id];
    const double ingress_s = message.cost.ingress_s;
    if (!(ingress_s > 0.0)) return at(message.last_s, Happens::arrived, id);
    message.first_s = std::max(message.first_s, message.last_s - ingress_s);
    at(std::max(message.first_s, now_s_), Happens::taken, id);
}

void Simulation::take_in(std::uint32_t id) {
    const auto& message = messages_[id];
    auto& free_s = ingress_free_s_[host_of(message.to)];
    const double begin_s = std::max(free_s, message.first_s);
    free_s = std::max(begin_s + message.cost.ingress_s, message.last_s);
    tell(Busy::ingress, message.to, message.from, begin_s, free_s, message.bytes);
    at(free_s, Happens::arrived, id);
}

void Simulation::arrive(std::uint32_t id) {
    messages_[id].arrived = true;
    if (messages_[id].posted) deliver(id);
}

/* The receiver's processor sees to the message. */
void Simulation::deliver(std::uint32_t id) {
    const auto& message = messages_[id];
    const double end_s =
        occupy(message.to, message.cost.receive_s, Busy::receive, message.from, message.bytes);
    at(end_s, Happens::completed, static_cast<std::uint32_t>(message.to), message.receive);
    unused_messages_.push_back(id);
}

}  // namespace lanewise::model
