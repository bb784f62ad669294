// SPDX-License-Identifier: BSD-3-Clause

#include "base/json.hpp"

#include <algorithm>
#include <optional>
#include <set>
#include <utility>
#include <vector>

template class nlohmann::basic_json<nlohmann::ordered_map>;

namespace lanewise {

namespace {

constexpr int depth_max = 64;
constexpr const char *blanks = " \t\r\n";

// The end of the string that begins at `at`.
std::size_t end_of_string(std::string_view text, std::size_t at) {
    for (++at; at < text.size(); ++at) {
        if (text[at] == '\\') {
            ++at;
        } else if (text[at] == '"') {
            return at + 1;
        }
    }
    return text.size();
}

// The end of the array or object that begins at `at`.
std::size_t end_of_brackets(std::string_view text, std::size_t at) {
    std::size_t depth = 0;
    while (at < text.size()) {
        const char one = text[at];
        if (one == '"') {
            at = end_of_string(text, at);
            continue;
        }
        ++at;
        if (one == '[' || one == '{') ++depth;
        if ((one == ']' || one == '}') && --depth == 0) return at;
    }
    return text.size();
}

// Where the value of a member begins whose key ends at `at`; npos where it is no array or object,
// or what ends there is no key.
std::size_t brackets_behind_key(std::string_view text, std::size_t at) {
    at = text.find_first_not_of(blanks, at);
    if (at == text.npos || text[at] != ':') return text.npos;
    at = text.find_first_not_of(blanks, at + 1);
    const bool is_nested = at != text.npos && (text[at] == '[' || text[at] == '{');
    return is_nested ? at : text.npos;
}

}  // namespace

std::string without_values(std::string_view text, std::string_view key) {
    const std::string quoted = '"' + std::string(key) + '"';
    std::string kept;
    std::size_t kept_until = 0;
    for (auto at = text.find('"'); at != text.npos; at = text.find('"', at)) {
        const auto end = end_of_string(text, at);
        const bool is_it = text.substr(at, end - at) == quoted;
        at = end;
        const auto value = is_it ? brackets_behind_key(text, end) : text.npos;
        if (value == text.npos) continue;
        kept.append(text.substr(kept_until, value - kept_until)).append("null");
        at = kept_until = end_of_brackets(text, value);
    }
    return kept.append(text.substr(kept_until));
}

Result<Json> read_json(std::string_view text, std::string_view without) {
    bool too_deep = false;
    std::optional<std::string> twice;
    std::vector<std::set<std::string>> keys; /* of the objects around a place, by their depth */
    const auto admit = [&](int depth, Json::parse_event_t event, const Json& value) {
        too_deep = too_deep || depth > depth_max;
        if (too_deep) return false;
        const auto inside = static_cast<std::size_t>(depth) + 1;
        if (event == Json::parse_event_t::object_start) {
            keys.resize(std::max(keys.size(), inside + 1));
            keys[inside].clear();
        }
        if (event != Json::parse_event_t::key) return true;
        const auto& key = value.get_ref<const std::string&>();
        if (!keys[inside - 1].insert(key).second) twice = key;
        return without.empty() || key != without;
    };
    auto value = Json::parse(text.begin(), text.end(), admit, false);
    if (twice) return bad_argument("the key '" + *twice + "' is there twice");
    if (too_deep || value.is_discarded()) return bad_argument("is not JSON, or only part of it");
    return value;
}

Json parse_json(std::string_view text, std::string_view without) {
    auto value = read_json(text, without);
    return value ? std::move(*value) : Json(Json::value_t::discarded);
}

std::string json_text(const Json& value, int indent) {
    return value.dump(indent, ' ', false, Json::error_handler_t::replace);
}

bool is_text(const std::string& text) {
    return parse_json(json_text(Json(text))) == Json(text);
}

}  // namespace lanewise
