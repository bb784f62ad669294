// SPDX-License-Identifier: BSD-3-Clause
//
// Bench: everything that one measurement on one communicator holds: the harness,
// the clock, the start and the options. Nothing outlives the call, so
// communicators never share state.
//
// It declares what a start and a timing method are; start/ and timing/ implement
// them, so they include this header and nothing here includes theirs.

#pragma once

#include <lanewise/measure.h>

#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "base/clock.hpp"
#include "base/result.hpp"
#include "measure/clock_sync/global_clock.hpp"
#include "measure/definitions/definition.hpp"
#include "measure/harness/harness.hpp"
#include "measure/harness/operation.hpp"
#include "measure/ranks_of_groups.hpp"
#include "measure/repetition.hpp"

namespace lanewise::measure {

class Bench;

/* How the ranks begin each repetition together. */
struct Starter {
    /* Before a batch of repetitions that take about `repetition_s` each, start excluded. */
    std::function<void(double repetition_s)> begin_batch = [](double) {};
    /* Returns when it is time; false if this rank came late. */
    std::function<bool()> wait;
    /* After a batch, with what all ranks agree was late. */
    std::function<void(std::size_t late_count, std::size_t count)> end_batch = [](std::size_t,
                                                                                  std::size_t) {};
};

/* One file of start/ each. */
struct StartMethod {
    const char *name;
    bool needs_global_clock;
    Starter (*make)(const Bench& bench);
};
/* The place of a start in this list is its lw_start. */
std::span<const StartMethod *const> start_methods();

/* What one batch of repetitions gave; the same on every rank. */
struct Batch {
    std::vector<double> values_s; /* on-time repetitions, in order */
    std::size_t late_count = 0;
    double elapsed_s = 0.0;
    bool failed = false;         /* the operation returned an error on some rank */
    std::vector<double> least_s; /* as another tool defines it: the fastest rank's means */
    std::vector<double> most_s;  /* and the slowest rank's */
    std::vector<double> pure_s;  /* where work overlaps: without it; the work */
    std::vector<double> work_s;
    std::uint32_t calls = 0; /* of which each value is the mean */
};

/* Which clock readings make the time of an operation; one file of timing/ each. */
struct TimingMethod {
    const char *name;
    bool needs_global_clock = false;
    /* Times the operation for one rank after another: needs an operation of such tasks, no
       deadlines that all ranks keep, and no pipeline. */
    bool one_rank_at_a_time = false;
    /* Runs `count` repetitions, reduces once, and returns the same batch on every rank. */
    Batch (*run)(Bench& bench, Running& running, std::size_t count) = nullptr;
};
/* The place of a method in this list is its lw_timing. */
std::span<const TimingMethod *const> timing_methods();

/* One operation at one size, and whose loop measures it: null for isolated repetitions. */
struct Point {
    const lw_operation *operation = nullptr;
    int root = 0;
    std::uint64_t message_bytes = 0;
    const Loop *loop = nullptr;
};

/* A measured point, the same on every rank. */
struct Measured {
    lw_point point = LW_POINT;
    std::vector<double> values_s;
    std::vector<double> least_s; /* as in Batch, of all batches */
    std::vector<double> most_s;
    std::vector<double> pure_s;
    std::vector<double> work_s;
    std::uint32_t calls = 0;
};
/* The ranks of the communicator on this host, how many of them each control group limits in memory,
   and whether ranks here are more than may run at a time. */
struct Sharing {
    int ranks = 1;
    RanksOfGroups ranks_of_groups;
    bool crowded = false;
};
Measured sum_up(const Repetition& repetition);

class Bench {
  public:
    /* Refuses options out of range, with the same answer on every rank. */
    static Outcome admit(const lw_measure_options& options);
    /* Whether so many ranks can time an operation in the way that the options name. */
    static Outcome admit_timing(const lw_operation& operation, const lw_measure_options& options,
                                int ranks);

    Bench(MPI_Comm comm, const lw_measure_options& options);

    /* Refuses `what` if the `bytes` that this rank needs for it are not free on some rank's host.
       Collective. */
    Outcome admit_memory(const std::string& what, double bytes) const;

    /* Refuses points that cannot be measured here and gets the clocks ready. Collective. */
    Outcome prepare(std::span<const Point> points);

    /*
     * Measures `points`. The batches of a few points are interleaved, so that
     * the batches of one point lie apart in time. `done` is called with each
     * point as it is finished.
     */
    Result<std::vector<Measured>> measure(
        std::span<const Point> points,
        const std::function<void(std::size_t index, const Measured&)>& done = {});

    /* One batch of `point` with warm-up before it, for callers that interleave points by a rule
       of their own. All points must have been prepared. Collective. */
    Result<Batch> run_batch(const Point& point, std::size_t count);
    /* `count` executions by the timing method of the options, without warm-up. Collective. */
    Batch time(Running& running, std::size_t count) { return timing_->run(*this, running, count); }

    const Harness& harness() const { return harness_; }
    const Clock& clock() const { return clock_; }
    const lw_measure_options& options() const { return options_; }
    const GlobalClock& global_clock() const { return *global_clock_; }
    /* Does what comes between executions, prepares the caches as the options say, and brings the
       ranks together for the next execution of `running`; false if this rank was late. */
    bool begin(const Running& running);
    /* Takes these out of the caches where the options ask for cold ones. */
    void evict_caches(std::span<const std::span<std::byte>> bytes) const;
    StoppingRule stopping_rule() const;
    /* Median time of the harness's barrier, measured once. */
    double barrier_s();
    /* Synchronises the global clock if there is none or it is older than the options allow.
       Collective. */
    void refresh_global_clock();
    /* More ranks than processors that they may use on this host: a rank that waits must yield. */
    bool crowded() const { return sharing_.crowded; }
    /* The same on every rank: asleep where any host is crowded, for those who sleep meet in a
       barrier of their own. */
    Waiting waiting() const { return waiting_; }

  private:
    struct Progress;
    /* How long a point's executions take; 0 where it is not known yet. */
    struct Estimate {
        double repetition_s = 0.0; /* with the wait for its start */
        double execution_s = 0.0;  /* one of it, alone */
        double call_s = 0.0;       /* within a loop; all batches have loops of the same length */
    };
    /* The repetitions of a batch, where one takes so long. */
    using CountOf = std::function<std::size_t(double repetition_s)>;
    struct WarmUp {
        double execution_s = 0.0; /* of one execution */
        double eviction_s = 0.0;  /* of making the caches cold before it */
        bool failed = false;
    };
    /* Where there is none, an execution takes `estimate_s`. */
    WarmUp warm_up(Running& running, double estimate_s) const;
    Outcome admit_point(const Point& point);
    Result<Batch> take_batch(const Point& point, Estimate& estimate, const CountOf& count_of);
    Batch time_loop(Running& running, const Point& point, double call_s, const CountOf& count_of);
    Outcome advance(Progress& progress);

    lw_measure_options options_;
    Harness harness_;
    Clock clock_;
    const TimingMethod *timing_;
    const StartMethod *start_;
    std::optional<GlobalClock> global_clock_;
    Starter starter_;
    std::optional<CacheEvictor> evictor_; /* where caches are to be cold */
    double barrier_s_ = -1.0;
    Sharing sharing_;
    Waiting waiting_ = Waiting::awake;
};

}  // namespace lanewise::measure
