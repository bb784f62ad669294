// SPDX-License-Identifier: BSD-3-Clause
//
// Size ranges: where an MPI changes how it sends a message (inline, eager, rendezvous), or memory
// its speed. Within a range a message takes a + bM. The ranges are found in the round trips, for
// piecewise together with the intervals of trains (segments.hpp). From some size on, a message does
// not begin before its receive is posted. This shows in trains: the next message follows only when
// the one before has arrived.

#pragma once

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "model/models/line.hpp"
#include "model/models/parameter.hpp"
#include "model/models/trains.hpp"
#include "model/samples/observation.hpp"

namespace lanewise::model {

struct PiecewiseTime {
    Parameter fixed_s;
    Parameter s_per_byte;

    double time_s(std::int64_t bytes) const {
        return fixed_s.value + s_per_byte.value * static_cast<double>(bytes);
    }
};

using MessageLinks = Links<std::vector<PiecewiseTime>>; /* of a message, for each range */

struct SizeRanges {
    std::vector<std::int64_t> from_bytes;         /* in rising order; the first is 0 */
    std::optional<std::int64_t> waits_from_bytes; /* for the receive; none: no message waits */
    std::vector<Line> lines;                      /* of a message on the median link */

    std::size_t count() const { return from_bytes.size(); }
    /* What `times` has in the range `which`. */
    BySize part_of(const BySize& times, std::size_t which) const;
    /* The line through that part. From less than two times, or where they end below a quarter of
       the range, so that a line through them would say little of the rest, the median link's line
       with as many times its height. */
    PiecewiseTime line_of(const BySize& times, std::size_t which, double otherwise) const;
};

/* The range that `bytes` falls into. */
std::size_t range_of(const std::vector<std::int64_t>& from_bytes, std::int64_t bytes);

/* What has lines of its own in each range: LMO has no parameter for a gap. */
enum class RangesOf : std::uint8_t { messages, messages_and_gaps };

/* None where round trips were made at fewer than two sizes. */
std::optional<SizeRanges> find_size_ranges(const Observations& observations,
                                           const TrainTimes& trains, RangesOf what);

MessageLinks message_links(const SizeRanges& ranges, const Observations& observations);

/* By range, over all links. */
std::vector<PiecewiseTime> mean_messages(const MessageLinks& links, std::size_t ranges);

}  // namespace lanewise::model
