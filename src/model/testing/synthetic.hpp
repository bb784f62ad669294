// SPDX-License-Identifier: BSD-3-Clause
//
// Synthetic observations, for tests: what would be measured on a network whose every number is
// known, with log-normal noise on each sample.

#pragma once

#include <algorithm>
#include <cmath>
#include <random>
#include <vector>

#include "base/statistics.hpp"
#include "model/fit/expected_time.hpp"

namespace lanewise::model {

class Synthetic {
  public:
    explicit Synthetic(Network network, double noise = 0.0, unsigned seed = 1)
        : network_(std::move(network)), noise_(noise), random_(seed) {
        seen_.conditions.ranks = network_.ranks;
        seen_.conditions.launcher = "synthetic";
        for (int rank = 0; rank < network_.ranks; ++rank) {
            seen_.conditions.hosts.push_back("host" + std::to_string(rank));
            seen_.conditions.cpus.push_back("0");
        }
    }

    Synthetic& pairs(const std::vector<std::int64_t>& sizes) {
        return meet(Experiment::pair, "pairs", sizes, true);
    }
    Synthetic& trains(const std::vector<std::int64_t>& sizes) {
        return meet(Experiment::train, "trains", sizes, false);
    }
    Synthetic& sends(const std::vector<std::int64_t>& sizes) {
        return meet(Experiment::send, "sends", sizes, false);
    }
    Synthetic& receives(const std::vector<std::int64_t>& sizes) {
        return meet(Experiment::receive, "receives", sizes, false);
    }
    Synthetic& triplets(const std::vector<std::int64_t>& sizes, bool same_reply = false) {
        const int n = network_.ranks;
        for (const auto bytes : sizes) {
            for (int i = 0; i < n; ++i) {
                for (int j = 0; j < n; ++j) {
                    for (int k = j + 1; k < n; ++k) {
                        if (i == j || i == k) continue;
                        add({.experiment = Experiment::triplet,
                             .operation = "triplets",
                             .root = i,
                             .peer = j,
                             .second_peer = k,
                             .message_bytes = bytes,
                             .reply_bytes = same_reply ? bytes : 0,
                             .sorted_s = {}});
                    }
                }
            }
        }
        return *this;
    }
    /* A collective that is known to take `time_s`. */
    Synthetic& collective(const char *operation, std::int64_t bytes, double time_s) {
        add({.experiment = Experiment::collective,
             .operation = operation,
             .message_bytes = bytes,
             .time_s = time_s,
             .sorted_s = {}});
        return *this;
    }
    const Observations& observations() const { return seen_; }

  private:
    static constexpr int samples = 40;

    Synthetic& meet(Experiment experiment, const char *operation,
                    const std::vector<std::int64_t>& sizes, bool answered) {
        for (const auto bytes : sizes) {
            for (int i = 0; i < network_.ranks; ++i) {
                for (int j = i + 1; j < network_.ranks; ++j) {
                    add({.experiment = experiment,
                         .operation = operation,
                         .root = i,
                         .peer = j,
                         .message_bytes = bytes,
                         .reply_bytes = answered ? bytes : 0,
                         .sorted_s = {}});
                }
            }
        }
        return *this;
    }
    double truth_s(const Observation& seen) const {
        if (seen.experiment == Experiment::collective) return seen.time_s;
        if (seen.experiment == Experiment::send)
            return network_.cost(seen.root, seen.peer, seen.message_bytes).send_s;
        if (seen.experiment == Experiment::receive)
            return network_.cost(seen.peer, seen.root, seen.message_bytes).receive_s;
        return *expected_s(network_, seen);
    }
    void add(Observation seen) {
        const double true_s = truth_s(seen);
        std::normal_distribution<double> normal;
        for (int i = 0; i < samples; ++i)
            seen.sorted_s.push_back(true_s * std::exp(noise_ * normal(random_)));
        std::sort(seen.sorted_s.begin(), seen.sorted_s.end());
        seen.time_s = quantile(seen.sorted_s, 0.5);
        seen_.all.push_back(std::move(seen));
    }

    Network network_;
    double noise_;
    std::mt19937 random_;
    Observations seen_;
};

/* 0, 1, 16, 64, ... 1 MiB. */
inline std::vector<std::int64_t> all_sizes() {
    std::vector<std::int64_t> sizes{0, 1};
    for (std::int64_t size = 16; size <= 1 << 20; size *= 4) sizes.push_back(size);
    return sizes;
}

}  // namespace lanewise::model
