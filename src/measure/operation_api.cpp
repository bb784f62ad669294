// SPDX-License-Identifier: BSD-3-Clause
//
// Making operations through the C API: by function, name, callbacks or file.

#include <dlfcn.h>

#include <cmath>
#include <cstdio>
#include <cstring>
#include <new>

#include "measure/operation.hpp"

namespace lanewise::measure {
namespace {

lw_operation *make(const char *name, Function function) {
    auto *operation = new (std::nothrow) lw_operation;
    if (!operation) return nullptr;
    operation->name = name;
    operation->entry = find_entry(name);
    operation->function = function;
    return operation;
}

template <typename F>
lw_operation *make_from(const char *name, F function) {
    return make(name, reinterpret_cast<Function>(function));
}

bool usable(const lw_operation_callbacks *callbacks) {
    return callbacks && callbacks->struct_size == sizeof(lw_operation_callbacks) &&
           callbacks->name && callbacks->execute;
}

void say(char *text, size_t text_bytes, const std::string& reason) {
    if (text && text_bytes > 0) std::snprintf(text, text_bytes, "%s", reason.c_str());
}

}  // namespace
}  // namespace lanewise::measure

using namespace lanewise::measure;

lw_operation *lw_operation_scatter(lw_scatter_fn f) { return make_from("scatter", f); }
lw_operation *lw_operation_scatterv(lw_scatterv_fn f) { return make_from("scatterv", f); }
lw_operation *lw_operation_gather(lw_gather_fn f) { return make_from("gather", f); }
lw_operation *lw_operation_gatherv(lw_gatherv_fn f) { return make_from("gatherv", f); }
lw_operation *lw_operation_bcast(lw_bcast_fn f) { return make_from("bcast", f); }
lw_operation *lw_operation_reduce(lw_reduce_fn f) { return make_from("reduce", f); }
lw_operation *lw_operation_allreduce(lw_allreduce_fn f) { return make_from("allreduce", f); }
lw_operation *lw_operation_allgather(lw_allgather_fn f) { return make_from("allgather", f); }
lw_operation *lw_operation_alltoall(lw_alltoall_fn f) { return make_from("alltoall", f); }
lw_operation *lw_operation_barrier(lw_barrier_fn f) { return make_from("barrier", f); }

const char *lw_operation_name(size_t index) {
    return index < registry().size() ? registry()[index].name : nullptr;
}

lw_status lw_operation_named(const char *name, lw_operation **operation) {
    if (!name || !operation) return LW_ERR_ARGUMENT;
    const auto *entry = find_entry(name);
    if (!entry) return LW_ERR_NOT_FOUND;
    if (entry->lacks) return LW_ERR_UNSUPPORTED;
    auto *made = make(name, nullptr);
    if (!made) return LW_ERR_MEMORY;
    *operation = made;
    return LW_OK;
}

lw_status lw_operation_user(const lw_operation_callbacks *callbacks, lw_operation **operation) {
    if (!usable(callbacks) || !operation) return LW_ERR_ARGUMENT;
    auto *made = new (std::nothrow) lw_operation;
    if (!made) return LW_ERR_MEMORY;
    made->name = callbacks->name;
    made->callbacks = *callbacks;
    *operation = made;
    return LW_OK;
}

lw_status lw_operation_load(const char *library_and_symbol, char *text, size_t text_bytes,
                            lw_operation **operation) {
    if (!library_and_symbol || !operation) return LW_ERR_ARGUMENT;
    const std::string both = library_and_symbol;
    const auto colon = both.rfind(':');
    if (colon == std::string::npos || colon == 0 || colon + 1 == both.size()) {
        say(text, text_bytes, "\"" + both + "\" is not LIBRARY.so:SYMBOL");
        return LW_ERR_NOT_FOUND;
    }
    std::string path = both.substr(0, colon);
    if (path.find('/') == std::string::npos) path = "./" + path;
    std::shared_ptr<void> library(dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL),
                                  [](void *handle) { if (handle) dlclose(handle); });
    if (!library) {
        say(text, text_bytes, dlerror());
        return LW_ERR_NOT_FOUND;
    }
    const auto symbol = both.substr(colon + 1);
    const auto *callbacks =
        static_cast<const lw_operation_callbacks *>(dlsym(library.get(), symbol.c_str()));
    if (!callbacks) {
        say(text, text_bytes, path + " has no symbol \"" + symbol + "\"");
        return LW_ERR_NOT_FOUND;
    }
    const auto status = lw_operation_user(callbacks, operation);
    if (status == LW_OK) (*operation)->library = std::move(library);
    if (status == LW_ERR_ARGUMENT)
        say(text, text_bytes, symbol + " of " + path + " is not a lw_operation_callbacks of this "
                              "version with a name and execute");
    return status;
}

lw_status lw_operation_weights(lw_operation *operation, const double *weights, size_t count) {
    if (!operation || !weights || count == 0) return LW_ERR_ARGUMENT;
    if (!operation->entry || !operation->entry->varying) return LW_ERR_UNSUPPORTED;
    for (size_t i = 0; i < count; ++i) {
        if (!(weights[i] >= 0.0) || !std::isfinite(weights[i])) return LW_ERR_ARGUMENT;
    }
    operation->weights.assign(weights, weights + count);
    return LW_OK;
}

lw_status lw_operation_window(lw_operation *operation, int messages) {
    if (!operation || messages < 1) return LW_ERR_ARGUMENT;
    if (!operation->entry || !operation->entry->messages) return LW_ERR_UNSUPPORTED;
    operation->window = messages;
    return LW_OK;
}

void lw_operation_free(lw_operation *operation) { delete operation; }
