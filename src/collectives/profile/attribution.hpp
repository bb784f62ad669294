// SPDX-License-Identifier: BSD-3-Clause
//
// Attribution: how much of a collective's time was waiting for ranks that came late, how much was
// transfer, and who was late. Pure: from the entry and exit times of all ranks, on one clock.
//
//   waiting     of a rank: from its entry until the last of the ranks that it waits for has
//               entered, or until its exit where that is earlier
//   transfer    the rest of its time in the call
//   lateness    of a rank: its entry after that of the first rank that waits for it
//   awaited     of a rank: the waiting of others in calls which it was the last to enter
//
// A nonblocking call is entered where it is started, and left by the call that finds it complete.
// Meanwhile the rank computes, so only its time in calls that wait for the request or test it can
// be waiting. Of several tests, that time is divided as if it were spread evenly over them.

#pragma once

#include <compare>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "collectives/profile/dependence.hpp"

namespace lanewise::profile {

/* When one rank was in one call. What follows the exit is 0 where the call blocks. */
struct CallTimes {
    std::int64_t entry_ns = 0;
    std::int64_t exit_ns = 0;
    std::int64_t asked_after_ns = 0; /* from the entry until a call waited or tested first */
    std::int64_t computing_ns = 0;   /* of the time from then to the exit, outside of such calls */
    std::int64_t starting_ns = 0;    /* in the call that started it */
};

/* How a collective is called. */
enum class Form : std::uint8_t { blocking, nonblocking, persistent };

/* "bcast", "ibcast" or "persistent_bcast". */
std::string name_of(collectives::Collective collective, Form form);

struct Share {
    std::int64_t waiting_ns = 0;
    std::int64_t transfer_ns = 0;
    std::int64_t lateness_ns = 0;
    std::int64_t awaited_ns = 0;
    bool operator==(const Share&) const = default;
};

/* Shares of one call; `times` and the result are in the order of the communicator's ranks. */
std::vector<Share> attribute(WaitsFor rule, int root, std::span<const CallTimes> times);

/* The members of a communicator whose data each of them waits for in a neighborhood collective. */
using Sources = std::vector<std::vector<std::int32_t>>;
using Neighborhoods = std::map<std::uint64_t, Sources>; /* by communicator */

std::vector<Share> attribute(const Sources& sources, std::span<const CallTimes> times);

/* What one rank recorded of one call. Sites are places in the program, numbered alike everywhere.
 */
struct Record {
    std::uint64_t communicator = 0; /* which one, the same number on all its ranks */
    std::uint64_t bytes = 0;
    CallTimes times;
    std::uint64_t call = 0; /* which of the calls on this communicator */
    std::uint32_t site = 0;
    std::int32_t rank = 0;   /* in the world */
    std::int32_t member = 0; /* rank in the communicator */
    std::int32_t member_count = 1;
    std::int32_t root = 0;
    collectives::Collective collective = collectives::Collective::barrier;
    Form form = Form::blocking;
};

/* The calls of one collective that most of their ranks make at one site. */
struct Place {
    collectives::Collective collective = collectives::Collective::barrier;
    std::uint32_t site = 0;
    Form form = Form::blocking;
    auto operator<=>(const Place&) const = default;  // NOLINT(modernize-use-nullptr): no pointer
};

/* One rank in the calls of one place, which it may make at a site of its own. */
struct Part {
    Place place;
    std::int32_t rank = 0;
    std::uint32_t site = 0;
    auto operator<=>(const Part&) const = default;  // NOLINT(modernize-use-nullptr): no pointer
};

struct Sums {
    std::uint64_t calls = 0;
    std::uint64_t last_calls = 0; /* those in which others waited for this rank as the last */
    std::uint64_t bytes = 0;
    std::int64_t waiting_ns = 0;
    std::int64_t transfer_ns = 0;
    std::int64_t lateness_ns = 0;
    std::int64_t awaited_ns = 0;

    Sums& operator+=(const Sums& other);
    bool operator==(const Sums&) const = default;
};

struct Attribution {
    std::map<Part, Sums> parts;
    /* Records without those of all ranks of their communicator, and records of calls that do not
       agree with each other: several communicators were taken for one. */
    std::uint64_t incomplete_records = 0;
    std::uint64_t mismatched_records = 0;
};

Attribution attribute(std::vector<Record> records, const Neighborhoods& neighborhoods = {});

/* Whether a call is among one in 2^halvings, the same calls on all ranks and no pattern in them. */
bool is_chosen(std::uint64_t communicator, std::uint64_t call, int halvings);

}  // namespace lanewise::profile
