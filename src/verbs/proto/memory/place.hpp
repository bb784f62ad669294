// SPDX-License-Identifier: BSD-3-Clause
//
// A copy into memory that the program may be reading, and answering in, meanwhile. Programs poll a
// word that a peer writes, and set it back when they have seen it; memcpy(3) stores bytes twice
// where that saves it a branch (the C library of GNU stores a word of eight bytes twice always), so
// the second store would undo the answer, and the write seem to come again. Instructions that copy
// strings (rep movs) do not keep the order, so they are not used either.

#pragma once

#include <atomic>
#include <cstddef>
#include <span>

namespace lanewise::verbs {

using Place = void (*)(std::byte *to, const std::byte *from, std::size_t bytes);

// A way to do it, by instructions that the processor has or has not. The first that it has is used.
struct Placing {
    const char *name;
    bool is_here;
    Place place;
};
std::span<const Placing> placings();

// The best way here, from the first call on.
extern std::atomic<Place> best_place;

// Stores each byte once, in the order of the addresses, and the eight bytes of an aligned word at
// once. Within one store of a vector, x86 processors keep the order as well, but no manual promises
// it for 32 and 64 bytes.
inline void place(std::byte *to, const std::byte *from, std::size_t bytes) {
    best_place.load(std::memory_order_relaxed)(to, from, bytes);
}

}  // namespace lanewise::verbs
