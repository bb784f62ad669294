// SPDX-License-Identifier: BSD-3-Clause
//
// The lines of a process: one for each route that is used often. Their number is bounded. Routes
// that fall into the same place compete by use, so that a process with many peers does not open and
// close lines all the time.

#pragma once

#include <array>
#include <optional>

#include "verbs/port/line.hpp"

namespace lanewise::verbs::port {

class Lines {
  public:
    static constexpr int places = 64;
    static constexpr int uses_before_open = 16;

    // Counts a use of a route. Its line, which this may open; null where it has none.
    Line *use(const Route& route);
    // The same without a use.
    Line *find(const Route& route);
    void close(const Route& route);
    // Routes may have changed.
    void close_all() { places_ = {}; }

  private:
    struct Place {
        Route route;
        std::uint64_t uses = 0;
        int credit = 0;
        std::optional<Line> line;
    };
    Place& place_of(const Route& route);

    std::array<Place, places> places_;
};

}  // namespace lanewise::verbs::port
