// SPDX-License-Identifier: BSD-3-Clause
//
// Numbers: an array of counts or displacements where it lies, one number a
// rank. The functions of MPI take them as int, those that end in _c as MPI_Count
// and MPI_Aint; the caller's array is read as it is, never copied.

#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace lanewise::collectives {

class Numbers {
  public:
    Numbers() = default;
    Numbers(std::nullptr_t) {}
    // Field by field, as `written_down` copies a call.
    Numbers(const Numbers& other) : first_(other.first_), wide_(other.wide_) {}
    Numbers& operator=(const Numbers&) = default;
    Numbers(const int *numbers) : first_(numbers) {}
    // MPI_Count and MPI_Aint may be different types of one size, or the same type.
    template <std::signed_integral Wide>
    requires(sizeof(Wide) == sizeof(std::int64_t)) Numbers(const Wide *numbers)
        : first_(numbers), wide_(true) {}

    explicit operator bool() const { return first_ != nullptr; }

    std::int64_t operator[](int rank) const {
        if (!wide_) return static_cast<const int *>(first_)[rank];
        std::int64_t number = 0;
        std::memcpy(&number, static_cast<const char *>(first_) + 8 * std::ptrdiff_t{rank}, 8);
        return number;
    }

    /* For an MPI function that takes int; only where the caller gave int. */
    const int *narrow() const { return wide_ ? nullptr : static_cast<const int *>(first_); }

  private:
    const void *first_ = nullptr;
    bool wide_ = false;
};

}  // namespace lanewise::collectives
