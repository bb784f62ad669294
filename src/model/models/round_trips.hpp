// SPDX-License-Identifier: BSD-3-Clause
//
// Round trips: the times of all pairs by link, message and reply, as the fits need them.

#pragma once

#include <map>
#include <optional>
#include <utility>

#include "model/models/line.hpp"
#include "model/samples/observation.hpp"

namespace lanewise::model {

class RoundTrips {
  public:
    explicit RoundTrips(const Observations& observations);

    int ranks() const { return ranks_; }
    /* The first link without a round trip at `sizes_min` different sizes, if there is one. */
    std::optional<std::pair<int, int>> missing(std::size_t sizes_min) const;
    /* The first link without a round trip of two empty messages, if there is one. */
    std::optional<std::pair<int, int>> missing_empty() const;
    /* A message of `there` and one of `back` bytes; from half trips where it was not measured. */
    std::optional<double> time_s(int a, int b, std::int64_t there, std::int64_t back) const;
    /* x: bytes both ways together. */
    std::vector<Mark> marks(int a, int b) const;

  private:
    using Sizes = std::pair<std::int64_t, std::int64_t>;
    using Times = std::map<Sizes, double>;

    const Times& at(int a, int b) const;
    template <typename Suffice>
    std::optional<std::pair<int, int>> first_without(const Suffice& suffice) const;

    int ranks_;
    // Only those that were measured: of a wrong number of ranks, the links fit into no memory.
    std::map<std::pair<int, int>, Times> links_; /* by the lower rank and the higher */
};

}  // namespace lanewise::model
