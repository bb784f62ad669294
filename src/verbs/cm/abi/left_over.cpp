// SPDX-License-Identifier: BSD-3-Clause
//
// What a program did not destroy of the connection manager, and which messages came, for the census
// (verbs/abi/left_over.cpp).

#include "verbs/abi/handle_pool.hpp"
#include "verbs/cm/abi/objects.hpp"
#include "verbs/faults/injector.hpp"

namespace lanewise::verbs::cm {
namespace {

[[gnu::destructor]] void tell_what_is_left() {
    faults::Injector *injector = faults::Injector::get();
    if (!injector) return;
    injector->left("rdma_cm_id", abi::HandlePool<IdObject>::count());
    injector->write_census();
}

}  // namespace
}  // namespace lanewise::verbs::cm
