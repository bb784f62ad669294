// SPDX-License-Identifier: BSD-3-Clause
//
// The list of devices, and opening and closing them.

#include <pthread.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <set>
#include <thread>
#include <vector>

#include "base/fnv.hpp"
#include "base/use_mark.hpp"
#include "verbs/abi/objects.hpp"
#include "verbs/proto/memory/guarded.hpp"

// Not in the header; Open MPI and drivers declare it themselves.
extern "C" const char *ibv_get_sysfs_path(void);

namespace lanewise::verbs::abi {
namespace {

struct DeviceObject {
    ibv_device shown{};
    Config config;
    int index = 0;
    __be64 guid = 0;
};

// For a device whose interface has no hardware address.
std::uint64_t hash_of_host() {
    std::array<char, 256> name{};
    gethostname(name.data(), name.size() - 1);
    std::uint64_t hash = fnv1a_basis;
    for (const char *at = name.data(); *at; ++at) {
        hash = fnv1a(hash, static_cast<unsigned char>(*at));
    }
    return hash;
}

// EUI-64 from the address of the first interface that has one.
__be64 guid_of(const Config& config) {
    std::array<std::uint8_t, 8> guid{};
    for (const port::Interface& interface : port::read_interfaces(config.interfaces)) {
        const auto& mac = interface.mac;
        if (mac == std::array<std::uint8_t, 6>{}) continue;
        guid = {static_cast<std::uint8_t>(mac[0] ^ 2),
                mac[1],
                mac[2],
                0xff,
                0xfe,
                mac[3],
                mac[4],
                mac[5]};
        break;
    }
    if (guid == std::array<std::uint8_t, 8>{}) {
        std::uint64_t hash = hash_of_host();
        for (const char letter : config.name)
            hash = fnv1a(hash, static_cast<unsigned char>(letter));
        std::memcpy(guid.data(), &hash, sizeof hash);
    }
    __be64 made = 0;
    std::memcpy(&made, guid.data(), sizeof made);
    return made;
}

DeviceObject make_device(const Config& config, int index) {
    DeviceObject device;
    const char *name = config.name.c_str();
    device.config = config;
    device.index = index;
    device.guid = guid_of(config);
    device.shown.node_type = IBV_NODE_CA;
    device.shown.transport_type = IBV_TRANSPORT_IB;
    std::snprintf(device.shown.name, sizeof device.shown.name, "%s", name);
    std::snprintf(device.shown.dev_name, sizeof device.shown.dev_name, "%s", name);
    std::snprintf(device.shown.dev_path, sizeof device.shown.dev_path,
                  "%s/class/infiniband_verbs/%s", ibv_get_sysfs_path(), name);
    std::snprintf(device.shown.ibdev_path, sizeof device.shown.ibdev_path, "%s/class/infiniband/%s",
                  ibv_get_sysfs_path(), name);
    return device;
}

// None, after a line on standard error, where the environment asks for what cannot be.
std::vector<DeviceObject> make_devices() {
    std::vector<DeviceObject> made;
    const Result<std::vector<Config>> configs = read_devices();
    if (!configs) {
        warn(configs.failure().sentence);
        return made;
    }
    for (const Config& config : *configs) {
        made.push_back(make_device(config, static_cast<int>(made.size())));
    }
    return made;
}

// Programs hold pointers to them, so they stay where they are.
std::vector<DeviceObject>& the_devices() {
    static std::vector<DeviceObject> devices = make_devices();
    return devices;
}

// Over all of opening and of closing a device, whose sockets a child that is made meanwhile would
// not know of.
std::mutex opening_lock;
std::mutex contexts_lock;
// Never destroyed: a thread may still be closing a device when the program ends.
std::set<Context *>& open_contexts() {
    static auto& contexts = *new std::set<Context *>;
    return contexts;
}

// A child has a copy of everything but the helper threads, and must not hold the sockets of its
// parent open: its parent's queue-pair numbers would outlive the parent.
void leave_to_parent() {
    for (Context *context : open_contexts()) {
        context->forked = true;
        context->progress->abandon();
        context->adapter->abandon();
    }
    open_contexts().clear();
    port::Capture::close_in_child();
}

// Registered before whatever may open a device, whose locks over fork are then taken before these.
[[gnu::constructor]] void hold_locks_over_fork() {
    pthread_atfork(
        [] {
            opening_lock.lock();
            contexts_lock.lock();
            handle_pool_lock().lock();
        },
        [] {
            handle_pool_lock().unlock();
            contexts_lock.unlock();
            opening_lock.unlock();
        },
        [] {
            handle_pool_lock().unlock();
            leave_to_parent();
            contexts_lock.unlock();
            opening_lock.unlock();
        });
}

const UseMark& use_mark() {
    static const UseMark mark("LANEWISE_HCA_USE_MARK");
    return mark;
}

// Programs of MPI run over TCP without a word where their transports are chosen wrongly; tools that
// only look at the device need not be told that they did.
[[gnu::destructor]] void tell_if_unused() {
    if (!use_mark().is_first()) return;
    if (!use_mark().is_set(use_listed)) {
        warn("no program that was started here looked for an RDMA device");
        return;
    }
    constexpr std::array ranks{"OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK"};
    const bool is_rank =
        std::any_of(ranks.begin(), ranks.end(), [](const char *name) { return std::getenv(name); });
    if (is_rank && !use_mark().is_set(use_connected)) {
        warn(std::string("no queue pair was made on ") + first_device_name +
             ", so the messages took another way; choose the transports of the MPI, such as "
             "UCX_TLS=rc_verbs,ud_verbs,self and UCX_NET_DEVICES=lanewise0:1");
    }
}

constexpr int lock_tries = 20;
constexpr auto lock_pause = std::chrono::microseconds(100);

// The program may be ending in the middle of a call that holds the lock.
std::unique_lock<std::mutex> held_at_end(std::mutex& lock) {
    std::unique_lock guard(lock, std::defer_lock);
    for (int tries = 0; tries < lock_tries && !guard.try_lock(); ++tries) {
        std::this_thread::sleep_for(lock_pause);
    }
    return guard;
}

// A peer whose last acknowledgement is lost asks for it, and the helper thread answers.
void wait_until(Nanoseconds end) {
    const Nanoseconds left = end - monotonic_ns();
    if (left > 0) std::this_thread::sleep_for(std::chrono::nanoseconds(left));
}

// With the lock of the adapter. Returns until when to wait before the adapter goes.
Nanoseconds say_the_last(Adapter& adapter) {
    adapter.send_all(monotonic_ns());
    return adapter.is_dead() ? 0 : adapter.engine().time_wait_ends_at();
}

// A program may end without closing anything, and its peers wait for acknowledgements.
void end_all() {
    std::unique_lock all = held_at_end(contexts_lock);
    if (!all) return;
    Nanoseconds end = 0;
    for (Context *context : open_contexts()) {
        const std::unique_lock guard = held_at_end(context->adapter->lock());
        if (guard) end = std::max(end, say_the_last(*context->adapter));
    }
    all.unlock();
    wait_until(end);
}

void remember(Context *context) {
    static std::once_flag once;
    std::call_once(once, [] {
        open_contexts();  // lives until after end_all()
        std::atexit(end_all);
    });
    const std::lock_guard guard(contexts_lock);
    open_contexts().insert(context);
}

void fill(Context& context, ibv_device *device) {
    verbs_context& shown = context.shown;
    shown.sz = sizeof shown;
    shown.priv = reinterpret_cast<verbs_ex_private *>(&context);
    shown.context.device = device;
    // No kernel takes commands; but there is a descriptor that programs can duplicate.
    shown.context.cmd_fd = context.events.descriptor();
    shown.context.async_fd = context.events.descriptor();
    shown.context.num_comp_vectors = 1;
    shown.context.abi_compat = __VERBS_ABI_IS_EXTENDED;
    pthread_mutex_init(&shown.context.mutex, nullptr);
    set_data_operations(shown.context.ops);
    set_window_operations(shown.context.ops);
    set_extended_operations(shown);
}

}  // namespace

void mark_use(unsigned use) {
    static std::atomic<unsigned> marked{0};
    if (marked.fetch_or(1U << use) & (1U << use)) return;
    use_mark().set(use);
}

bool refused_in_child(const Context& context) {
    if (!context.forked) return false;
    static const bool warned = [] {
        warn("a child process cannot use the RDMA device of its parent; open it after fork");
        return true;
    }();
    return warned;
}

}  // namespace lanewise::verbs::abi

