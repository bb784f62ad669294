// SPDX-License-Identifier: BSD-3-Clause
//
// Two substances that react and spread: the update of a cell in gray_scott.cpp and
// gray_scott_ranks.cpp. Gray and Scott 1984; Pearson, Complex patterns in a simple system, 1993.

#pragma once

#include <array>

struct gray_scott {
    static constexpr int radius = 1;
    static constexpr bool reads_previous = true;
    double feed;
    double kill;
    std::array<double, 2> operator()(const auto& u, const auto& v) const {
        const auto spread = [](const auto& c) {
            return c(-1, 0) + c(0, -1) + c(0, 1) + c(1, 0) - 4 * c(0, 0);
        };
        const double reaction = u(0, 0) * v(0, 0) * v(0, 0);
        return {u(0, 0) + 0.16 * spread(u) - reaction + feed * (1 - u(0, 0)),
                v(0, 0) + 0.08 * spread(v) + reaction - (feed + kill) * v(0, 0)};
    }
};
