// SPDX-License-Identifier: BSD-3-Clause

#include "collectives/choose.hpp"

#include <algorithm>
#include <fstream>
#include <limits>
#include <span>
#include <sstream>

#include "base/json.hpp"

namespace lanewise::collectives {
namespace {

constexpr std::uint64_t bytes_max = std::numeric_limits<std::uint64_t>::max();
constexpr int version_read = 1;

/* One text of several parts. */
template <typename... Part>
std::string words(const Part&...parts) {
    std::ostringstream text;
    (text << ... << parts);
    return text.str();
}

enum class Kind { text, count, number, truth, list, record };
enum class Presence { required, optional };

struct Key {
    const char *name;
    Kind kind;
    Presence presence = Presence::required;
};

constexpr Key top_keys[] = {{"schema", Kind::text},       {"version", Kind::count},
                            {"lanewise", Kind::text},     {"created", Kind::text},
                            {"mpi", Kind::record},        {"ranks", Kind::count},
                            {"layout", Kind::list},       {"margin", Kind::number},
                            {"confidence", Kind::number}, {"collectives", Kind::record}};
constexpr Key mpi_keys[] = {{"family", Kind::text}, {"library", Kind::text}};
constexpr Key collective_keys[] = {{"points", Kind::list, Presence::optional},
                                   {"rules", Kind::list, Presence::optional},
                                   {"mpi_rules", Kind::list, Presence::optional}};
constexpr Key point_keys[] = {{"message_bytes", Kind::count},
                              {"default", Kind::record},
                              {"candidates", Kind::list},
                              {"confirmation", Kind::record, Presence::optional}};
constexpr Key confirmation_keys[] = {
    {"root", Kind::count}, {"default", Kind::record}, {"candidates", Kind::list}};
constexpr Key default_keys[] = {{"median_s", Kind::number},
                                {"low_s", Kind::number},
                                {"high_s", Kind::number},
                                {"repetitions", Kind::count}};
constexpr Key candidate_keys[] = {{"origin", Kind::text},
                                  {"algorithm", Kind::text},
                                  {"segment_bytes", Kind::count, Presence::optional},
                                  {"lanes", Kind::count, Presence::optional},
                                  {"median_s", Kind::number},
                                  {"low_s", Kind::number},
                                  {"high_s", Kind::number},
                                  {"repetitions", Kind::count},
                                  {"predicted_s", Kind::number, Presence::optional},
                                  {"pruned", Kind::truth, Presence::optional}};
constexpr Key rule_keys[] = {{"from_bytes", Kind::count},
                             {"to_bytes", Kind::count},
                             {"algorithm", Kind::text},
                             {"segment_bytes", Kind::count, Presence::optional},
                             {"lanes", Kind::count, Presence::optional}};

const char *name_of(Kind kind) {
    constexpr const char *names[] = {"a text",   "a whole number that is not negative",
                                     "a number", "true or false",
                                     "a list",   "an object"};
    return names[static_cast<std::size_t>(kind)];
}

bool is(const Json& value, Kind kind) {
    switch (kind) {
        case Kind::text:
            return value.is_string();
        case Kind::count:
            return value.is_number_unsigned();
        case Kind::number:
            return value.is_number();
        case Kind::truth:
            return value.is_boolean();
        case Kind::list:
            return value.is_array();
        case Kind::record:
            return value.is_object();
    }
    return false;
}

/* A value in a sentence; what has parts could be long, or nested without end. */
std::string shown(const Json& value) {
    return value.is_structured() ? "not a single value" : value.dump();
}

bool knows(std::span<const Key> keys, const std::string& name) {
    return std::any_of(keys.begin(), keys.end(), [&](const Key& key) { return name == key.name; });
}

/* Walks the file and keeps its first fault; once there is one, nothing more is read. */
class Reader {
  public:
    bool sound() const { return fault_.empty(); }
    const std::string& fault() const { return fault_; }

    Tuning read(const Json& file) {
        Tuning tuning;
        if (!fits(file, top_keys, "the file") || !of_this_schema(file)) return tuning;
        if (!fits(file["mpi"], mpi_keys, "mpi")) return tuning;
        tuning.mpi_family = file["mpi"]["family"];
        tuning.mpi_library = file["mpi"]["library"];
        read_ranks(file, tuning);
        for (const auto& [name, content] : file["collectives"].items()) {
            const auto operation = operation_named(name);
            if (!operation) {
                refuse("collectives", words("unknown collective '", name, "'"));
                return tuning;
            }
            read_operation(content, *operation, tuning);
        }
        return tuning;
    }

  private:
    void refuse(const std::string& where, const std::string& what) {
        if (sound()) fault_ = words(where, ": ", what);
    }

    /* Whether `record` is an object with the keys that it must have and none but those known. */
    bool fits(const Json& record, std::span<const Key> keys, const std::string& where) {
        if (!sound()) return false;
        if (!record.is_object()) {
            refuse(where, "is no object");
            return false;
        }
        for (const auto& [name, value] : record.items()) {
            if (!knows(keys, name)) refuse(where, words("unknown key '", name, "'"));
        }
        for (const auto& key : keys) {
            const auto found = record.find(key.name);
            if (found == record.end()) {
                if (key.presence == Presence::required) {
                    refuse(where, words("lacks '", key.name, "'"));
                }
            } else if (!is(*found, key.kind)) {
                refuse(where, words("'", key.name, "' is not ", name_of(key.kind)));
            }
        }
        return sound();
    }

    bool of_this_schema(const Json& file) {
        if (file["schema"] != "lanewise-tuning") {
            refuse("schema", words("is ", shown(file["schema"]), ", not lanewise-tuning"));
        } else if (file["version"] != version_read) {
            refuse("version",
                   words("is ", shown(file["version"]), "; this lanewise reads ", version_read));
        }
        return sound();
    }

