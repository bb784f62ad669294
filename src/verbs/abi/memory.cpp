// SPDX-License-Identifier: BSD-3-Clause
//
// Memory regions. Those with on-demand paging (IBV_ACCESS_ON_DEMAND) may be registered before their
// pages are there: the device copies from and to the program's own mappings, so a page that is
// touched first by a request is paged in as for any access, and one that is not mapped at that time
// gives the error of a page that a card cannot get.

#include <sys/mman.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cinttypes>
#include <cstdio>
#include <fstream>
#include <optional>
#include <span>
#include <string>
#include <utility>

#include "verbs/abi/objects.hpp"

#ifndef MADV_POPULATE_READ
#define MADV_POPULATE_READ 22
#define MADV_POPULATE_WRITE 23
#endif

#undef ibv_reg_mr
#undef ibv_reg_mr_iova

namespace lanewise::verbs::abi {
namespace {

constexpr unsigned known_access = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE |
                                  IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC |
                                  IBV_ACCESS_MW_BIND | IBV_ACCESS_ZERO_BASED;
// What asks for nothing that matters here: huge pages, and the optional flags.
constexpr unsigned ignored_access =
    static_cast<unsigned>(IBV_ACCESS_HUGETLB) | static_cast<unsigned>(IBV_ACCESS_OPTIONAL_RANGE);
constexpr unsigned on_demand = IBV_ACCESS_ON_DEMAND;
constexpr unsigned zero_based = IBV_ACCESS_ZERO_BASED;

// 0, or what is wrong with the flags (ibv_reg_mr(3)).
int check_access(unsigned access) {
    if (access & ~(known_access | ignored_access | on_demand)) return EOPNOTSUPP;
    const bool remote_writes = access & (IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_ATOMIC);
    return remote_writes && !(access & IBV_ACCESS_LOCAL_WRITE) ? EINVAL : 0;
}

struct Pages {
    std::uintptr_t start = 0;
    std::uintptr_t end = 0;
};

std::optional<Pages> pages_of(const void *address, std::size_t length_bytes) {
    const auto page = static_cast<std::uintptr_t>(sysconf(_SC_PAGESIZE));
    const auto start = reinterpret_cast<std::uintptr_t>(address);
    if (start + length_bytes < start || start + length_bytes > UINTPTR_MAX - page) return {};
    return Pages{start / page * page, (start + length_bytes + page - 1) / page * page};
}

// Since Linux 5.14.
bool populates(int how) {
    return madvise(nullptr, 0, how) == 0;
}

// Whether the mappings of this process that permit `access`, 'r' or 'w', cover the pages.
bool is_mapped_for(const Pages& pages, char access) {
    std::ifstream maps("/proc/self/maps");
    std::uintptr_t reached = pages.start;
    for (std::string line; reached < pages.end && std::getline(maps, line);) {
        std::uintptr_t from = 0;
        std::uintptr_t to = 0;
        std::array<char, 5> permitted{};
        if (std::sscanf(line.c_str(), "%" SCNxPTR "-%" SCNxPTR " %4s", &from, &to,
                        permitted.data()) != 3) {
            return false;
        }
        if (to <= reached) continue;
        const bool fits = from <= reached && permitted[access == 'w' ? 1 : 0] == access;
        if (!fits) return false;
        reached = to;
    }
    return reached >= pages.end;
}

// Whether every page of a range is there, and may be written if peers or receives will.
bool is_accessible(const void *address, std::size_t length_bytes, unsigned access) {
    const std::optional<Pages> pages = pages_of(address, length_bytes);
    if (!pages) return false;
    const bool writes = access & IBV_ACCESS_LOCAL_WRITE;
    const int how = writes ? MADV_POPULATE_WRITE : MADV_POPULATE_READ;
    if (!populates(how)) return is_mapped_for(*pages, writes ? 'w' : 'r');
    return madvise(reinterpret_cast<void *>(pages->start), pages->end - pages->start, how) == 0;
}

// Whether a region of the program's memory can be registered as it is now.
bool is_registrable(const void *address, std::size_t length_bytes, unsigned access) {
    return access & on_demand || length_bytes == 0 || is_accessible(address, length_bytes, access);
}

// Makes the region known to the device; null, with errno, where there are too many.
ibv_mr *add_region(ibv_pd *pd, HandlePool<RegionObject>::Owner made, void *shown_address) {
    Context& context = own(pd->context);
    made->region.domain = own(pd).number;
    const std::lock_guard guard(context.adapter->lock());
    const std::uint32_t key = context.adapter->engine().memory().add(made->region);
    if (key == 0) return refuse(ENOMEM);
    made->shown = {.context = pd->context,
                   .pd = pd,
                   .addr = shown_address,
                   .length = made->region.length_bytes,
                   .handle = key,
                   .lkey = key,
                   .rkey = key};
    ++own(pd).users;
    if (made->device_memory) ++made->device_memory->users;
    return &made.release()->shown;
}

ibv_mr *register_region(ibv_pd *pd, void *address, std::size_t length_bytes, std::uint64_t iova,
                        unsigned access) {
    if (const int error = command_error("ibv_reg_mr", pd)) return refuse(error);
    if (const int error = refusal(pd)) return refuse(error);
    if (const int error = check_access(access)) return refuse(error);
    if (!is_registrable(address, length_bytes, access)) return refuse(EFAULT);
    auto made = HandlePool<RegionObject>::make();
    made->on_demand = access & on_demand;
    made->region = {.start = static_cast<std::byte *>(address),
                    .address = access & zero_based ? 0 : iova,
                    .length_bytes = length_bytes,
                    .access = access & known_access};
    return add_region(pd, std::move(made), address);
}

ibv_mr *reg_dm_mr(ibv_pd *pd, ibv_dm *dm, std::uint64_t offset, std::size_t length_bytes,
                  unsigned access) {
    if (const int error = command_error("ibv_reg_dm_mr", pd)) return refuse(error);
    if (const int error = refusal(pd)) return refuse(error);
    if (const int error = check_access(access)) return refuse(error);
    if (!is_live(dm) || !(access & zero_based) || access & on_demand) return refuse(EINVAL);
    DeviceMemoryObject& memory = own(dm);
    if (offset > memory.length_bytes || length_bytes > memory.length_bytes - offset) {
        return refuse(EINVAL);
    }
    auto made = HandlePool<RegionObject>::make();
    made->device_memory = &memory;
    made->region = {.start = memory.bytes.get() + offset,
                    .length_bytes = length_bytes,
                    .access = access & known_access};
    return add_region(pd, std::move(made), nullptr);
}

// 0, or what is wrong with a range that is to be paged in (ibv_advise_mr(3)).
int prefetch(Context& context, ibv_pd *pd, ibv_advise_mr_advice advice, const ibv_sge& range) {
    const bool writes = advice == IBV_ADVISE_MR_ADVICE_PREFETCH_WRITE;
    const MemoryTable& memory = context.adapter->engine().memory();
    const ProtectionDomain domain = own(pd).number;
    void *at = memory.find(range.lkey, domain, range.addr, range.length, 0);
    if (!at) return EFAULT;
    if (writes && !memory.find(range.lkey, domain, range.addr, range.length, local_write)) {
        return EPERM;
    }
    // What is present is so for the device too.
    if (advice == IBV_ADVISE_MR_ADVICE_PREFETCH_NO_FAULT || range.length == 0) return 0;
    const unsigned access = writes ? IBV_ACCESS_LOCAL_WRITE : 0;
    return is_accessible(at, range.length, access) ? 0 : EFAULT;
}

// Done when it returns, whether that was asked for or not.
int advise_mr(ibv_pd *pd, ibv_advise_mr_advice advice, std::uint32_t flags, ibv_sge *ranges,
              std::uint32_t count) {
    if (const int error = command_error("ibv_advise_mr", pd)) return error;
    if (const int error = refusal(pd)) return error;
    if (flags & ~static_cast<std::uint32_t>(IBV_ADVISE_MR_FLAG_FLUSH)) return EINVAL;
    if (advice > IBV_ADVISE_MR_ADVICE_PREFETCH_NO_FAULT) return ENOTSUP;
    Context& context = own(pd->context);
    const std::lock_guard guard(context.adapter->lock());
    for (const ibv_sge& range : std::span(ranges, count)) {
        if (const int error = prefetch(context, pd, advice, range)) return error;
    }
    return 0;
}

// 0 or an errno, which leaves the region as it was.
int change_region(ibv_mr *mr, int flags, ibv_pd *pd, void *addr, size_t length, int access) {
    if (const int error = refusal(mr)) return error;
    const bool changes_access = flags & IBV_REREG_MR_CHANGE_ACCESS;
    const bool changes_translation = flags & IBV_REREG_MR_CHANGE_TRANSLATION;
    if (!flags || flags & ~IBV_REREG_MR_FLAGS_SUPPORTED) return EINVAL;
    if (access && !changes_access) return EINVAL;
    if (changes_translation && (!addr || !length)) return EINVAL;
    RegionObject& object = own(mr);
    if (object.device_memory) return EINVAL;
    ibv_mr next = *mr;
    lanewise::verbs::MemoryRegion region = object.region;
    const unsigned granted = changes_access ? static_cast<unsigned>(access)
                                            : region.access | (object.on_demand ? on_demand : 0);
    if (check_access(granted)) return EINVAL;
    // Addresses count from where they did, unless the memory is another.
    region.access = (granted & known_access) | (region.access & zero_based);
    if (flags & IBV_REREG_MR_CHANGE_PD) {
        if (!is_of(pd, mr->context)) return EINVAL;
        next.pd = pd;
        region.domain = own(pd).number;
    }
    if (changes_translation) {
        next.addr = addr;
        next.length = length;
        region.start = static_cast<std::byte *>(addr);
        region.address = granted & zero_based ? 0 : reinterpret_cast<std::uintptr_t>(addr);
        region.length_bytes = length;
    }
    if (!is_registrable(next.addr, next.length, granted)) return EFAULT;
    Context& context = own(mr->context);
    const std::lock_guard guard(context.adapter->lock());
    if (!context.adapter->engine().memory().replace(mr->lkey, region)) return EBUSY;
    object.region = region;
    object.on_demand = granted & on_demand;
    --own(mr->pd).users;
    ++own(next.pd).users;
    *mr = next;
    return 0;
}

}  // namespace

void set_memory_operations(verbs_context& context) {
    context.advise_mr = advise_mr;
    context.reg_dm_mr = reg_dm_mr;
}

}  // namespace lanewise::verbs::abi

