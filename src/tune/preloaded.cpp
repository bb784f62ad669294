// SPDX-License-Identifier: BSD-3-Clause
//
// See preloaded.hpp.

#include "tune/preloaded.hpp"

#include <dlfcn.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <limits>

#include "collectives/tuned/switch.hpp"

namespace lanewise::tune {
namespace {

constexpr const char *library_name = "liblanewise_tuned.so";
constexpr const char *kept_preload = "LANEWISE_PRELOAD_BEFORE";

template <typename Function>
Function find(const char *name) {
    return reinterpret_cast<Function>(dlsym(RTLD_DEFAULT, name));
}

lanewise_switch_function switch_function() {
    static const auto function = find<lanewise_switch_function>("lanewise_switch");
    return function;
}

/* Beside the folder of the program, in a build tree as in an installation. */
std::filesystem::path library_path() {
    std::error_code error;
    const auto program = std::filesystem::read_symlink("/proc/self/exe", error);
    return program.parent_path().parent_path() / "lib" / library_name;
}

/* What the program starts does not get the library. */
void restore_environment() {
    const char *before = std::getenv(kept_preload);
    if (before && *before) {
        setenv("LD_PRELOAD", before, 1);  // NOLINT: no thread yet
    } else {
        unsetenv("LD_PRELOAD");  // NOLINT
    }
    unsetenv(kept_preload);  // NOLINT
}

/* Nothing that would change what calls do, or time them as well. */
void prepare_environment(const std::string& library, const std::string& platform) {
    const char *before = std::getenv("LD_PRELOAD");
    const std::string others = before ? before : "";
    setenv(kept_preload, others.c_str(), 1);                                               // NOLINT
    setenv("LD_PRELOAD", (others.empty() ? library : library + ":" + others).c_str(), 1);  // NOLINT
    setenv("LANEWISE_SWITCHED", "1", 1);                                                   // NOLINT
    for (const auto *name :
         {"LANEWISE_TUNING", "LANEWISE_REPORT", "LANEWISE_PROFILE", "LANEWISE_SAME_BITS"}) {
        unsetenv(name);  // NOLINT
    }
    if (!platform.empty()) setenv("LANEWISE_PLATFORM", platform.c_str(), 1);  // NOLINT
}

}  // namespace

#ifdef LANEWISE_SIMULATED
bool can_be_preloaded() {
    return false;
}
#else
bool can_be_preloaded() {
    return true;
}
#endif

Outcome check_library_path() {
    const auto library = library_path().string();
    if (!can_be_preloaded() || library.find_first_of(" :") == std::string::npos) return Done{};
    return Failure{LW_ERR_UNSUPPORTED,
                   library +
                       " cannot be preloaded: LD_PRELOAD cuts it at spaces and colons; "
                       "install Lanewise into a folder whose path has neither"};
}

Outcome preload(char **argv, const std::string& platform) {
    if (!can_be_preloaded()) return Done{};
    const bool started_again = std::getenv(kept_preload) != nullptr;
    if (started_again) restore_environment();
    if (started_again && switch_function()) return Done{};
    const auto library = library_path();
    std::error_code error;
    if (!std::filesystem::exists(library, error)) {
        return Failure{LW_ERR_IO, library.string() + " does not exist; build it: make build"};
    }
    if (started_again) {
        return Failure{LW_ERR_IO, library.string() +
                                      " could not be loaded into this program; start a program "
                                      "that is not setuid, on a system that has LD_PRELOAD"};
    }
    prepare_environment(library, platform);
    execv("/proc/self/exe", argv);
    return Failure{LW_ERR_IO,
                   std::string("/proc/self/exe could not be started: ") + std::strerror(errno)};
}

void follow(collectives::Operation operation, std::uint64_t message_bytes,
            const collectives::Choice& choice) {
    // In these the size of a call is 0 for the rules, because ranks do not know each other's.
    const bool sizeless = is_sizeless(operation.collective);
    const lanewise_switched_rule rule{
        .operation = static_cast<std::uint32_t>(operation.index()),
        .from_bytes = sizeless ? 0 : message_bytes,
        .to_bytes = sizeless ? std::numeric_limits<std::uint64_t>::max() : message_bytes,
        .algorithm = choice.algorithm ? choice.algorithm->name : nullptr,
        .segment_bytes = choice.segment_bytes,
        .lanes = choice.lanes};
    if (const auto set = switch_function()) set(&rule);
}

std::uint64_t served_count() {
    static const auto function = find<lanewise_served_function>("lanewise_served");
    return function ? function() : 0;
}

}  // namespace lanewise::tune
