// SPDX-License-Identifier: BSD-3-Clause
//
// KnomialFamily: an algorithm over k-nomial trees, once for each k. All of them can be named
// ("knomial:5"), and a few are registered, which are those that are listed and tried.

#pragma once

#include <array>
#include <string_view>
#include <utility>

#include "collectives/algorithm.hpp"

namespace lanewise::collectives {

inline constexpr std::string_view knomial_prefix = "knomial:";
inline constexpr int radix_min = 2;
inline constexpr int radix_max = 64;

using KnomialFamily = std::array<Algorithm, radix_max - radix_min + 1>;

namespace knomial {

/* "knomial:5", with a zero behind it. */
template <int radix>
constexpr auto named() {
    static_assert(radix < 100);
    std::array<char, knomial_prefix.size() + 3> name{};
    std::size_t at = 0;
    for (const char letter : knomial_prefix) name[at++] = letter;
    if (radix >= 10) name[at++] = static_cast<char>('0' + radix / 10);
    name[at] = static_cast<char>('0' + radix % 10);
    return name;
}

template <int radix>
inline constexpr auto name = named<radix>();

template <model::Schedule (*build)(const CallShape&, int), int radix>
model::Schedule built(const CallShape& shape) {
    return build(shape, radix);
}

template <model::Schedule (*build)(const CallShape&, int), int radix>
constexpr Algorithm member(Algorithm algorithm) {
    algorithm.name = name<radix>.data();
    algorithm.build = built<build, radix>;
    algorithm.radix = radix;
    return algorithm;
}

}  // namespace knomial

/* `build` makes the schedule for a radix; `any` is what they have in common. */
template <model::Schedule (*build)(const CallShape&, int)>
constexpr KnomialFamily knomial_family(const Algorithm& any) {
    return [&]<int... above>(std::integer_sequence<int, above...>) {
        return KnomialFamily{knomial::member<build, radix_min + above>(any)...};
    }
    (std::make_integer_sequence<int, radix_max - radix_min + 1>());
}

constexpr const Algorithm& of_radix(const KnomialFamily& family, int radix) {
    return family[static_cast<std::size_t>(radix - radix_min)];
}

}  // namespace lanewise::collectives
