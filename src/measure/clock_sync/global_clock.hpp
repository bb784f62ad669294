// SPDX-License-Identifier: BSD-3-Clause
//
// Global clock: one time for all ranks of a communicator.
//
// HCA3 (Hunold and Carpen-Amarie, "Hierarchical Clock Synchronization in MPI",
// CLUSTER 2018): rank 0's time spreads down a tree, each reference answering with
// its own global time, so that models need not be merged. A
// model is a line through offsets measured over a span, so drift is removed.
// Where all ranks of a host read one clock, only the first rank of each host
// takes part and hands its line to the others (the hierarchical form).
//
// An offset is bracketed by exchanges of time stamps: the partner's stamp lies
// between sending and receiving, so the offset lies between the largest
// "stamp - received" and the smallest "stamp - sent" (SKaMPI's bracket); half
// the width is its uncertainty, which is kept and reported.

#pragma once

#include <vector>

#include "base/clock.hpp"
#include "measure/clock_sync/clock_model.hpp"
#include "measure/harness/harness.hpp"

namespace lanewise::measure {

/* A member that learns the time, and the one it learns from. */
struct SyncPair {
    int reference = 0;
    int client = 0;
};

/*
 * The rounds of HCA3 for `member_count` members, numbered from 0, who has the
 * time. In round i = k..1 of k = floor(log2 n), member r with r mod 2^i = 0 is the
 * reference of member r + 2^(i-1); members from 2^k on learn in one more round from
 * r - 2^k. Every reference has learned before. Pure.
 */
std::vector<std::vector<SyncPair>> hca3_rounds(int member_count);

/* What ranks do while they are not needed. */
enum class Waiting { awake, asleep };

struct SyncOptions {
    int fit_points = 500;             /* offsets in a line, at most */
    int exchanges = 10;               /* round trips in an offset */
    double span_s = 1.0;              /* from the first offset to the last */
    Waiting waiting = Waiting::awake; /* asleep where ranks share processors */
};

class GlobalClock {
  public:
    /* Collective. Rank 0's clock becomes everybody's. */
    static GlobalClock synchronise(const Harness& harness, const Clock& clock,
                                   const SyncOptions& options);

    double now_s() const { return model_.global_s(clock_.now_s()); }
    double at_s(double local_s) const { return model_.global_s(local_s); }
    /* Local time since synchronisation. */
    double age_s() const { return clock_.now_s() - synchronised_at_s_; }

  private:
    Clock clock_;
    ClockModel model_;
    double synchronised_at_s_ = 0.0;
};

/* The ranks whose clocks are compared with rank 0's: 16 at most, spread evenly. Pure. */
std::vector<int> residual_ranks(int rank_count);

/* Largest disagreement with rank 0 over a sample of ranks, measured again. Collective. */
struct Residual {
    double residual_s = 0.0;
    double uncertainty_s = 0.0;
};
Residual measure_residual(const Harness& harness, const GlobalClock& clock,
                          Waiting waiting = Waiting::awake);

}  // namespace lanewise::measure
