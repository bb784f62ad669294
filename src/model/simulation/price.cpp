// SPDX-License-Identifier: BSD-3-Clause
//
// The event simulation behind `price`: first the ranks and which steps they start when, then the
// way of a message (processor, interface, wire or shared link, interface, processor).

#include "model/simulation/price.hpp"

#include <algorithm>
#include <deque>
#include <limits>
#include <queue>
#include <unordered_map>

#include "model/simulation/matching.hpp"
#include "model/simulation/sharing.hpp"

namespace lanewise::model {
namespace {

constexpr double never_s = std::numeric_limits<double>::infinity();

/* A step without the addresses, which cost nothing: half the memory. */
struct Task {
    std::int64_t bytes;
    std::int32_t peer;
    std::uint32_t after_end; /* its part of Rank::after begins where that of the task before ends */
    StepKind kind;
};

struct Rank {
    std::vector<Task> tasks; /* given up when all are started */
    std::vector<std::uint32_t> after;
    std::vector<bool> completed;
    std::uint32_t next = 0;     /* the first task that is not started */
    std::uint32_t after_at = 0; /* what it waits for: Rank::after from here on */
    std::uint32_t left = 0;     /* tasks that have not completed */
    std::uint32_t posting = 0;  /* receives that wait for the processor to be posted */
    double free_s = 0.0;        /* when the processor has done all that it was asked */
    double done_s = 0.0;
};

struct Message {
    std::int32_t from;
    std::int32_t to;
    std::uint32_t send;
    std::uint32_t receive;
    std::int64_t bytes;
    MessageCost cost;
    double first_s; /* the first byte reaches the receiving interface */
    double last_s;
    std::uint8_t left_to_leave; /* shared links, and its connection */
    bool eager;
    bool posted;
    bool arrived;
};

enum class Happens : std::uint8_t {
    completed, /* a task of a rank */
    posted,    /* a receive of a rank */
    handed,    /* a message to the interface of its host */
    entered,   /* a message on its shared links */
    left,      /* the next message from a shared link */
    sent,      /* a message by its connection */
    taken,     /* a message by the interface of the receiving host */
    arrived,   /* a message */
};

struct Event {
    double at_s;
    std::uint64_t order;
    Happens what;
    std::uint32_t who;   /* rank, message or link */
    std::uint32_t which; /* task of the rank, version of the link */

    bool operator>(const Event& other) const {
        return at_s != other.at_s ? at_s > other.at_s : order > other.order;
    }
};

double at_least_0(double cost_s) {
    return cost_s > 0.0 ? cost_s : 0.0;
}

class Simulation {
  public:
    Simulation(const Network& network, int ranks, std::int64_t unit_bytes, const Watch& watch)
        : network_(network), unit_bytes_(unit_bytes), watch_(watch), ranks_(index(ranks)) {
        hosts_ = ranks;
        for (const int host : network.host) hosts_ = std::max(hosts_, host + 1);
        egress_free_s_.resize(index(hosts_) * index(interfaces_max), 0.0);
        ingress_free_s_.resize(egress_free_s_.size(), 0.0);
        for (const auto& link : network.shared_links) links_.emplace_back(link);
    }

    Priced run(const ScheduleOf& schedule_of);

  private:
    static std::size_t index(int number) { return static_cast<std::size_t>(number); }
    int host_of(int rank) const {
        return network_.host.empty() ? rank : network_.host[index(rank)];
    }
    /* The interface of the host of `rank` that a message takes. */
    std::size_t interface_of(int rank, const MessageCost& cost) const {
        return index(host_of(rank)) * index(interfaces_max) + index(cost.interface);
    }
    /* The messages on a connection between two hosts: the first is under way. */
    std::deque<std::uint32_t>& line_of(const Message& message) {
        const auto pair = static_cast<std::uint64_t>(host_of(message.from)) * index(hosts_) +
                          index(host_of(message.to));
        return connections_[pair];
    }

    void at(double at_s, Happens what, std::uint32_t who, std::uint32_t which = 0) {
        events_.push({at_s, order_++, what, who, which});
    }
    void report(Busy what, int rank, int peer, double begin_s, double end_s, std::int64_t bytes) {
        const bool is_message = what == Busy::send || what == Busy::receive;
        if (!watch_ || (end_s <= begin_s && !is_message)) return;
        watch_({what, rank, peer, begin_s, end_s, bytes});
    }
    double occupy(int rank, double cost_s, Busy what, int peer, std::int64_t bytes);

    void load(int rank, const Schedule& schedule);
    void start_ready(int rank);
    void start(int rank, std::uint32_t task);
    void start_send(int rank, std::uint32_t task);
    void complete(int rank, std::uint32_t task);
    void post(int rank, std::uint32_t task);