using namespace lanewise::verbs::abi;
using lanewise::Result;

extern "C" {

ibv_device **(ibv_get_device_list)(int *num_devices) {
    std::vector<DeviceObject>& devices = the_devices();
    const std::size_t count = devices.size();
    auto **list = static_cast<ibv_device **>(std::calloc(count + 1, sizeof(void *)));
    if (!list) return nullptr;
    mark_use(use_listed);
    for (std::size_t at = 0; at < count; ++at) list[at] = &devices[at].shown;
    if (num_devices) *num_devices = static_cast<int>(count);
    return list;
}

void ibv_free_device_list(ibv_device **list) {
    std::free(list);
}

const char *ibv_get_device_name(ibv_device *device) {
    return device->name;
}

int ibv_get_device_index(ibv_device *device) {
    return own_as<DeviceObject>(device).index;
}

__be64 ibv_get_device_guid(ibv_device *device) {
    return own_as<DeviceObject>(device).guid;
}

ibv_context *ibv_open_device(ibv_device *device) {
    if (const int error = lanewise::verbs::faults::planned_error("ibv_open_device", device->name))
        return refuse(error);
    lanewise::verbs::guard_memory();
    const std::lock_guard guard(opening_lock);
    auto context = HandlePool<Context>::make();
    Context *opened = context.get();
    if (const int error = opened->events.error()) return refuse(error);
    Result<std::unique_ptr<Adapter>> adapter =
        Adapter::open(own_as<DeviceObject>(device).config,
                      [opened](const lanewise::verbs::Event& event) { notify(*opened, event); });
    if (!adapter) {
        warn(adapter.failure().sentence);
        return refuse(EIO);
    }
    context->adapter = std::move(*adapter);
    fill(*context, device);
    context->progress = std::make_unique<ProgressThread>(*context->adapter);
    if (const int error = context->progress->start()) {
        warn(std::string("cannot start the thread of the device: ") + std::strerror(error) +
             "; raise the limits of open files and processes (ulimit -n, ulimit -u)");
        return refuse(error);
    }
    remember(opened);
    return &context.release()->shown.context;
}

// For the connection manager, which has sockets of its own: whether a fault has ended the device.
int lanewise_has_failed(ibv_context *context) {
    return is_live(context) && own(context).adapter->is_dead();
}

int ibv_close_device(ibv_context *context) {
    if (!is_live(context)) return errno = EINVAL, -1;
    Context *closed = &own(context);
    if (closed->forked) return 0;
    lanewise::verbs::Nanoseconds end = 0;
    {
        const std::lock_guard guard(closed->adapter->lock());
        end = say_the_last(*closed->adapter);
    }
    wait_until(end);
    const std::lock_guard whole(opening_lock);
    {
        const std::lock_guard guard(contexts_lock);
        open_contexts().erase(closed);
    }
    HandlePool<Context>::destroy(closed);
    return 0;
}

ibv_context *ibv_import_device(int) {
    return refuse(EOPNOTSUPP);
}

const char *ibv_get_sysfs_path(void) {
    const char *path = std::getenv("LANEWISE_HCA_SYSFS");
    return path ? path : "/sys";
}

int ibv_read_sysfs_file(const char *dir, const char *file, char *buf, size_t size) {
    std::ifstream stream(std::string(dir) + "/" + file);
    if (!stream || size == 0) return -1;
    stream.read(buf, static_cast<std::streamsize>(size));
    std::size_t length = static_cast<std::size_t>(stream.gcount());
    if (length > 0 && buf[length - 1] == '\n') --length;
    if (length == size) --length;
    buf[length] = '\0';
    return static_cast<int>(length);
}

int ibv_fork_init(void) {
    return 0;
}

// The parent goes on writing to its own pages, which is all that fork leaves to be done.
ibv_fork_status ibv_is_fork_initialized(void) {
    return IBV_FORK_UNNEEDED;
}

int ibv_dontfork_range(void *, size_t) {
    return 0;
}
int ibv_dofork_range(void *, size_t) {
    return 0;
}

}  // extern "C"
