// SPDX-License-Identifier: BSD-3-Clause
//
// See sizes.hpp for the grammar.

#include "base/sizes.hpp"

#include <algorithm>
#include <charconv>
#include <limits>
#include <string>

namespace lanewise {
namespace {

constexpr auto size_max = std::numeric_limits<std::uint64_t>::max();

Failure refusal(std::string_view text, const std::string& why) {
    return {LW_ERR_ARGUMENT, "size \"" + std::string(text) + "\" " + why};
}

std::vector<std::string_view> split(std::string_view text, char separator) {
    std::vector<std::string_view> parts;
    for (;;) {
        const auto at = text.find(separator);
        parts.push_back(text.substr(0, at));
        if (at == std::string_view::npos) return parts;
        text.remove_prefix(at + 1);
    }
}

Result<unsigned> suffix_shift(std::string_view text, std::string_view suffix) {
    if (suffix.empty() || suffix == "B") return 0u;
    const std::string_view letters = "KMGT";
    const char first = suffix[0] == 'k' ? 'K' : suffix[0];
    const auto power = letters.find(first);
    const auto rest = suffix.substr(1);
    if (power == std::string_view::npos || !(rest.empty() || rest == "B" || rest == "iB"))
        return refusal(text, "has an unknown unit; use K, M, G or T (powers of 1024)");
    return static_cast<unsigned>(10 * (power + 1));
}

struct Range {
    std::uint64_t first = 0;
    std::uint64_t last = 0;
    std::uint64_t step = 2;
    bool multiplies = true;
};

Result<Range> parse_range(std::string_view item) {
    const auto parts = split(item, ':');
    if (parts.size() > 3) return refusal(item, "has more than first:last:step");
    const auto first = parse_size(parts[0]);
    if (!first) return first.failure();
    Range range{*first, *first};
    if (parts.size() == 1) return range;

    const auto last = parse_size(parts[1]);
    if (!last) return last.failure();
    if (*last < *first) return refusal(item, "runs backwards; write the smaller size first");
    range.last = *last;
    if (parts.size() == 3) {
        range.multiplies = parts[2].starts_with('x');
        const auto step = parse_size(range.multiplies ? parts[2].substr(1) : parts[2]);
        if (!step) return refusal(item, "has no usable step; write a size (1K) or a factor (x2)");
        range.step = *step;
    }
    if (range.multiplies && range.step < 2) return refusal(item, "needs a factor of at least 2");
    if (!range.multiplies && range.step == 0) return refusal(item, "needs a step above zero");
    if (range.multiplies && range.first == 0 && range.last > 0)
        return refusal(item, "cannot grow from 0 by a factor; write 0 beside it: 0,1:1M:x2");
    return range;
}

Outcome append(const Range& range, std::string_view item, std::vector<std::uint64_t>& sizes) {
    for (std::uint64_t size = range.first; size <= range.last;) {
        if (sizes.size() == sizes_count_max)
            return refusal(item, "makes more than a million points; widen the step");
        sizes.push_back(size);
        if (range.first == range.last) break;
        const bool overflows =
            range.multiplies ? size > size_max / range.step : size > size_max - range.step;
        if (overflows) break;
        size = range.multiplies ? size * range.step : size + range.step;
    }
    return Done{};
}

}  // namespace

Result<std::uint64_t> parse_size(std::string_view text) {
    std::uint64_t number = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (error == std::errc::result_out_of_range) return refusal(text, "is above 2^64 - 1 bytes");
    if (error != std::errc{})
        return refusal(text, "does not begin with digits; write it like 8, 64K or 1:1M:x2");
    const auto suffix = text.substr(static_cast<std::size_t>(end - text.data()));
    const auto shift = suffix_shift(text, suffix);
    if (!shift) return shift.failure();
    if (number > (size_max >> *shift)) return refusal(text, "is above 2^64 - 1 bytes");
    return number << *shift;
}

Result<std::vector<std::uint64_t>> parse_sizes(std::string_view text) {
    std::vector<std::uint64_t> sizes;
    for (const auto item : split(text, ',')) {
        const auto range = parse_range(item);
        if (!range) return range.failure();
        const auto appended = append(*range, item, sizes);
        if (!appended) return appended.failure();
    }
    std::sort(sizes.begin(), sizes.end());
    const auto twice = std::adjacent_find(sizes.begin(), sizes.end());
    if (twice != sizes.end())
        return refusal(text, "names " + format_size(*twice) + " twice; let the ranges not overlap");
    return sizes;
}

std::string format_size(std::uint64_t bytes) {
    const std::string_view letters = "TGMK";
    for (std::size_t i = 0; i < letters.size(); ++i) {
        const auto unit = std::uint64_t{1} << (10 * (letters.size() - i));
        if (bytes >= unit && bytes % unit == 0) return std::to_string(bytes / unit) + letters[i];
    }
    return std::to_string(bytes);
}

std::string size_text(std::uint64_t bytes) {
    const auto text = format_size(bytes);
    return text + (text.back() > '9' ? "iB" : "B");
}

std::uint64_t round_up_mebibyte(std::uint64_t bytes) {
    constexpr std::uint64_t mebibyte = 1 << 20;
    return (bytes + mebibyte - 1) / mebibyte * mebibyte;
}

}  // namespace lanewise
