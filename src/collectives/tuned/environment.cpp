// SPDX-License-Identifier: BSD-3-Clause

#include "collectives/tuned/environment.hpp"

#include <mpi.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <set>
#include <system_error>

#include "base/fnv.hpp"
#include "base/json.hpp"
#include "base/launcher.hpp"
#include "base/sizes.hpp"
#include "collectives/execute/progress.hpp"
#include "model/platform/platform.hpp"

namespace lanewise::tuned {
std::string variable(const char *name) {
    const char *value = std::getenv(name);
    return value ? value : "";
}

namespace {

/* As `lanewise run` reads it before it starts anything. */
void read_profile_calls(const std::string& text, Environment& read) {
    if (text.empty()) return;
    std::size_t calls = 0;
    const auto *end = text.data() + text.size();
    const auto parsed = std::from_chars(text.data(), end, calls);
    if (parsed.ec == std::errc() && parsed.ptr == end && calls > 0 && calls <= profile_calls_max) {
        read.profile_calls = calls;
    } else {
        read.profile_fault = "LANEWISE_PROFILE_CALLS=" + text +
                             ": write a whole number of calls from 1 to " +
                             std::to_string(profile_calls_max);
    }
}

Environment read_environment() {
    Environment read;
    read.tuning_path = variable("LANEWISE_TUNING");
    read.platform_path = variable("LANEWISE_PLATFORM");
    read.report_path = variable("LANEWISE_REPORT");
    read.profile_path = variable("LANEWISE_PROFILE");
    read.results_folder = variable("LANEWISE_RESULTS");
    read_profile_calls(variable("LANEWISE_PROFILE_CALLS"), read);
    const auto strict = variable("LANEWISE_STRICT");
    if (!strict.empty() && strict != "0") {
        read.strictness = strict == "file" ? Strictness::file : Strictness::rules;
    }
    read.switched = variable("LANEWISE_SWITCHED") == "1";
    const auto same_bits = variable("LANEWISE_SAME_BITS");
    if (same_bits == "order") read.same_bits = SameBits::order;
    if (same_bits == "ranks") read.same_bits = SameBits::ranks;
    if (!same_bits.empty() && read.same_bits == SameBits::unasked) {
        read.fault = "LANEWISE_SAME_BITS=" + same_bits + ": use order or ranks";
    }
    const auto limit = variable("LANEWISE_SCRATCH_LIMIT");
    if (limit.empty()) return read;
    const auto bytes = parse_size(limit);
    if (bytes) {
        read.scratch_limit_bytes = static_cast<std::int64_t>(*bytes);
    } else {
        read.fault = "LANEWISE_SCRATCH_LIMIT: " + bytes.failure().sentence;
    }
    return read;
}

std::string library_here() {
    char text[MPI_MAX_LIBRARY_VERSION_STRING] = "";
    int length = 0;
    PMPI_Get_library_version(text, &length);
    return text;
}

/* What was measured against another MPI says nothing about this one. */
std::string why_foreign(const collectives::Tuning& tuning) {
    const auto measured = version_in(tuning.mpi_library);
    const auto here = version_in(library_here());
    const bool same =
        tuning.mpi_family == LANEWISE_MPI_FAMILY && (measured.empty() || measured == here);
    if (same) return "";
    const auto separator = measured.empty() ? "" : " ";
    return environment().tuning_path + " is for " + tuning.mpi_family + separator + measured +
           ", this is " LANEWISE_MPI_FAMILY " " + here + "; measure here: lanewise tune";
}

/* The first rule whose algorithm needs something, as "scatter by lmo_binomial". */
std::string first_rule_in_need(const collectives::Tuning& tuning,
                               bool collectives::Restrictions::*need) {
    for (const auto& layout : tuning.layouts) {
        for (const auto& list : layout.rules) {
            for (const auto& rule : list) {
                if (!(rule.algorithm->needs.*need)) continue;
                return std::string(name_of(rule.algorithm->collective)) + " by " +
                       rule.algorithm->name;
            }
        }
    }
    return {};
}

/* Reads the platform where a rule looks at it; a complaint where there is none to be read. Lanes
   do without, and carry equal shares. How many ranks the job has is not known yet, so a platform
   that has a network of its own ranks will do here. */
std::string read_platform_into(Rules& rules) {
    using collectives::Restrictions;
    auto wanting = first_rule_in_need(rules.tuning, &Restrictions::platform);
    const bool vital = !wanting.empty();
    if (!vital && !environment().platform_path.empty()) {
        wanting = first_rule_in_need(rules.tuning, &Restrictions::lanes);
    }
    if (wanting.empty()) return "";
    rules.consequence = "; " + (vital ? wanting + " is left to the MPI"
                                      : "the lanes of " + wanting + " carry equal shares");
    if (environment().platform_path.empty()) {
        return environment().tuning_path +
               " has rules that look at the platform; name it with "
               "--platform platform.json";
    }
    const auto platform = model::read_platform(environment().platform_path);
    if (!platform) return platform.failure().sentence;
    const auto network = model::network(*platform, "", platform->ranks);
    if (!network) return network.failure().sentence;
    rules.platform = std::make_shared<const model::Platform>(*platform);
    return "";
}

Rules read_rules() {
    Rules read;
    if (environment().tuning_path.empty()) {
        read.complaint = environment().fault;
        return read;
    }
    // A strict process looks at all of the file, as the one does that `lanewise run` starts first.
    auto tuning = collectives::read_tuning(environment().tuning_path,
                                           environment().strictness == Strictness::none
                                               ? collectives::Measurements::skipped
                                               : collectives::Measurements::checked);
    if (!tuning) {
        read.complaint = tuning.failure().sentence;
        return read;
    }
    read.tuning = std::move(*tuning);
    read.complaint = why_foreign(read.tuning);
    const bool in_one_order =
        std::ranges::any_of(read.tuning.layouts, &collectives::LayoutTuning::in_one_order);
    if (read.complaint.empty() && in_one_order && environment().same_bits == SameBits::unasked) {
        read.complaint = environment().tuning_path +
                         " chooses among algorithms of one order; add --same-bits order";
    }
    read.usable = read.complaint.empty();
    if (read.usable) read.complaint = read_platform_into(read);
    if (read.complaint.empty()) read.complaint = environment().fault;
    return read;
}

/* FNV-1a of numbers and texts. */
class Hash {
  public:
    void add(std::uint64_t number) {
        for (int byte = 0; byte < 8; ++byte) {
            value_ = fnv1a(value_, (number >> (8 * byte)) & 0xff);
        }
    }
    void add(std::string_view text) {
        for (const char letter : text) add(static_cast<std::uint64_t>(letter));
        add(text.size());
    }
    std::uint64_t value() const { return value_; }

