// SPDX-License-Identifier: BSD-3-Clause
//
// Curve: which sizes are missing for a faithful line through the points.
//
// An interval between two sizes is halved. If the time in the middle differs from
// the line between its ends by more than the tolerance, both halves are examined in
// the same way (the adaptive sizes of mpptest, Gropp and Lusk 1999; MPIBlib 2008,
// section 2). Pure: medians in, sizes out.

#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <vector>

namespace lanewise::measure {

class Curve {
  public:
    Curve(std::span<const std::uint64_t> sizes_bytes, std::uint64_t stride_bytes_min,
          double tolerance);

    /* The sizes to measure next; none when the curve is faithful. */
    const std::vector<std::uint64_t>& wanted() const { return wanted_; }

    /* Takes the median of every wanted size, in the same order. */
    void add(std::span<const double> medians_s);

  private:
    struct Span {
        std::uint64_t low = 0;
        std::uint64_t high = 0;
    };
    void want_middle(Span span);

    std::uint64_t stride_bytes_min_;
    double tolerance_;
    std::map<std::uint64_t, double> medians_s_;
    std::vector<std::uint64_t> wanted_;
    std::vector<Span> halved_; /* the interval of each wanted size; empty at first */
};

}  // namespace lanewise::measure
