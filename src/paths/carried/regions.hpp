// SPDX-License-Identifier: BSD-3-Clause
//
// The memory regions of a program, each of which is registered on both devices.

#pragma once

#include <infiniband/verbs.h>

#include <cstddef>
#include <cstdint>
#include <unordered_map>

#include "paths/carried/send_log.hpp"

namespace lanewise::paths::carried {

struct Region {
    ibv_mr *first = nullptr;   // what the program has
    ibv_mr *second = nullptr;  // the same memory on the other device
    std::byte *memory = nullptr;
    std::uint64_t address = 0;  // by which requests name its beginning
    std::uint64_t length_bytes = 0;
    unsigned access = 0;
};

class Regions {
  public:
    void add(const Region& region);
    // The region that was behind this handle.
    Region remove(const ibv_mr *first);

    const Region *find_local(std::uint32_t lkey) const { return find(by_lkey_, lkey); }
    const Region *find_remote(std::uint32_t rkey) const { return find(by_rkey_, rkey); }

  private:
    using ByKey = std::unordered_map<std::uint32_t, Region>;
    static const Region *find(const ByKey& regions, std::uint32_t key) {
        const auto found = regions.find(key);
        return found == regions.end() ? nullptr : &found->second;
    }
    ByKey by_lkey_;
    ByKey by_rkey_;
};

// Those of them that a queue pair, or its shared receive queue, may use: of its protection domain.
class DomainRegions {
  public:
    DomainRegions(const Regions& regions, const ibv_pd *domain)
        : regions_(&regions), domain_(domain) {}

    // Where memory that a request names lies; null if it is not all inside the region of the key,
    // or the region does not grant `access`.
    std::byte *locate_local(std::uint32_t lkey, std::uint64_t address, std::uint64_t length_bytes,
                            unsigned access) const {
        return locate(regions_->find_local(lkey), address, length_bytes, access);
    }
    std::byte *locate_remote(std::uint32_t rkey, std::uint64_t address, std::uint64_t length_bytes,
                             unsigned access) const {
        return locate(regions_->find_remote(rkey), address, length_bytes, access);
    }

  private:
    std::byte *locate(const Region *region, std::uint64_t address, std::uint64_t length_bytes,
                      unsigned access) const;

    const Regions *regions_;
    const ibv_pd *domain_;
};

inline void Regions::add(const Region& region) {
    by_lkey_[region.first->lkey] = region;
    by_rkey_[region.first->rkey] = region;
}

inline Region Regions::remove(const ibv_mr *first) {
    Region found;
    const auto at = by_lkey_.find(first->lkey);
    if (at == by_lkey_.end() || at->second.first != first) return found;
    found = at->second;
    by_lkey_.erase(at);
    by_rkey_.erase(first->rkey);
    return found;
}

inline std::byte *DomainRegions::locate(const Region *region, std::uint64_t address,
                                        std::uint64_t length_bytes, unsigned access) const {
    const bool grants =
        region && region->first->pd == domain_ && (region->access & access) == access;
    if (!grants || address < region->address) return nullptr;
    const std::uint64_t offset = address - region->address;
    const bool fits =
        offset <= region->length_bytes && length_bytes <= region->length_bytes - offset;
    return fits ? region->memory + offset : nullptr;
}

}  // namespace lanewise::paths::carried
