// SPDX-License-Identifier: BSD-3-Clause
//
// Global clock: one time for all ranks of a communicator.
//
// HCA3 (Hunold and Carpen-Amarie, "Hierarchical Clock Synchronization in MPI",
// CLUSTER 2018): in round i = k..1 of k = floor(log2 p), rank r with r mod 2^i
// = 0 teaches rank r + 2^(i-1), answering with its own global time, so errors
// are not merged from models; ranks past 2^k learn in one more round. A model
// is a line through offsets measured over a span of time, so drift is removed.
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
#include "measure/harness.hpp"

namespace lanewise::measure {

struct SyncOptions {
    int fit_points = 100;      /* offsets in a line */
    int exchanges = 10;        /* round trips in an offset */
    double span_s = 0.5;       /* from the first offset to the last */
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

/* Largest disagreement with rank 0 over a sample of ranks, measured anew. Collective. */
struct Residual {
    double residual_s = 0.0;
    double uncertainty_s = 0.0;
};
Residual measure_residual(const Harness& harness, const GlobalClock& clock);

}  // namespace lanewise::measure
