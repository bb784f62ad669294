// SPDX-License-Identifier: BSD-3-Clause
//
// User kernels: a pointer to a function that updates a row, made into the update
// of a band. The largest change is found by comparing the row before and after;
// a watched kernel may write nothing but its columns of its row.

#include <complex>
#include <cstring>
#include <memory>
#include <optional>
#include <vector>

#include "wavefront/kernel/kernel.hpp"
#include "wavefront/kernel/rows.hpp"

namespace lanewise::wavefront {
namespace {

struct UserSweep {
    UserKernel user;
    Shape shape;

    std::uint64_t row_bytes() const { return shape.columns * element_bytes(shape.element); }
    std::uint64_t kept_count() const { return 2 * std::uint64_t{user.thickness} + 1; }
};

// The pointers that a row function is given.
struct RowPointers {
    std::vector<void *> updated;
    std::vector<const void *> data;
    std::vector<const void *> coefficients;
};

void point_at(const UserSweep& sweep, const Band& band, std::uint64_t row, RowPointers& pointers) {
    const auto row_bytes = sweep.row_bytes();
    const auto kept_count = sweep.kept_count();
    const std::uint64_t thickness = sweep.user.thickness;
    for (std::uint32_t m = 0; m < band.data_count; ++m) {
        pointers.updated[m] = row_at(band, m, row, row_bytes);
        for (std::uint64_t i = 0; i < kept_count; ++i) {
            const auto other = row + i - thickness;
            const bool kept = sweep.user.reading == Reading::previous && i <= thickness;
            pointers.data[m * kept_count + i] =
                kept ? kept_row(band, m, other, row_bytes, kept_count)
                     : row_at(band, m, other, row_bytes);
        }
    }
    for (std::uint32_t m = 0; m < band.coefficient_count; ++m)
        pointers.coefficients[m] = row_at(band, band.data_count + m, row, row_bytes);
}

template <typename Value>
double largest_change(const std::byte *before, const std::byte *after, std::uint64_t count) {
    LargestChange<double> largest;
    for (std::uint64_t j = 0; j < count; ++j) {
        Value was;
        Value is;
        std::memcpy(&was, before + j * sizeof(Value), sizeof(Value));
        std::memcpy(&is, after + j * sizeof(Value), sizeof(Value));
        largest.see(0.0, static_cast<double>(std::abs(is - was)));
    }
    return largest.value;
}

double change_of_row(Element element, const std::byte *before, const std::byte *after,
                     std::uint64_t count) {
    switch (element) {
        case Element::f32:
            return largest_change<float>(before, after, count);
        case Element::f64:
            return largest_change<double>(before, after, count);
        case Element::c64:
            return largest_change<std::complex<float>>(before, after, count);
        case Element::c128:
            return largest_change<std::complex<double>>(before, after, count);
    }
    return 0.0;
}

// Rows as they were before a call, to find the change or what a call wrote that it must not.
class Remembered {
  public:
    Remembered(const RowPointers& pointers, std::uint64_t row_bytes)
        : pointers_(pointers), row_bytes_(row_bytes), bytes_(pointers.data.size() * row_bytes) {
        for (std::size_t i = 0; i < pointers.data.size(); ++i)
            std::memcpy(at(i), pointers.data[i], row_bytes);
    }
    std::byte *at(std::size_t i) { return bytes_.data() + i * row_bytes_; }
    bool same(std::size_t i, std::uint64_t begin, std::uint64_t end) {
        const auto *now = static_cast<const std::byte *>(pointers_.data[i]);
        return std::memcmp(now + begin, at(i) + begin, end - begin) == 0;
    }

