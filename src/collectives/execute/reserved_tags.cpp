// SPDX-License-Identifier: BSD-3-Clause

#include "collectives/execute/reserved_tags.hpp"

namespace lanewise::collectives {
namespace {

constexpr std::size_t word_bits = 64;

std::uint64_t bit_of(std::size_t index) {
    return std::uint64_t{1} << (index % word_bits);
}

}  // namespace

int ReservedTags::take(MPI_Comm comm) {
    if (taken_here_.empty()) {
        taken_here_.resize((count_ + word_bits - 1) / word_bits);
        taken_anywhere_ = taken_here_;
    }
    auto index = next_free();
    if (index == count_ && ask_all(comm)) index = next_free();
    if (index == count_) return -1;
    next_ = index + 1;
    const std::lock_guard guard(lock_);
    taken_here_[index / word_bits] |= bit_of(index);
    return first_ + static_cast<int>(index);
}

void ReservedTags::give_back(int tag) {
    const auto index = static_cast<std::size_t>(tag - first_);
    const std::lock_guard guard(lock_);
    taken_here_[index / word_bits] &= ~bit_of(index);
}

std::size_t ReservedTags::next_free() {
    auto index = next_;
    while (index < count_ && (taken_anywhere_[index / word_bits] & bit_of(index)) != 0) ++index;
    return index;
}

bool ReservedTags::ask_all(MPI_Comm comm) {
    {
        const std::lock_guard guard(lock_);
        taken_anywhere_ = taken_here_;
    }
    next_ = 0;
    return PMPI_Allreduce(MPI_IN_PLACE, taken_anywhere_.data(),
                          static_cast<int>(taken_anywhere_.size()), MPI_UINT64_T, MPI_BOR,
                          comm) == MPI_SUCCESS;
}

}  // namespace lanewise::collectives
