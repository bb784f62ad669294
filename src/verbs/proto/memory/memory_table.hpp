// SPDX-License-Identifier: BSD-3-Clause
//
// Registered memory: which keys open which bytes to whom. Nothing in the engine reads or writes the
// program's memory except through find() and find_remote(), so nothing outside a region can be
// reached by a packet or by a wrong work request. A key is drawn at random, so that who was not
// told it has to guess 32 bits, and one that was given back is most unlikely to come again. Local
// and remote key of a region are the same number.
//
// A memory window opens part of a region to peers, with rights of its own, from when it is bound
// until it is bound to something else or invalidated (IBA 1, 10.6.7). Its key is a remote one only.
// The upper 24 bits stay the same and belong to no other key; the lower 8 are new with each
// binding. A window of type 1 is open to all queue pairs of its domain, one of type 2 to that which
// bound it (type 2B: the domain is looked at as well).

#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <random>
#include <unordered_map>
#include <utility>

namespace lanewise::verbs {

using ProtectionDomain = std::uint32_t;

// Numbered as enum ibv_access_flags.
enum Access : std::uint32_t {
    local_write = 1,
    remote_write = 2,
    remote_read = 4,
    remote_atomic = 8,
    window_bind = 16,
    zero_based = 32,
};

struct MemoryRegion {
    ProtectionDomain domain = 0;
    std::byte *start = nullptr;
    std::uint64_t address = 0;  // what programs and packets call `start`; it, or an iova
    std::uint64_t length_bytes = 0;
    std::uint32_t access = 0;  // of Access, or-ed
};

// Who asks for memory by a remote key: the queue pair that has the request.
struct Accessor {
    ProtectionDomain domain = 0;
    std::uint32_t qpn = 0;
};

enum class WindowType : std::uint8_t { type_1 = 1, type_2 = 2 };  // enum ibv_mw_type

// What a window is to open (struct ibv_mw_bind_info), and the key that it has then.
struct WindowBinding {
    std::uint32_t key = 0;
    std::uint32_t region_key = 0;
    std::uint64_t address = 0;
    std::uint64_t length_bytes = 0;
    std::uint32_t access = 0;  // of Access; zero_based: the window's addresses count from 0
};

constexpr std::uint32_t window_index(std::uint32_t key) {
    return key >> 8;
}

class MemoryTable {
  public:
    // Where keys come from: nothing that anybody else can foretell. Without it they are the same in
    // each run.
    void draw_keys_with(std::function<std::uint32_t()> draw) { draw_ = std::move(draw); }

    // Returns the key, or 0 where there are too many regions.
    std::uint32_t add(const MemoryRegion& region);
    // False where the key is not in use, or windows are bound to the region.
    bool remove(std::uint32_t key);
    bool replace(std::uint32_t key, const MemoryRegion& region);

    // The bytes at [address, address + length), or null unless the key is in use in `domain`,
    // permits all of `access`, and covers the range. Reading one's own memory needs no access flag.
    std::byte *find(std::uint32_t key, ProtectionDomain domain, std::uint64_t address,
                    std::uint64_t length_bytes, std::uint32_t access) const;

    std::size_t size() const { return regions_.size(); }
    bool has_windows(std::uint32_t key) const;

    // A window that opens nothing yet. Returns its key, or 0 where there are too many.
    std::uint32_t add_window(ProtectionDomain domain, WindowType type);
    // By any key of the window. False where it is not in use.
    bool remove_window(std::uint32_t key);

    // Opens what is wanted under the wanted key, whose upper bits say which window. A length of 0
    // closes one of type 1. False, and nothing has changed, where the domain is another, where the
    // region is not there, does not permit it or does not cover it, or where the window is of type
    // 2 and still open.
    bool bind(const WindowBinding& wanted, const Accessor& by);
    // Closes a window of type 2. False where this is not its key, or not its queue pair.
    bool invalidate(std::uint32_t key, const Accessor& by);
    bool may_invalidate(std::uint32_t key, const Accessor& by) const;
    // Closes those of type 2 that a queue pair has bound, since its number may come again.
    void invalidate_of(std::uint32_t qpn);

    // As find(), for a key that a peer was told, of a region or of a window.
    std::byte *find_remote(std::uint32_t key, const Accessor& by, std::uint64_t address,
                           std::uint64_t length_bytes, std::uint32_t access) const;

  private:
    struct Registered {
        MemoryRegion region;
        std::uint32_t windows = 0;  // bound to it
    };
    struct Window {
        ProtectionDomain domain = 0;
        WindowType type = WindowType::type_1;
        std::uint32_t key = 0;
        std::uint32_t region_key = 0;  // that it is bound to; 0: none
        std::uint32_t qpn = 0;         // that bound it
        MemoryRegion opened;

        // Whether `used` opens it to the queue pair now.
        bool is_open(std::uint32_t used, const Accessor& to) const {
            return region_key != 0 && used == key && domain == to.domain &&
                   (type == WindowType::type_1 || qpn == to.qpn);
        }
    };

    bool has_regions_at(std::uint32_t index) const;
    void close(Window& window);

    std::unordered_map<std::uint32_t, Registered> regions_;
    std::unordered_map<std::uint32_t, Window> windows_;  // by window_index()
    std::function<std::uint32_t()> draw_ = std::minstd_rand();
};

}  // namespace lanewise::verbs
