// SPDX-License-Identifier: BSD-3-Clause
//
// The fit of LMO, the network that it describes, and the closed formulas of its papers.

#include "model/models/lmo.hpp"

#include <algorithm>
#include <cmath>

#include "base/statistics.hpp"
#include "model/models/round_trips.hpp"
#include "model/samples/experiments.hpp"

namespace lanewise::model {
namespace {

/* A message there and its answer, with one peer. */
struct RoundTrip {
    double there_s = 0.0;
    double back_s = 0.0;

    double trip_s() const { return there_s + back_s; }
};

/* One point-to-two experiment, with the round trips it is compared with. */
struct Fork {
    double there = 0.0; /* bytes */
    double back = 0.0;
    double time_s = 0.0;
    RoundTrip first; /* with j */
    RoundTrip second;
    bool there_waits = false; /* for its receive */
    bool back_waits = false;
};

using Forks = std::vector<std::vector<Fork>>; /* by root */

std::optional<RoundTrip> ways_of(const RoundTrips& trips, int a, int b, const Observation& seen) {
    const auto trip_s = trips.time_s(a, b, seen.message_bytes, seen.reply_bytes);
    if (!trip_s) return std::nullopt;
    const auto there_and_back_s = trips.time_s(a, b, seen.message_bytes, seen.message_bytes);
    const double there_s = (there_and_back_s ? *there_and_back_s : *trip_s) / 2.0;
    return RoundTrip{there_s, *trip_s - there_s};
}

Forks forks_of(const Observations& observations, const RoundTrips& trips,
               const std::optional<SizeRanges>& ranges) {
    const auto waits = [&ranges](std::int64_t bytes) {
        return ranges && ranges->waits_from_bytes && bytes >= *ranges->waits_from_bytes;
    };
    Forks forks(static_cast<std::size_t>(trips.ranks()));
    for (const auto& seen : observations.all) {
        if (seen.experiment != Experiment::triplet) continue;
        const auto first = ways_of(trips, seen.root, seen.peer, seen);
        const auto second = ways_of(trips, seen.root, seen.second_peer, seen);
        if (!first || !second) continue;
        forks[static_cast<std::size_t>(seen.root)].push_back(
            {static_cast<double>(seen.message_bytes), static_cast<double>(seen.reply_bytes),
             seen.time_s, *first, *second, waits(seen.message_bytes), waits(seen.reply_bytes)});
    }
    return forks;
}

// Some message waits for its receive. The root posts the receive of the second answer when it has
// the first.
double waiting_s(const Fork& fork, double fixed_s, double s_per_byte) {
    const auto busy_s = [&](const RoundTrip& ways) {
        return fixed_s + std::min(fork.there * s_per_byte, std::max(ways.there_s - fixed_s, 0.0));
    };
    const double second_begins_s = busy_s(fork.first);
    const double sent_s = second_begins_s + busy_s(fork.second);
    const double first_there_s = fork.first.there_s;
    const double second_there_s = second_begins_s + fork.second.there_s;
    if (!fork.back_waits)
        return std::max(first_there_s + fork.first.back_s, second_there_s + fork.second.back_s);
    const double first_back_s = std::max(first_there_s, sent_s) + fork.first.back_s;
    return std::max(second_there_s, first_back_s) + fork.second.back_s;
}

double fork_s(const Fork& fork, double fixed_s, double s_per_byte) {
    if (fork.there_waits || fork.back_waits) return waiting_s(fork, fixed_s, s_per_byte);
    const double second_s = fork.second.trip_s() + (fork.there - fork.back) * s_per_byte;
    return fixed_s + fork.back * s_per_byte + std::max(fork.first.trip_s(), second_s);
}

double fixed_of(const std::vector<Fork>& forks) {
    std::vector<double> found;
    for (const auto& fork : forks) {
        if (fork.there == 0.0 && fork.back == 0.0)
            found.push_back(fork.time_s - fork_s(fork, 0.0, 0.0));
    }
    return median(found);
}

double squares(const std::vector<Fork>& forks, double fixed_s, double s_per_byte) {
    double sum = 0.0;
    for (const auto& fork : forks) {
        const double miss = (fork_s(fork, fixed_s, s_per_byte) - fork.time_s) / fork.time_s;
        sum += miss * miss;
    }
    return sum;
}

// The t that makes `squares` least: a scan to find the valley, then thirds.
double per_byte_of(const std::vector<Fork>& forks, double fixed_s) {
    constexpr int scan = 64;
    double most = 0.0;
    for (const auto& fork : forks) {
        if (fork.there > 0.0) most = std::max(most, (fork.time_s - fixed_s) / fork.there);
    }
    int best = 0;
    double least = squares(forks, fixed_s, 0.0);
    for (int i = 1; i <= scan; ++i) {
        const double sum = squares(forks, fixed_s, most * i / scan);
        if (!(sum < least)) continue;
        least = sum;
        best = i;
    }
    double low = most * std::max(best - 1, 0) / scan;
    double high = most * std::min(best + 1, scan) / scan;
    while (high - low > 1e-9 * most) {
        const double third = (high - low) / 3.0;
        if (squares(forks, fixed_s, low + third) <= squares(forks, fixed_s, high - third)) {
            high -= third;
        } else {
            low += third;
        }
    }
    return (low + high) / 2.0;
}

// Where j, which is served first, always answers later than k, what k cost is not seen.
bool tells_per_byte(const std::vector<Fork>& forks, double s_per_byte) {
    constexpr double nearly = 1.0 - 1e-3;
    return std::any_of(forks.begin(), forks.end(), [&](const Fork& fork) {
        const double second_s = fork.second.trip_s() + (fork.there - fork.back) * s_per_byte;
        return fork.back > 0.0 || (fork.there > 0.0 && second_s > nearly * fork.first.trip_s());
    });
}

bool has_zero(const std::vector<Fork>& forks) {
    return std::any_of(forks.begin(), forks.end(),
                       [](const Fork& fork) { return fork.there == 0.0 && fork.back == 0.0; });
}

bool has_some(const std::vector<Fork>& forks) {
    return std::any_of(forks.begin(), forks.end(),
                       [](const Fork& fork) { return fork.there > 0.0; });
}

/* What a message costs on a link and its two processors together: half a round trip, a slope. Each
   link has a round trip of empty messages. */
Links<Line> whole_ways(const RoundTrips& trips) {
    Links<Line> ways(trips.ranks());
    ways.each([&](int i, int j, Line& way) {
        auto marks = trips.marks(i, j);
        const double empty_s = *trips.time_s(i, j, 0, 0);
        for (auto& mark : marks) mark.y -= empty_s;
        way.intercept = empty_s / 2.0;
        way.slope = std::max(fit_slope(marks), 0.0);
    });
    return ways;
}

/* What two processors take of a way: one after the other, or at the same time. */
using Together = double (*)(double, double);

double one_after_another(double a, double b) {
    return a + b;
}

double at_once(double a, double b) {
    return std::max(a, b);
}

// A link gets what its processors leave of the way. Where they leave less than nothing, both are
// made smaller by the same factor, so that no way is longer than it was measured. A processor gets
// the least factor of its links, which does not depend on their order.
void share_out(Lmo& model, const Links<Line>& ways, double Line::*whole,
               Parameter LmoProcessor::*part, Parameter LmoLink::*rest, Together together,
               const std::string& what, std::vector<std::string>& notes) {
    std::vector<double> shares(model.processors.size(), 1.0);
    ways.each([&](int i, int j, const Line& way) {
        const double a = (model.processors[static_cast<std::size_t>(i)].*part).value;
        const double b = (model.processors[static_cast<std::size_t>(j)].*part).value;
        const double both = together(a, b);
        if (both <= way.*whole) return;
        note_cut(notes, "lmo: " + what + " of " + link_name(i, j), way.*whole - both);
        for (const int rank : {i, j}) {
            auto& share = shares[static_cast<std::size_t>(rank)];
            share = std::min(share, way.*whole / both);
        }
    });
    for (std::size_t rank = 0; rank < shares.size(); ++rank)
        (model.processors[rank].*part).value *= shares[rank];
    model.links.each([&](int i, int j, LmoLink& link) {
        const double a = (model.processors[static_cast<std::size_t>(i)].*part).value;
        const double b = (model.processors[static_cast<std::size_t>(j)].*part).value;
        link.*rest = Parameter(std::max(ways.at(i, j).*whole - together(a, b), 0.0));
    });
}

}  // namespace

Result<Fitted<Lmo>> fit_lmo(const Observations& observations) {
    const RoundTrips trips(observations);
    const int ranks = trips.ranks();
    if (ranks < 3)
        return lacking("third rank, which LMO's triplets need,", "triplets", observations);
    if (const auto link = trips.missing(2))
        return lacking(link_name(link->first, link->second), "pairs", observations);
    if (const auto link = trips.missing_empty())
        return lacking("round trip at size 0 on " + link_name(link->first, link->second), "pairs",
                       observations);
    const auto ranges =
        find_size_ranges(observations, measured_train_times(observations), RangesOf::messages);
    const auto forks = forks_of(observations, trips, ranges);
    Fitted<Lmo> fitted;
    auto& model = fitted.model;
    for (int rank = 0; rank < ranks; ++rank) {
        const auto& mine = forks[static_cast<std::size_t>(rank)];
        const auto of_rank = " of rank " + std::to_string(rank);
        if (!has_zero(mine) || !has_some(mine))
            return lacking(
                "triplets" + of_rank + " at size 0 and above, with pairs at these sizes,",
                "triplets", observations);
        LmoProcessor processor;
        const double fixed_s = fixed_of(mine);
        note_cut(fitted.notes, "lmo: fixed time" + of_rank, fixed_s);
        processor.fixed_s = Parameter(std::max(fixed_s, 0.0));
        processor.s_per_byte = Parameter(per_byte_of(mine, processor.fixed_s.value));
        if (!tells_per_byte(mine, processor.s_per_byte.value))
            fitted.notes.push_back("lmo: the processor time per byte" + of_rank +
                                   " cannot be told "
                                   "apart from its links'; measure with: " +
                                   command_for("triplets-same", observations.conditions));
        model.processors.push_back(processor);
    }
    model.links = Links<LmoLink>(ranks);
    const auto ways = whole_ways(trips);
    const bool waits = ranges && ranges->waits_from_bytes;
    share_out(model, ways, &Line::intercept, &LmoProcessor::fixed_s, &LmoLink::latency_s,
              one_after_another, "latency", fitted.notes);
    share_out(model, ways, &Line::slope, &LmoProcessor::s_per_byte, &LmoLink::s_per_byte,
              waits ? at_once : one_after_another, "time per byte", fitted.notes);
    if (waits || (ranges && ranges->count() > 1)) {
        model.ranges = LmoRanges{ranges->from_bytes, ranges->waits_from_bytes,
                                 message_links(*ranges, observations)};
    }
    return fitted;
}

std::vector<Parameter *> parameters(Lmo& model) {
    std::vector<Parameter *> all;
    for (auto& processor : model.processors) {
        all.push_back(&processor.fixed_s);
        all.push_back(&processor.s_per_byte);
    }
    model.links.each([&](int, int, LmoLink& link) {
        all.push_back(&link.latency_s);
        all.push_back(&link.s_per_byte);
    });
    if (!model.ranges) return all;
    model.ranges->messages.each([&](int, int, std::vector<PiecewiseTime>& times) {
        for (auto& time : times) {
            all.push_back(&time.fixed_s);
            all.push_back(&time.s_per_byte);
        }
    });
    return all;
}

LmoProcessor mean_processor(const Lmo& model) {
    LmoProcessor mean;
    const auto count = static_cast<double>(model.processors.size());
    for (const auto& processor : model.processors) {
        mean.fixed_s.value += processor.fixed_s.value / count;
        mean.s_per_byte.value += processor.s_per_byte.value / count;
    }
    return mean;
}

LmoLink mean_link(const Lmo& model) {
    return mean_of(model.links);
}

namespace {

/* Of a message that takes `whole_s` in all and waits for its receive. */
MessageCost waiting_cost(const LmoProcessor& from, const LmoProcessor& to, double whole_s,
                         double bytes) {
    const double fixed_s = from.fixed_s.value + to.fixed_s.value;
    const double share = fixed_s > whole_s ? whole_s / fixed_s : 1.0;
    const double wire_s = whole_s - share * fixed_s;
    const double egress_s = std::min(from.s_per_byte.value * bytes, wire_s);
    const double ingress_s = std::min(to.s_per_byte.value * bytes, wire_s);
    return {.send_s = share * from.fixed_s.value,
            .egress_s = egress_s,
            .latency_s = wire_s - std::max(egress_s, ingress_s),
            .ingress_s = ingress_s,
            .receive_s = share * to.fixed_s.value};
}

/* Of one that does not. */
MessageCost eager_cost(const LmoProcessor& from, const LmoProcessor& to, double whole_s,
                       double bytes, bool serial) {
    const double busy_s = from.time_s(bytes) + to.time_s(bytes);
    const double share = busy_s > whole_s ? whole_s / busy_s : 1.0;
    const double wire_s = whole_s - share * busy_s;
    return {.send_s = share * from.time_s(bytes),
            .latency_s = serial ? 0.0 : wire_s,
            .ingress_s = serial ? wire_s : 0.0,
            .receive_s = share * to.time_s(bytes)};
}

Network ranged_network(const Lmo& model, int ranks, const std::optional<GatherRegion>& region) {
    Network network;
    network.ranks = ranks;
    const auto waits_from = model.ranges->waits_from_bytes;
    if (waits_from) network.eager_bytes = *waits_from - 1;
    network.cost = [model, region, waits_from, processor = mean_processor(model),
                    means = mean_messages(model.ranges->messages, model.ranges->from_bytes.size())](
                       int from, int to, std::int64_t bytes) {
        const int known = model.links.ranks();
        const auto at = [&](int rank) -> const LmoProcessor& {
            return rank < known ? model.processors[static_cast<std::size_t>(rank)] : processor;
        };
        const bool measured = from < known && to < known && from != to;
        const auto& times = measured ? model.ranges->messages.at(from, to) : means;
        const double whole_s = times[range_of(model.ranges->from_bytes, bytes)].time_s(bytes);
        const auto size = static_cast<double>(bytes);
        if (waits_from && bytes >= *waits_from)
            return waiting_cost(at(from), at(to), whole_s, size);
        return eager_cost(at(from), at(to), whole_s, size, region && region->serial(bytes));
    };
    return network;
}

}  // namespace

Network network(const Lmo& model, int ranks, const std::optional<GatherRegion>& region) {
    if (model.ranges) return ranged_network(model, ranks, region);
    Network network;
    network.ranks = ranks;
    network.cost = [model, region, processor = mean_processor(model), link = mean_link(model)](
                       int from, int to, std::int64_t bytes) {
        const int known = model.links.ranks();
        const auto at = [&](int rank) -> const LmoProcessor& {
            return rank < known ? model.processors[static_cast<std::size_t>(rank)] : processor;
        };
        const bool measured = from < known && to < known && from != to;
        const auto size = static_cast<double>(bytes);
        const double wire_s = (measured ? model.links.at(from, to) : link).time_s(size);
        const bool serial = region && region->serial(bytes);
        return MessageCost{.send_s = at(from).time_s(size),
                           .latency_s = serial ? 0.0 : wire_s,
                           .ingress_s = serial ? wire_s : 0.0,
                           .receive_s = at(to).time_s(size)};
    };
    return network;
}

}  // namespace lanewise::model

