// SPDX-License-Identifier: BSD-3-Clause

#include "measure/harness/origins.hpp"

namespace lanewise::measure {

int rank_at(const Standpoint& s, int distance) {
    return ((s.me + distance) % s.size + s.size) % s.size;
}

int partner(const Standpoint& s) {
    return (s.root + 1) % s.size;
}

std::vector<int> ranks_from(int first, int end) {
    std::vector<int> ranks;
    for (int r = first; r < end; ++r) ranks.push_back(r);
    return ranks;
}

Origins repeated(int times, const Origin& origin) {
    return Origins(static_cast<std::size_t>(times), origin);
}

Origins from_each(const Standpoint& s, int block) {
    Origins all;
    for (int r = 0; r < s.size; ++r) all.push_back({{r}, block});
    return all;
}

Origins from_others(const Standpoint& s, int sign) {
    Origins all;
    for (int step = 1; step < s.size; ++step) all.push_back({{rank_at(s, sign * step)}});
    return all;
}

Origins at_root(const Standpoint& s, const Origins& all) {
    return s.me == s.root ? all : Origins{};
}

Origins at_partner(const Standpoint& s, const Origins& all) {
    return s.me == partner(s) ? all : Origins{};
}

Origins from_root_to_partner(const Standpoint& s) {
    return at_partner(s, {{{s.root}}});
}

Origins from_each_to_its_partner(const Standpoint& s) {
    return s.me == s.root ? Origins{{{partner(s)}}} : from_root_to_partner(s);
}

Origins window_to_partner(const Standpoint& s) {
    return at_partner(s, repeated(s.window, {{s.root}}));
}

Origins window_to_each_partner(const Standpoint& s) {
    return s.me == s.root ? repeated(s.window, {{partner(s)}}) : window_to_partner(s);
}

Origins from_left(const Standpoint& s) {
    return {{{rank_at(s, -1)}}};
}

Origins from_left_and_right(const Standpoint& s) {
    return {{{rank_at(s, -1)}}, {{rank_at(s, 1)}}};
}

}  // namespace lanewise::measure
