// SPDX-License-Identifier: BSD-3-Clause
//
// Fit: samples become a platform.
//
// Every model is fitted to the medians of all points, or to the geometric means of the launches'
// medians. Its intervals come from a bootstrap: the launches, and the samples of each point, are
// redrawn, the model is fitted again, and the middle 95 % of the results is the interval.
// Propagating the points' own intervals would need every formula to be smooth, which LMO's maxima
// and the clamping at 0 are not. The median of a redrawn sample is drawn directly: it is a quantile
// whose probability has a Beta distribution.
//
// The best model is the one that predicts points it has not seen: every third size is held out,
// with all collectives, and the models are fitted to the rest. Where nothing is
// held out, as of two or three sizes, the best model is the one that fits best.

#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "model/fit/expected_time.hpp"
#include "model/platform/platform.hpp"
#include "model/samples/observation.hpp"

namespace lanewise::model {

struct FitOptions {
    int redraws = 200;
    double confidence = 0.95;
    std::uint64_t seed = 1;
    AlgorithmsOf algorithms_of; /* none: collectives are left out */
};

struct Fit {
    Platform platform;
    std::vector<std::string> notes; /* what was corrected */
    std::vector<std::string> lacks; /* "lmo: no triplets ...; measure with: ..." */
};

/* Fails where no model can be fitted. */
Result<Fit> fit(const Observations& observations, const FitOptions& options = {});

/* The same observations with the medians of redrawn samples. */
Observations redrawn(const Observations& observations, std::uint64_t seed);

/* Whether points of this size are held out, given all sizes in order. */
bool is_held_out(const std::vector<std::int64_t>& sizes, std::int64_t bytes);

}  // namespace lanewise::model
