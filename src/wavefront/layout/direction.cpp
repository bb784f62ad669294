// SPDX-License-Identifier: BSD-3-Clause
//
// See direction.hpp.

#include "wavefront/layout/direction.hpp"

#include <algorithm>

#include "base/nearest.hpp"

namespace lanewise::wavefront {
namespace {

constexpr std::size_t directions_max = 4096;

constexpr Direction down_right{};
constexpr Direction down_left{.left = true};
constexpr Direction up_left{.up = true, .left = true};
constexpr Direction up_right{.up = true};
constexpr Direction down_back_right{.back = true};
constexpr Direction down_back_left{.left = true, .back = true};
constexpr Direction up_back_left{.up = true, .left = true, .back = true};
constexpr Direction up_back_right{.up = true, .back = true};

struct Order {
    const char *name;
    Directions directions;
};

// Zhao's loops, his first index being that of columns: two iterations each way share a pass.
const std::vector<Order>& orders() {
    static const std::vector<Order> known = {
        {"down-right", {down_right}},
        {"down-left", {down_left}},
        {"up-left", {up_left}},
        {"up-right", {up_right}},
        {"forward", {down_right}},
        {"backward", {up_left}},
        {"symmetric", {down_right, up_left}},
        {"fast-sweeping", {down_right, down_left, up_left, up_right}},
        {"down-back-right", {down_back_right}},
        {"down-back-left", {down_back_left}},
        {"up-back-left", {up_back_left}},
        {"up-back-right", {up_back_right}},
        {"symmetric-3d", {down_right, up_back_left}},
        {"fast-sweeping-3d",
         {down_right, down_left, down_back_right, down_back_left, up_back_left, up_back_right,
          up_left, up_right}},
    };
    return known;
}

Outcome add(const std::string& name, Directions& directions) {
    std::vector<std::string> names;
    for (const auto& order : orders()) {
        if (name == order.name) {
            directions.insert(directions.end(), order.directions.begin(), order.directions.end());
            return Done{};
        }
        names.emplace_back(order.name);
    }
    const auto near = nearest_name(name, names);
    return Failure{LW_ERR_ARGUMENT,
                   "unknown direction \"" + name + "\"; " +
                       (near.empty() ? "use " + direction_names() : "did you mean " + near + "?")};
}

const char *name_of(const Direction& direction) {
    const auto& known = orders();
    return std::find_if(known.begin(), known.end(),
                        [&](const Order& order) { return order.directions.front() == direction; })
        ->name;
}

}  // namespace

bool needs_planes(const Directions& directions) {
    return std::any_of(directions.begin(), directions.end(),
                       [](const Direction& one) { return one.back; });
}

bool is_plain(const Directions& directions) {
    return std::all_of(directions.begin(), directions.end(),
                       [](const Direction& one) { return one == down_right; });
}

Result<Directions> parse_directions(const std::string& text) {
    Directions directions;
    for (std::size_t begin = 0; begin <= text.size();) {
        const auto comma = std::min(text.find(',', begin), text.size());
        const auto added = add(text.substr(begin, comma - begin), directions);
        if (!added) return added.failure();
        begin = comma + 1;
    }
    if (directions.size() > directions_max)
        return bad_argument(std::to_string(directions.size()) + " directions are more than " +
                            std::to_string(directions_max) + "; give those of one cycle");
    return directions;
}

std::string directions_text(const Directions& directions) {
    for (const auto& order : orders()) {
        if (directions == order.directions) return order.name;
    }
    std::string text;
    for (const auto& one : directions) {
        if (!text.empty()) text += ',';
        text += name_of(one);
    }
    return text;
}

std::string direction_names() {
    std::string names;
    for (const auto& order : orders()) {
        if (!names.empty()) names += ", ";
        names += order.name;
    }
    return names;
}

}  // namespace lanewise::wavefront
