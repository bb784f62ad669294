// SPDX-License-Identifier: BSD-3-Clause
//
// Quantities: the grammar of durations, rates, shares and repetitions on the command line. That of
// sizes is in sizes.hpp.
//
//   duration    = number [ "ns" | "us" | "ms" | "s" | "min" | "h" ]      without a unit seconds
//   rate        = number [ prefix ( "B" | "bit" | "b" | "cells" ) "/s" ] without a unit per second
//   prefix      = "" | "k" | "M" | "G"                                   powers of ten
//   share       = number [ "%" ]                                         2.5% is 0.025
//   repetitions = count | count ":" count                                N, or MIN:MAX

#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.hpp"

namespace lanewise {

/* In seconds. A refusal calls it `what`, as in --time-limit "soon" is not a time. */
Result<double> parse_duration(std::string_view text, std::string_view what = "duration");

/* What a rate counts: bytes, which may be given in bits, or cells of a sweep. */
enum class RateOf { bytes, cells };

/* In bytes or cells per second; more than none. */
Result<double> parse_rate(std::string_view text, RateOf of, std::string_view what = "rate");

/* As a fraction of one. */
Result<double> parse_share(std::string_view text, std::string_view what = "share");

struct Repetitions {
    std::uint32_t min = 0;
    std::uint32_t max = 0;
    bool operator==(const Repetitions&) const = default;
};

Result<Repetitions> parse_repetitions(std::string_view text);

/* The shortest form that is read back: "10s", "1us"; "2.5%"; "10:1000". */
std::string duration_text(double duration_s);
std::string share_text(double share);
std::string repetitions_text(Repetitions repetitions);

/* "1 point" and "2 points"; "pass" becomes "passes". */
std::string counted(std::uint64_t count, const std::string& what);

}  // namespace lanewise
