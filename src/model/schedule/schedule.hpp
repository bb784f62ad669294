// SPDX-License-Identifier: BSD-3-Clause
//
// Schedule: what one rank does in one collective operation, as data.
//
// A schedule is a list of steps: send, receive, copy, reduce. Each step names the earlier steps
// that must have completed before it begins. A rank starts its steps in the order of the list, as
// soon as these have completed, and is done when all have. An algorithm is thus written once:
// `execute` runs it on MPI, `price` times it on a platform, the checker proves it, the docs draw
// it.
//
// Offsets and counts are in units: bytes where data is only moved, elements of the caller's type
// where it is reduced. The n-th send between two ranks matches the n-th receive.

#pragma once

#include <cstddef>
#include <cstdint>
#include <exception>
#include <initializer_list>
#include <limits>
#include <span>
#include <utility>
#include <vector>

namespace lanewise::model {

/* Where data lies: the caller's two buffers, or memory of the schedule's own. */
enum class Place : std::uint8_t { send, receive, scratch };

struct Slice {
    Place place = Place::receive;
    std::int64_t offset = 0;

    Slice at(std::int64_t units) const { return {place, offset + units}; }
    bool operator==(const Slice&) const = default;
};

enum class StepKind : std::uint8_t {
    send,    /* `count` units at `from` to `peer` */
    receive, /* `count` units from `peer` into `to` */
    copy,    /* `from` into `to` */
    reduce,  /* `to` becomes `from` op `to`: `from` is the left operand */
};

struct Step {
    StepKind kind = StepKind::copy;
    std::int32_t peer = -1;
    Slice from = {};
    Slice to = {};
    std::int64_t count = 0;
    std::uint32_t after_begin =
        0; /* the steps to wait for: Schedule::after[begin, begin + count) */
    std::uint32_t after_count = 0;
};

struct Schedule {
    std::vector<Step> steps;
    std::vector<std::uint32_t> after;
    std::int64_t scratch_units = 0;
    std::vector<std::int64_t> scratch_begins; /* of each place in it, one behind the other */

    std::span<const std::uint32_t> after_of(const Step& step) const {
        return std::span(after).subspan(step.after_begin, step.after_count);
    }
};

/* Names a step of a schedule that is being built. `no_step` may be waited for and costs nothing. */
using StepId = std::uint32_t;
inline constexpr StepId no_step = std::numeric_limits<StepId>::max();

/* What a Builder throws at the first step that is more than a StepLimit allows. */
class TooManySteps : public std::exception {
  public:
    const char *what() const noexcept override { return "a schedule has too many steps"; }
};

/* No Builder that this thread makes while one lives writes down more than `most` steps: it takes
   long, and much memory, to find out by writing down all of them. */
class StepLimit {
  public:
    explicit StepLimit(std::size_t most);
    ~StepLimit();
    StepLimit(const StepLimit&) = delete;
    StepLimit& operator=(const StepLimit&) = delete;

  private:
    std::size_t before_;
};

/*
 * Writes a schedule down, step by step. A step that moves no data is left out
 * and answers `no_step`; signals are messages without data that are kept.
 */
class Builder {
  public:
    using After = std::initializer_list<StepId>;

    Builder();

    StepId send(int peer, Slice from, std::int64_t count, After after = {});
    StepId receive(int peer, Slice to, std::int64_t count, After after = {});
    StepId copy(Slice from, Slice to, std::int64_t count, After after = {});
    StepId reduce(Slice from, Slice to, std::int64_t count, After after = {});
    StepId signal(int peer, After after = {});
    StepId await(int peer, After after = {});

    /* The same with as many steps to wait for as `after` holds. */
    StepId send_after(std::span<const StepId> after, int peer, Slice from, std::int64_t count);
    StepId receive_after(std::span<const StepId> after, int peer, Slice to, std::int64_t count);
    StepId signal_after(std::span<const StepId> after, int peer);
    StepId copy_after(std::span<const StepId> after, Slice from, Slice to, std::int64_t count);
    StepId reduce_after(std::span<const StepId> after, Slice from, Slice to, std::int64_t count);

    /* A place of `units` in scratch memory that nothing else uses. No step reaches past it. */
    Slice scratch(std::int64_t units);

    Schedule finish() { return std::move(schedule_); }

  private:
    StepId add(Step step, std::span<const StepId> after);

    Schedule schedule_;
    std::size_t most_;
};

}  // namespace lanewise::model
