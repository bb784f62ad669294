// SPDX-License-Identifier: BSD-3-Clause

#include "paths/preload/settings.hpp"

#include <fmt/format.h>

#include <charconv>
#include <cstdlib>

namespace lanewise::paths::preload {
namespace {

std::string variable(const char *name) {
    const char *value = std::getenv(name);
    return value ? value : "";
}

// Milliseconds; leaves `into` as it is where the variable is not set. False if it is no number.
bool read_time(const char *name, Nanoseconds& into) {
    const std::string text = variable(name);
    if (text.empty()) return true;
    std::uint32_t time_ms = 0;
    const char *end = text.data() + text.size();
    const auto read = std::from_chars(text.data(), end, time_ms);
    if (read.ec != std::errc{} || read.ptr != end) return false;
    into = Nanoseconds{time_ms} * 1'000'000;
    return true;
}

Failure not_a_time(const char *name) {
    return {LW_ERR_ARGUMENT,
            fmt::format("{}={}: use a number of milliseconds", name, variable(name))};
}

}  // namespace

bool is_strict() {
    return variable("LANEWISE_PROTECT_STRICT") == "1";
}

Result<ProtectSettings> read_settings() {
    ProtectSettings made;
    made.report = variable("LANEWISE_PROTECT_REPORT");
    made.strict = is_strict();
    const std::string policy = variable("LANEWISE_PROTECT_POLICY");
    if (policy == "stay") {
        made.rules.policy = Policy::stay;
    } else if (policy == "balance") {
        made.rules.policy = Policy::balance;
    } else if (!policy.empty() && policy != "back") {
        return Failure{
            LW_ERR_ARGUMENT,
            fmt::format("LANEWISE_PROTECT_POLICY={}: use stay, back or balance", policy)};
    }
    const char *delay = "LANEWISE_PROTECT_FAILBACK_DELAY_MS";
    const char *window = "LANEWISE_PROTECT_RETRY_WINDOW_MS";
    if (variable(delay).empty())
        read_time("LANEWISE_PROTECT_QUIET_MS", made.rules.failback_delay_ns);
    if (!read_time(delay, made.rules.failback_delay_ns)) return not_a_time(delay);
    if (!read_time(window, made.retry_window_ns)) return not_a_time(window);
    const std::string paths = variable("LANEWISE_PROTECT_PATHS");
    if (paths.empty()) return made;
    Result<Directory> directory = load_directory(paths);
    if (!directory) return directory.failure();
    made.directory = std::move(*directory);
    return made;
}

}  // namespace lanewise::paths::preload
