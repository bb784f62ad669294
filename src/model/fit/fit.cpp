// SPDX-License-Identifier: BSD-3-Clause

#include "model/fit/fit.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <random>
#include <set>
#include <tuple>

#include "base/statistics.hpp"

namespace lanewise::model {
namespace {

std::vector<std::int64_t> sizes_of(const Observations& observations) {
    std::set<std::int64_t> sizes;
    for (const auto& seen : observations.all) sizes.insert(seen.message_bytes);
    return {sizes.begin(), sizes.end()};
}

enum class Part { held_out, kept };

Observations part_of(const Observations& observations, Part wanted) {
    const auto sizes = sizes_of(observations);
    Observations part{observations.conditions, {}};
    for (const auto& seen : observations.all) {
        const bool out =
            seen.experiment == Experiment::collective || is_held_out(sizes, seen.message_bytes);
        if (out == (wanted == Part::held_out)) part.all.push_back(seen);
    }
    return part;
}

struct Misses {
    std::size_t points = 0;
    double squares = 0.0;
    double worst = 0.0;

    void add(double miss) {
        ++points;
        squares += miss * miss;
        worst = std::max(worst, std::fabs(miss));
    }
    double rms() const {
        return points == 0 ? 0.0 : std::sqrt(squares / static_cast<double>(points));
    }
};

std::vector<Residual> residuals_of(const Network& network, const Observations& observations,
                                   const FitOptions& options) {
    std::map<std::tuple<std::string, std::int64_t, std::int64_t>, Misses> by_size;
    for (const auto& seen : observations.all) {
        const auto expected = expected_s(network, seen, options.algorithms_of);
        if (!expected) continue;
        by_size[{seen.operation, seen.message_bytes, seen.reply_bytes}].add(
            (*expected - seen.time_s) / seen.time_s);
    }
    std::vector<Residual> residuals;
    for (const auto& [key, misses] : by_size) {
        const auto& [operation, bytes, reply] = key;
        residuals.push_back({operation, bytes, reply, misses.points, misses.rms(), misses.worst});
    }
    return residuals;
}

template <typename Model>
using FitModel = Result<Fitted<Model>> (*)(const Observations&);

Network network_of(const Hockney& model, int ranks, const std::optional<GatherRegion>&) {
    return network(model, ranks);
}
Network network_of(const LogGP& model, int ranks, const std::optional<GatherRegion>&) {
    return network(model, ranks);
}
Network network_of(const PLogP& model, int ranks, const std::optional<GatherRegion>&) {
    return network(model, ranks);
}
Network network_of(const Lmo& model, int ranks, const std::optional<GatherRegion>& region) {
    return network(model, ranks, region);
}

Network network_of(const Piecewise& model, int ranks, const std::optional<GatherRegion>&) {
    return network(model, ranks);
}

template <typename Model>
void give_intervals(Model& model, FitModel<Model> fit_model, const Observations& observations,
                    const FitOptions& options) {
    const auto wanted = parameters(model);
    std::vector<std::vector<double>> values(wanted.size());
    for (int i = 0; i < options.redraws; ++i) {
        const auto draw = redrawn(observations, options.seed + static_cast<std::uint64_t>(i));
        auto again = fit_model(draw);
        if (!again) continue;
        const auto found = parameters(again->model);
        for (std::size_t p = 0; p < wanted.size() && found.size() == wanted.size(); ++p) {
            values[p].push_back(found[p]->value);
        }
    }
    const double tail = (1.0 - options.confidence) / 2.0;
    for (std::size_t p = 0; p < wanted.size(); ++p) {
        if (values[p].empty()) continue;
        std::sort(values[p].begin(), values[p].end());
        wanted[p]->low = std::min(quantile(values[p], tail), wanted[p]->value);
        wanted[p]->high = std::max(quantile(values[p], 1.0 - tail), wanted[p]->value);
    }
}

struct Fitting {
    const Observations& observations;
    const Observations& kept;
    const Observations& held_out;
    const FitOptions& options;
    Fit& fit;
};

template <typename Model>
void add_model(const Fitting& task, const char *name, FitModel<Model> fit_model,
               std::optional<Model>& slot) {
    auto fitted = fit_model(task.observations);
    if (!fitted) {
        task.fit.lacks.push_back(std::string(name) + ": " + fitted.failure().sentence);
        return;
    }
    std::move(fitted->notes.begin(), fitted->notes.end(), std::back_inserter(task.fit.notes));
    give_intervals(fitted->model, fit_model, task.observations, task.options);
    const int ranks = task.observations.conditions.ranks;
    const auto& region = task.fit.platform.gather;
    auto& quality = task.fit.platform.fit_quality[name];
    quality.residuals =
        residuals_of(network_of(fitted->model, ranks, region), task.observations, task.options);
    if (const auto part = fit_model(task.kept)) {
        const auto made = network_of(part->model, ranks, region);
        Misses misses;
        for (const auto& seen : task.held_out.all) {
            const auto expected = expected_s(made, seen, task.options.algorithms_of);
            if (expected) misses.add((*expected - seen.time_s) / seen.time_s);
        }
        quality.held_out_points = misses.points;
        quality.held_out_rms = misses.rms();
    }
    slot = std::move(fitted->model);
}

/* The median of n uniform numbers has a Beta distribution with both parameters (n + 1) / 2. */
double drawn_median(const std::vector<double>& sorted_s, std::mt19937_64& random) {
    std::gamma_distribution<double> gamma((static_cast<double>(sorted_s.size()) + 1.0) / 2.0);
    const double below = gamma(random);
    const double above = gamma(random);
    return quantile(sorted_s, below / (below + above));
}

// Two models whose errors differ by less describe the points alike, and the simpler one is first.
constexpr double alike = 1e-6;

bool is_better(const FitQuality& quality, const FitQuality& leader) {
    const bool tried = quality.held_out_points > 0;
    const bool leader_tried = leader.held_out_points > 0;
    if (tried != leader_tried) return tried;
    if (tried) return quality.held_out_rms < leader.held_out_rms;
    return quality.residual_rms() + alike < leader.residual_rms();
}

// Of the models that were tried on held-out points, the one with the least error; where none was,
// the one that fits best.
std::string best_of(const Platform& platform) {
    std::string best;
    for (const auto& name : model_names()) {
        if (!has_model(platform, name)) continue;
        const bool better =
            best.empty() || is_better(platform.fit_quality.at(name), platform.fit_quality.at(best));
        if (better) best = name;
    }
    return best;
}

}  // namespace

bool is_held_out(const std::vector<std::int64_t>& sizes, std::int64_t bytes) {
    const auto found = std::lower_bound(sizes.begin(), sizes.end(), bytes);
    const auto index = static_cast<std::size_t>(found - sizes.begin());
    // Never the ends: a model is asked about sizes between those it knows.
    return index >= 2 && index + 1 < sizes.size() && index % 3 == 2;
}

Observations redrawn(const Observations& observations, std::uint64_t seed) {
    std::mt19937_64 random(seed);
    std::map<std::size_t, std::vector<std::size_t>> picked; /* launches, by how many there are */
    Observations drawn{observations.conditions, {}};
    drawn.all.reserve(observations.all.size());
    for (const auto& seen : observations.all) {
        auto copy = seen;
        copy.sorted_s.clear();
        copy.launches_s.clear();
        if (seen.launches_s.empty()) {
            copy.time_s = drawn_median(seen.sorted_s, random);
        } else {
            // The same launches for all points: what differs between launches differs in all.
            auto& picks = picked[seen.launches_s.size()];
            std::uniform_int_distribution<std::size_t> any(0, seen.launches_s.size() - 1);
            while (picks.size() < seen.launches_s.size()) picks.push_back(any(random));
            std::vector<double> medians_s;
            for (const auto pick : picks)
                medians_s.push_back(drawn_median(seen.launches_s[pick], random));
            copy.time_s = centre_of(medians_s);
        }
        drawn.all.push_back(std::move(copy));
    }
    return drawn;
}

Result<Fit> fit(const Observations& observations, const FitOptions& options) {
    Fit done;
    auto& platform = done.platform;
    const auto& conditions = observations.conditions;
    platform.ranks = conditions.ranks;
    platform.hosts = conditions.hosts;
    platform.fingerprint = {conditions.mpi_family, conditions.mpi_library, conditions.launcher,
                            conditions.kernel,     conditions.cpus,        {}};
    platform.gather = find_gather_region(observations);
    const auto kept = part_of(observations, Part::kept);
    const auto held_out = part_of(observations, Part::held_out);
    const Fitting task{observations, kept, held_out, options, done};
    add_model<Hockney>(task, "hockney", fit_hockney, platform.hockney);
    add_model<LogGP>(task, "loggp", fit_loggp, platform.loggp);
    add_model<PLogP>(task, "plogp", fit_plogp, platform.plogp);
    add_model<Lmo>(task, "lmo", fit_lmo, platform.lmo);
    add_model<Piecewise>(task, "piecewise", fit_piecewise, platform.piecewise);
    platform.best = best_of(platform);
    if (platform.best.empty()) return Failure{LW_ERR_NOT_FOUND, done.lacks.front()};
    return done;
}

}  // namespace lanewise::model
