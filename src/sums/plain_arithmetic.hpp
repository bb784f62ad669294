// SPDX-License-Identifier: BSD-3-Clause
//
// PlainArithmetic: while it lives, this thread rounds to nearest, ties to even, and computes with
// subnormal numbers, as IEEE 754 has it by default. A program may have chosen otherwise, most often
// because its compiler did: -ffast-math flushes subnormal numbers to zero.

#pragma once

#include <cfenv>
#include <cmath>
#include <cstdint>
#include <limits>

#if defined(__x86_64__)
#include <xmmintrin.h>
#endif

#include "sums/every_rounding.hpp"

namespace lanewise::sums {

/* The number, or the one NaN that sums and products give. */
template <typename Real>
Real without_payload(Real value) {
    return std::isnan(value) ? std::numeric_limits<Real>::quiet_NaN() : value;
}

class PlainArithmetic {
  public:
#if defined(__x86_64__)
    PlainArithmetic() : before_(_mm_getcsr()) {
        if ((before_ & control) != plain) _mm_setcsr((before_ & ~control) | plain);
        keep_order();
    }
    ~PlainArithmetic() {
        keep_order();
        if ((before_ & control) != plain) _mm_setcsr(before_);
    }
#elif defined(__aarch64__)
    PlainArithmetic() : before_(control_register()) {
        if ((before_ & control) != 0) set_control_register(before_ & ~control);
        keep_order();
    }
    ~PlainArithmetic() {
        keep_order();
        if ((before_ & control) != 0) set_control_register(before_);
    }
#else
    PlainArithmetic() : before_(std::fegetround()) {
        if (before_ != FE_TONEAREST) std::fesetround(FE_TONEAREST);
        keep_order();
    }
    ~PlainArithmetic() {
        keep_order();
        if (before_ != FE_TONEAREST) std::fesetround(before_);
    }
#endif
    PlainArithmetic(const PlainArithmetic&) = delete;
    PlainArithmetic& operator=(const PlainArithmetic&) = delete;

  private:
    // Loads and stores, and what is computed between them, stay on their side.
    static void keep_order() {
        __asm__ volatile("" : : : "memory");
    }

#if defined(__x86_64__)
    // Flush to zero, rounding, masks of exceptions, denormals are zero; nothing of the rest rounds.
    static constexpr unsigned control = 0xffc0;
    static constexpr unsigned plain = 0x1f80;
    unsigned before_;
#elif defined(__aarch64__)
    // Default NaN, flush to zero, rounding, traps.
    static constexpr std::uint64_t control = 0x07c09f00;
    static std::uint64_t control_register() {
        std::uint64_t value = 0;
        __asm__ volatile("mrs %0, fpcr" : "=r"(value));
        return value;
    }
    static void set_control_register(std::uint64_t value) {
        __asm__ volatile("msr fpcr, %0" : : "r"(value));
    }
    std::uint64_t before_;
#else
    int before_;
#endif
};

}  // namespace lanewise::sums
