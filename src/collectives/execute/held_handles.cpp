// SPDX-License-Identifier: BSD-3-Clause

#include "collectives/execute/held_handles.hpp"

#include <algorithm>
#include <mutex>
#include <type_traits>
#include <vector>

#include "collectives/execute/cached_call.hpp"

namespace lanewise::collectives {

constinit bool frees_are_intercepted = false;

namespace {

template <typename Kind>
void free_now(typename Kind::Handle handle) {
    if constexpr (std::is_same_v<Kind, Operators>) {
        PMPI_Op_free(&handle);
    } else {
        PMPI_Type_free(&handle);
    }
}

/* What is held of one kind: few at a time. */
template <typename Kind>
class Registry {
  public:
    using Handle = typename Kind::Handle;

    void hold(Handle handle) {
        const std::lock_guard guard(lock_);
        const auto known = find(handle);
        if (known != uses_.end()) {
            ++known->calls;
        } else {
            uses_.push_back({handle, 1, false});
        }
    }

    void release(Handle handle) {
        {
            const std::lock_guard guard(lock_);
            const auto known = find(handle);
            if (--known->calls > 0) return;
            const bool freed = known->freed;
            uses_.erase(known);
            if (!freed) return;
        }
        free_now<Kind>(handle);
    }

    bool is_freed_later(Handle handle) {
        const std::lock_guard guard(lock_);
        const auto known = find(handle);
        if (known == uses_.end()) return false;
        known->freed = true;
        return true;
    }

  private:
    struct Use {
        Handle handle;
        int calls;
        bool freed;
    };

    auto find(Handle handle) { return std::ranges::find(uses_, handle, &Use::handle); }

    std::mutex lock_;
    std::vector<Use> uses_;
};

/* Never destroyed: calls that nobody waits for are held to the very end of the process. */
template <typename Kind>
Registry<Kind>& registry() {
    static Registry<Kind>& instance = *new Registry<Kind>;
    return instance;
}

}  // namespace

HeldType::~HeldType() {
    if (own_ != MPI_DATATYPE_NULL) PMPI_Type_free(&own_);
}

int HeldType::hold(MPI_Datatype& type) {
    if (is_predefined_type(type)) return MPI_SUCCESS;
    int code = PMPI_Type_contiguous(1, type, &own_);
    if (code == MPI_SUCCESS) code = PMPI_Type_commit(&own_);
    if (code == MPI_SUCCESS) type = own_;
    return code;
}

template <typename Kind>
HeldHandle<Kind>::~HeldHandle() {
    if (holds_) registry<Kind>().release(handle_);
}

template <typename Kind>
void HeldHandle<Kind>::hold(Handle handle) {
    registry<Kind>().hold(handle);
    handle_ = handle;
    holds_ = true;
}

template <typename Kind>
bool is_freed_later(typename Kind::Handle handle) {
    return registry<Kind>().is_freed_later(handle);
}

template class HeldHandle<Operators>;
template class HeldHandle<Datatypes>;
template bool is_freed_later<Operators>(MPI_Op);
template bool is_freed_later<Datatypes>(MPI_Datatype);

}  // namespace lanewise::collectives
