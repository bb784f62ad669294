// SPDX-License-Identifier: BSD-3-Clause
//
// See memory.hpp.

#include "wavefront/store/memory.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include "base/sizes.hpp"

namespace lanewise::wavefront {
namespace {

/* Null where there is no room for them. */
std::byte *map_pages(std::uint64_t bytes) {
    void *const begin =
        ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return begin == MAP_FAILED ? nullptr : static_cast<std::byte *>(begin);
}

/* The same from the beginning of a huge page on: what lies before it, and behind the end, is given
 * back untouched. */
std::byte *map_from_huge_page(std::uint64_t bytes) {
    auto *const mapped = map_pages(bytes + huge_page_bytes);
    if (mapped == nullptr) return nullptr;
    const auto before = -reinterpret_cast<std::uintptr_t>(mapped) % huge_page_bytes;
    if (before > 0) ::munmap(mapped, before);
    ::munmap(mapped + before + bytes, huge_page_bytes - before);
    return mapped + before;
}

}  // namespace

Result<Memory> Memory::reserve(std::uint64_t bytes) {
    Memory memory;
    if (bytes == 0) return memory;
    const auto page = static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
    const auto whole_pages = (bytes + page - 1) / page * page;
    memory.begin_ = map_from_huge_page(whole_pages);
    if (memory.begin_ == nullptr)
        return Failure{LW_ERR_MEMORY, "no memory for buffers of " + format_size(bytes) +
                                          "B; give a smaller --memory"};
    ::madvise(memory.begin_, whole_pages, MADV_HUGEPAGE);
    memory.bytes_ = bytes;
    return memory;
}

Memory::~Memory() {
    if (begin_ != nullptr) ::munmap(begin_, bytes_);
}

}  // namespace lanewise::wavefront
