// SPDX-License-Identifier: BSD-3-Clause

#include "collectives/tuned/call_site.hpp"

#include <dlfcn.h>
#include <link.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <string_view>
#include <system_error>

#include "base/json.hpp"

namespace lanewise::tuned {
namespace {

/* Of the first character; 0: it is not UTF-8. */
std::size_t byte_count(std::string_view text) {
    for (std::size_t count = 1; count <= 4; ++count) {
        if (is_text(std::string(text.substr(0, count)))) return count;
    }
    return 0;
}

std::string escaped(std::string_view path) {
    if (is_text(std::string(path))) return std::string(path);
    std::string text;
    while (!path.empty()) {
        const auto count = byte_count(path);
        text += path.substr(0, count);
        if (count == 0) {
            char byte[] = "\\x00";
            std::snprintf(byte, sizeof byte, "\\x%02x", path.front() & 0xff);
            text += byte;
        }
        path.remove_prefix(std::max<std::size_t>(1, count));
    }
    return text;
}

}  // namespace

CallSite call_site(const void *address) {
    CallSite site;
    Dl_info info{};
    void *extra = nullptr;
    if (!address || dladdr1(address, &info, &extra, RTLD_DL_LINKMAP) == 0 || !extra) return site;
    const auto *map = static_cast<const link_map *>(extra);
    site.offset = reinterpret_cast<std::uintptr_t>(address) - map->l_addr;
    if (info.dli_sname) site.symbol = info.dli_sname;
    if (map->l_name && *map->l_name) {
        site.object = escaped(map->l_name);
        return site;
    }
    // The program itself has no name here, and its argv[0] need not be a path.
    std::error_code error;
    const auto program = std::filesystem::read_symlink("/proc/self/exe", error);
    site.object = escaped(!error ? program.string() : info.dli_fname ? info.dli_fname : "");
    return site;
}

}  // namespace lanewise::tuned
