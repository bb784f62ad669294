// SPDX-License-Identifier: BSD-3-Clause

#include "collectives/choose.hpp"

#include <algorithm>
#include <limits>
#include <optional>

#include "base/file.hpp"
#include "base/json.hpp"
#include "base/json_object.hpp"

namespace lanewise::collectives {
namespace {

constexpr std::uint64_t bytes_max = std::numeric_limits<std::uint64_t>::max();
constexpr int schema_version = 2;
constexpr int ranks_max = 1 << 24;

/* Of version 1: the number of ranks on each host, in an order that nobody noted. */
Hosts read_counted_hosts(JsonObject& top) {
    const int ranks = top.count<int>("ranks", 1);
    if (ranks > ranks_max) {
        top.refuse("ranks",
                   "is " + std::to_string(ranks) + ", more than " + std::to_string(ranks_max));
    }
    const auto layout = top.counts<int>("layout", 1);
    std::int64_t placed = 0;
    for (const int on_host : layout) placed += on_host;
    if (placed != ranks) {
        top.refuse("layout",
                   "places " + std::to_string(placed) + " ranks of " + std::to_string(ranks));
    }
    Hosts hosts;
    for (std::size_t host = 0; host < layout.size(); ++host) {
        hosts.insert(hosts.end(), static_cast<std::size_t>(layout[host]), static_cast<int>(host));
    }
    return hosts;
}

Hosts read_hosts(JsonObject& from) {
    const auto hosts = from.counts<int>("hosts");
    if (hosts.empty()) from.refuse("hosts", "is empty; a rank is on some host");
    int known = 0;
    for (const int host : hosts) {
        if (host > known) from.refuse("hosts", "does not number hosts by their first ranks");
        if (host == known) ++known;
    }
    return hosts;
}

void check_interval(JsonObject& interval) {
    for (const auto *key : {"median_s", "low_s", "high_s"}) interval.number(key);
    interval.count("repetitions");
}

/* The keys by which rules and candidates name an algorithm. */
struct NamedChoice {
    std::string algorithm;
    std::int64_t segment_bytes = 0;
    int lanes = 1;
};

NamedChoice read_choice(JsonObject& from) {
    NamedChoice read{.algorithm = from.string("algorithm")};
    if (from.has("segment_bytes")) read.segment_bytes = from.count("segment_bytes");
    if (from.has("lanes")) read.lanes = from.count<int>("lanes", 1);
    return read;
}

/* Where measurements are looked at, a file with a damaged one is not to be trusted. */
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

void check_judgement(JsonObject& judgement) {
    judgement.counts("roots");
    judgement.numbers("default_s");
    judgement.each("candidates", [](JsonObject& candidate) {
        candidate.string("origin");
        read_choice(candidate);
        candidate.numbers("times_s");
        for (const auto *key : {"ratio", "low", "high", "p_value"}) candidate.number(key);
        candidate.boolean("faster");
    });
}

void check_point(JsonObject& point) {
    point.count<std::uint64_t>("message_bytes");
    check_measurements(point);
    if (point.has("confirmation")) {
        point.object("confirmation", [](JsonObject& confirmation) {
            confirmation.count("root");
            check_measurements(confirmation);
        });
    }
    if (point.has("judgement")) point.object("judgement", check_judgement);
}

/* A rule of the MPI's own algorithms names one that Lanewise need not have. */
NamedChoice read_rule_of_mpi(JsonObject& from, Rule& rule) {
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
    const auto& needs = rule.algorithm->needs;
    if (choice.segment_bytes > 0 && !needs.segmented) {
        from.refuse("segment_bytes",
                    "changes nothing in " + choice.algorithm + ", which has no segments");
    }
    if (choice.lanes > 1 && !needs.lanes) {
        from.refuse("lanes", "changes nothing in " + choice.algorithm + ", which uses no lanes");
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
    if (!is_sizeless(collective) || rules.empty()) return;
    if (rules.size() == 1 && rules[0].from_bytes == 0 && rules[0].to_bytes == bytes_max) return;
    operation.refuse("rules", "must be one rule from 0 to " + std::to_string(bytes_max) +
                                  ": ranks do not know each other's counts");
}

void read_operation(JsonObject& from, Operation operation, LayoutTuning& tuning) {
    const auto collective = operation.collective;
    if (from.has("points")) from.each("points", check_point);
    if (from.has("unmeasured_bytes")) from.counts<std::uint64_t>("unmeasured_bytes");
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

/* What a file has of one number of ranks on hosts in one order. */
void read_measured(JsonObject& from, LayoutTuning& tuning) {
    for (const auto *key : {"lanewise", "created"}) from.string(key);
    for (const auto *key : {"margin", "confidence"}) from.number(key, 0.0, 1.0);
    if (from.has("same_bits")) {
        if (from.string("same_bits") != "order") from.refuse("same_bits", "must be order");
        tuning.in_one_order = true;
    }
    from.each_named("collectives", [&](const std::string& name, JsonObject& content) {
        const auto operation = operation_named(name);
        if (!operation) {
            throw JsonRefusal{from.path_of("collectives") + ": unknown collective '" + name + "'",
                              {}};
        }
        read_operation(content, *operation, tuning);
    });
}

LayoutTuning read_layout(JsonObject& from) {
    LayoutTuning tuning{.hosts = read_hosts(from), .rules = {}};
    if (from.has("launches")) from.count<int>("launches");
    read_measured(from, tuning);
    return tuning;
}

Tuning read_whole(JsonObject& top) {
    const int version = top.expect_schema("lanewise-tuning", schema_version);
    Tuning tuning;
    top.object("mpi", [&](JsonObject& mpi) {
        tuning.mpi_family = mpi.string("family");
        tuning.mpi_library = mpi.string("library");
    });
    if (version == 1) {
        auto& only = tuning.layouts.emplace_back();
        only.hosts = read_counted_hosts(top);
        only.in_any_order = only.for_every_call = true;
        read_measured(top, only);
        return tuning;
    }
    top.each("layouts", [&](JsonObject& one) {
        auto read = read_layout(one);
        const auto same = [&](const LayoutTuning& other) { return other.hosts == read.hosts; };
        if (std::ranges::any_of(tuning.layouts, same)) {
            one.refuse("hosts", "is there twice");
        }
        tuning.layouts.push_back(std::move(read));
    });
    if (tuning.layouts.empty()) top.refuse("layouts", "is empty; tune something");
    return tuning;
}

/* Of up to two either way, in whole numbers, so that what is equally near compares equal. */
struct Factor {
    double larger = 1;
    double smaller = 1;
};

std::optional<Factor> factor_between(std::size_t one, std::size_t other) {
    if (one > 2 * other || other > 2 * one) return std::nullopt;
    return Factor{static_cast<double>(std::max(one, other)),
                  static_cast<double>(std::min(one, other))};
}

std::size_t host_count(const Hosts& hosts) {
    return static_cast<std::size_t>(*std::ranges::max_element(hosts)) + 1;
}

/* By what factor the numbers of ranks and of hosts differ, multiplied; infinite where what was
 * measured says nothing about these. */
double distance(const LayoutTuning& tuning, const Hosts& hosts) {
    constexpr double never = std::numeric_limits<double>::infinity();
    if (tuning.in_any_order) {
        return ranks_on_hosts(tuning.hosts) == ranks_on_hosts(hosts) ? 1.0 : never;
    }
    if (tuning.hosts == hosts) return 1.0;
    const auto order = order_of(hosts);
    if (order == HostOrder::other || order != order_of(tuning.hosts)) return never;
    const auto ranks = factor_between(tuning.hosts.size(), hosts.size());
    const auto on_hosts = factor_between(host_count(tuning.hosts), host_count(hosts));
    if (!ranks || !on_hosts) return never;
    return ranks->larger * on_hosts->larger / (ranks->smaller * on_hosts->smaller);
}

}  // namespace

Result<Tuning> parse_tuning(std::string_view text, const std::string& name,
                            Measurements measurements) {
    JsonSource source{name, "lanewise tune measures it again"};
    if (measurements == Measurements::checked) return read_json_object(text, source, read_whole);
    source.without = "points";
    const auto content = without_values(text, source.without);
    return read_json_object(std::string_view(content), source, read_whole);
}

Result<Tuning> read_tuning(const std::string& path, Measurements measurements) {
    const auto text = read_file(path);
    if (!text) {
        return Failure{LW_ERR_IO, text.failure().sentence + "; name a file of lanewise tune"};
    }
    return parse_tuning(*text, path, measurements);
}

HostOrder order_of(const Hosts& hosts) {
    const auto count = host_count(hosts);
    if (count == 1) return HostOrder::one_host;
    if (count == hosts.size()) return HostOrder::one_each;
    const auto each = hosts.size() / count;
    bool block = each * count == hosts.size();
    bool cyclic = block;
    for (std::size_t rank = 0; rank < hosts.size(); ++rank) {
        const auto host = static_cast<std::size_t>(hosts[rank]);
        block = block && host == rank / each;
        cyclic = cyclic && host == rank % count;
    }
    if (block) return HostOrder::block;
    return cyclic ? HostOrder::cyclic : HostOrder::other;
}

const LayoutTuning *nearest(const Tuning& tuning, const Hosts& hosts) {
    const LayoutTuning *found = nullptr;
    double least = std::numeric_limits<double>::infinity();
    for (const auto& one : tuning.layouts) {
        const double apart = distance(one, hosts);
        const bool nearer =
            apart < least || (found && apart == least && one.ranks() < found->ranks());
        if (!nearer) continue;
        found = &one;
        least = apart;
    }
    return found;
}

std::vector<int> ranks_on_hosts(const Hosts& hosts) {
    std::vector<int> counts(host_count(hosts));
    for (const int host : hosts) ++counts[static_cast<std::size_t>(host)];
    return counts;
}

std::string text_of(const Hosts& hosts) {
    std::string text = std::to_string(hosts.size()) + " ranks on ";
    if (host_count(hosts) == 1) return text + "one host";
    text += "hosts [";
    for (std::size_t rank = 0; rank < hosts.size(); ++rank) {
        text += (rank > 0 ? ", " : "") + std::to_string(hosts[rank]);
    }
    return text + "]";
}

const Rule *find(const LayoutTuning& tuning, Operation operation, std::uint64_t message_bytes) {
    const auto& rules = tuning.rules_of(operation);
    const auto rule = std::partition_point(
        rules.begin(), rules.end(), [&](const Rule& r) { return r.to_bytes < message_bytes; });
    return rule != rules.end() && rule->from_bytes <= message_bytes ? &*rule : nullptr;
}

}  // namespace lanewise::collectives
