// SPDX-License-Identifier: BSD-3-Clause
//
// Read from uname, sched_getaffinity and /sys.

#include "base/host.hpp"

#include <sched.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <ctime>
#include <fstream>
#include <limits>

namespace lanewise {
namespace {

std::string first_word(const char *path) {
    std::ifstream file(path);
    std::string word;
    return file >> word ? word : "unknown";
}

std::string processor_model() {
    std::ifstream file("/proc/cpuinfo");
    for (std::string line; std::getline(file, line);) {
        const auto colon = line.find(": ");
        if (line.starts_with("model name") && colon != line.npos) return line.substr(colon + 2);
    }
    return "unknown";
}

std::string text_of(const std::vector<int>& cpus) {
    if (cpus.empty()) return "unknown";
    std::string text;
    for (std::size_t first = 0; first < cpus.size(); ++first) {
        auto last = first;
        while (last + 1 < cpus.size() && cpus[last + 1] == cpus[last] + 1) ++last;
        if (!text.empty()) text += ',';
        text += std::to_string(cpus[first]);
        if (last > first) text += '-' + std::to_string(cpus[last]);
        first = last;
    }
    return text;
}

}  // namespace

std::vector<int> allowed_cpus() {
    cpu_set_t set;
    CPU_ZERO(&set);
    std::vector<int> cpus;
    if (sched_getaffinity(0, sizeof set, &set) != 0) return cpus;
    for (std::size_t cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
        if (CPU_ISSET(cpu, &set)) cpus.push_back(static_cast<int>(cpu));
    }
    return cpus;
}

Host this_host() {
    Host host;
    utsname name{};
    if (uname(&name) == 0) {
        host.name = name.nodename;
        host.kernel = std::string(name.sysname) + " " + name.release;
    }
    host.cpus = text_of(allowed_cpus());
    host.cores = static_cast<int>(sysconf(_SC_NPROCESSORS_ONLN));
    host.processor = processor_model();
    host.governor = first_word("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor");
    host.clocksource =
        first_word("/sys/devices/system/clocksource/clocksource0/current_clocksource");
    return host;
}

std::map<std::string, std::string> tcp_settings() {
    std::map<std::string, std::string> found;
    for (const auto *name : {"tcp_rmem", "tcp_wmem", "tcp_congestion_control"}) {
        std::ifstream file(std::string("/proc/sys/net/ipv4/") + name);
        std::string line;
        if (!std::getline(file, line)) continue;
        std::replace(line.begin(), line.end(), '\t', ' ');
        found[std::string("net.ipv4.") + name] = line;
    }
    return found;
}

std::string utc_now() {
    const std::time_t now = std::time(nullptr);
    std::tm parts{};
    gmtime_r(&now, &parts);
    char text[32];
    std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &parts);
    return text;
}

double available_memory_bytes() {
    std::ifstream file("/proc/meminfo");
    std::string key;
    double kibibytes = 0.0;
    while (file >> key >> kibibytes) {
        if (key == "MemAvailable:") return 1024.0 * kibibytes;
        file.ignore(std::numeric_limits<std::streamsize>::max(), '\n');
    }
    return std::numeric_limits<double>::infinity();
}

std::uint64_t pid_namespace() {
    struct stat of {};
    return stat("/proc/self/ns/pid", &of) == 0 ? of.st_ino : 0;
}

}  // namespace lanewise
