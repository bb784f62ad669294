// SPDX-License-Identifier: BSD-3-Clause
//
// Round trips: the times of all pairs by link, message and reply, as the fits need them.

#pragma once

#include <map>
#include <optional>
#include <utility>

#include "model/models/line.hpp"
#include "model/models/parameter.hpp"
#include "model/samples/observation.hpp"

namespace lanewise::model {

class RoundTrips {
  public:
    explicit RoundTrips(const Observations& observations);

    int ranks() const { return links_.ranks(); }
    /* The first link without a round trip at `sizes_min` different sizes, if there is one. */
    std::optional<std::pair<int, int>> missing(std::size_t sizes_min) const;
    /* A message of `there` and one of `back` bytes; from half trips where it was not measured. */
    std::optional<double> time_s(int a, int b, std::int64_t there, std::int64_t back) const;
    /* x: bytes both ways together. */
    std::vector<Mark> marks(int a, int b) const;

  private:
    using Sizes = std::pair<std::int64_t, std::int64_t>;
    Links<std::map<Sizes, double>> links_;
};

}  // namespace lanewise::model
