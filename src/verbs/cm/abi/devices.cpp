// SPDX-License-Identifier: BSD-3-Clause
//
// The device that connections are on: rdma_get_devices(3).

#include <algorithm>
#include <cstdlib>

#include "verbs/cm/abi/objects.hpp"

namespace lanewise::verbs::cm {
namespace {

struct OpenDevice {
    ibv_context *context = nullptr;
    ibv_pd *domain = nullptr;
};

std::mutex device_lock;
OpenDevice open_device;

ibv_context *open_first() {
    ibv_device **list = ibv_get_device_list(nullptr);
    ibv_context *context = list && list[0] ? ibv_open_device(list[0]) : nullptr;
    if (list) ibv_free_device_list(list);
    return context;
}

// A child opens a device of its own.
void forget_in_child() {
    open_device = {};
    device_lock.unlock();
}

const OpenDevice& opened() {
    static const int registered = pthread_atfork(
        [] { device_lock.lock(); }, [] { device_lock.unlock(); }, forget_in_child);
    static_cast<void>(registered);
    const std::lock_guard guard(device_lock);
    if (!open_device.context) open_device.context = open_first();
    if (open_device.context && !open_device.domain) {
        open_device.domain = ibv_alloc_pd(open_device.context);
    }
    return open_device;
}

}  // namespace

ibv_context *the_device() {
    return opened().context;
}

ibv_pd *the_domain() {
    return opened().domain;
}

bool bind_device(IdObject& id) {
    Manager *shared = manager();
    if (!shared || !the_device()) return false;
    std::optional<std::uint8_t> number;
    {
        const std::lock_guard guard(shared->lock());
        number = port_of(shared->ports(), id.local.address);
    }
    if (!number) return false;
    id.shown.verbs = the_device();
    id.shown.port_num = *number;
    if (!id.shown.pd) id.shown.pd = the_domain();
    return true;
}

std::optional<std::uint8_t> gid_index(IdObject& id) {
    for (int index = 0; index < static_cast<int>(abi::gid_table_length); ++index) {
        ibv_gid gid{};
        if (ibv_query_gid(id.shown.verbs, id.shown.port_num, index, &gid) != 0) continue;
        if (std::equal(std::begin(gid.raw), std::end(gid.raw), id.local.address.begin())) {
            return static_cast<std::uint8_t>(index);
        }
    }
    return std::nullopt;
}

}  // namespace lanewise::verbs::cm

using namespace lanewise::verbs::cm;

extern "C" {

ibv_context **rdma_get_devices(int *num_devices) {
    auto **list = static_cast<ibv_context **>(std::calloc(2, sizeof(ibv_context *)));
    if (!list) return nullptr;
    list[0] = the_device();
    if (num_devices) *num_devices = list[0] ? 1 : 0;
    return list;
}

void rdma_free_devices(ibv_context **list) {
    std::free(list);
}

}  // extern "C"