  private:
    const RowPointers& pointers_;
    std::uint64_t row_bytes_;
    std::vector<std::byte> bytes_;
};

void check_writes(const UserSweep& sweep, Remembered& before, std::uint64_t row,
                  const RowPointers& pointers) {
    const auto kept_count = sweep.kept_count();
    const auto edge = sweep.user.thickness * element_bytes(sweep.shape.element);
    for (std::size_t i = 0; i < pointers.data.size(); ++i) {
        const bool own_row = pointers.data[i] == pointers.updated[i / kept_count];
        const bool sound = own_row ? before.same(i, 0, edge) &&
                                         before.same(i, sweep.row_bytes() - edge, sweep.row_bytes())
                                   : before.same(i, 0, sweep.row_bytes());
        if (!sound)
            throw KernelFailure("the kernel wrote outside its columns while updating row " +
                                std::to_string(row) +
                                "; it may write columns first to end - 1 of "
                                "the rows in `updated` only");
    }
}

enum class Measuring { no, yes };

double update_band(const UserSweep& sweep, const Band& band, Measuring measuring) {
    RowPointers pointers{std::vector<void *>(band.data_count),
                         std::vector<const void *>(band.data_count * sweep.kept_count()),
                         std::vector<const void *>(band.coefficient_count)};
    const auto row_bytes = sweep.row_bytes();
    const auto thickness = sweep.user.thickness;
    LargestChange<double> largest;
    for (auto row = band.first_row; row < band.first_row + band.row_count; ++row) {
        if (sweep.user.reading == Reading::previous) {
            for (std::uint32_t m = 0; m < band.data_count; ++m)
                std::memcpy(kept_row(band, m, row, row_bytes, sweep.kept_count()),
                            row_at(band, m, row, row_bytes), row_bytes);
        }
        if (!is_interior(band, row, thickness) || band.columns <= 2 * thickness) continue;
        point_at(sweep, band, row, pointers);
        const bool watching =
            measuring == Measuring::yes || sweep.user.writes == WriteCheck::watched;
        std::optional<Remembered> before;
        if (watching) before.emplace(pointers, row_bytes);
        sweep.user.update(pointers.updated.data(), pointers.data.data(),
                          pointers.coefficients.data(), static_cast<std::int64_t>(row), thickness,
                          static_cast<std::int64_t>(band.columns - thickness), sweep.user.context);
        if (sweep.user.writes == WriteCheck::watched) check_writes(sweep, *before, row, pointers);
        if (measuring == Measuring::no) continue;
        for (std::uint32_t m = 0; m < band.data_count; ++m) {
            const auto *after = static_cast<const std::byte *>(pointers.updated[m]);
            largest.see(0.0, change_of_row(sweep.shape.element,
                                           before->at(m * sweep.kept_count() + thickness), after,
                                           band.columns));
        }
    }
    return largest.value;
}

}  // namespace

Result<Kernel> make_user_kernel(const UserKernel& user, const Shape& shape) {
    const bool skewed = user.advance && user.advance_and_measure && suits_skewed(shape);
    const auto refuse = [&](const std::string& sentence) {
        return Failure{LW_ERR_ARGUMENT, user.name + ": " + sentence};
    };
    if (!skewed && !user.update) return refuse("a kernel of your own needs a function");
    if (user.thickness < 1 || user.thickness > 8)
        return refuse("thickness " + std::to_string(user.thickness) + " is not within 1 to 8");
    if (skewed && (user.thickness >= skew_lanes || user.reading == Reading::previous))
        return refuse("steps are for kernels of thickness 1 to 7 that read updated values");
    if (skewed && (user.skew < 1 || user.skew > user.thickness + std::uint64_t{1}))
        return refuse("a skew of " + std::to_string(user.skew) + " is not within 1 to " +
                      std::to_string(user.thickness + 1));
    Kernel kernel{.name = user.name,
                  .origin = Origin::own,
                  .thickness = user.thickness,
                  .layout = skewed ? Layout::skewed : Layout::row_major,
                  .skew = skewed ? user.skew : 1,
                  .element = shape.element,
                  .data_count = shape.data_count,
                  .coefficient_count = shape.coefficient_count,
                  .reading = user.reading};
    if (skewed) {
        const auto advance = [&](UserStep step) {
            return [step, context = user.context](const Step& s) { step(context, &s); };
        };
        kernel.steps = Steps::spans;
        kernel.advance = advance(user.advance);
        kernel.advance_and_measure = advance(user.advance_and_measure);
        return kernel;
    }
    const auto sweep = std::make_shared<const UserSweep>(UserSweep{user, shape});
    if (user.reading == Reading::previous) kernel.scratch_rows = sweep->kept_count();
    const auto advance = [&](Measuring measuring) {
        return step_by_bands(
            [sweep, measuring](const Band& b) { return update_band(*sweep, b, measuring); });
    };
    kernel.advance = advance(Measuring::no);
    kernel.advance_and_measure = advance(Measuring::yes);
    return kernel;
}

Outcome check_kernel(const Kernel& kernel, const Shape& shape) {
    const auto refuse = [&](const std::string& sentence) {
        return Failure{LW_ERR_ARGUMENT, kernel.name + " " + sentence};
    };
    if (kernel.data_count != shape.data_count ||
        kernel.coefficient_count != shape.coefficient_count)
        return refuse("needs " + std::to_string(kernel.data_count) + " data and " +
                      std::to_string(kernel.coefficient_count) +
                      " coefficient matrices; the store has " + std::to_string(shape.data_count) +
                      " and " + std::to_string(shape.coefficient_count));
    if (kernel.element != shape.element)
        return refuse(std::string("was made for ") + element_name(kernel.element) +
                      "; the store holds " + element_name(shape.element));
    if (shape.tile_columns && kernel.steps == Steps::whole)
        return refuse("goes over whole rows; the store is cut into tiles of " +
                      std::to_string(shape.tile_columns) +
                      " columns, convert it without --tile-columns");
    return check_shape(working_shape(kernel, shape));
}

}  // namespace lanewise::wavefront
