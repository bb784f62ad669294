// SPDX-License-Identifier: BSD-3-Clause
//
// The devices that connections are on: rdma_get_devices(3).

#include <dlfcn.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdlib>
#include <vector>

#include "verbs/cm/abi/objects.hpp"

namespace lanewise::verbs::cm {
namespace {

struct OpenDevice {
    ibv_context *context = nullptr;
    ibv_pd *domain = nullptr;
};

std::mutex devices_lock;
// Those that do not open have no context. They are open to the end of the process, and known.
std::vector<OpenDevice>& open_devices = *new std::vector<OpenDevice>;

// The contexts of these, for who must not wait for the lock.
std::array<std::atomic<ibv_context *>, abi::devices_max> known_contexts;

std::vector<OpenDevice> open_all() {
    std::vector<OpenDevice> opened;
    int count = 0;
    ibv_device **list = ibv_get_device_list(&count);
    for (int at = 0; at < count; ++at) opened.push_back({ibv_open_device(list[at]), nullptr});
    if (list) ibv_free_device_list(list);
    for (std::size_t at = 0; at < opened.size(); ++at) known_contexts[at] = opened[at].context;
    return opened;
}

// A child opens devices of its own.
void forget_in_child() {
    open_devices.clear();
    for (std::atomic<ibv_context *>& one : known_contexts) one = nullptr;
    devices_lock.unlock();
}

bool has_none() {
    return std::none_of(open_devices.begin(), open_devices.end(),
                        [](const OpenDevice& one) { return one.context != nullptr; });
}

// Each with a protection domain, for programs that name none.
const std::vector<OpenDevice>& opened() {
    static const int registered =
        pthread_atfork([] { devices_lock.lock(); }, [] { devices_lock.unlock(); }, forget_in_child);
    static_cast<void>(registered);
    const std::lock_guard guard(devices_lock);
    if (has_none()) open_devices = open_all();
    for (OpenDevice& one : open_devices) {
        if (one.context && !one.domain) one.domain = ibv_alloc_pd(one.context);
    }
    return open_devices;
}

}  // namespace

bool has_failed(std::size_t device) {
    using Asked = int(ibv_context *);
    static auto *const ask = reinterpret_cast<Asked *>(dlsym(RTLD_DEFAULT, "lanewise_has_failed"));
    ibv_context *context = known_contexts[device];
    return ask && context && ask(context) != 0;
}

ibv_context *the_device() {
    const std::vector<OpenDevice>& devices = opened();
    return devices.empty() ? nullptr : devices.front().context;
}

bool bind_device(IdObject& id) {
    Manager *shared = manager();
    if (!shared || !the_device()) return false;
    Manager::Place place;
    {
        const std::lock_guard guard(shared->lock());
        const std::optional<std::uint8_t> number = port_of(shared->ports(), id.local.address);
        if (!number) return false;
        place = shared->place_of(*number);
    }
    const OpenDevice& device = opened()[place.device];
    if (!device.context) return false;
    id.shown.verbs = device.context;
    id.shown.port_num = place.port;
    if (!id.shown.pd) id.shown.pd = device.domain;
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
    std::vector<ibv_context *> found;
    for (const OpenDevice& one : opened()) {
        if (one.context) found.push_back(one.context);
    }
    auto **list = static_cast<ibv_context **>(std::calloc(found.size() + 1, sizeof(void *)));
    if (!list) return nullptr;
    std::copy(found.begin(), found.end(), list);
    if (num_devices) *num_devices = static_cast<int>(found.size());
    return list;
}

void rdma_free_devices(ibv_context **list) {
    std::free(list);
}

}  // extern "C"
