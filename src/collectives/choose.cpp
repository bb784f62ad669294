// SPDX-License-Identifier: BSD-3-Clause

#include "collectives/choose.hpp"

#include <algorithm>
#include <limits>

#include "base/file.hpp"
#include "base/json_object.hpp"

namespace lanewise::collectives {
namespace {

constexpr std::uint64_t bytes_max = std::numeric_limits<std::uint64_t>::max();
constexpr int schema_version = 1;

void read_ranks(JsonObject& top, Tuning& tuning) {
    tuning.ranks = top.count<int>("ranks", 1);
    tuning.layout = top.counts<int>("layout", 1);
    std::int64_t placed = 0;
    for (const int ranks : tuning.layout) placed += ranks;
    if (placed != tuning.ranks) {
        top.refuse("layout", "places " + std::to_string(placed) + " ranks of " +
                                 std::to_string(tuning.ranks));
    }
}

void check_interval(JsonObject& interval) {
    for (const auto *key : {"median_s", "low_s", "high_s"}) interval.number(key);
    interval.count("repetitions");
}

/* The keys by which rules and candidates name an algorithm. */
struct Choice {
    std::string algorithm;
    std::int64_t segment_bytes = 0;
    int lanes = 1;
};

Choice read_choice(JsonObject& from) {
    Choice read{.algorithm = from.string("algorithm")};
    if (from.has("segment_bytes")) read.segment_bytes = from.count("segment_bytes");
    if (from.has("lanes")) read.lanes = from.count<int>("lanes", 1);
    return read;
}

/* Measurements are checked, then left: a file with a damaged one is not to be trusted. */
void check_measurements(JsonObject& measured) {
    measured.object("default", check_interval);
    measured.each("candidates", [](JsonObject& candidate) {
        candidate.string("origin");
        read_choice(candidate);
        check_interval(candidate);
        if (candidate.has("predicted_s")) candidate.number("predicted_s");
        if (candidate.has("pruned")) candidate.boolean("pruned");
    });
}

void check_point(JsonObject& point) {
    point.count<std::uint64_t>("message_bytes");
    check_measurements(point);
    if (!point.has("confirmation")) return;
    point.object("confirmation", [](JsonObject& confirmation) {
        confirmation.count("root");
        check_measurements(confirmation);
    });
}

/* A rule of the MPI's own algorithms names one that Lanewise need not have. */
Choice read_rule_of_mpi(JsonObject& from, Rule& rule) {
    rule.from_bytes = from.count<std::uint64_t>("from_bytes");
    rule.to_bytes = from.count<std::uint64_t>("to_bytes");
    return read_choice(from);
}

Rule read_rule(JsonObject& from, Collective collective) {
    Rule rule;
    const auto choice = read_rule_of_mpi(from, rule);
    if (rule.from_bytes > rule.to_bytes) {
        from.refuse("from_bytes " + std::to_string(rule.from_bytes) + " is above to_bytes " +
                    std::to_string(rule.to_bytes));
    }
    rule.algorithm = find_algorithm(collective, choice.algorithm);
    if (!rule.algorithm) {
        throw JsonRefusal{from.path() + ": unknown algorithm '" + choice.algorithm + "' of " +
                              name_of(collective),
                          "lanewise model algorithms lists them"};
    }
    rule.segment_bytes = choice.segment_bytes;
    rule.lanes = choice.lanes;
    return rule;
}

void check_order(const JsonObject& operation, const std::vector<Rule>& rules,
                 Collective collective) {
    for (std::size_t i = 1; i < rules.size(); ++i) {
        if (rules[i].from_bytes > rules[i - 1].to_bytes) continue;
        throw JsonRefusal{operation.path_of("rules") + "[" + std::to_string(i) + "]: begins at " +
                              std::to_string(rules[i].from_bytes) +
                              ", within or before the rule above, which ends at " +
                              std::to_string(rules[i - 1].to_bytes),
                          {}};
    }
    const bool by_size = collective != Collective::scatterv && collective != Collective::gatherv &&
                         collective != Collective::allgatherv;
    if (by_size || rules.empty()) return;
    if (rules.size() == 1 && rules[0].from_bytes == 0 && rules[0].to_bytes == bytes_max) return;
    operation.refuse("rules", "must be one rule from 0 to " + std::to_string(bytes_max) +
                                  ": ranks do not know each other's counts");
}

void read_operation(JsonObject& from, Operation operation, Tuning& tuning) {
    const auto collective = operation.collective;
    if (from.has("points")) from.each("points", check_point);
    auto& rules = tuning.rules[operation.index()];
    if (from.has("rules")) {
        from.each("rules", [&](JsonObject& rule) { rules.push_back(read_rule(rule, collective)); });
    }
    check_order(from, rules, collective);
    if (from.has("mpi_rules")) {
        from.each("mpi_rules", [](JsonObject& rule) {
            Rule unused;
            read_rule_of_mpi(rule, unused);
        });
    }
}

Tuning read_whole(JsonObject& top) {
    top.expect_schema("lanewise-tuning", schema_version);
    Tuning tuning;
    for (const auto *key : {"lanewise", "created"}) top.string(key);
    for (const auto *key : {"margin", "confidence"}) top.number(key);
    top.object("mpi", [&](JsonObject& mpi) {
        tuning.mpi_family = mpi.string("family");
        tuning.mpi_library = mpi.string("library");
    });
    read_ranks(top, tuning);
    if (top.has("same_bits")) {
        if (top.string("same_bits") != "order") top.refuse("same_bits", "must be order");
        tuning.in_one_order = true;
    }
    top.each_named("collectives", [&](const std::string& name, JsonObject& content) {
        const auto operation = operation_named(name);
        if (!operation) throw JsonRefusal{"collectives: unknown collective '" + name + "'", {}};
        read_operation(content, *operation, tuning);
    });
    return tuning;
}

}  // namespace

Result<Tuning> parse_tuning(std::string_view text, const std::string& name) {
    return read_json_object(text, {name, "lanewise tune measures it again"}, read_whole);
}

Result<Tuning> read_tuning(const std::string& path) {
    const auto text = read_file(path);
    if (!text) {
        return Failure{LW_ERR_IO, text.failure().sentence + "; name a file of lanewise tune"};
    }
    return parse_tuning(*text, path);
}

const Rule *find(const Tuning& tuning, Operation operation, std::uint64_t message_bytes) {
    const auto& rules = tuning.rules_of(operation);
    const auto rule = std::partition_point(
        rules.begin(), rules.end(), [&](const Rule& r) { return r.to_bytes < message_bytes; });
    return rule != rules.end() && rule->from_bytes <= message_bytes ? &*rule : nullptr;
}

}  // namespace lanewise::collectives
