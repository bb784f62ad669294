// SPDX-License-Identifier: BSD-3-Clause
//
// See quantities.hpp for the grammar.

#include "base/quantities.hpp"

#include <array>
#include <charconv>
#include <cmath>

namespace lanewise {
namespace {

struct Unit {
    std::string_view name;
    double factor;
};

constexpr std::array<Unit, 7> units{{{"h", 3600.0},
                                     {"min", 60.0},
                                     {"s", 1.0},
                                     {"ms", 1e-3},
                                     {"us", 1e-6},
                                     {"\u00b5s", 1e-6},
                                     {"ns", 1e-9}}};

constexpr std::array<Unit, 4> prefixes{{{"", 1.0}, {"k", 1e3}, {"M", 1e6}, {"G", 1e9}}};

/* How many bytes or cells the unit behind a prefix is; 0 where it is none of them. */
double per_second(std::string_view unit, RateOf of) {
    if (of == RateOf::cells) return unit == "cells/s" ? 1.0 : 0.0;
    if (unit == "B/s") return 1.0;
    return unit == "bit/s" || unit == "b/s" ? 1.0 / 8.0 : 0.0;
}

Failure refusal(std::string_view what, std::string_view text, std::string_view why) {
    return {LW_ERR_ARGUMENT,
            std::string(what) + " \"" + std::string(text) + "\" " + std::string(why)};
}

struct Parts {
    double number;
    std::string_view unit;
};

/* A number and what follows it. */
Result<Parts> number_and_unit(std::string_view what, std::string_view text, std::string_view why) {
    Parts parts{};
    const char *last = text.data() + text.size();
    const auto [end, error] = std::from_chars(text.data(), last, parts.number);
    if (error != std::errc{}) return refusal(what, text, why);
    parts.unit = text.substr(static_cast<std::size_t>(end - text.data()));
    while (parts.unit.starts_with(' ')) parts.unit.remove_prefix(1);
    return parts;
}

bool read_count(std::string_view digits, std::uint32_t& value) {
    const char *last = digits.data() + digits.size();
    const auto [end, error] = std::from_chars(digits.data(), last, value);
    return error == std::errc{} && end == last;
}

/* The shortest digits that are read back as this number. */
std::string number_text(double number) {
    std::array<char, 32> text{};
    const auto end = std::to_chars(text.data(), text.data() + text.size(), number).ptr;
    return {text.data(), end};
}

/* Of numbers that differ in their last bits only, the one with fewer digits. */
double tidied(double number) {
    std::array<char, 32> text{};
    const auto end = std::to_chars(text.data(), text.data() + text.size(), number,
                                   std::chars_format::general, 15);
    std::from_chars(text.data(), end.ptr, number);
    return number;
}

}  // namespace

Result<double> parse_duration(std::string_view text, std::string_view what) {
    const auto parts = number_and_unit(what, text, "is not a time; write 10s, 500ms or 1us");
    if (!parts) return parts.failure();
    if (parts->unit.empty()) return parts->number;
    for (const auto& unit : units) {
        // A division gives 1us as the literal 1e-6 is, a product may not.
        if (unit.name != parts->unit) continue;
        return unit.factor < 1.0 ? parts->number / std::round(1.0 / unit.factor)
                                 : parts->number * unit.factor;
    }
    return refusal(what, text, "has an unknown unit; use ns, us, ms, s, min or h");
}

Result<double> parse_rate(std::string_view text, RateOf of, std::string_view what) {
    const auto *why = of == RateOf::bytes ? "is not a rate; write 1.5GB/s or 10Gbit/s"
                                          : "is not a rate; write 500Mcells/s";
    const auto parts = number_and_unit(what, text, why);
    if (!parts) return parts.failure();
    if (!(parts->number > 0.0) || !std::isfinite(parts->number)) return refusal(what, text, why);
    if (parts->unit.empty()) return parts->number;
    for (const auto& prefix : prefixes) {
        if (!parts->unit.starts_with(prefix.name)) continue;
        const double each = per_second(parts->unit.substr(prefix.name.size()), of);
        if (each > 0.0) return parts->number * prefix.factor * each;
    }
    return refusal(what, text, why);
}

Result<double> parse_share(std::string_view text, std::string_view what) {
    const auto parts = number_and_unit(what, text, "is not a number; write 2.5% or 0.025");
    if (!parts) return parts.failure();
    if (parts->unit.empty()) return parts->number;
    if (parts->unit == "%") return parts->number / 100.0;
    return refusal(what, text, "has an unknown unit; write 2.5% or 0.025");
}

Result<Repetitions> parse_repetitions(std::string_view text) {
    const auto colon = text.find(':');
    const auto first = text.substr(0, colon);
    const auto last = colon == std::string_view::npos ? first : text.substr(colon + 1);
    Repetitions found;
    if (read_count(first, found.min) && read_count(last, found.max)) return found;
    return refusal("repetitions", text, "are neither N nor MIN:MAX; write 100 or 10:1000");
}

std::string duration_text(double duration_s) {
    if (duration_s == 0.0) return "0";
    for (const auto& unit : units) {
        const double number = tidied(duration_s / unit.factor);
        const bool whole = number == std::round(number);
        if (unit.factor >= 60.0 ? whole && number >= 1.0 : std::fabs(number) >= 1.0)
            return number_text(number) + std::string(unit.name);
    }
    return number_text(tidied(duration_s * 1e9)) + "ns";
}

std::string share_text(double share) {
    return number_text(tidied(share * 100.0)) + "%";
}

std::string repetitions_text(Repetitions repetitions) {
    const auto least = std::to_string(repetitions.min);
    return repetitions.min == repetitions.max ? least
                                              : least + ":" + std::to_string(repetitions.max);
}

std::string counted(std::uint64_t count, const std::string& what) {
    const char *ending = count == 1 ? "" : what.ends_with('s') ? "es" : "s";
    return std::to_string(count) + " " + what + ending;
}

}  // namespace lanewise
