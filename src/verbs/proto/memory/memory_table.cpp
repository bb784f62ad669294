// SPDX-License-Identifier: BSD-3-Clause

#include "verbs/proto/memory/memory_table.hpp"

#include <algorithm>

namespace lanewise::verbs {
namespace {

constexpr std::size_t regions_max = 1 << 24;
constexpr std::size_t windows_max = 1 << 20;
constexpr std::uint32_t keys_of_index = 256;
constexpr std::uint32_t window_access = remote_write | remote_read | remote_atomic;

std::byte *bytes_in(const MemoryRegion& region, ProtectionDomain domain, std::uint64_t address,
                    std::uint64_t length_bytes, std::uint32_t access) {
    const std::uint64_t offset = address - region.address;  // huge where address lies before it
    if (region.domain != domain || (region.access & access) != access ||
        offset > region.length_bytes || length_bytes > region.length_bytes - offset) {
        return nullptr;
    }
    // An implicit region (ibv_reg_mr(3)) is all of the memory and begins at null.
    return reinterpret_cast<std::byte *>(reinterpret_cast<std::uintptr_t>(region.start) + offset);
}

// What peers may write through a window, the program itself must be allowed to write.
std::uint32_t access_for(const WindowBinding& wanted) {
    const bool writes = (wanted.access & (remote_write | remote_atomic)) != 0;
    return window_bind | (writes ? std::uint32_t{local_write} : 0);
}

}  // namespace

std::uint32_t MemoryTable::add(const MemoryRegion& region) {
    if (regions_.size() == regions_max) {
        return 0;
    }
    std::uint32_t key = 0;
    do {
        key = draw_();
    } while (key == 0 || windows_.contains(window_index(key)) ||
             !regions_.try_emplace(key, Registered{region}).second);
    return key;
}

bool MemoryTable::remove(std::uint32_t key) {
    return !has_windows(key) && regions_.erase(key) == 1;
}

bool MemoryTable::replace(std::uint32_t key, const MemoryRegion& region) {
    const auto found = regions_.find(key);
    if (found == regions_.end() || found->second.windows > 0) {
        return false;
    }
    found->second.region = region;
    return true;
}

std::byte *MemoryTable::find(std::uint32_t key, ProtectionDomain domain, std::uint64_t address,
                             std::uint64_t length_bytes, std::uint32_t access) const {
    const auto found = regions_.find(key);
    if (found == regions_.end()) {
        return nullptr;
    }
    return bytes_in(found->second.region, domain, address, length_bytes, access);
}

// Windows.

bool MemoryTable::has_windows(std::uint32_t key) const {
    const auto found = regions_.find(key);
    return found != regions_.end() && found->second.windows > 0;
}

bool MemoryTable::has_regions_at(std::uint32_t index) const {
    if (regions_.size() < keys_of_index) {
        return std::any_of(regions_.begin(), regions_.end(),
                           [&](const auto& one) { return window_index(one.first) == index; });
    }
    for (std::uint32_t low = 0; low < keys_of_index; ++low) {
        if (regions_.contains(index * keys_of_index + low)) {
            return true;
        }
    }
    return false;
}

std::uint32_t MemoryTable::add_window(ProtectionDomain domain, WindowType type) {
    if (windows_.size() == windows_max) {
        return 0;
    }
    Window window{.domain = domain, .type = type, .opened = {}};
    do {
        window.key = draw_();
    } while (window_index(window.key) == 0 || has_regions_at(window_index(window.key)) ||
             !windows_.try_emplace(window_index(window.key), window).second);
    return window.key;
}

bool MemoryTable::remove_window(std::uint32_t key) {
    const auto found = windows_.find(window_index(key));
    if (found == windows_.end()) {
        return false;
    }
    close(found->second);
    windows_.erase(found);
    return true;
}

void MemoryTable::close(Window& window) {
    if (window.region_key == 0) {
        return;
    }
    --regions_.find(window.region_key)->second.windows;
    window.region_key = 0;
}

bool MemoryTable::bind(const WindowBinding& wanted, const Accessor& by) {
    const auto found = windows_.find(window_index(wanted.key));
    if (found == windows_.end() || found->second.domain != by.domain) {
        return false;
    }
    Window& window = found->second;
    const bool closes = wanted.length_bytes == 0;
    if (window.type == WindowType::type_2 && (closes || window.region_key != 0)) {
        return false;
    }
    if (closes) {
        close(window);
        window.key = wanted.key;
        return true;
    }
    const auto region = regions_.find(wanted.region_key);
    if (region == regions_.end() || (region->second.region.access & zero_based) != 0) {
        return false;
    }
    std::byte *start = bytes_in(region->second.region, by.domain, wanted.address,
                                wanted.length_bytes, access_for(wanted));
    if (start == nullptr) {
        return false;
    }
    close(window);
    ++region->second.windows;
    window.key = wanted.key;
    window.region_key = wanted.region_key;
    window.qpn = by.qpn;
    window.opened = {.domain = by.domain,
                     .start = start,
                     .address = (wanted.access & zero_based) != 0 ? 0 : wanted.address,
                     .length_bytes = wanted.length_bytes,
                     .access = wanted.access & window_access};
    return true;
}

bool MemoryTable::may_invalidate(std::uint32_t key, const Accessor& by) const {
    const auto found = windows_.find(window_index(key));
    return found != windows_.end() && found->second.type == WindowType::type_2 &&
           found->second.is_open(key, by);
}

bool MemoryTable::invalidate(std::uint32_t key, const Accessor& by) {
    if (!may_invalidate(key, by)) {
        return false;
    }
    close(windows_.find(window_index(key))->second);
    return true;
}

void MemoryTable::invalidate_of(std::uint32_t qpn) {
    for (auto& [index, window] : windows_) {
        if (window.type == WindowType::type_2 && window.qpn == qpn) {
            close(window);
        }
    }
}

std::byte *MemoryTable::find_remote(std::uint32_t key, const Accessor& by, std::uint64_t address,
                                    std::uint64_t length_bytes, std::uint32_t access) const {
    const auto found = windows_.find(window_index(key));
    if (found == windows_.end()) {
        return find(key, by.domain, address, length_bytes, access);
    }
    return found->second.is_open(key, by)
               ? bytes_in(found->second.opened, by.domain, address, length_bytes, access)
               : nullptr;
}

}  // namespace lanewise::verbs
