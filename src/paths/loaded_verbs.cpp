// SPDX-License-Identifier: BSD-3-Clause
//
// See loaded_verbs.hpp.

#include "paths/loaded_verbs.hpp"

#include <dlfcn.h>
#include <fmt/format.h>

#include <string>

namespace lanewise::paths {
namespace {

// Of what the library lacks, `lacks` gets the name.
template <typename Function>
void fill(Function *& function, void *library, const char *name, std::string& lacks) {
    function = reinterpret_cast<Function *>(dlvsym(library, name, "IBVERBS_1.1"));
    if (!function) lacks = name;
}

}  // namespace

Result<LoadedVerbs> load_verbs() {
    void *library = dlopen("libibverbs.so.1", RTLD_NOW);
    if (!library) {
        return Failure{LW_ERR_UNSUPPORTED,
                       fmt::format("libibverbs cannot be loaded: {}; install rdma-core's "
                                   "libibverbs1",
                                   dlerror())};
    }
    LoadedVerbs made;
    std::string lacks;
    fill(made.calls.query_device, library, "ibv_query_device", lacks);
    fill(made.calls.query_gid, library, "ibv_query_gid", lacks);
    fill(made.get_device_list, library, "ibv_get_device_list", lacks);
    fill(made.free_device_list, library, "ibv_free_device_list", lacks);
    fill(made.open_device, library, "ibv_open_device", lacks);
    fill(made.close_device, library, "ibv_close_device", lacks);
    if (lacks.empty()) return made;
    return Failure{LW_ERR_UNSUPPORTED,
                   fmt::format("libibverbs.so.1 has no {} of version IBVERBS_1.1", lacks)};
}

}  // namespace lanewise::paths
