// SPDX-License-Identifier: BSD-3-Clause
//
// Protection domains and memory regions.

#include <sys/mman.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cinttypes>
#include <cstdio>
#include <fstream>
#include <optional>
#include <string>

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
                                  IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC;
// What asks for nothing that matters here: huge pages, and the optional flags.
constexpr unsigned ignored_access =
    static_cast<unsigned>(IBV_ACCESS_HUGETLB) | static_cast<unsigned>(IBV_ACCESS_OPTIONAL_RANGE);

// 0, or what is wrong with the flags (ibv_reg_mr(3)).
int check_access(unsigned access) {
    if (access & ~(known_access | ignored_access)) return EOPNOTSUPP;
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

ibv_mr *register_region(ibv_pd *pd, void *address, std::size_t length_bytes, std::uint64_t iova,
                        unsigned access) {
    if (const int error = planned_error("ibv_reg_mr")) return refuse(error);
    if (const int error = refusal(pd)) return refuse(error);
    Context& context = own(pd->context);
    if (const int error = check_access(access)) return refuse(error);
    if (length_bytes > 0 && !is_accessible(address, length_bytes, access)) {
        return refuse(EFAULT);
    }

    auto region = HandlePool<RegionObject>::make();
    const std::lock_guard guard(context.adapter->lock());
    const std::uint32_t key =
        context.adapter->engine().memory().add({.domain = own(pd).number,
                                                .start = static_cast<std::byte *>(address),
                                                .address = iova,
                                                .length_bytes = length_bytes,
                                                .access = access & known_access});
    if (key == 0) return refuse(ENOMEM);
    region->shown = {.context = pd->context,
                     .pd = pd,
                     .addr = address,
                     .length = length_bytes,
                     .handle = key,
                     .lkey = key,
                     .rkey = key};
    region->access = access & known_access;
    ++own(pd).users;
    return &region.release()->shown;
}

}  // namespace
}  // namespace lanewise::verbs::abi

using namespace lanewise::verbs::abi;

extern "C" {

ibv_pd *ibv_alloc_pd(ibv_context *context) {
    if (const int error = planned_error("ibv_alloc_pd")) return refuse(error);
    if (const int error = refusal(context)) return refuse(error);
    Context& owner = own(context);
    auto domain = HandlePool<DomainObject>::make();
    const std::lock_guard guard(owner.adapter->lock());
    domain->number = ++owner.last_domain;
    domain->shown = {context, domain->number};
    return &domain.release()->shown;
}

int ibv_dealloc_pd(ibv_pd *pd) {
    if (!is_live(pd)) return EINVAL;
    if (own(pd).users > 0) return EBUSY;
    HandlePool<DomainObject>::destroy(&own(pd));
    return 0;
}

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
    if (refusal(mr) || flags & ~IBV_REREG_MR_FLAGS_SUPPORTED) return IBV_REREG_MR_ERR_INPUT;
    ibv_mr next = *mr;
    Context& context = own(mr->context);
    const bool changes_access = flags & IBV_REREG_MR_CHANGE_ACCESS;
    const unsigned granted = changes_access ? static_cast<unsigned>(access) : own(mr).access;
    if (check_access(granted)) return IBV_REREG_MR_ERR_INPUT;
    if (flags & IBV_REREG_MR_CHANGE_PD) {
        if (!is_live(pd)) return IBV_REREG_MR_ERR_INPUT;
        next.pd = pd;
    }
    if (flags & IBV_REREG_MR_CHANGE_TRANSLATION) {
        next.addr = addr;
        next.length = length;
    }
    if (!is_accessible(next.addr, next.length, granted)) return IBV_REREG_MR_ERR_INPUT;
    const std::lock_guard guard(context.adapter->lock());
    const bool replaced = context.adapter->engine().memory().replace(
        mr->lkey, {.domain = own(next.pd).number,
                   .start = static_cast<std::byte *>(next.addr),
                   .address = reinterpret_cast<std::uintptr_t>(next.addr),
                   .length_bytes = next.length,
                   .access = granted & known_access});
    if (!replaced) return IBV_REREG_MR_ERR_INPUT;
    own(mr).access = granted & known_access;
    --own(mr->pd).users;
    ++own(next.pd).users;
    *mr = next;
    return 0;
}

int ibv_dereg_mr(ibv_mr *mr) {
    if (!is_live(mr)) return EINVAL;
    Context& context = own(mr->context);
    if (!refused_in_child(context)) {
        const std::lock_guard guard(context.adapter->lock());
        if (!context.adapter->engine().memory().remove(mr->lkey)) return EINVAL;
        --own(mr->pd).users;
    }
    HandlePool<RegionObject>::destroy(&own(mr));
    return 0;
}

}  // extern "C"
