// SPDX-License-Identifier: BSD-3-Clause
//
// Border: where a wave meets the frontiers of a part, band by band.

#pragma once

#include <functional>
#include <vector>

#include "wavefront/kernel/kernel.hpp"
#include "wavefront/run/frontiers.hpp"
#include "wavefront/shape.hpp"

namespace lanewise::wavefront {

class Border {
  public:
    /* Where row `row` of data matrix 0 has its strip: the bytes of that strip in memory. */
    using Locate = std::function<std::byte *(std::uint64_t strip)>;

    /* No frontiers: nothing waits and nothing moves. */
    Border() = default;
    Border(Frontiers *frontiers, const Shape& shape, std::uint64_t band_rows, const Kernel& kernel);

    /* `iteration` counts from the store's beginning: that of the wave which is to work on `band`.
     */
    bool ready(std::uint64_t iteration, std::uint64_t band) const;
    void before(std::uint64_t iteration, std::uint64_t band, const Locate& locate);
    void after(std::uint64_t iteration, std::uint64_t band, const Locate& locate);

  private:
    enum class Move { out, in };
    /* Of the upper neighbour's rows, as the wave of `iteration` reads them. */
    std::uint64_t read_above(std::uint64_t iteration) const {
        return reading_ == Reading::previous ? iteration - 1 : iteration;
    }
    bool meets_upper(std::uint64_t band) const;
    bool meets_lower(std::uint64_t band) const;
    void move(std::uint64_t first_row, std::byte *rows, Move way, const Locate& locate) const;

    Frontiers *frontiers_ = nullptr;
    Shape shape_;
    std::uint64_t band_rows_ = 1;
    std::uint64_t thickness_ = 1;
    Reading reading_ = Reading::updated;
};

}  // namespace lanewise::wavefront
