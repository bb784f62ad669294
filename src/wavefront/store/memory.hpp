// SPDX-License-Identifier: BSD-3-Clause
//
// Memory: a region of whole pages for direct I/O, zero at first, on huge pages
// where the kernel has them to spare. It begins at a huge page, so that only what is
// left over at its end is in small ones.

#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>

#include "base/result.hpp"

namespace lanewise::wavefront {

inline constexpr std::uint64_t huge_page_bytes = std::uint64_t{2} << 20;

class Memory {
  public:
    static Result<Memory> reserve(std::uint64_t bytes);

    Memory() = default;
    Memory(Memory&& other) noexcept
        : begin_(std::exchange(other.begin_, nullptr)), bytes_(std::exchange(other.bytes_, 0)) {}
    Memory& operator=(Memory&& other) noexcept {
        std::swap(begin_, other.begin_);
        std::swap(bytes_, other.bytes_);
        return *this;
    }
    ~Memory();

    std::byte *begin() const { return begin_; }
    std::uint64_t bytes() const { return bytes_; }

  private:
    std::byte *begin_ = nullptr;
    std::uint64_t bytes_ = 0;
};

}  // namespace lanewise::wavefront