    int small_count(const Json& value, const std::string& where) {
        const auto most = static_cast<std::uint64_t>(std::numeric_limits<int>::max());
        if (!value.is_number_unsigned() || value.get<std::uint64_t>() < 1 ||
            value.get<std::uint64_t>() > most) {
            refuse(where, words(shown(value), " is not a whole number from 1"));
            return 1;
        }
        return value.get<int>();
    }

    void read_ranks(const Json& file, Tuning& tuning) {
        tuning.ranks = small_count(file["ranks"], "ranks");
        std::int64_t placed = 0;
        for (const auto& ranks : file["layout"]) {
            tuning.layout.push_back(small_count(ranks, "layout"));
            placed += tuning.layout.back();
        }
        if (placed != tuning.ranks) {
            refuse("layout", words("places ", placed, " ranks of ", tuning.ranks));
        }
    }

    void read_operation(const Json& content, Operation operation, Tuning& tuning) {
        const auto collective = operation.collective;
        const std::string where = words("collectives.", collectives::name_of(operation));
        if (!fits(content, collective_keys, where)) return;
        std::size_t number = 0;
        for (const auto& point : content.value("points", Json::array())) {
            check_point(point, words(where, ".points[", number++, "]"));
        }
        auto& rules = tuning.rules[operation.index()];
        for (const auto& rule : content.value("rules", Json::array())) {
            const auto place = words(where, ".rules[", rules.size(), "]");
            if (!fits(rule, rule_keys, place)) return;
            rules.push_back(read_rule(rule, collective, place));
        }
        check_order(rules, collective, where + ".rules");
        number = 0;
        for (const auto& rule : content.value("mpi_rules", Json::array())) {
            fits(rule, rule_keys, words(where, ".mpi_rules[", number++, "]"));
        }
    }

    void check_point(const Json& point, const std::string& where) {
        if (!fits(point, point_keys, where)) return;
        check_series(point, where);
        const auto confirmation = point.find("confirmation");
        if (confirmation == point.end()) return;
        const auto place = where + ".confirmation";
        if (fits(*confirmation, confirmation_keys, place)) check_series(*confirmation, place);
    }

    void check_series(const Json& series, const std::string& where) {
        fits(series["default"], default_keys, where + ".default");
        std::size_t number = 0;
        for (const auto& candidate : series["candidates"]) {
            fits(candidate, candidate_keys, words(where, ".candidates[", number++, "]"));
        }
    }

    Rule read_rule(const Json& record, Collective collective, const std::string& where) {
        Rule rule;
        rule.from_bytes = record["from_bytes"];
        rule.to_bytes = record["to_bytes"];
        if (rule.from_bytes > rule.to_bytes) {
            refuse(where,
                   words("from_bytes ", rule.from_bytes, " is above to_bytes ", rule.to_bytes));
        }
        const std::string name = record["algorithm"];
        rule.algorithm = find_algorithm(collective, name);
        if (!rule.algorithm) {
            refuse(where,
                   words("unknown algorithm '", name, "' of ", collectives::name_of(collective),
                         "; lanewise algorithms lists them"));
        }
        const auto segment_bytes = record.value("segment_bytes", std::uint64_t{0});
        if (segment_bytes > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max())) {
            refuse(where, words("segment_bytes ", segment_bytes, " is too large"));
        }
        rule.segment_bytes = static_cast<std::int64_t>(segment_bytes);
        if (record.contains("lanes")) rule.lanes = small_count(record["lanes"], where + ".lanes");
        return rule;
    }

    void check_order(const std::vector<Rule>& rules, Collective collective,
                     const std::string& where) {
        for (std::size_t i = 1; i < rules.size(); ++i) {
            if (rules[i].from_bytes > rules[i - 1].to_bytes) continue;
            refuse(
                words(where, "[", i, "]"),
                words("begins at ", rules[i].from_bytes,
                      ", within or before the rule above, which ends at ", rules[i - 1].to_bytes));
        }
        const bool by_size = collective != Collective::scatterv &&
                             collective != Collective::gatherv &&
                             collective != Collective::allgatherv;
        if (by_size || rules.empty()) return;
        if (rules.size() == 1 && rules[0].from_bytes == 0 && rules[0].to_bytes == bytes_max) return;
        refuse(where,
               words("ranks do not know each other's counts: the only rule is one from 0 to ",
                     bytes_max));
    }

    std::string fault_;
};

Failure refusal_of(const std::string& name, const std::string& fault) {
    return {LW_ERR_ARGUMENT, words(name, ": ", fault, "; measure it anew: lanewise tune")};
}

}  // namespace

Result<Tuning> parse_tuning(std::string_view text, const std::string& name) {
    const auto file = parse_json(text);
    if (file.is_discarded()) {
        return refusal_of(name, "is not JSON of this kind, or only part of it");
    }
    Reader reader;
    auto tuning = reader.read(file);
    if (!reader.sound()) return refusal_of(name, reader.fault());
    return tuning;
}

Result<Tuning> read_tuning(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    if (!file) {
        return Failure{LW_ERR_IO, words(path, " cannot be read; name a file of lanewise tune")};
    }
    std::ostringstream text;
    text << file.rdbuf();
    return parse_tuning(text.view(), path);
}

const Rule *find(const Tuning& tuning, Operation operation, std::uint64_t message_bytes) {
    const auto& rules = tuning.rules_of(operation);
    const auto rule = std::partition_point(
        rules.begin(), rules.end(), [&](const Rule& r) { return r.to_bytes < message_bytes; });
    return rule != rules.end() && rule->from_bytes <= message_bytes ? &*rule : nullptr;
}

}  // namespace lanewise::collectives
