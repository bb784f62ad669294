// SPDX-License-Identifier: BSD-3-Clause
//
// Simulation: all ranks start their steps in order, messages match, symbols move. What goes wrong
// is reported in a sentence.

#pragma once

#include <span>
#include <string>
#include <vector>

#include "collectives/checker/buffers.hpp"
#include "collectives/checker/checker.hpp"
#include "collectives/checker/content.hpp"
#include "model/schedule/schedule.hpp"

namespace lanewise::collectives {

inline std::size_t index(int rank) {
    return static_cast<std::size_t>(rank);
}

class Simulation {
  public:
    /* Schedules are free of races; `buffers` says what each rank has and must get. */
    std::string fault(const Trial& trial, std::span<const model::Schedule> schedules,
                      std::span<const Buffers> buffers, Sends sends);

  private:
    static constexpr std::uint32_t none = ~std::uint32_t{0};

    struct Rank {
        std::uint32_t first = 0; /* its first step among those of all ranks */
        std::uint32_t next = 0;  /* the step to start next */
        std::uint32_t waits_for = none;
        Content memory[memories];
    };
    struct Message {
        int rank = 0;
        std::uint32_t step = none;
    };
    /* Sends or receives of one rank to another that have not met; a list through `behind_`. */
    struct Channel {
        std::uint32_t head = none;
        std::uint32_t tail = none;
        bool of_sends = true;
    };

    void begin();
    void run(int rank);
    bool ready(int rank, const model::Step& step);
    void start(int rank, std::uint32_t id);
    void meet(int rank, std::uint32_t id);
    void deliver(const Message& sent, const Message& received);
    void move(int rank, std::uint32_t id);
    void reduce(int rank, std::uint32_t id);
    std::string mismatch(const Run& left, const Run& right, std::int64_t at) const;
    void complete(int rank, std::uint32_t id);
    bool load(int rank, std::uint32_t id, model::Slice from, std::int64_t count,
              std::vector<Run>& into);
    void write(int rank, model::Slice to, const std::vector<Run>& runs);
    void learn(int rank, const model::Step& step);

    std::string unfinished() const;
    std::string waiting(int rank) const;
    std::string undelivered() const;
    std::string wrong_result();
    std::string wrong_part(int rank, const Expected& expected);
    std::string wrong_reduction(int rank, const Run& run, int ranks);
    std::string wrong_bracketing(const Run& run, int ranks);
    Term from_the_right(int ranks);
    Term from_the_left(int ranks);
    Term balanced(int ranks);
    std::string stray_write(int rank) const;
    std::string unsynchronised();

    const model::Step& step(int rank, std::uint32_t id) const {
        return schedules_[static_cast<std::size_t>(rank)].steps[id];
    }
    std::uint32_t global(int rank, std::uint32_t id) const {
        return ranks_[static_cast<std::size_t>(rank)].first + id;
    }

    const Trial *trial_ = nullptr;
    std::span<const model::Schedule> schedules_;
    std::span<const Buffers> buffers_;
    Sends sends_ = Sends::rendezvous;
    std::vector<Rank> ranks_;
    std::vector<Channel> channels_;
    std::vector<int> runnable_;
    std::vector<char> done_;               /* by global step */
    std::vector<std::uint32_t> behind_;    /* by global step: the next in its channel */
    std::vector<std::vector<Run>> copies_; /* by global step: what an eager send took along */
    std::vector<std::vector<char>> known_; /* barrier, by rank: which ranks have entered */
    std::vector<std::vector<char>>
        signalled_; /* barrier, by global step: which ranks a signal reports to have entered */
    std::vector<Run> moved_;
    std::vector<Run> others_;
    std::vector<Run> reduced_;
    Content results_; /* allreduce: what the first rank has */
    Terms terms_;
    std::string fault_;
};

}  // namespace lanewise::collectives