using namespace lanewise::verbs::abi;

extern "C" {

ibv_mr *ibv_reg_mr(ibv_pd *pd, void *addr, size_t length, int access) {
    return register_region(pd, addr, length, reinterpret_cast<std::uintptr_t>(addr),
                           static_cast<unsigned>(access));
}

ibv_mr *ibv_reg_mr_iova(ibv_pd *pd, void *addr, size_t length, uint64_t iova, int access) {
    return register_region(pd, addr, length, iova, static_cast<unsigned>(access));
}

ibv_mr *ibv_reg_mr_iova2(ibv_pd *pd, void *addr, size_t length, uint64_t iova, unsigned access) {
    return register_region(pd, addr, length, iova, access);
}

ibv_mr *ibv_reg_dmabuf_mr(ibv_pd *, uint64_t, size_t, uint64_t, int, int) {
    return refuse(EOPNOTSUPP);
}

int ibv_rereg_mr(ibv_mr *mr, int flags, ibv_pd *pd, void *addr, size_t length, int access) {
    int error = command_error("ibv_rereg_mr", mr);
    if (!error) error = change_region(mr, flags, pd, addr, length, access);
    // Of the codes that it returns, the one that leaves the region as it was.
    return error ? (errno = error, IBV_REREG_MR_ERR_INPUT) : 0;
}

int ibv_dereg_mr(ibv_mr *mr) {
    if (!is_live(mr)) return EINVAL;
    Context& context = own(mr->context);
    if (context.forked) return 0;
    {
        const std::lock_guard guard(context.adapter->lock());
        auto& memory = context.adapter->engine().memory();
        if (memory.has_windows(mr->lkey)) return EBUSY;
        if (!memory.remove(mr->lkey)) return EINVAL;
        --own(mr->pd).users;
        if (own(mr).device_memory) --own(mr).device_memory->users;
    }
    HandlePool<RegionObject>::destroy(&own(mr));
    return 0;
}

}  // extern "C"
