// SPDX-License-Identifier: BSD-3-Clause

#include "model/models/segments.hpp"

#include <algorithm>
#include <limits>

namespace lanewise::model {
namespace {

// What a segment must save: as much as one mark that is off by a sixth, or three by a tenth.
constexpr double segment_price = 0.03;

double misses(std::span<const Mark> marks, const Line& line) {
    double sum = 0.0;
    for (const auto& mark : marks) {
        const double miss = (line.at(mark.x) - mark.y) / (mark.scale > 0.0 ? mark.scale : 1.0);
        sum += miss * miss;
    }
    return sum;
}

// Those in the range of the marks begin ... end - 1, which goes on to where the next one begins.
std::span<const Mark> in_range(std::span<const Mark> beside, std::span<const Mark> marks,
                               std::size_t begin, std::size_t end) {
    const auto place = [&](std::size_t mark) {
        if (mark == 0) return beside.begin();
        if (mark == marks.size()) return beside.end();
        return std::lower_bound(beside.begin(), beside.end(), marks[mark].x,
                                [](const Mark& one, double x) { return one.x < x; });
    };
    return {place(begin), place(end)};
}

// Two lines meet where they cross. Where they do not cross between the marks of both, the curve
// jumps, and the jump is taken to be where the second was seen first: limits of protocols are
// powers of two, less a header. So is a jump that only the curve beside them has.
double switch_between(const Segment& before, const Segment& after, std::span<const Mark> marks) {
    const double last = marks[before.end - 1].x;
    const double first = marks[after.begin].x;
    const double turn = before.line.slope - after.line.slope;
    const double cross =
        turn == 0.0 ? first : (after.line.intercept - before.line.intercept) / turn;
    return cross > last && cross < first ? cross : first;
}

}  // namespace

std::vector<Segment> find_segments(std::span<const Mark> marks, std::span<const Mark> beside) {
    constexpr double never = std::numeric_limits<double>::infinity();
    const std::size_t count = marks.size();
    struct Best {
        double cost = never;
        std::size_t begin = 0;
    };
    std::vector<Best> best(count + 1);
    best[0].cost = 0.0;
    for (std::size_t end = 2; end <= count; ++end) {
        for (std::size_t begin = 0; begin + 2 <= end; ++begin) {
            const auto part = marks.subspan(begin, end - begin);
            const auto other = in_range(beside, marks, begin, end);
            const double cost = best[begin].cost + misses(part, fit_line(part)) +
                                misses(other, fit_line(other)) + segment_price;
            if (cost < best[end].cost) best[end] = {cost, begin};
        }
    }
    std::vector<Segment> segments;
    for (std::size_t end = count; end > 0; end = best[end].begin) {
        const auto begin = best[end].begin;
        segments.push_back({0.0, begin, end, fit_line(marks.subspan(begin, end - begin))});
        if (begin == 0) break;
    }
    std::reverse(segments.begin(), segments.end());
    for (std::size_t i = 1; i < segments.size(); ++i)
        segments[i].from = switch_between(segments[i - 1], segments[i], marks);
    return segments;
}

}  // namespace lanewise::model
