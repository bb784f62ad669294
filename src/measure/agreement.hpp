// SPDX-License-Identifier: BSD-3-Clause
//
// What the ranks of one call have passed must be the same, and if one rank cannot go on, none may:
// the others would wait for it without end.

#pragma once

#include <lanewise/measure.h>

#include <bit>
#include <cstdint>
#include <string_view>

#include "base/fnv.hpp"
#include "base/result.hpp"

namespace lanewise::measure {

// A digest of the arguments that must be the same on every rank.
class Digest {
  public:
    void add(std::uint64_t value) { hash_ = fnv1a(hash_, value); }
    void add(double value) { add(std::bit_cast<std::uint64_t>(value)); }
    void add(std::string_view text) {
        add(text.size());
        for (const char letter : text) add(std::uint64_t{static_cast<unsigned char>(letter)});
    }
    void add(const lw_measure_options& options);
    void add(const lw_operation& operation);

    std::uint64_t value() const { return hash_; }

  private:
    std::uint64_t hash_ = fnv1a_basis;
};

// The failure of the lowest rank that has one, or that the digests differ; the same on every rank.
// The sentence names the rank unless it is rank 0, which reports it. Collective.
Outcome agree(MPI_Comm comm, const Outcome& admitted, std::uint64_t digest);

}  // namespace lanewise::measure
