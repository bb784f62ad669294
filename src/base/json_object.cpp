// SPDX-License-Identifier: BSD-3-Clause

#include "base/json_object.hpp"

#include <cmath>
#include <optional>

#include "base/json.hpp"

namespace lanewise {
namespace {

/* A value in a sentence. What has parts could be long, or nested deeply; so could a text. */
std::string shown(const Json& value) {
    constexpr std::size_t length_max = 60;
    if (value.is_object()) return "an object";
    if (value.is_array()) return "an array";
    const auto text = json_text(value);
    return text.size() <= length_max ? text : "too long";
}

std::string quoted(const std::string& path) {
    return "'" + path + "'";
}

[[noreturn]] void refuse_type(const Json& value, const std::string& path,
                              const std::string& wanted) {
    throw JsonRefusal{quoted(path) + " is " + shown(value) + ", not " + wanted, {}};
}

void expect_object(const Json& value, const std::string& path) {
    if (value.is_object()) return;
    if (path.empty()) throw JsonRefusal{"is not a JSON object", {}};
    refuse_type(value, path, "an object");
}

std::string string_from(const Json& value, const std::string& path) {
    if (!value.is_string()) refuse_type(value, path, "a string");
    return value.get<std::string>();
}

/* A number from 0 on without a fraction, as 1024 and 1024.0 are, which JSON does not tell apart. */
std::optional<std::uint64_t> whole_number(const Json& value) {
    if (value.is_number_unsigned()) return value.get<std::uint64_t>();
    if (value.is_number_integer()) {
        const auto signed_value = value.get<std::int64_t>();
        return signed_value < 0 ? std::nullopt : std::optional<std::uint64_t>(signed_value);
    }
    constexpr double too_large = 0x1p64;
    const double real = value.is_number() ? value.get<double>() : -1.0;
    if (!(real >= 0.0 && real < too_large) || real != std::floor(real)) return std::nullopt;
    return static_cast<std::uint64_t>(real);
}

double number_from(const Json& value, const std::string& path) {
    if (!value.is_number()) refuse_type(value, path, "a number");
    return value.get<double>();
}

Failure refused(const JsonRefusal& refusal, const JsonSource& source) {
    const auto& remedy = refusal.remedy.empty() ? source.remedy : refusal.remedy;
    return {LW_ERR_ARGUMENT,
            source.name + ": " + refusal.sentence + (remedy.empty() ? "" : "; " + remedy)};
}

}  // namespace

JsonObject::JsonObject(const Json& value, std::string path)
    : value_(value), path_(std::move(path)) {
    expect_object(value_, path_);
}

int JsonObject::expect_schema(const char *name, int newest) {
    const auto& schema = value("schema");
    if (schema != name) refuse_type(schema, path_of("schema"), json_text(name));
    const auto version = count<int>("version", 1);
    if (version > newest) {
        throw JsonRefusal{"version " + std::to_string(version) + " is newer than version " +
                              std::to_string(newest) + ", which this lanewise reads",
                          "upgrade lanewise"};
    }
    return version;
}

bool JsonObject::has(const std::string& key) {
    asked_.insert(key);
    return value_.contains(key);
}

bool JsonObject::is_null(const std::string& key) {
    return value(key).is_null();
}

const Json& JsonObject::value(const std::string& key) {
    if (!has(key))
        throw JsonRefusal{(path_.empty() ? "" : path_ + " ") + "lacks " + quoted(key), {}};
    return *value_.find(key);
}

std::string JsonObject::string(const std::string& key) {
    return string_from(value(key), path_of(key));
}

bool JsonObject::boolean(const std::string& key) {
    const auto& found = value(key);
    if (!found.is_boolean()) refuse_type(found, path_of(key), "true or false");
    return found.get<bool>();
}

double JsonObject::number(const std::string& key) {
    return number_from(value(key), path_of(key));
}

double JsonObject::number(const std::string& key, double least, double most) {
    const auto found = number(key);
    if (found >= least && found <= most) return found;
    refuse(key, "is " + json_text(found) + ", not between " + json_text(least) + " and " +
                    json_text(most));
}

std::uint64_t JsonObject::count_from(const Json& value, const std::string& path,
                                     std::uint64_t least, std::uint64_t most) {
    const auto count = whole_number(value);
    if (!count || *count < least)
        refuse_type(value, path, "an integer of at least " + std::to_string(least));
    if (*count > most) {
        throw JsonRefusal{
            quoted(path) + " is " + shown(value) + ", more than " + std::to_string(most), {}};
    }
    return *count;
}

std::vector<std::string> JsonObject::strings(const std::string& key) {
    std::vector<std::string> all;
    each_item(key, [&](const Json& item, const std::string& path) {
        all.push_back(string_from(item, path));
    });
    return all;
}

std::vector<double> JsonObject::numbers(const std::string& key) {
    std::vector<double> all;
    each_item(key, [&](const Json& item, const std::string& path) {
        all.push_back(number_from(item, path));
    });
    return all;
}

std::map<std::string, std::string> JsonObject::named_strings(const std::string& key) {
    std::map<std::string, std::string> all;
    each_member(key, [&](const std::string& name, const Json& member, const std::string& path) {
        all[name] = string_from(member, path);
    });
    return all;
}

void JsonObject::each_item(const std::string& key,
                           const std::function<void(const Json&, const std::string&)>& visit) {
    const auto& list = value(key);
    const auto path = path_of(key);
    if (!list.is_array()) refuse_type(list, path, "an array");
    for (std::size_t i = 0; i < list.size(); ++i) {
        visit(list[i], path + "[" + std::to_string(i) + "]");
    }
}

void JsonObject::each_member(
    const std::string& key,
    const std::function<void(const std::string&, const Json&, const std::string&)>& visit) {
    const auto& members = value(key);
    const auto path = path_of(key);
    expect_object(members, path);
    for (const auto& [name, member] : members.items()) visit(name, member, path + "." + name);
}

void JsonObject::finish() const {
    for (const auto& item : value_.items()) {
        if (ignores_others_ || asked_.contains(item.key())) continue;
        throw JsonRefusal{(path_.empty() ? "" : path_ + ": ") + "unknown key " + quoted(item.key()),
                          {}};
    }
}

void JsonObject::refuse(const std::string& what) const {
    throw JsonRefusal{path_.empty() ? what : path_ + ": " + what, {}};
}

void JsonObject::refuse(const std::string& key, const std::string& what) const {
    throw JsonRefusal{quoted(path_of(key)) + " " + what, {}};
}

std::string JsonObject::path_of(const std::string& key) const {
    return path_.empty() ? key : path_ + "." + key;
}

Outcome visit_json_object(const Json& document, const JsonSource& source,
                          const std::function<void(JsonObject&)>& visit) {
    if (document.is_discarded()) return refused({"is not JSON, or only part of it", {}}, source);
    try {
        JsonObject top(document, "");
        visit(top);
        top.finish();
    } catch (const JsonRefusal& refusal) {
        return refused(refusal, source);
    }
    return Done{};
}

Outcome visit_json_object(std::string_view document, const JsonSource& source,
                          const std::function<void(JsonObject&)>& visit) {
    const auto value = read_json(document, source.without);
    if (!value) return refused({value.failure().sentence, {}}, source);
    return visit_json_object(*value, source, visit);
}

}  // namespace lanewise
