// SPDX-License-Identifier: BSD-3-Clause
//
// Copies to and from memory that the program has registered and may have unmapped since. A card
// keeps the pages; here the copy fails, instead of ending the program with SIGSEGV, or with SIGBUS
// where a mapped file has become shorter. To ask the kernel before each copy would take a
// microsecond. So handlers are installed, once, that leave a copy in which the signal was raised,
// and hand any other on to the handler that was there before.

#pragma once

#include <cstddef>
#include <cstdint>

namespace lanewise::verbs {

// Installs the handlers; without them copies are as unguarded as memcpy(3). A program that installs
// its own later takes them away.
void guard_memory();

// Copies from memory of the program; a checksum that is not null is fed what is copied
// (crc32::feed_copying). False where it cannot be read; some of the bytes may have been copied.
bool read_guarded(std::byte *to, const std::byte *from, std::size_t bytes,
                  std::uint32_t *checksum = nullptr);
// Copies to memory of the program, each byte once (place.hpp). False where it cannot be written.
bool place_guarded(std::byte *to, const std::byte *from, std::size_t bytes);

// Adds to a word of the program, or swaps it where it is `old`; `old` becomes what it was. False
// where it cannot be written, and then it is as it was.
bool add_guarded(std::uint64_t *word, std::uint64_t value, std::uint64_t& old);
bool swap_guarded(std::uint64_t *word, std::uint64_t value, std::uint64_t& old);

}  // namespace lanewise::verbs
