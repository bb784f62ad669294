// SPDX-License-Identifier: BSD-3-Clause

#include "collectives/tuned/call_site.hpp"

#include <dlfcn.h>
#include <link.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <string_view>

namespace lanewise::tuned {
namespace {

template <std::size_t size>
void put(std::array<char, size>& into, std::string_view text) {
    text.copy(into.data(), size - 1);
}

}  // namespace

CallSite call_site(const void *address) {
    CallSite site;
    Dl_info info{};
    void *extra = nullptr;
    if (!address || dladdr1(address, &info, &extra, RTLD_DL_LINKMAP) == 0 || !extra) return site;
    const auto *map = static_cast<const link_map *>(extra);
    site.offset = reinterpret_cast<std::uintptr_t>(address) - map->l_addr;
    if (info.dli_sname) put(site.symbol, info.dli_sname);
    // The program itself has no name here, and its argv[0] need not be a path.
    if (map->l_name && *map->l_name) {
        put(site.object, map->l_name);
    } else if (readlink("/proc/self/exe", site.object.data(), site.object.size() - 1) < 0) {
        put(site.object, info.dli_fname ? info.dli_fname : "");
    }
    return site;
}

}  // namespace lanewise::tuned
