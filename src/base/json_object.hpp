// SPDX-License-Identifier: BSD-3-Clause
//
// JsonObject: strict reading of the JSON files that we define.
//
// A reader asks an object for each key that it knows, by type. A key that is missing, a value of
// the wrong type and, at the end, a key that nobody asked for are refused in one sentence that
// names the path of the key: "lanes[2]: unknown key 'bandwith_Bps'". A file that is only half
// understood could make a program slower or a prediction wrong, so there is no lenient mode.
//
//     return read_json_object(text, {path, "lanewise model fit writes it"}, [](JsonObject& top) {
//         top.expect_schema("lanewise-platform", 2);
//         Platform platform{.ranks = top.count<int>("ranks", 1)};
//         top.each("lanes", [&](JsonObject& lane) { ... });
//         return platform;
//     });

#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "base/json_fwd.hpp"
#include "base/result.hpp"

namespace lanewise {

/* Why a file is refused. Thrown by a reader, caught by read_json_object. */
struct JsonRefusal {
    std::string sentence;
    std::string remedy; /* in place of the source's, where there is a better one */
};

class JsonObject {
  public:
    /* `path` is where the object is in its file; empty for the file itself. */
    JsonObject(const Json& value, std::string path);

    /* Refuses another schema and a version above `newest`; returns the version. */
    int expect_schema(const char *name, int newest);

    bool has(const std::string& key);
    bool is_null(const std::string& key);

    const Json& value(const std::string& key);
    std::string string(const std::string& key);
    bool boolean(const std::string& key);
    double number(const std::string& key);
    double number(const std::string& key, double least, double most);
    /* An integer that is not negative, `least` or more, and that Integer can hold. */
    template <std::integral Integer = std::int64_t>
    Integer count(const std::string& key, Integer least = 0) {
        return static_cast<Integer>(
            count_from(value(key), path_of(key), bound(least), largest<Integer>()));
    }

    std::vector<std::string> strings(const std::string& key);
    std::vector<double> numbers(const std::string& key);
    template <std::integral Integer = std::int64_t>
    std::vector<Integer> counts(const std::string& key, Integer least = 0) {
        std::vector<Integer> all;
        each_item(key, [&](const Json& item, const std::string& path) {
            all.push_back(
                static_cast<Integer>(count_from(item, path, bound(least), largest<Integer>())));
        });
        return all;
    }
    /* An object whose keys are names rather than words of the format. */
    std::map<std::string, std::string> named_strings(const std::string& key);

    /* These call `visit` with an object and then refuse the keys that it did not ask for. */
    template <typename Visit>
    auto object(const std::string& key, Visit&& visit) {
        return visit_whole(value(key), path_of(key), visit);
    }
    template <typename Visit>
    void each(const std::string& key, Visit&& visit) {
        each_item(key, [&](const Json& item, const std::string& path) {
            visit_whole(item, path, visit);
        });
    }
    /* Of an object whose keys are names: visit(name, object). */
    template <typename Visit>
    void each_named(const std::string& key, Visit&& visit) {
        each_member(key, [&](const std::string& name, const Json& item, const std::string& path) {
            visit_whole(item, path, [&](JsonObject& inner) { visit(name, inner); });
        });
    }

    /* For a reader that needs a part of another reader's file only. */
    void ignore_other_keys() { ignores_others_ = true; }
    /* Refuses the keys that nobody asked for. */
    void finish() const;

    /* Refuses the file for what is wrong with this object, or with the value of `key`. */
    [[noreturn]] void refuse(const std::string& what) const;
    [[noreturn]] void refuse(const std::string& key, const std::string& what) const;

    const std::string& path() const { return path_; }
    std::string path_of(const std::string& key) const;

  private:
    template <std::integral Integer>
    static std::uint64_t bound(Integer least) {
        return static_cast<std::uint64_t>(least);
    }
    template <std::integral Integer>
    static constexpr std::uint64_t largest() {
        return static_cast<std::uint64_t>(std::numeric_limits<Integer>::max());
    }
    template <typename Visit>
    static auto visit_whole(const Json& value, const std::string& path, Visit&& visit) {
        JsonObject inner(value, path);
        if constexpr (std::is_void_v<decltype(visit(inner))>) {
            visit(inner);
            inner.finish();
        } else {
            auto result = visit(inner);
            inner.finish();
            return result;
        }
    }
    static std::uint64_t count_from(const Json& value, const std::string& path, std::uint64_t least,
                                    std::uint64_t most);

    void each_item(const std::string& key,
                   const std::function<void(const Json&, const std::string&)>& visit);
    void each_member(
        const std::string& key,
        const std::function<void(const std::string&, const Json&, const std::string&)>& visit);

    const Json& value_;
    std::string path_;
    std::set<std::string> asked_;
    bool ignores_others_ = false;
};

/* What a failure calls the file, what to do about one that is refused, and what is left out of it
   unread, wherever it is. */
struct JsonSource {
    std::string name;
    std::string remedy;
    std::string without{};
};

Outcome visit_json_object(const Json& document, const JsonSource& source,
                          const std::function<void(JsonObject&)>& visit);
Outcome visit_json_object(std::string_view document, const JsonSource& source,
                          const std::function<void(JsonObject&)>& visit);

/* What `read` makes of a document, parsed or text, all of which it has to ask for. */
template <typename Document, typename Read>
requires std::same_as<Document, Json> || std::same_as<Document, std::string_view>
auto read_json_object(const Document& document, const JsonSource& source, Read&& read)
    -> Result<decltype(read(std::declval<JsonObject&>()))> {
    std::optional<decltype(read(std::declval<JsonObject&>()))> made;
    const auto outcome =
        visit_json_object(document, source, [&](JsonObject& top) { made.emplace(read(top)); });
    if (!outcome) return outcome.failure();
    return std::move(*made);
}

}  // namespace lanewise
