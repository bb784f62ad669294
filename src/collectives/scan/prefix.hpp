// SPDX-License-Identifier: BSD-3-Clause
//
// Prefix: what a rank has of a scan or an exscan. A rank holds the contributions of a stretch of
// ranks that ends with itself. It gives them to higher ranks, and takes from lower ranks the
// stretch that ends where its own begins, so operands stand in rank order. In an exscan the own
// contribution is not in the result, so the two are kept apart.

#pragma once

#include <cstdint>
#include <vector>

#include "collectives/call_shape.hpp"
#include "model/schedule/schedule.hpp"

namespace lanewise::collectives {

/* Whether the result of a rank has its own contribution: scan, or exscan. */
enum class Prefixes : std::uint8_t { inclusive, exclusive };

class Prefix {
  public:
    /* Of the elements [begin, begin + count). */
    Prefix(model::Builder& steps, Prefixes prefixes, std::int64_t begin, std::int64_t count);

    /* Sends what is here. */
    void give(int peer);
    /* Begins to receive what stands to the left; `gives_on`: what is here so far is still sent. */
    void expect(int peer, bool gives_on);
    /* Combines what was expected; `gives_on`: the whole is still sent. */
    void combine(bool gives_on);
    /* At the end: brings the result to where the caller wants it. */
    void settle();

  private:
    void combine_inclusive();
    void combine_exclusive(bool gives_on);
    model::StepId receive_into_scratch(int peer);
    /* Steps to wait for: these, and the sends that may still be reading what is here. */
    std::vector<model::StepId> after_sends(std::initializer_list<model::StepId> steps) const;

    model::Builder& steps_;
    Prefixes prefixes_;
    std::int64_t count_;
    model::Slice result_;
    model::Slice here_; /* the stretch that ends with this rank */
    model::StepId here_ready_ = model::no_step;
    std::vector<model::StepId> sends_; /* of what is here */
    bool has_result_ = false;
    model::StepId result_ready_ = model::no_step;
    model::Slice incoming_;
    bool has_incoming_ = false;
    model::StepId received_ = model::no_step;
};

}  // namespace lanewise::collectives
