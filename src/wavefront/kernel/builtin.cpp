// SPDX-License-Identifier: BSD-3-Clause
//
// The built-in kernels, one line each: scalar ones from here, skewed ones from the tables of
// the instruction sets.

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <string_view>

#include "base/quantities.hpp"
#include "wavefront/kernel/cells.hpp"
#include "wavefront/kernel/kernel.hpp"
#include "wavefront/kernel/planes.hpp"
#include "wavefront/kernel/rows.hpp"
#include "wavefront/kernel/skewed_table.hpp"
#include "wavefront/layout/values.hpp"

namespace lanewise::wavefront {
namespace {

// The parameters of a cell as it lies in memory.
template <typename Real>
std::shared_ptr<const void> cell_values(const std::string& name, const std::vector<double>& p,
                                        std::uint64_t line) {
    const auto real = [&](std::size_t i) { return static_cast<Real>(p[i]); };
    if (name == "livermore23")
        return std::make_shared<Livermore23<Real>>(Livermore23<Real>{real(0)});
    if (name == "sor")
        return std::make_shared<SuccessiveOverRelaxation<Real>>(SuccessiveOverRelaxation<Real>{
            static_cast<Real>(1.0 - p[0]), static_cast<Real>(p[0] / 4)});
    if (name == "sor9")
        return std::make_shared<NinePoint<Real>>(
            NinePoint<Real>{static_cast<Real>(1.0 - p[0]), static_cast<Real>(p[0] / 20)});
    if (name == "sor-fourth-order")
        return std::make_shared<FourthOrder<Real>>(
            FourthOrder<Real>{static_cast<Real>(1.0 - p[0]), static_cast<Real>(p[0] / 60)});
    if (name == "smith-waterman")
        return std::make_shared<SmithWaterman<Real>>(SmithWaterman<Real>{real(0)});
    if (name == "eikonal") return std::make_shared<Eikonal<Real>>();
    if (name == "sor-3d")
        return std::make_shared<SevenPoint<Real>>(
            SevenPoint<Real>{line, static_cast<Real>(1.0 - p[0]), static_cast<Real>(p[0] / 6)});
    if (name == "eikonal-3d") return std::make_shared<Eikonal3<Real>>(Eikonal3<Real>{line});
    return std::make_shared<Jacobi<Real>>();
}

struct Functions {
    RowBlockFunction update;
    RowBlockFunction measure;
};

template <typename Stored>
Functions scalar_functions(const std::string& name) {
    using Real = arithmetic_t<Stored>;
    const auto both = [](auto cell) {
        using Cell = decltype(cell);
        return Functions{&update_rows<Stored, Cell, Unmeasured>,
                         &update_rows<Stored, Cell, LargestChange<Real>>};
    };
    const auto both_of_planes = [](auto cell) {
        using Cell = decltype(cell);
        return Functions{&update_planes<Stored, Cell, Unmeasured>,
                         &update_planes<Stored, Cell, LargestChange<Real>>};
    };
    if (name == "sor-3d") return both_of_planes(SevenPoint<Real>{});
    if (name == "eikonal-3d") return both_of_planes(Eikonal3<Real>{});
    if (name == "livermore23") return both(Livermore23<Real>{});
    if (name == "sor") return both(SuccessiveOverRelaxation<Real>{});
    if (name == "sor9") return both(NinePoint<Real>{});
    if (name == "sor-fourth-order") return both(FourthOrder<Real>{});
    if (name == "smith-waterman") return both(SmithWaterman<Real>{});
    if (name == "eikonal") return both(Eikonal<Real>{});
    return both(Jacobi<Real>{});
}

// A kernel that goes row by row.
struct Scalar {
    std::shared_ptr<const void> cell;
    Functions functions;
};

template <typename Stored>
Scalar scalar_of(const std::string& name, const std::vector<double>& parameters,
                 std::uint64_t line) {
    if constexpr (std::is_integral_v<Stored>) {
        // The only one on whole numbers.
        using Cell = SmithWaterman<Stored>;
        return {std::make_shared<Cell>(Cell{static_cast<Stored>(parameters[0])}),
                {&update_rows<Stored, Cell, Unmeasured>,
                 &update_rows<Stored, Cell, LargestChange<Stored>>}};
    } else {
        return {cell_values<arithmetic_t<Stored>>(name, parameters, line),
                scalar_functions<Stored>(name)};
    }
}

Scalar scalar_for(const std::string& name, const std::vector<double>& parameters, Element element,
                  std::uint64_t line) {
    return with_value_type(element, [&]<typename Value>(std::type_identity<Value> /*type*/) {
        if constexpr (std::is_convertible_v<Value, double>)
            return scalar_of<Value>(name, parameters, line);
        else
            return Scalar{};
    });
}

// The best table that this processor runs; LANEWISE_WAVEFRONT_SIMD names a lesser one.
SkewedTable choose_table() {
#ifdef LANEWISE_HAS_SKEWED_AVX
    const char *const named = std::getenv("LANEWISE_WAVEFRONT_SIMD");
    const std::string_view wanted = named ? named : "";
    if (wanted != "avx2" && wanted != "portable" && __builtin_cpu_supports("avx512f"))
        return skewed_avx512();
    if (wanted != "portable" && __builtin_cpu_supports("avx2")) return skewed_avx2();
#endif
    return skewed_portable();
}

const SkewedTable& table() {
    static const SkewedTable chosen = choose_table();
    return chosen;
}

const SkewedFunctions *skewed_functions(const std::string& name) {
    const auto& chosen = table();
    const auto *end = chosen.functions + chosen.count;
    const auto *found = std::find_if(chosen.functions, end,
                                     [&](const SkewedFunctions& f) { return name == f.cell; });
    return found == end ? nullptr : found;
}

Outcome check_element(const std::string& kernel, Element element) {
    const auto numbers = numbers_of(element);
    const bool on_whole_numbers = kernel == "smith-waterman";
    if (numbers == Numbers::real || (numbers == Numbers::whole && on_whole_numbers)) return Done{};
    return bad_argument(kernel + " works on f16, f32" +
                        (on_whole_numbers ? ", f64, i32 and i64" : " and f64") + ", not " +
                        element_name(element));
}

template <typename Whole>
bool is_whole(double value) {
    // Both limits are powers of two, and exact.
    constexpr auto limit = -static_cast<double>(std::numeric_limits<Whole>::min());
    return value >= -limit && value < limit && value == std::trunc(value);
}

Outcome check_whole(const KernelInfo& info, const std::vector<double>& parameters,
                    Element element) {
    for (const double value : parameters) {
        if (element == Element::i32 ? is_whole<std::int32_t>(value) : is_whole<std::int64_t>(value))
            continue;
        return bad_argument(std::string(info.name) + " on " + element_name(element) +
                            " takes a whole number within its range (" + info.parameters + ")");
    }
    return Done{};
}

Outcome check_parameters(const KernelInfo& info, const std::vector<double>& parameters) {
    if (parameters.size() != info.defaults.size())
        return bad_argument(std::string(info.name) + " takes " +
                            counted(info.defaults.size(), "parameter") + " (" + info.parameters +
                            "), not " + std::to_string(parameters.size()));
    for (const double value : parameters) {
        if (!(value - value == 0.0))
            return bad_argument("a parameter of a kernel is a finite number");
    }
    return Done{};
}

}  // namespace

const std::vector<KernelInfo>& kernel_infos() {
    static const std::vector<KernelInfo> infos = {
        {"livermore23",
         "implicit hydrodynamics, Livermore loop 23 (zb zv zu zr zz)",
         "relaxation=0.175",
         {0.175},
         5,
         1},
        {"sor",
         "successive over-relaxation of Poisson's equation (h^2 f)",
         "omega=1.5",
         {1.5},
         1,
         1},
        {"sor9", "the same with all eight neighbours (6 h^2 f)", "omega=1.5", {1.5}, 1, 2},
        {"sor-fourth-order",
         "the same to the fourth order, two cells away (12 h^2 f)",
         "omega=1.5",
         {1.5},
         1,
         1,
         2},
        {"smith-waterman", "table of local alignments (score of each pair)", "gap=2", {2.0}, 1, 1},
        {"eikonal", "first arrival times, upwind differences (h times the slowness)", "", {}, 1, 1},
        {"jacobi", "Jacobi's iteration of Poisson's equation (h^2 f)", "", {}, 1, 0},
        {"sor-3d", "the same as sor, in three dimensions (h^2 f)", "omega=1.5", {1.5}, 1, 0, 1, 3},
        {"eikonal-3d",
         "first arrival times in three dimensions (h times the slowness)",
         "",
         {},
         1,
         0,
         1,
         3},
    };
    return infos;
}

Result<KernelInfo> kernel_info(const std::string& name) {
    std::string known;
    for (const auto& info : kernel_infos()) {
        if (name == info.name) return info;
        known += (known.empty() ? "" : ", ") + std::string(info.name);
    }
    return bad_argument("unknown kernel \"" + name + "\"; use one of " + known);
}

Result<Kernel> make_kernel(const std::string& name, const std::vector<double>& given,
                           Element element, const Layout *layout, std::uint64_t line_columns) {
    const auto info = kernel_info(name);
    if (!info) return info.failure();
    const auto& parameters = given.empty() ? info->defaults : given;
    const auto sound = check_parameters(*info, parameters);
    if (!sound) return sound.failure();
    const auto known = check_element(name, element);
    if (!known) return known.failure();
    if (numbers_of(element) == Numbers::whole) {
        const auto whole = check_whole(*info, parameters, element);
        if (!whole) return whole.failure();
    }
    if (layout == &layouts::skewed && info->skew == 0)
        return bad_argument(name + " has no skewed form: it goes row by row on any layout");

    if (info->dimensions == 3 && line_columns == 0)
        return bad_argument(name +
                            " goes over three dimensions; create the store with --shape "
                            "N0,N1,N2");
    if (info->dimensions == 2 && line_columns > 0)
        return bad_argument(name +
                            " goes over two dimensions, and the store has three; use "
                            "sor-3d, eikonal-3d or a kernel of your own");
    Kernel kernel{.name = name,
                  .radius = info->radius,
                  .line_columns = line_columns,
                  .layout = layout,
                  .skew = layout == &layouts::skewed ? info->skew : 1,
                  .element = element,
                  .coefficient_count = info->coefficient_count,
                  .parameters = parameters};
    if (name == "jacobi") {
        kernel.reading = Reading::previous;
        kernel.scratch_rows = 3;
    }
    const auto scalar = scalar_for(name, parameters, element, line_columns);
    const auto& cell = scalar.cell;
    if (layout == &layouts::skewed) {
        const bool single = element == Element::f32;
        const auto *skewed = skewed_functions(name);
        const auto advance = [&](StepFunction f) {
            return [cell, f](const Step& step) { f(cell.get(), step); };
        };
        kernel.steps = Steps::column_blocks;
        kernel.advance = advance(single ? skewed->update_f32 : skewed->update_f64);
        kernel.advance_and_measure = advance(single ? skewed->measure_f32 : skewed->measure_f64);
        return kernel;
    }
    const auto advance = [&](RowBlockFunction f) {
        return step_by_row_blocks([cell, f](const Step& step, const RowBlock& row_block) {
            return f(cell.get(), step, row_block);
        });
    };
    kernel.advance = advance(scalar.functions.update);
    kernel.advance_and_measure = advance(scalar.functions.measure);
    if (layout == &layouts::slanted) slant(kernel);
    return kernel;
}

bool suits_skewed(const MatrixShape& shape) {
    return (shape.layout != &layouts::row_major || shape.tile_columns) &&
           bool(check_shape(with_layout(shape, &layouts::skewed)));
}

// With each row `radius` columns further left than the one above, what it reads of the rows above,
// up to `radius` columns to the right, is done already.
void slant(Kernel& kernel) {
    kernel.layout = &layouts::slanted;
    kernel.skew = kernel.radius;
    kernel.scratch_rows = 0;
    kernel.second_copies = kernel.reading == Reading::previous ? kernel.data_count : 0;
}

MatrixShape working_shape(const Kernel& kernel, const MatrixShape& stored) {
    auto shape = with_layout(with_facing(stored, kernel.facing), kernel.layout, kernel.skew);
    if (kernel.layout == &layouts::slanted)
        shape.rows_per_block = slanted_rows_per_block(stored, kernel.radius);
    return shape;
}

Result<Kernel> make_kernel_for(const std::string& name, const std::vector<double>& parameters,
                               const MatrixShape& shape) {
    const auto info = kernel_info(name);
    if (!info) return info.failure();
    const bool skewed = info->skew > 0 && suits_skewed(shape);
    const auto *const by_rows = shape.tile_columns ? &layouts::slanted : &layouts::row_major;
    auto kernel = make_kernel(name, parameters, shape.element, skewed ? &layouts::skewed : by_rows,
                              shape.line_columns);
    if (!kernel) return kernel;
    kernel->turned = [name, parameters, element = shape.element, by_rows,
                      line = shape.line_columns](const Direction& facing) {
        auto turned = make_kernel(name, parameters, element, by_rows, line);
        if (turned) turned->facing = facing;
        return turned;
    };
    if (skewed && !shape.tile_columns && skewed_functions(name)->turning == Turning::yes) {
        kernel->turned_at_once = [name, parameters,
                                  element = shape.element](const Direction& facing) {
            auto turned = make_kernel(name, parameters, element, &layouts::skewed);
            if (turned) turned->facing = facing;
            return turned;
        };
    }
    return kernel;
}

const char *skewed_instructions() {
    return table().instructions;
}

}  // namespace lanewise::wavefront
