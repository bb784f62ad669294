// SPDX-License-Identifier: BSD-3-Clause
//
// Makes the table of skewed kernels for the instruction set that the including
// file is compiled for. Kernels read updated values; Jacobi has no order to skew.

#pragma once

#include <lanewise/wavefront/turned.hpp>

#include <type_traits>

#include "wavefront/kernel/cells.hpp"
#include "wavefront/kernel/skewed_table.hpp"

namespace lanewise::wavefront {

template <typename Isa, template <typename> typename Cell, unsigned skew = 1>
constexpr SkewedFunctions skewed_functions(const char *name) {
    using Single = Skewed<Isa, float, Cell<float>, skew>;
    using Double = Skewed<Isa, double, Cell<double>, skew>;
    return {name,
            Turning::no,
            &Single::template update<typename Single::Nothing>,
            &Single::template update<typename Single::Largest>,
            &Double::template update<typename Double::Nothing>,
            &Double::template update<typename Double::Largest>};
}

template <typename Isa, template <typename> typename Cell, unsigned skew = 1>
constexpr SkewedFunctions turning_functions(const char *name) {
    using Single = Skewed<Isa, float, Cell<float>, skew>;
    using Double = Skewed<Isa, double, Cell<double>, skew>;
    return {name,
            Turning::yes,
            &update_in_its_direction<Isa, float, Cell<float>, skew, typename Single::Nothing>,
            &update_in_its_direction<Isa, float, Cell<float>, skew, typename Single::Largest>,
            &update_in_its_direction<Isa, double, Cell<double>, skew, typename Double::Nothing>,
            &update_in_its_direction<Isa, double, Cell<double>, skew, typename Double::Largest>};
}

// Smith and Waterman's cell reads its north-western neighbour, for which its skew is too small in
// other directions; a table of alignments is filled in one.
template <typename Isa>
inline constexpr SkewedFunctions skewed_kernels[] = {
    turning_functions<Isa, Livermore23>("livermore23"),
    turning_functions<Isa, SuccessiveOverRelaxation>("sor"),
    turning_functions<Isa, NinePoint, 2>("sor9"),
    turning_functions<Isa, FourthOrder>("sor-fourth-order"),
    skewed_functions<Isa, SmithWaterman>("smith-waterman"),
    turning_functions<Isa, Eikonal>("eikonal"),
};

template <typename Isa>
SkewedTable skewed_table(const char *instructions) {
    return {instructions, skewed_kernels<Isa>, std::extent_v<decltype(skewed_kernels<Isa>)>};
}

}  // namespace lanewise::wavefront