    void hand_over(std::uint32_t id);
    void send_out(std::uint32_t id);
    void send_on_connection(std::uint32_t id);
    void begin_on_connection(std::uint32_t id);
    void end_on_connection(std::uint32_t id);
    std::uint8_t links_of(const Message& message) const;
    double weight_on(int link, const Message& message) const;
    void enter_links(std::uint32_t id);
    void schedule_departure(std::uint32_t link);
    void leave_link(std::uint32_t link, std::uint32_t version);
    void leave(std::uint32_t id);
    void forward(std::uint32_t id);
    void receive_at_interface(std::uint32_t id);
    void arrive(std::uint32_t id);
    void deliver(std::uint32_t id);

    void handle(const Event& event);
    Message cost_of(int rank, std::uint32_t task);
    std::uint32_t keep(const Message& message);
    std::string who_waits() const;

    const Network& network_;
    const std::int64_t unit_bytes_;
    const Watch& watch_;
    std::vector<Rank> ranks_;
    std::vector<Message> messages_;
    std::vector<std::uint32_t> unused_messages_;
    int hosts_ = 0;
    std::unordered_map<std::uint64_t, std::deque<std::uint32_t>> connections_;
    std::vector<double> egress_free_s_;
    std::vector<double> ingress_free_s_;
    std::vector<Sharing> links_;
    Matching matching_;
    std::priority_queue<Event, std::vector<Event>, std::greater<>> events_;
    std::uint64_t order_ = 0;
    double now_s_ = 0.0;
};

Priced Simulation::run(const ScheduleOf& schedule_of) {
    for (int rank = 0; rank < static_cast<int>(ranks_.size()); ++rank) {
        load(rank, schedule_of(rank));
        start_ready(rank);
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
        case Happens::completed: complete(rank, event.which); return start_ready(rank);
        case Happens::posted:
            --ranks_[event.who].posting;
            post(rank, event.which);
            return start_ready(rank);
        case Happens::handed: return send_out(event.who);
        case Happens::entered: return enter_links(event.who);
        case Happens::left: return leave_link(event.who, event.which);
        case Happens::sent: return leave(event.who);
        case Happens::taken: return receive_at_interface(event.who);
        case Happens::arrived: return arrive(event.who);
    }
}

/* The processor serves requests in order; returns when it is done with this one. */
double Simulation::occupy(int rank, double cost_s, Busy what, int peer, std::int64_t bytes) {
    auto& free_s = ranks_[index(rank)].free_s;
    const double begin_s = std::max(free_s, now_s_);
    free_s = begin_s + cost_s;
    report(what, rank, peer, begin_s, free_s, bytes);
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

void Simulation::start_ready(int number) {
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
    const bool is_message = task.kind == StepKind::send || task.kind == StepKind::receive;
    if (is_message && index(task.peer) >= ranks_.size()) return;
    if (task.kind == StepKind::send) return start_send(number, id);
    if (task.kind == StepKind::receive) {
        // A thread that is busy posts when it is free; receives are posted in their order.
        if (rank.free_s <= now_s_ && rank.posting == 0) return post(number, id);
        ++rank.posting;
        return at(std::max(rank.free_s, now_s_), Happens::posted,
                  static_cast<std::uint32_t>(number), id);
    }
    const bool copies = task.kind == StepKind::copy;
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

Message Simulation::cost_of(int rank, std::uint32_t id) {
    const Task& task = ranks_[index(rank)].tasks[id];
    auto cost = network_.cost(rank, task.peer, task.bytes);
    for (auto *part : {&cost.send_s, &cost.egress_s, &cost.latency_s, &cost.ingress_s,
                       &cost.receive_s, &cost.rest_s}) {
        *part = at_least_0(*part);
    }
    const bool eager = !network_.eager_bytes || task.bytes <= *network_.eager_bytes;
    return {.from = rank,
            .to = task.peer,
            .send = id,
            .receive = 0,
            .bytes = task.bytes,
            .cost = cost,
            .first_s = 0.0,
            .last_s = 0.0,
            .left_to_leave = 0,
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

/* The sender's processor handles the message. */
void Simulation::hand_over(std::uint32_t id) {
    const auto& message = messages_[id];
    const double end_s =
        occupy(message.from, message.cost.send_s, Busy::send, message.to, message.bytes);
    at(end_s, Happens::handed, id);
}

/* Its interface sends it, after those that were handed over before. */
void Simulation::send_out(std::uint32_t id) {
    auto& message = messages_[id];
    const auto& cost = message.cost;
    if (cost.interface == own_connection) return send_on_connection(id);
    double begin_s = now_s_;
    double end_s = now_s_;
    if (cost.egress_s > 0.0 || cost.rest_s > 0.0) {
        auto& free_s = egress_free_s_[interface_of(message.from, cost)];
        begin_s = std::max(free_s, now_s_);
        end_s = begin_s + cost.egress_s;
        free_s = end_s + cost.rest_s;
        report(Busy::egress, message.from, message.to, begin_s, end_s, message.bytes);
    }
    message.first_s = begin_s + cost.latency_s;
    message.last_s = end_s + cost.latency_s;
    const int sender = message.from;
    const auto step = message.send;
    const bool eager = message.eager;
    message.left_to_leave = links_of(message);
    if (message.left_to_leave > 0) {
        at(begin_s, Happens::entered, id);
    } else {
        forward(id);
    }
    if (!eager) return at(end_s, Happens::completed, static_cast<std::uint32_t>(sender), step);
    complete(sender, step);
    start_ready(sender);
}

std::uint8_t Simulation::links_of(const Message& message) const {
    std::uint8_t count = 0;
    for (const int link : message.cost.shared_links) {
        if (message.bytes > 0 && index(link) < links_.size()) ++count;
    }
    return count;
}

double Simulation::weight_on(int link, const Message& message) const {
    constexpr double least_s = 1e-9;
    if (!network_.shared_links[index(link)].by_latency) return 1.0;
    return 1.0 / std::max(least_s, message.cost.latency_s);
}

/* Its connection sends it, after those that were handed over before. */
void Simulation::send_on_connection(std::uint32_t id) {
    const auto& message = messages_[id];
    const int sender = message.from;
    const auto step = message.send;
    const bool eager = message.eager;
    auto& line = line_of(message);
    line.push_back(id);
    if (line.size() == 1) begin_on_connection(id);
    if (!eager) return;
    complete(sender, step);
    start_ready(sender);
}

void Simulation::begin_on_connection(std::uint32_t id) {
    auto& message = messages_[id];
    const double end_s = now_s_ + message.cost.egress_s;
    report(Busy::egress, message.from, message.to, now_s_, end_s, message.bytes);
    message.first_s = now_s_ + message.cost.latency_s;
    message.last_s = end_s + message.cost.latency_s;
    message.left_to_leave = links_of(message);
    if (message.left_to_leave > 0) enter_links(id);
    ++message.left_to_leave;
    at(end_s, Happens::sent, id);
}

void Simulation::end_on_connection(std::uint32_t id) {
    const auto& message = messages_[id];
    const int sender = message.from;
    const auto step = message.send;
    const bool eager = message.eager;
    auto& line = line_of(message);
    line.pop_front();
    if (!line.empty()) begin_on_connection(line.front());
    if (eager) return;
    complete(sender, step);
    start_ready(sender);
}

void Simulation::enter_links(std::uint32_t id) {
    const auto& message = messages_[id];
    for (const int number : message.cost.shared_links) {
        if (index(number) >= links_.size()) continue;
        const auto link = static_cast<std::uint32_t>(number);
        links_[link].enter(now_s_, id, message.bytes, weight_on(number, message));
        schedule_departure(link);
    }
}

void Simulation::schedule_departure(std::uint32_t link) {
    const auto next_s = links_[link].next_s();
    if (next_s) at(*next_s, Happens::left, link, links_[link].version());
}

void Simulation::leave_link(std::uint32_t link, std::uint32_t version) {
    if (links_[link].version() != version) return;
    const auto id = links_[link].leave(now_s_);
    schedule_departure(link);
    leave(id);
}

/* A message has left a link or been sent by its connection. */
void Simulation::leave(std::uint32_t id) {
    auto& message = messages_[id];
    message.last_s = std::max(message.last_s, now_s_ + message.cost.latency_s);
    if (--message.left_to_leave > 0) return;
    forward(id);
    if (messages_[id].cost.interface == own_connection) end_on_connection(id);
}

/* The last byte's arrival at the receiving host is known. */
void Simulation::forward(std::uint32_t id) {
    auto& message = messages_[id];
    const double ingress_s = message.cost.ingress_s;
    if (!(ingress_s > 0.0)) return at(message.last_s, Happens::arrived, id);
    message.first_s = std::max(message.first_s, message.last_s - ingress_s);
    at(std::max(message.first_s, now_s_), Happens::taken, id);
}

void Simulation::receive_at_interface(std::uint32_t id) {
    const auto& message = messages_[id];
    auto& free_s = ingress_free_s_[interface_of(message.to, message.cost)];
    const double begin_s = std::max(free_s, message.first_s);
    free_s = std::max(begin_s + message.cost.ingress_s, message.last_s);
    report(Busy::ingress, message.to, message.from, begin_s, free_s, message.bytes);
    at(free_s, Happens::arrived, id);
}

void Simulation::arrive(std::uint32_t id) {
    messages_[id].arrived = true;
    if (messages_[id].posted) deliver(id);
}

/* The receiver's processor handles the message. */
void Simulation::deliver(std::uint32_t id) {
    const auto& message = messages_[id];
    const double end_s =
        occupy(message.to, message.cost.receive_s, Busy::receive, message.from, message.bytes);
    at(end_s, Happens::completed, static_cast<std::uint32_t>(message.to), message.receive);
    unused_messages_.push_back(id);
}

}  // namespace

Priced price(const Network& network, int ranks, const ScheduleOf& schedule_of,
             std::int64_t unit_bytes, const Watch& watch) {
    return Simulation(network, ranks, unit_bytes, watch).run(schedule_of);
}

}  // namespace lanewise::model
