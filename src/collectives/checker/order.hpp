// SPDX-License-Identifier: BSD-3-Clause
//
// Order: whether the steps of one rank are well formed and free of races. A step is under way from
// its place in the list until a step there or further down waits for it; steps that are under way
// at the same time must not touch the same memory if one of them writes.

#pragma once

#include <string>
#include <vector>

#include "collectives/checker/buffers.hpp"
#include "model/schedule/schedule.hpp"

namespace lanewise::collectives {

class OrderCheck {
  public:
    /* What is wrong, without naming the rank; empty if nothing is. */
    std::string fault(const model::Schedule& schedule, const Buffers& buffers, int rank, int ranks);

  private:
    struct Access {
        std::uint32_t step = 0;
        int memory = 0;
        std::int64_t begin = 0;
        std::int64_t end = 0;
    };
    std::string step_fault(const model::Schedule& schedule, std::uint32_t id);
    std::string access_fault(std::uint32_t id, model::Slice slice, std::int64_t count, bool write);
    std::string race(std::vector<Access>& under_way, const Access& access) const;

    const Buffers *buffers_ = nullptr;
    int rank_ = 0;
    int ranks_ = 1;
    std::vector<char> waited_for_;
    std::vector<Access> reads_;
    std::vector<Access> writes_;
};

/* "step 3 (a send of 8 units to rank 2)". */
std::string described(const model::Schedule& schedule, std::uint32_t id);

/* Whether a copy stays where it is, which happens where buffers coincide, and does nothing. */
bool stays(const model::Step& step, const Buffers& buffers);

}  // namespace lanewise::collectives
