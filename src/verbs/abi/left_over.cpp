// SPDX-License-Identifier: BSD-3-Clause
//
// What a program did not destroy before it ended, for the census. A kernel would free it without a
// word, so a program that forgets an object where something fails is not noticed otherwise.

#include "verbs/abi/objects.hpp"

namespace lanewise::verbs::abi {
namespace {

// Libraries that use the device may clean up in destructors of their own, which come before.
[[gnu::destructor]] void tell_what_is_left() {
    faults::Injector *injector = faults::Injector::get();
    if (!injector) return;
    injector->left("ibv_context", HandlePool<Context>::count());
    injector->left("ibv_pd", HandlePool<DomainObject>::count());
    injector->left("ibv_td", HandlePool<ThreadDomainObject>::count());
    injector->left("ibv_dm", HandlePool<DeviceMemoryObject>::count());
    injector->left("ibv_mr", HandlePool<RegionObject>::count());
    injector->left("ibv_mw", HandlePool<WindowObject>::count());
    injector->left("ibv_ah", HandlePool<AddressObject>::count());
    injector->left("ibv_comp_channel", HandlePool<ChannelObject>::count());
    injector->left("ibv_cq", HandlePool<CompletionObject>::count());
    injector->left("ibv_xrcd", HandlePool<ExtendedDomainObject>::count());
    injector->left("ibv_srq", HandlePool<SharedReceiveObject>::count());
    injector->left("ibv_qp", HandlePool<QueuePairObject>::count());
    injector->write_census();
}

}  // namespace
}  // namespace lanewise::verbs::abi
