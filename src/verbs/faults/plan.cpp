// SPDX-License-Identifier: BSD-3-Clause

#include "verbs/faults/plan.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <map>
#include <utility>

#include "base/fnv.hpp"

namespace lanewise::verbs::faults {
namespace {

// SplitMix64 (Steele, Lea and Flood, OOPSLA 2014): a number from the place in a sequence.
std::uint64_t mixed(std::uint64_t at) {
    at += 0x9e3779b97f4a7c15;
    at = (at ^ (at >> 30)) * 0xbf58476d1ce4e5b9;
    at = (at ^ (at >> 27)) * 0x94d049bb133111eb;
    return at ^ (at >> 31);
}

std::uint64_t hashed(std::string_view name) {
    std::uint64_t number = fnv1a_basis;
    for (const char letter : name) number = fnv1a(number, static_cast<unsigned char>(letter));
    return number;
}

double share(std::uint64_t start, std::uint64_t rule, std::uint64_t occurrence) {
    const std::uint64_t number = mixed(mixed(mixed(start) ^ rule) ^ occurrence);
    return static_cast<double>(number >> 11) * 0x1p-53;
}

using Words = std::map<std::string, std::string, std::less<>>;

Words words_of(std::string_view line) {
    Words words;
    while (!line.empty()) {
        const std::size_t end = std::min(line.find(' '), line.size());
        const std::string_view word = line.substr(0, end);
        const std::size_t at = word.find('=');
        if (at != std::string_view::npos) words.emplace(word.substr(0, at), word.substr(at + 1));
        line.remove_prefix(std::min(end + 1, line.size()));
    }
    return words;
}

template <typename Number>
bool take(const Words& words, std::string_view key, Number& into) {
    const auto found = words.find(key);
    if (found == words.end()) return true;
    const char *end = found->second.data() + found->second.size();
    const auto [last, error] = std::from_chars(found->second.data(), end, into);
    return error == std::errc{} && last == end;
}

// Occurrences as `3,7,10`, each after the one before.
bool take_occurrences(const Words& words, std::vector<std::uint64_t>& into) {
    const auto found = words.find("at");
    if (found == words.end()) return true;
    const char *next = found->second.data();
    const char *end = next + found->second.size();
    std::uint64_t before = 0;
    while (true) {
        std::uint64_t occurrence = 0;
        const auto [last, error] = std::from_chars(next, end, occurrence);
        if (error != std::errc{} || occurrence <= before) return false;
        into.push_back(occurrence);
        if (last == end) return true;
        if (*last != ',') return false;
        next = last + 1;
        before = occurrence;
    }
}

// In the order of Place.
constexpr std::array<std::string_view, 4> place_names{"call", "completion", "packet", "connection"};

std::optional<Place> place_named(std::string_view name) {
    const auto found = std::ranges::find(place_names, name);
    if (found == place_names.end()) return std::nullopt;
    return static_cast<Place>(found - place_names.begin());
}

std::optional<Rule> rule_of(const Words& words) {
    const auto place = words.find("place");
    const auto what = words.find("what");
    if (place == words.end() || what == words.end() || !place_named(place->second)) {
        return std::nullopt;
    }
    Rule rule;
    rule.place = *place_named(place->second);
    rule.what = what->second;
    if (const auto name = words.find("name"); name != words.end()) rule.name = name->second;
    if (const auto device = words.find("device"); device != words.end()) {
        rule.device = device->second;
    }
    if (const auto peer = words.find("peer"); peer != words.end()) rule.peer = peer->second;
    const bool good =
        take(words, "value", rule.value) && take(words, "after", rule.after) &&
        take(words, "every", rule.every) && rule.every > 0 &&
        take(words, "after_us", rule.after_us) && take(words, "every_us", rule.every_us) &&
        take(words, "probability", rule.probability) && take(words, "times", rule.times) &&
        take(words, "queue_pair", rule.queue_pair) && take(words, "bytes_min", rule.bytes_min) &&
        take(words, "number", rule.number) && take_occurrences(words, rule.at);
    return good ? std::optional(rule) : std::nullopt;
}

}  // namespace

std::string_view name_of(Place place) {
    return place_names.at(static_cast<std::size_t>(place));
}

Result<Script> read_script(std::string_view text) {
    Script script;
    std::size_t number = 0;
    while (!text.empty()) {
        ++number;
        const std::size_t end = std::min(text.find('\n'), text.size());
        const std::string_view line = text.substr(0, end);
        text.remove_prefix(std::min(end + 1, text.size()));
        if (line.empty()) continue;
        const Words words = words_of(line);
        const std::optional<Rule> rule = rule_of(words);
        if (words.contains("seed") && take(words, "seed", script.seed)) continue;
        if (!rule) {
            return bad_argument(fmt::format(
                "LANEWISE_HCA_FAULTS, line {}: '{}' is not a fault; let lanewise rdma run --faults "
                "write it",
                number, line));
        }
        script.rules.push_back(*rule);
    }
    return script;
}

Plan::Plan(Script script) : script_(std::move(script)), seen_(script_.rules.size()) {}

bool Plan::concerns(Place place) const {
    return std::any_of(script_.rules.begin(), script_.rules.end(),
                       [&](const Rule& rule) { return rule.place == place; });
}

// Whether the rule has begun, and it is the turn of this occurrence.
bool Plan::is_due(const Rule& rule, const Occurrence& one, Seen& seen) {
    if (seen.matched <= rule.after || one.time_us < rule.after_us) {
        seen.passed = seen.matched;
        return false;
    }
    if ((seen.matched - seen.passed) % rule.every != 0 || one.time_us < seen.next_us) return false;
    seen.next_us = one.time_us + rule.every_us;
    return true;
}

bool Plan::fires(std::size_t index, const Occurrence& one, Seen& seen) const {
    const Rule& rule = script_.rules[index];
    ++seen.matched;
    if (!rule.at.empty()) return std::binary_search(rule.at.begin(), rule.at.end(), seen.matched);
    if (!is_due(rule, one, seen) || seen.fired >= rule.times) return false;
    if (rule.probability >= 1) return true;
    // Otherwise the same occurrences of all kinds would meet the fault.
    const std::uint64_t start = rule.name.empty() ? script_.seed ^ hashed(one.name) : script_.seed;
    return share(start, index, seen.matched) < rule.probability;
}

std::optional<Decision> Plan::decide(const Occurrence& one) {
    std::optional<Decision> decision;
    for (std::size_t index = 0; index < script_.rules.size(); ++index) {
        const Rule& rule = script_.rules[index];
        if (rule.place != one.place || (!rule.name.empty() && rule.name != one.name)) continue;
        if (!rule.device.empty() && rule.device != one.device) continue;
        if (rule.queue_pair != 0 && rule.queue_pair != one.queue_pair) continue;
        if (!rule.peer.empty() && rule.peer != one.peer) continue;
        if (one.bytes < rule.bytes_min) continue;
        Seen& seen = seen_[index].try_emplace(std::string(one.name)).first->second;
        if (!fires(index, one, seen) || decision) continue;
        ++seen.fired;
        const std::uint64_t number = rule.number > 0 ? rule.number : index + 1;
        decision = Decision{number, seen.matched, &rule};
    }
    return decision;
}

}  // namespace lanewise::verbs::faults