namespace lanewise::model::lmo {

// A linear scatter is the root's processor n - 1 times and then the slowest of
// the others; it takes the last to be the slowest, so it is never below what
// the schedule costs, and above where a slow rank is served early.
namespace {

const LmoProcessor& processor(const Lmo& model, int rank) {
    return model.processors[static_cast<std::size_t>(rank)];
}

// The link and the processor at its far end.
double beyond_s(const Lmo& model, int from, int to, std::int64_t bytes) {
    const auto size = static_cast<double>(bytes);
    return model.links.at(from, to).time_s(size) + processor(model, to).time_s(size);
}

// The subtree of `span` ranks that begins at relative rank `head`, largest child first.
double subtree_s(const Lmo& model, int root, int head, int span, std::int64_t block_bytes) {
    const int ranks = model.links.ranks();
    const auto absolute = [&](int relative) { return (relative + root) % ranks; };
    double sender_s = 0.0;
    double last_s = 0.0;
    int step = 1;
    while (step * 2 < span) step *= 2;
    for (; span > 1 && step >= 1; step /= 2) {
        if (step >= span) continue;
        const int blocks = span - step;
        const auto bytes = block_bytes * blocks;
        sender_s += processor(model, absolute(head)).time_s(static_cast<double>(bytes));
        const double arrived_s =
            sender_s + beyond_s(model, absolute(head), absolute(head + step), bytes);
        last_s =
            std::max(last_s, arrived_s + subtree_s(model, root, head + step, blocks, block_bytes));
        span = step;
    }
    return std::max(sender_s, last_s);
}

}  // namespace

double message_s(const Lmo& model, int from, int to, std::int64_t bytes) {
    return processor(model, from).time_s(static_cast<double>(bytes)) +
           beyond_s(model, from, to, bytes);
}

double linear_scatter_s(const Lmo& model, int root, std::int64_t block_bytes) {
    const int ranks = model.links.ranks();
    double slowest_s = 0.0;
    for (int i = 0; i < ranks; ++i) {
        if (i != root) slowest_s = std::max(slowest_s, beyond_s(model, root, i, block_bytes));
    }
    return (ranks - 1) * processor(model, root).time_s(static_cast<double>(block_bytes)) +
           slowest_s;
}

double binomial_scatter_s(const Lmo& model, int root, std::int64_t block_bytes) {
    return subtree_s(model, root, 0, model.links.ranks(), block_bytes);
}

double chain_bcast_s(const Lmo& model, int root, std::int64_t bytes) {
    const int ranks = model.links.ranks();
    double sum_s = 0.0;
    for (int hop = 0; hop + 1 < ranks; ++hop) {
        sum_s += message_s(model, (root + hop) % ranks, (root + hop + 1) % ranks, bytes);
    }
    return sum_s;
}

}  // namespace lanewise::model::lmo
