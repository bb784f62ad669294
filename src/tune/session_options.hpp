// SPDX-License-Identifier: BSD-3-Clause
//
// Settings: the options that every program of contests has.

#pragma once

#include <lanewise/measure.h>

#include <CLI/CLI.hpp>
#include <cstdint>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "tune/comparison.hpp"

namespace lanewise::tools {

struct Settings {
    std::vector<std::uint64_t> sizes_bytes;
    RaceRule rule;
    double budget_s = 0.0;      /* for the whole run; 0: none */
    double time_limit_s = 10.0; /* for one contest */
    std::uint64_t seed = 0;
    std::string output; /* evidence, a JSON line a contest; empty: none is kept */
    bool resume = false;
    int ranks_expected = 0;
    std::string launcher;
    std::vector<std::string> words; /* as typed */

    lw_measure_options measure_options() const;
};

/* What the options say before it is checked. */
struct SettingTexts {
    std::string sizes = "4:1M:x4";
    std::string repetitions = "10:1000";
};

void declare_settings(CLI::App& app, SettingTexts& texts, Settings& settings);

/* Refuses what is out of range. */
Outcome read_settings(const SettingTexts& texts, Settings& settings);

}  // namespace lanewise::tools
