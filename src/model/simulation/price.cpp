// SPDX-License-Identifier: BSD-3-Clause
//
// Ranks: which steps are started when, and what becomes of a simulation.

#include "model/simulation/simulation.hpp"

namespace lanewise::model {

Priced Simulation::run(const ScheduleOf& schedule_of) {
    for (int rank = 0; rank < static_cast<int>(ranks_.size()); ++rank) {
        load(rank, schedule_of(rank));
        go_on(rank);
    }
    while (!events_.empty()) {
        const Event event = events_.top();
        events_.pop();
        now_s_ = event.at_s;
        handle(event);
    }
    Priced priced;
    priced.waiting = who_waits();
    priced.finished = priced.waiting.empty();
    priced.rank_s.reserve(ranks_.size());
    for (const auto& rank : ranks_) {
        priced.rank_s.push_back(rank.left == 0 ? rank.done_s : never_s);
        priced.total_s = std::max(priced.total_s, priced.rank_s.back());
    }
    if (!priced.finished) priced.total_s = never_s;
    return priced;
}

void Simulation::handle(const Event& event) {
    const int rank = static_cast<int>(event.who);
    switch (event.what) {
        case Happens::completed:
            complete(rank, event.which);
            return go_on(rank);
        case Happens::posted:
            --ranks_[event.who].posting;
            post(rank, event.which);
            return go_on(rank);
        case Happens::handed:
            return send_out(event.who);
        case Happens::entered:
            return enter_link(event.who);
        case Happens::left:
            return leave_link(event.who, event.which);
        case Happens::taken:
            return take_in(event.who);
        case Happens::arrived:
            return arrive(event.who);
    }
}

/* The processor serves `cost_s` after all that it was asked before; returns when it is done. */
double Simulation::occupy(int rank, double cost_s, Busy what, int peer, std::int64_t bytes) {
    auto& free_s = ranks_[index(rank)].free_s;
    const double begin_s = std::max(free_s, now_s_);
    free_s = begin_s + cost_s;
    tell(what, rank, peer, begin_s, free_s, bytes);
    return free_s;
}

void Simulation::load(int number, const Schedule& schedule) {
    auto& rank = ranks_[index(number)];
    rank.left = static_cast<std::uint32_t>(schedule.steps.size());
    rank.tasks.reserve(schedule.steps.size());
    rank.completed.resize(schedule.steps.size(), false);
    rank.after.reserve(schedule.after.size());
    for (const auto& step : schedule.steps) {
        const auto after = schedule.after_of(step);
        rank.after.insert(rank.after.end(), after.begin(), after.end());
        rank.tasks.push_back({step.count * unit_bytes_, step.peer,
                              static_cast<std::uint32_t>(rank.after.size()), step.kind});
    }
}

void Simulation::go_on(int number) {
    auto& rank = ranks_[index(number)];
    for (; rank.next < rank.tasks.size(); ++rank.next) {
        const auto end = rank.tasks[rank.next].after_end;
        for (; rank.after_at < end; ++rank.after_at) {
            const auto earlier = rank.after[rank.after_at];
            if (earlier >= rank.next || !rank.completed[earlier]) return;
        }
        start(number, rank.next);
    }
    if (rank.posting > 0) return;
    rank.tasks = {};
    rank.after = {};
}

void Simulation::start(int number, std::uint32_t id) {
    auto& rank = ranks_[index(number)];
    const Task& task = rank.tasks[id];
    const bool is_message = task.kind == Kind::send || task.kind == Kind::receive;
    if (is_message && index(task.peer) >= ranks_.size()) return;
    if (task.kind == Kind::send) return start_send(number, id);
    if (task.kind == Kind::receive) {
        // A thread that is busy posts when it is free; receives are posted in their order.
        if (rank.free_s <= now_s_ && rank.posting == 0) return post(number, id);
        ++rank.posting;
        return at(std::max(rank.free_s, now_s_), Happens::posted,
                  static_cast<std::uint32_t>(number), id);
    }
    const bool copies = task.kind == Kind::copy;
    const double s_per_byte = copies ? network_.copy_s_per_byte : network_.reduce_s_per_byte;
    const double cost_s = at_least_0(s_per_byte * static_cast<double>(task.bytes));
    const double end_s = occupy(number, cost_s, copies ? Busy::copy : Busy::reduce, -1, task.bytes);
    if (end_s <= now_s_) return complete(number, id);
    at(end_s, Happens::completed, static_cast<std::uint32_t>(number), id);
}

void Simulation::start_send(int rank, std::uint32_t task) {
    const auto id = keep(cost_of(rank, task));
    auto& message = messages_[id];
    const auto receive = matching_.meet(Side::send, message.from, message.to, id);
    if (receive) {
        message.receive = *receive;
        message.posted = true;
    }
    if (message.eager || message.posted) hand_over(id);
}

void Simulation::complete(int number, std::uint32_t task) {
    auto& rank = ranks_[index(number)];
    rank.completed[task] = true;
    rank.done_s = now_s_;
    --rank.left;
    if (rank.left == 0) rank.completed = {};
}

void Simulation::post(int rank, std::uint32_t task) {
    const int from = ranks_[index(rank)].tasks[task].peer;
    const auto id = matching_.meet(Side::receive, from, rank, task);
    if (!id) return;
    auto& message = messages_[*id];
    message.receive = task;
    message.posted = true;
    if (message.arrived) return deliver(*id);
    if (!message.eager) hand_over(*id);
}

std::string Simulation::who_waits() const {
    using std::to_string;
    std::vector<std::string> all;
    std::vector<bool> named(ranks_.size(), false);
    for (const auto& lonely : matching_.lonely()) {
        const bool sends = lonely.side == Side::send;
        const int waits = sends ? lonely.from : lonely.to;
        const auto step = sends ? messages_[lonely.id].send : lonely.id;
        named[index(waits)] = true;
        all.push_back("rank " + to_string(waits) +
                      (sends ? " sends to rank " : " waits for rank ") +
                      to_string(sends ? lonely.to : lonely.from) + ", which does not " +
                      (sends ? "receive" : "send") + " (step " + to_string(step) + ")");
    }
    for (const auto& link : links_) {
        if (!link.empty()) all.emplace_back("messages stand on a shared link without bandwidth");
    }
    for (std::size_t rank = 0; rank < ranks_.size(); ++rank) {
        if (ranks_[rank].left == 0 || named[rank]) continue;
        all.push_back("rank " + to_string(rank) + " cannot complete step " +
                      to_string(ranks_[rank].next) + " or one before it");
    }
    constexpr std::size_t shown = 4;
    std::string text;
    for (std::size_t i = 0; i < std::min(shown, all.size()); ++i) {
        text += (i == 0 ? "" : "; ") + all[i];
    }
    if (all.size() > shown) text += "; and " + to_string(all.size() - shown) + " more";
    return text;
}

Priced price(const Network& network, int ranks, const ScheduleOf& schedule_of,
             std::int64_t unit_bytes, const Watch& watch) {
    return Simulation(network, ranks, unit_bytes, watch).run(schedule_of);
}

}  // namespace lanewise::model
