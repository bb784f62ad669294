// SPDX-License-Identifier: BSD-3-Clause

#include "base/json.hpp"

template class nlohmann::basic_json<nlohmann::ordered_map>;

namespace lanewise {

namespace {

constexpr int depth_max = 64;

}  // namespace

Json parse_json(std::string_view text, std::string_view without) {
    bool too_deep = false;
    const auto admit = [&](int depth, Json::parse_event_t event, const Json& value) {
        too_deep = too_deep || depth > depth_max;
        const bool is_left_out = !without.empty() && event == Json::parse_event_t::key &&
                                 value.get_ref<const std::string&>() == without;
        return !too_deep && !is_left_out;
    };
    auto value = Json::parse(text.begin(), text.end(), admit, false);
    return too_deep ? Json(Json::value_t::discarded) : value;
}

std::string json_text(const Json& value, int indent) {
    return value.dump(indent, ' ', false, Json::error_handler_t::replace);
}

bool is_text(const std::string& text) {
    return parse_json(json_text(Json(text))) == Json(text);
}

}  // namespace lanewise
