// SPDX-License-Identifier: BSD-3-Clause
//
// See buffer_words.hpp.

#include "measure/session/buffer_words.hpp"

#include <algorithm>
#include <charconv>
#include <set>
#include <string_view>

#include "measure/harness/operation.hpp"

namespace lanewise::measure::session {
namespace {

// Four bytes keep floats where the MPI may have them, and share no vector register's alignment.
constexpr std::uint32_t unaligned_bytes = 4;
constexpr std::uint32_t sets_by_default = 8;

struct Word {
    const char *name;
    const char *about; /* of two words about the same, one is too many */
    void (*apply)(lw_buffers& buffers, std::uint32_t number);
    std::uint32_t number = 0; /* where none is written; 0: none may be */
};

constexpr Word known[] = {
    {"warm", "caches", [](lw_buffers& b, std::uint32_t) { b.caches = LW_CACHES_WARM; }},
    {"cold", "caches", [](lw_buffers& b, std::uint32_t) { b.caches = LW_CACHES_COLD; }},
    {"aligned", "place", [](lw_buffers& b, std::uint32_t) { b.offset_bytes = 0; }},
    {"unaligned", "place", [](lw_buffers& b, std::uint32_t n) { b.offset_bytes = n; },
     unaligned_bytes},
    {"one", "sets", [](lw_buffers& b, std::uint32_t) { b.rotating_sets = 1; }},
    {"rotating", "sets", [](lw_buffers& b, std::uint32_t n) { b.rotating_sets = n; },
     sets_by_default},
    {"small", "pages", [](lw_buffers& b, std::uint32_t) { b.pages = LW_PAGES_SMALL; }},
    {"huge", "pages", [](lw_buffers& b, std::uint32_t) { b.pages = LW_PAGES_HUGE; }},
};

Failure refuse(std::string_view word, const std::string& why) {
    return {LW_ERR_ARGUMENT, "buffers \"" + std::string(word) + "\" " + why};
}

std::vector<std::string_view> split(std::string_view text) {
    std::vector<std::string_view> parts;
    for (std::size_t begin = 0; begin <= text.size();) {
        const auto end = std::min(text.find(',', begin), text.size());
        parts.push_back(text.substr(begin, end - begin));
        begin = end + 1;
    }
    return parts;
}

// Applies one word of the list and returns it.
Result<const Word *> apply(std::string_view text, lw_buffers& buffers) {
    const auto equals = text.find('=');
    const auto name = text.substr(0, equals);
    const auto *found = std::find_if(std::begin(known), std::end(known),
                                     [&](const Word& word) { return name == word.name; });
    if (found == std::end(known))
        return refuse(text,
                      "is none of warm, cold, aligned, unaligned[=BYTES], one, "
                      "rotating[=SETS], small, huge");
    auto number = found->number;
    if (equals != std::string_view::npos) {
        const auto digits = text.substr(equals + 1);
        const auto [end, error] =
            std::from_chars(digits.data(), digits.data() + digits.size(), number);
        const bool whole = error == std::errc{} && end == digits.data() + digits.size();
        if (!whole || number == 0 || found->number == 0)
            return refuse(text, "has no such number; write unaligned=4 or rotating=8");
    }
    found->apply(buffers, number);
    return found;
}

}  // namespace

Result<lw_buffers> read_buffers(const std::string& words) {
    auto buffers = measure::plain_buffers;
    std::set<std::string_view> settled;
    for (const auto text : split(words)) {
        const auto word = apply(text, buffers);
        if (!word) return word.failure();
        if (!settled.insert((*word)->about).second)
            return refuse(text, "says once more what a word before it said; name one of them");
    }
    return buffers;
}

Json buffers_record(const lw_buffers& buffers) {
    return {{"caches", buffers.caches == LW_CACHES_COLD ? "cold" : "warm"},
            {"offset_bytes", buffers.offset_bytes},
            {"turns", buffers.rotating_sets},
            {"pages", buffers.pages == LW_PAGES_HUGE ? "huge" : "small"}};
}

}  // namespace lanewise::measure::session
