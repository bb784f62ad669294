// SPDX-License-Identifier: BSD-3-Clause

#include "base/control_groups.hpp"

#include <sys/stat.h>

#include <algorithm>
#include <fstream>
#include <limits>
#include <optional>
#include <string>
#include <vector>

namespace lanewise {
namespace {

namespace fs = std::filesystem;

constexpr double unlimited = std::numeric_limits<double>::infinity();

// The next number; empty for a word, such as "max", and for -1, both of which mean no limit.
std::optional<double> number_in(std::istream& stream) {
    double number = 0.0;
    if (!(stream >> number) || number < 0.0) return std::nullopt;
    return number;
}

std::optional<double> number_in(const fs::path& file) {
    std::ifstream stream(file);
    return number_in(stream);
}

bool lists(const std::string& controllers, const std::string& controller) {
    return ("," + controllers + ",").find("," + controller + ",") != std::string::npos;
}

// The folders of the groups that `controller` holds this process to. Groups of version 2 have no
// controllers in their names; those outside of a container have no folder in it.
std::vector<fs::path> groups_of(const fs::path& root, const std::string& controller) {
    std::vector<fs::path> found;
    std::ifstream file(root / "proc/self/cgroup");
    for (std::string line; std::getline(file, line);) {
        const auto first = line.find(':');
        const auto second = first == line.npos ? first : line.find(':', first + 1);
        if (second == line.npos) continue;
        const auto controllers = line.substr(first + 1, second - first - 1);
        if (!controllers.empty() && !lists(controllers, controller)) continue;
        fs::path folder = root / "sys/fs/cgroup";
        if (!controllers.empty()) folder /= controller;
        found.push_back(folder);
        for (const auto& name : fs::path(line.substr(second + 1)).relative_path())
            found.push_back(folder /= name);
    }
    return found;
}

double quota_of(const fs::path& group) {
    std::ifstream both(group / "cpu.max");
    const bool is_version_2 = both.is_open();
    const auto quota = is_version_2 ? number_in(both) : number_in(group / "cpu.cfs_quota_us");
    const auto period = is_version_2 ? number_in(both) : number_in(group / "cpu.cfs_period_us");
    return quota && period && *period > 0.0 ? *quota / *period : unlimited;
}

double cached_bytes(const fs::path& group, const std::string& prefix) {
    std::ifstream file(group / "memory.stat");
    double bytes = 0.0;
    std::string key;
    for (double value = 0.0; file >> key >> value;) {
        if (key == prefix + "inactive_file" || key == prefix + "active_file") bytes += value;
    }
    return bytes;
}

double left_in(const fs::path& group) {
    struct Version {
        const char *limit;
        const char *used;
        const char *of_all_below;
    };
    for (const auto& version :
         {Version{"memory.max", "memory.current", ""},
          Version{"memory.limit_in_bytes", "memory.usage_in_bytes", "total_"}}) {
        const auto limit = number_in(group / version.limit);
        const auto used = number_in(group / version.used);
        if (!limit || !used) continue;
        const double needed = std::max(0.0, *used - cached_bytes(group, version.of_all_below));
        return std::max(0.0, *limit - needed);
    }
    return unlimited;
}

std::vector<GroupLimit> limits_of(const std::vector<fs::path>& groups,
                                  double (*amount_of)(const fs::path&)) {
    std::vector<GroupLimit> limits;
    for (const auto& group : groups) {
        const double amount = amount_of(group);
        struct stat folder {};
        if (amount == unlimited || stat(group.c_str(), &folder) != 0) continue;
        limits.push_back({amount, folder.st_ino});
    }
    return limits;
}

}  // namespace

std::vector<GroupLimit> cpu_quotas(const fs::path& root) {
    return limits_of(groups_of(root, "cpu"), quota_of);
}

std::vector<GroupLimit> memory_left(const fs::path& root) {
    return limits_of(groups_of(root, "memory"), left_in);
}

double least_of(const std::vector<GroupLimit>& limits) {
    double least = unlimited;
    for (const auto& limit : limits) least = std::min(least, limit.amount);
    return least;
}

}  // namespace lanewise
