// SPDX-License-Identifier: BSD-3-Clause
//
// Parameter: a number of a model with its 95 % interval, and tables of them:
// one entry for every unordered pair of ranks.

#pragma once

#include <algorithm>
#include <cstddef>
#include <string>
#include <vector>

namespace lanewise::model {

struct Parameter {
    double value = 0.0;
    double low = 0.0;
    double high = 0.0;

    Parameter() = default;
    explicit Parameter(double v) : value(v), low(v), high(v) {}
    Parameter(double v, double l, double h) : value(v), low(l), high(h) {}
};

/* One `Link` for each pair of `ranks` ranks; a link is the same both ways. */
template <typename Link>
class Links {
  public:
    Links() = default;
    explicit Links(int ranks)
        : ranks_(ranks),
          links_(static_cast<std::size_t>(ranks) * static_cast<std::size_t>(ranks) / 2) {}

    int ranks() const { return ranks_; }
    Link& at(int a, int b) { return links_[place(a, b)]; }
    const Link& at(int a, int b) const { return links_[place(a, b)]; }

    /* Calls `visit(i, j, link)` for each i < j, in order. */
    template <typename Visit>
    void each(Visit&& visit) {
        for (int i = 0; i < ranks_; ++i) {
            for (int j = i + 1; j < ranks_; ++j) visit(i, j, at(i, j));
        }
    }
    template <typename Visit>
    void each(Visit&& visit) const {
        for (int i = 0; i < ranks_; ++i) {
            for (int j = i + 1; j < ranks_; ++j) visit(i, j, at(i, j));
        }
    }
    std::size_t count() const {
        const auto n = static_cast<std::size_t>(ranks_);
        return n < 2 ? 0 : n * (n - 1) / 2;
    }

  private:
    std::size_t place(int a, int b) const {
        const auto low = static_cast<std::size_t>(std::min(a, b));
        const auto high = static_cast<std::size_t>(std::max(a, b));
        return high * (high - 1) / 2 + low;
    }

    int ranks_ = 0;
    std::vector<Link> links_;
};

/* The mean of what two ranks add to a message, over all pairs. */
template <typename Link>
Link mean_of(const Links<Link>& links) {
    Link mean;
    const auto count = static_cast<double>(links.count());
    links.each([&](int, int, const Link& link) {
        mean.latency_s.value += link.latency_s.value / count;
        mean.s_per_byte.value += link.s_per_byte.value / count;
    });
    return mean;
}

/* A fitted model, with what had to be put right on the way, a sentence each. */
template <typename Model>
struct Fitted {
    Model model;
    std::vector<std::string> notes;
};

}  // namespace lanewise::model
