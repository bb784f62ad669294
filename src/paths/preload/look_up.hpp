// SPDX-License-Identifier: BSD-3-Clause
//
// The functions of libibverbs behind the interposer.

#pragma once

#include <dlfcn.h>

#include <cstdio>
#include <cstdlib>

namespace lanewise::paths::preload {

// A plugin may have loaded libibverbs for itself alone; then RTLD_NEXT does not find it.
inline void *find_function(const char *name, const char *version) {
    if (void *found = dlvsym(RTLD_NEXT, name, version)) return found;
    static void *library = dlopen("libibverbs.so.1", RTLD_LAZY | RTLD_NOLOAD);
    return library ? dlvsym(library, name, version) : nullptr;
}

inline void *look_up(const char *name, const char *version) {
    if (void *found = find_function(name, version)) return found;
    std::fprintf(stderr, "lanewise rdma protect: libibverbs.so.1 has no %s of version %s\n", name,
                 version);
    std::abort();
}

template <typename Function>
void fill(Function *& function, const char *name, const char *version = "IBVERBS_1.1") {
    function = reinterpret_cast<Function *>(look_up(name, version));
}

// Null where the library is older than the function.
template <typename Function>
void fill_if_there(Function *& function, const char *name, const char *version) {
    function = reinterpret_cast<Function *>(find_function(name, version));
}

}  // namespace lanewise::paths::preload
