// SPDX-License-Identifier: BSD-3-Clause
//
// What stands behind the pointers of the verbs interface. Each object begins
// with the struct that <infiniband/verbs.h> shows, so a pointer to one is a
// pointer to the other; `own` goes back.

#pragma once

#include <infiniband/verbs.h>
#include <sys/types.h>

#include <atomic>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <type_traits>
#include <utility>

#include "verbs/abi/adapter.hpp"
#include "verbs/abi/handle_pool.hpp"
#include "verbs/abi/notices.hpp"
#include "verbs/abi/progress_thread.hpp"
#include "verbs/abi/wire_polling.hpp"
#include "verbs/faults/injector.hpp"

namespace lanewise::verbs::abi {

inline constexpr int completions_max = (1 << 22) - 1;  // that one queue can hold
inline constexpr std::uint64_t device_memory_bytes_max = 1 << 20;

struct ThreadDomainObject {
    ibv_td shown{};
    std::uint32_t users = 0;
};

// The file by which extended domains are one and the same: its device and inode.
using FileIdentity = std::pair<dev_t, ino_t>;

struct DomainObject {
    ibv_pd shown{};
    ProtectionDomain number = 0;
    std::uint32_t users = 0;
    // Of a parent domain: what it joins.
    DomainObject *parent_of = nullptr;
    ThreadDomainObject *thread_domain = nullptr;
};

struct DeviceMemoryObject {
    struct Free {
        void operator()(std::byte *gone) const { std::free(gone); }
    };
    ibv_dm shown{};
    std::unique_ptr<std::byte, Free> bytes;
    std::uint64_t length_bytes = 0;
    std::atomic<std::uint32_t> users = 0;  // regions
};

struct RegionObject {
    ibv_mr shown{};
    MemoryRegion region;
    bool on_demand = false;
    DeviceMemoryObject *device_memory = nullptr;  // that it is a part of
};

struct WindowObject {
    ibv_mw shown{};
    std::uint32_t key = 0;  // the first; what is shown is the program's to change
};

struct AddressObject {
    ibv_ah shown{};
    AddressVector address;
};

struct CompletionObject {
    ibv_cq_ex shown{};
    CompletionQueue *engine = nullptr;
    // Held from ibv_start_poll() to ibv_end_poll(), unless one thread alone polls.
    std::mutex extended_poll;
    bool is_single_threaded = false;
    Completion current;  // that an extended poll is at
    WirePolling wire_polling;
    // Since when polls have found nothing; 0: the last one did not. Several threads may poll.
    std::atomic<Nanoseconds> waits_since = 0;
    std::uint32_t completion_notices_taken = 0;
    std::uint32_t events_taken = 0;
};

struct ExtendedDomainObject {
    ibv_xrcd shown{};
    std::uint32_t number = 0;
    std::optional<FileIdentity> file;  // that others may open it by
    std::uint32_t users = 0;           // of this handle
};

struct SharedReceiveObject {
    ibv_srq shown{};
    SharedReceiveQueue *engine = nullptr;
    ExtendedDomainObject *extended_domain = nullptr;
    std::uint32_t events_taken = 0;
};

// The requests between ibv_wr_start and ibv_wr_complete. One thread builds at a time; the next
// waits in ibv_wr_start (ibv_wr_post(3)).
struct RequestBatch {
    struct Item {
        SendRequest request;
        std::size_t first_slice = 0;
        std::size_t slice_count = 0;
        std::size_t first_byte = 0;
        std::size_t byte_count = 0;
        std::optional<AddressVector> address;
        ibv_mw *window = nullptr;  // that it binds
        WindowBinding binding;
    };
    std::vector<Item> items;
    std::vector<Slice> slices;
    std::vector<std::byte> bytes;  // of inline data
    int error = 0;
    std::mutex building;
    bool is_open = false;  // somebody has the mutex
};

struct QueuePairObject {
    ibv_qp_ex shown{};
    QueuePair *engine = nullptr;
    ExtendedDomainObject *extended_domain = nullptr;  // of one that takes extended requests
    RequestBatch batch;
    std::uint32_t events_taken = 0;
    std::uint64_t ordinal = 0;  // which of those that the process has created, from 1
};

struct ChannelObject {
    ibv_comp_channel shown{};
    Notices<CompletionObject *> notices;
};

struct Context {
    verbs_context shown{};
    // Destroyed from the last to the first: the thread ends before what it uses.
    Notices<ibv_async_event> events;
    std::unique_ptr<Adapter> adapter;
    std::unique_ptr<ProgressThread> progress;
    ProtectionDomain last_domain = 0;
    struct NamedDomain {
        std::uint32_t number = 0;
        std::uint32_t handles = 0;
    };
    std::map<FileIdentity, NamedDomain> named_domains;  // under the lock of the adapter
    std::uint32_t last_extended_domain = 0;
    std::atomic<std::uint64_t> device_memory_bytes = 0;
    std::atomic<std::uint32_t> last_device_memory = 0;
    bool forked = false;  // this is a child of the process that opened it
};

inline Context& own(ibv_context *context) {
    const verbs_context *shown = verbs_get_ctx(context);
    return *reinterpret_cast<Context *>(shown->priv);
}

template <typename Object, typename Shown>
Object& own_as(Shown *shown) {
    return *reinterpret_cast<Object *>(shown);
}

inline DomainObject& own(ibv_pd *pd) {
    return own_as<DomainObject>(pd);
}
inline ThreadDomainObject& own(ibv_td *td) {
    return own_as<ThreadDomainObject>(td);
}
inline DeviceMemoryObject& own(ibv_dm *dm) {
    return own_as<DeviceMemoryObject>(dm);
}
inline RegionObject& own(ibv_mr *mr) {
    return own_as<RegionObject>(mr);
}
inline WindowObject& own(ibv_mw *mw) {
    return own_as<WindowObject>(mw);
}
inline AddressObject& own(ibv_ah *ah) {
    return own_as<AddressObject>(ah);
}
inline ExtendedDomainObject& own(ibv_xrcd *xrcd) {
    return own_as<ExtendedDomainObject>(xrcd);
}
inline CompletionObject& own(ibv_cq *cq) {
    return own_as<CompletionObject>(cq);
}
inline CompletionObject& own(ibv_cq_ex *cq) {
    return own_as<CompletionObject>(cq);
}
inline SharedReceiveObject& own(ibv_srq *srq) {
    return own_as<SharedReceiveObject>(srq);
}
inline QueuePairObject& own(ibv_qp *qp) {
    return own_as<QueuePairObject>(qp);
}
inline QueuePairObject& own(ibv_qp_ex *qp) {
    return own_as<QueuePairObject>(qp);
}
inline ChannelObject& own(ibv_comp_channel *channel) {
    return own_as<ChannelObject>(channel);
}

inline ibv_qp *shown(QueuePairObject& object) {
    return &object.shown.qp_base;
}
inline ibv_cq *shown(CompletionObject& object) {
    return ibv_cq_ex_to_cq(&object.shown);
}

// Sets errno and returns null, as verbs that make something do.
inline std::nullptr_t refuse(int error) {
    errno = error;
    return nullptr;
}

// Sends what was posted to a queue pair, or leaves it to the poll that comes at once.
inline void send_posted(Context& context, const QueuePair& queue_pair) {
    const Nanoseconds now = monotonic_ns();
    if (queue_pair.gathers() && context.progress->program_polls(now)) return;
    context.adapter->transmit(now);
    context.progress->deadline_changed();
}

// What processes of a command have done with the device (base/use_mark.hpp).
inline constexpr unsigned use_listed = 0;
inline constexpr unsigned use_connected = 1;  // made a queue pair
void mark_use(unsigned use);

// True, once with a line on standard error, in a child of the process that opened the device.
bool refused_in_child(const Context& context);

// Whether a handle is one of an object that was not destroyed, of a device that is open.
inline bool is_live(ibv_context *context) {
    return context && HandlePool<Context>::lives(&own(context));
}
template <typename Shown>
bool is_live(Shown *shown) {
    if (!shown) return false;
    auto *object = &own(shown);
    return HandlePool<std::remove_reference_t<decltype(*object)>>::lives(object) &&
           is_live(shown->context);
}

// Whether an object is there, and of the context that was opened.
template <typename Shown>
bool is_of(Shown *shown, const ibv_context *opened) {
    return is_live(shown) && shown->context == opened;
}

// An error that a call returns is errno as well, as where the call has asked a kernel.
inline int told(int error) {
    if (error) errno = error;
    return error;
}

// Why a handle is of no use: EINVAL where it is not live, EPERM in a child; else 0.
template <typename Shown>
int refusal(Shown *shown) {
    if (!is_live(shown)) return told(EINVAL);
    if constexpr (std::is_same_v<Shown, ibv_context>) {
        return refused_in_child(own(shown)) ? told(EPERM) : 0;
    } else {
        return refused_in_child(own(shown->context)) ? told(EPERM) : 0;
    }
}

// With the lock of the adapter. Who destroys an object waits until its events are acknowledged, and
// nobody else may use it meanwhile: EINVAL, else 0.
template <typename Object>
int gone(const Object& object) {
    return object.engine ? 0 : told(EINVAL);
}

// The errno with which a call on an object is to fail by a script; 0 if it is to go well.
template <typename Shown>
int planned_error(std::string_view call, Shown *on) {
    if (!faults::Injector::get()) return 0;
    if (!is_live(on)) return faults::planned_error(call, {});
    if constexpr (std::is_same_v<Shown, ibv_context>) {
        return faults::planned_error(call, on->device->name);
    } else if constexpr (std::is_same_v<Shown, ibv_qp>) {
        return faults::planned_error(call, on->context->device->name, own(on).ordinal);
    } else {
        return faults::planned_error(call, on->context->device->name);
    }
}

// The same for a call that asks the device, which one that has died refuses with EIO. What destroys
// an object, takes a queue pair out of a group, posts to one or reads completions does not ask it.
template <typename Shown>
int command_error(std::string_view call, Shown *on) {
    const int planned = planned_error(call, on);
    if (planned != 0 || !is_live(on)) return told(planned);
    if constexpr (std::is_same_v<Shown, ibv_context>) {
        return own(on).adapter->is_dead() ? told(EIO) : 0;
    } else {
        return own(on->context).adapter->is_dead() ? told(EIO) : 0;
    }
}

// The operations of a context, filled in by the files that have them.
void set_data_operations(ibv_context_ops& operations);
void set_extended_operations(verbs_context& context);
void set_queries(verbs_context& context);
void set_domain_operations(verbs_context& context);
void set_memory_operations(verbs_context& context);
void set_device_memory_operations(verbs_context& context);
void set_window_operations(ibv_context_ops& operations);
void set_extended_domain_operations(verbs_context& context);
void set_work_operations(ibv_qp_ex& queue_pair);
ibv_qp *create_qp_ex(ibv_context *context, ibv_qp_init_attr_ex *init);

// What the files of this part offer each other.

// None if the port, the GID index or the destination are not valid (address.cpp).
std::optional<AddressVector> resolved(const Adapter& adapter, const ibv_ah_attr& attributes,
                                      std::uint8_t port);
ibv_ah_attr shown_address(const AddressVector& address);

// Which queue pair of the process has this number on a device: its place among all that were
// created, from 1; 0 where none has it (queue_pair.cpp).
std::uint64_t ordinal_of(Device& engine, std::uint32_t number);

// None where it makes no sense to bind the window so by this queue pair. The engine looks at what
// the binding would open (memory_windows.cpp).
std::optional<WindowBinding> binding_of(const ibv_qp& qp, ibv_mw *mw, std::uint32_t key,
                                        const ibv_mw_bind_info& info);

// Null with errno set if it cannot be made (receive.cpp).
SharedReceiveObject *make_shared_receive_queue(ibv_pd *pd, ibv_srq_attr& wanted, void *srq_context,
                                               const ExtendedReceive& extended);

// Null with errno set if it cannot be made (completion.cpp).
CompletionObject *make_completion_queue(ibv_context *context, std::uint32_t entries,
                                        void *cq_context, ibv_comp_channel *channel,
                                        int comp_vector);
// Makes progress and takes what has completed; returns how many. None of a queue that is gone.
std::optional<std::size_t> poll_completions(CompletionObject& object, std::span<Completion> into);
ibv_wc shown_completion(const Completion& completion);

inline constexpr const char *first_device_name = "lanewise0";
// Turns an event of the engine into a notice on a channel or on the context.
void notify(Context& context, const Event& event);

}  // namespace lanewise::verbs::abi
