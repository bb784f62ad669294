// SPDX-License-Identifier: BSD-3-Clause
#include "paths/preload/wishes.hpp"

#include <fmt/format.h>

#include <charconv>
#include <cstdlib>

namespace lanewise::paths::preload {
namespace {

std::string wish(const char *name) {
    const char *value = std::getenv(name);
    return value ? value : "";
}

}  // namespace

Result<Wishes> read_wishes() {
    Wishes made;
    made.report = wish("LANEWISE_PROTECT_REPORT");
    made.strict = wish("LANEWISE_PROTECT_STRICT") == "1";
    const std::string policy = wish("LANEWISE_PROTECT_POLICY");
    if (policy == "stay") {
        made.rules.policy = Policy::stay;
    } else if (policy == "balance") {
        made.rules.policy = Policy::balance;
    } else if (!policy.empty() && policy != "back") {
        return Failure{
            LW_ERR_ARGUMENT,
            fmt::format("LANEWISE_PROTECT_POLICY={}: say stay, back or balance", policy)};
    }
    const std::string quiet = wish("LANEWISE_PROTECT_QUIET_MS");
    if (!quiet.empty()) {
        std::uint32_t quiet_ms = 0;
        const char *end = quiet.data() + quiet.size();
        const auto read = std::from_chars(quiet.data(), end, quiet_ms);
        if (read.ec != std::errc{} || read.ptr != end) {
            return Failure{
                LW_ERR_ARGUMENT,
                fmt::format("LANEWISE_PROTECT_QUIET_MS={}: say a number of milliseconds", quiet)};
        }
        made.rules.quiet_ns = Nanoseconds{quiet_ms} * 1'000'000;
    }
    const std::string paths = wish("LANEWISE_PROTECT_PATHS");
    if (paths.empty()) return made;
    Result<Directory> directory = load_directory(paths);
    if (!directory) return directory.failure();
    made.directory = std::move(*directory);
    return made;
}

}  // namespace lanewise::paths::preload
