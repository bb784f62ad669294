// SPDX-License-Identifier: BSD-3-Clause
//
// Copies to and from memory that the program has registered and may have unmapped since. A card
// keeps the pages; here the copy fails, instead of ending the program with SIGSEGV, or with SIGBUS
// where a mapped file has become shorter. To ask the kernel before each copy would take a
// microsecond. So handlers are installed, once, that leave a copy in which the signal was raised,
// and hand any other on to the handler that was there before.

#pragma once

#include <cstddef>

namespace lanewise::verbs {

// Installs the handlers; without them copies are as unguarded as memcpy(3). A program that installs
// its own later takes them away.
void guard_memory();

// False where the memory cannot be read or written; some of the bytes may have been copied.
bool copy_guarded(void *to, const void *from, std::size_t bytes);

}  // namespace lanewise::verbs
