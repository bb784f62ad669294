// SPDX-License-Identifier: BSD-3-Clause
//
// Device memory (ibv_alloc_dm(3)): a buffer that a card has of its own. Here it is memory of the
// process that only these calls and work requests reach. Offsets and lengths of copies are whole
// words, as cards demand, so that a program that forgets it fails here as well.

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstdlib>
#include <cstring>

#include "verbs/abi/objects.hpp"

namespace lanewise::verbs::abi {
namespace {

constexpr std::uint64_t word_bytes = 4;
constexpr unsigned alignment_log_max = 12;

bool is_copyable(const DeviceMemoryObject& object, std::uint64_t offset, std::size_t length) {
    return offset % word_bytes == 0 && length % word_bytes == 0 && offset <= object.length_bytes &&
           length <= object.length_bytes - offset;
}

int memcpy_to_dm(ibv_dm *dm, std::uint64_t offset, const void *from, std::size_t length) {
    if (!is_live(dm) || !is_copyable(own(dm), offset, length)) return EINVAL;
    std::memcpy(own(dm).bytes.get() + offset, from, length);
    return 0;
}

int memcpy_from_dm(void *to, ibv_dm *dm, std::uint64_t offset, std::size_t length) {
    if (!is_live(dm) || !is_copyable(own(dm), offset, length)) return EINVAL;
    std::memcpy(to, own(dm).bytes.get() + offset, length);
    return 0;
}

// False where as much is not left. Every process has all of it, a child of one that opened the
// device too, since it is nothing but memory.
bool take(Context& owner, std::uint64_t length_bytes) {
    std::uint64_t taken = owner.device_memory_bytes.load();
    do {
        if (length_bytes > device_memory_bytes_max - taken) return false;
    } while (!owner.device_memory_bytes.compare_exchange_weak(taken, taken + length_bytes));
    return true;
}

ibv_dm *alloc_dm(ibv_context *context, ibv_alloc_dm_attr *attributes) {
    if (const int error = command_error("ibv_alloc_dm", context)) return refuse(error);
    if (!is_live(context) || attributes->comp_mask != 0 || attributes->length == 0 ||
        attributes->log_align_req > alignment_log_max) {
        return refuse(EINVAL);
    }
    if (attributes->length > device_memory_bytes_max) return refuse(ENOMEM);
    Context& owner = own(context);
    if (!take(owner, attributes->length)) return refuse(ENOMEM);
    auto made = HandlePool<DeviceMemoryObject>::make();
    made->length_bytes = attributes->length;
    const auto alignment = std::max<std::size_t>(std::size_t{1} << attributes->log_align_req,
                                                 alignof(std::max_align_t));
    const std::size_t whole = (attributes->length + alignment - 1) / alignment * alignment;
    made->bytes.reset(static_cast<std::byte *>(std::aligned_alloc(alignment, whole)));
    if (!made->bytes) {
        owner.device_memory_bytes -= attributes->length;
        return refuse(ENOMEM);
    }
    std::memset(made->bytes.get(), 0, whole);
    made->shown.context = context;
    made->shown.memcpy_to_dm = memcpy_to_dm;
    made->shown.memcpy_from_dm = memcpy_from_dm;
    made->shown.handle = ++owner.last_device_memory;
    return &made.release()->shown;
}

int free_dm(ibv_dm *dm) {
    if (!is_live(dm)) return EINVAL;
    DeviceMemoryObject& object = own(dm);
    Context& context = own(dm->context);
    // A child has a copy, of which no region is its own.
    if (object.users > 0 && !context.forked) return EBUSY;
    context.device_memory_bytes -= object.length_bytes;
    HandlePool<DeviceMemoryObject>::destroy(&object);
    return 0;
}

}  // namespace

void set_device_memory_operations(verbs_context& context) {
    context.alloc_dm = alloc_dm;
    context.free_dm = free_dm;
}

}  // namespace lanewise::verbs::abi
