// SPDX-License-Identifier: BSD-3-Clause
//
// A copy into memory that the program may be reading, and answering in, meanwhile. Programs poll a
// word that a peer writes, and set it back when they have seen it; memcpy(3) stores bytes twice
// where that saves it a branch (the C library of GNU stores a word of eight bytes twice always), so
// the second store would undo the answer, and the write seem to come again.

#pragma once

#include <cstddef>

namespace lanewise::verbs {

// Stores each byte once, in the order of the addresses, and the eight bytes of an aligned word at
// once.
void place(std::byte *to, const std::byte *from, std::size_t bytes);

}  // namespace lanewise::verbs
