// SPDX-License-Identifier: BSD-3-Clause
//
// See memory.hpp.

#include "wavefront/store/memory.hpp"

#include <sys/mman.h>

#include "base/sizes.hpp"

namespace lanewise::wavefront {

Result<Memory> Memory::reserve(std::uint64_t bytes) {
    Memory memory;
    if (bytes == 0) return memory;
    void *begin =
        ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (begin == MAP_FAILED)
        return Failure{LW_ERR_MEMORY, "no memory for buffers of " + format_size(bytes) +
                                          "B; give a smaller --memory"};
    ::madvise(begin, bytes, MADV_HUGEPAGE);
    memory.begin_ = static_cast<std::byte *>(begin);
    memory.bytes_ = bytes;
    return memory;
}

Memory::~Memory() {
    if (begin_ != nullptr) ::munmap(begin_, bytes_);
}

}  // namespace lanewise::wavefront
