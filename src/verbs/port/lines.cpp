// SPDX-License-Identifier: BSD-3-Clause
#include "verbs/port/lines.hpp"

#include <algorithm>
#include <bit>
#include <cstring>

namespace lanewise::verbs::port {
namespace {

// Each use by another route costs one: of up to four that take turns in a place, one keeps it.
constexpr int credit_of_use = 4;
constexpr int credit_max = 256;

}  // namespace

// Multiplicative hashing (Knuth, The Art of Computer Programming 3, 6.4).
Lines::Place& Lines::place_of(const Route& route) {
    constexpr std::uint64_t golden = 0x9e3779b97f4a7c15;
    constexpr int shift = 64 - std::bit_width(unsigned{places - 1});
    std::array<std::uint64_t, 4> words{};
    std::memcpy(words.data(), route.source.data(), sizeof route.source);
    std::memcpy(words.data() + 2, route.destination.data(), sizeof route.destination);
    std::uint64_t sum = route.interface;
    for (const std::uint64_t word : words) sum = std::rotl(sum, 13) ^ word;
    return places_[sum * golden >> shift];
}

Line *Lines::find(const Route& route) {
    Place& place = place_of(route);
    return place.line && place.route == route ? &*place.line : nullptr;
}

Line *Lines::use(const Route& route) {
    Place& place = place_of(route);
    if (place.route != route) {
        if (--place.credit > 0) return nullptr;
        place = {};
        place.route = route;
    }
    place.credit = std::min(place.credit + credit_of_use, credit_max);
    ++place.uses;
    // A route that cannot have a line is not tried again before it has lost its place.
    if (place.uses == uses_before_open) place.line = Line::open(route);
    return place.line ? &*place.line : nullptr;
}

void Lines::close(const Route& route) {
    Place& place = place_of(route);
    if (place.route == route) place = {};
}

}  // namespace lanewise::verbs::port
