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

}  // namespace

Result<ProtectSettings> read_settings() {
    ProtectSettings made;
    made.report = variable("LANEWISE_PROTECT_REPORT");
    made.strict = variable("LANEWISE_PROTECT_STRICT") == "1";
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
    std::string delay = variable("LANEWISE_PROTECT_FAILBACK_DELAY_MS");
    if (delay.empty()) delay = variable("LANEWISE_PROTECT_QUIET_MS");
    if (!delay.empty()) {
        std::uint32_t delay_ms = 0;
        const char *end = delay.data() + delay.size();
        const auto read = std::from_chars(delay.data(), end, delay_ms);
        if (read.ec != std::errc{} || read.ptr != end) {
            return Failure{LW_ERR_ARGUMENT,
                           fmt::format("LANEWISE_PROTECT_FAILBACK_DELAY_MS={}: use a number of "
                                       "milliseconds",
                                       delay)};
        }
        made.rules.failback_delay_ns = Nanoseconds{delay_ms} * 1'000'000;
    }
    const std::string paths = variable("LANEWISE_PROTECT_PATHS");
    if (paths.empty()) return made;
    Result<Directory> directory = load_directory(paths);
    if (!directory) return directory.failure();
    made.directory = std::move(*directory);
    return made;
}

}  // namespace lanewise::paths::preload
