// SPDX-License-Identifier: BSD-3-Clause
#include "paths/preload/next.hpp"

#include <dlfcn.h>

#include <cstdio>
#include <cstdlib>

namespace lanewise::paths::preload {
namespace {

// A plugin may have loaded libibverbs for itself alone; then it is not among the next ones.
void *look_up(const char *name) {
    constexpr const char *version = "IBVERBS_1.1";
    if (void *found = dlvsym(RTLD_NEXT, name, version)) return found;
    static void *library = dlopen("libibverbs.so.1", RTLD_LAZY | RTLD_NOLOAD);
    void *found = library ? dlvsym(library, name, version) : nullptr;
    if (found) return found;
    std::fprintf(stderr, "lanewise protect: libibverbs.so.1 has no %s of version %s\n", name,
                 version);
    std::abort();
}

template <typename Function>
void fill(Function *& function, const char *name) {
    function = reinterpret_cast<Function *>(look_up(name));
}

Next find() {
    Next made;
    fill(made.calls.modify_qp, "ibv_modify_qp");
    fill(made.calls.query_qp, "ibv_query_qp");
    fill(made.calls.query_device, "ibv_query_device");
    fill(made.calls.query_gid, "ibv_query_gid");
    fill(made.calls.get_async_event, "ibv_get_async_event");
    fill(made.calls.ack_async_event, "ibv_ack_async_event");
    fill(made.open_device, "ibv_open_device");
    fill(made.close_device, "ibv_close_device");
    fill(made.destroy_qp, "ibv_destroy_qp");
    fill(made.destroy_cq, "ibv_destroy_cq");
    fill(made.destroy_srq, "ibv_destroy_srq");
    return made;
}

}  // namespace

const Next& next() {
    static const Next found = find();
    return found;
}

}  // namespace lanewise::paths::preload
