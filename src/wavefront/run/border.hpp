// SPDX-License-Identifier: BSD-3-Clause
//
// Border: where a wave meets the frontiers of a part, band by band.
//
// Of whole rows a frontier has every column. In a panel it has those that the
// wave works on there, each row with its first column and its end before it;
// then the rows of neighbours are in the store as the last pass has left them,
// so that a first wave waits for nobody, and what the last wave of a neighbour
// leaves is put there before a strip goes.

#pragma once

#include <functional>
#include <vector>

#include "wavefront/kernel/kernel.hpp"
#include "wavefront/layout/shape.hpp"
#include "wavefront/plan/parallelograms.hpp"
#include "wavefront/run/halo_exchange.hpp"

namespace lanewise::wavefront {

struct BorderSetting {
    Frontiers *frontiers = nullptr; /* none: nothing waits and nothing moves */
    Shape shape;
    std::uint64_t band_rows = 1;
    std::uint64_t band_bytes = 0; /* from band to band in memory */
    std::uint32_t thickness = 1;
    Reading reading = Reading::updated;
    Panel panel{};
    std::uint64_t iterations_before = 0;
};

class Border {
  public:
    /* The bytes of a strip of the data in memory. */
    using Locate = std::function<std::byte *(std::uint64_t strip)>;

    Border() = default;
    explicit Border(const BorderSetting& setting) : set_(setting) {}

    /* `iteration` counts from the store's beginning: that of the wave which is to work on `band`.
     */
    bool ready(std::uint64_t iteration, std::uint64_t band) const;
    void before(std::uint64_t iteration, std::uint64_t band, const Locate& locate);
    void after(std::uint64_t iteration, std::uint64_t band, const Locate& locate);
    /* In a panel: puts the neighbour's rows after `iteration`, the last one, where they belong. */
    void settle(Side side, std::uint64_t iteration, const Locate& locate);

  private:
    bool in_panels() const { return set_.shape.tile_columns > 0; }
    Moment moment(std::uint64_t iteration) const { return {iteration, set_.panel.index}; }
    /* Of the upper neighbour's rows, as the wave of `iteration` reads them. */
    std::uint64_t read_above(std::uint64_t iteration) const {
        return set_.reading == Reading::previous ? iteration - 1 : iteration;
    }
    /* Whether rows after `iteration` come from a neighbour in this panel, or are there. */
    bool is_sent(std::uint64_t iteration) const {
        return !in_panels() || iteration > set_.iterations_before;
    }
    bool meets_upper(std::uint64_t iteration, std::uint64_t band) const;
    bool meets_lower(std::uint64_t iteration, std::uint64_t band) const;
    Columns columns_of(std::uint64_t row, std::uint64_t iteration) const;
    std::byte *cell(std::uint64_t row, std::uint64_t column, const Locate& locate) const;
    std::vector<std::byte> pack(std::uint64_t first_row, std::uint64_t iteration,
                                const Locate& locate) const;
    void unpack(std::uint64_t first_row, const std::vector<std::byte>& rows,
                const Locate& locate) const;

    BorderSetting set_;
};

}  // namespace lanewise::wavefront
