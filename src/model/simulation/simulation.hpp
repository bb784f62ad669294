// SPDX-License-Identifier: BSD-3-Clause
//
// Simulation: what `price` does, event by event. Ranks and their steps are in
// price.cpp, the way of a message from one processor to the other in
// price_message.cpp. For these two files only.

#pragma once

#include <algorithm>
#include <limits>
#include <queue>

#include "model/simulation/matching.hpp"
#include "model/simulation/price.hpp"
#include "model/simulation/sharing.hpp"

namespace lanewise::model {

inline constexpr double never_s = std::numeric_limits<double>::infinity();

/* A step without the addresses, which cost nothing: half the memory. */
struct Task {
    std::int64_t bytes;
    std::int32_t peer;
    std::uint32_t after_end; /* its part of Rank::after begins where that of the task before ends */
    Kind kind;
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
    bool eager;
    bool posted;
    bool arrived;
};

enum class Happens : std::uint8_t {
    completed, /* a task of a rank */
    posted,    /* a receive of a rank */
    handed,    /* a message to the interface of its host */
    entered,   /* a message on a shared link */
    left,      /* the next message from a shared link */
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

inline double at_least_0(double cost_s) {
    return cost_s > 0.0 ? cost_s : 0.0;
}

class Simulation {
  public:
    Simulation(const Network& network, int ranks, std::int64_t unit_bytes, const Watch& watch)
        : network_(network), unit_bytes_(unit_bytes), watch_(watch), ranks_(index(ranks)) {
        int hosts = ranks;
        for (const int host : network.host) hosts = std::max(hosts, host + 1);
        egress_free_s_.resize(index(hosts), 0.0);
        ingress_free_s_.resize(index(hosts), 0.0);
        for (const auto& link : network.shared_links) links_.emplace_back(link);
    }

    Priced run(const ScheduleOf& schedule_of);

  private:
    static std::size_t index(int number) { return static_cast<std::size_t>(number); }
    std::size_t host_of(int rank) const {
        return index(network_.host.empty() ? rank : network_.host[index(rank)]);
    }

    void at(double at_s, Happens what, std::uint32_t who, std::uint32_t which = 0) {
        events_.push({at_s, order_++, what, who, which});
    }
    void tell(Busy what, int rank, int peer, double begin_s, double end_s, std::int64_t bytes) {
        const bool is_message = what == Busy::send || what == Busy::receive;
        if (!watch_ || (end_s <= begin_s && !is_message)) return;
        watch_({what, rank, peer, begin_s, end_s, bytes});
    }
    double occupy(int rank, double cost_s, Busy what, int peer, std::int64_t bytes);

    void load(int rank, const Schedule& schedule);
    void go_on(int rank);
    void start(int rank, std::uint32_t task);
    void start_send(int rank, std::uint32_t task);
    void complete(int rank, std::uint32_t task);
    void post(int rank, std::uint32_t task);

    void hand_over(std::uint32_t id);
    void send_out(std::uint32_t id);
    void enter_link(std::uint32_t id);
    void foresee(std::uint32_t link);
    void leave_link(std::uint32_t link, std::uint32_t version);
    void carry_on(std::uint32_t id);
    void take_in(std::uint32_t id);
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
    std::vector<double> egress_free_s_;
    std::vector<double> ingress_free_s_;
    std::vector<Sharing> links_;
    Matching matching_;
    std::priority_queue<Event, std::vector<Event>, std::greater<>> events_;
    std::uint64_t order_ = 0;
    double now_s_ = 0.0;
};

}  // namespace lanewise::model
