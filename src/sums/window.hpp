// SPDX-License-Identifier: BSD-3-Clause
//
// Window: the few bits in which the numbers of all ranks differ, so that an exact sum travels as
// one or two integers an element and not as the 68 that any number might need.
//
// A vector is cut into blocks. The window of a block says between which bits all its numbers lie;
// the windows of all ranks, the largest of each value, hold for all. In a window a number is an
// integer, cut into digits that have room for the sum over all ranks: integers that any MPI adds,
// in any order, to the same.

#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>

namespace lanewise::sums {

/* Of two windows the one that holds for both has the larger of each value. */
struct Window {
    static constexpr std::int16_t none = std::numeric_limits<std::int16_t>::min();

    std::int16_t above = none; /* every number is smaller than 2^above */
    std::int16_t depth = none; /* and a multiple of 2^-depth */
    std::int16_t specials = 0; /* 1: NaN, infinity or -0 is among them */

    bool operator==(const Window&) const = default;
};

inline constexpr std::size_t window_values = sizeof(Window) / sizeof(std::int16_t);
/* Numbers in a block. The windows then take a three-hundredth of a vector of doubles. */
inline constexpr std::size_t block_count = 256;

inline constexpr std::size_t blocks_of(std::size_t count) {
    return (count + block_count - 1) / block_count;
}

/* The windows of the blocks of `values`. */
template <typename Real>
void find_windows(std::span<const Real> values, std::span<Window> windows);

/* How many ranks add up, and so how many bits of a digit they may use. 2^30 ranks at most. */
class Packing {
  public:
    explicit Packing(int ranks);

    std::size_t words(std::span<const Window> windows, std::size_t count) const;
    /* How many blocks from the first on take no more words than `room`; but at least one. */
    std::size_t blocks_within(std::size_t room, std::span<const Window> windows,
                              std::size_t count) const;
    /* What a number takes at most. */
    std::size_t number_words_max() const;
    /* Writes words(windows, values.size()) words; the windows hold for all ranks. */
    template <typename Real>
    void pack(std::span<const Real> values, std::span<const Window> windows,
              std::int64_t *words) const;
    /* Rounds the words that all ranks' words add up to. */
    template <typename Real>
    void unpack(const std::int64_t *words, std::span<const Window> windows,
                std::span<Real> values) const;

  private:
    std::size_t width(const Window& window) const;
    template <typename Real>
    bool is_plain(const Window& window) const;

    int ranks_;
    int rank_bits_; /* what the sum of one number a rank is longer than the number */
    int digit_bits_;
};

}  // namespace lanewise::sums