  private:
    std::uint64_t value_ = fnv1a_basis;
};

void add(Hash& hash, const collectives::LayoutTuning& layout) {
    for (const auto& list : layout.rules) {
        hash.add(list.size());
        for (const auto& rule : list) {
            hash.add(rule.from_bytes);
            hash.add(rule.to_bytes);
            hash.add(rule.algorithm->name);
            hash.add(static_cast<std::uint64_t>(rule.segment_bytes));
            hash.add(static_cast<std::uint64_t>(rule.lanes));
        }
    }
    for (const int host : layout.hosts) hash.add(static_cast<std::uint64_t>(host));
    hash.add(layout.hosts.size());
    hash.add((layout.in_any_order ? 1U : 0U) + (layout.for_every_call ? 2U : 0U));
}

}  // namespace

// Neither is ever destroyed: what a process without a world writes at its end is of both.
const Environment& environment() {
    static const auto *const instance = new Environment(read_environment());
    return *instance;
}

const Rules& rules() {
    static const auto *const instance = new Rules(read_rules());
    return *instance;
}

std::uint64_t fingerprint_of(const Rules& rules) {
    if (!rules.usable) return 0;
    Hash hash;
    for (const auto& layout : rules.tuning.layouts) add(hash, layout);
    if (rules.platform) hash.add(std::string_view(json_text(model::to_json(*rules.platform))));
    // Both decide what a call does, so they too must be the same everywhere.
    hash.add(static_cast<std::uint64_t>(environment().scratch_limit_bytes));
    hash.add(environment().report_path.empty() ? 0U : 1U);
    hash.add(static_cast<std::uint64_t>(collectives::progress_here()));
    return hash.value() | 1U;
}

std::uint64_t fingerprint() {
    static const std::uint64_t instance = fingerprint_of(rules());
    return instance;
}

std::string version_in(const std::string& library) {
    const auto digit = [](char letter) { return std::isdigit(static_cast<unsigned char>(letter)); };
    for (std::size_t begin = 0; begin < library.size(); ++begin) {
        if (!digit(library[begin])) continue;
        std::size_t end = begin;
        while (end < library.size() && (digit(library[end]) || library[end] == '.')) ++end;
        const auto number = library.substr(begin, end - begin);
        if (number.find('.') != std::string::npos) return number;
        begin = end;
    }
    return "";
}

void say(const std::string& sentence) {
    // One write, so that lines of several ranks do not mix.
    const std::string line = "lanewise: " + sentence + "\n";
    std::fputs(line.c_str(), stderr);
}

void say_once(const std::string& sentence) {
    static std::mutex lock;
    static std::set<std::string> said;
    const std::scoped_lock guard(lock);
    if (said.insert(sentence).second && is_first_process()) say(sentence);
}

}  // namespace lanewise::tuned
