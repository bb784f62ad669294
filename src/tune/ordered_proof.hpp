// SPDX-License-Identifier: BSD-3-Clause
//
// Ordered proof: whether reductions combine the ranks in their order, as an operator needs it that
// does not commute.

#pragma once

#include <mpi.h>

#include <cstdint>

#include "collectives/algorithm.hpp"

namespace lanewise::tune {

enum class Answer { right, wrong, refused };

/* Of a call that returned `code`, and delivered what it should or something else. */
inline Answer answer(int code, bool as_expected) {
    if (code != MPI_SUCCESS) return Answer::refused;
    return as_expected ? Answer::right : Answer::wrong;
}

/* A map x -> scale * x + shift of 16-bit numbers, which is an element of what is reduced. */
struct Map {
    std::uint16_t scale = 1;
    std::uint16_t shift = 0;

    bool operator==(const Map&) const = default;
};

/* Of a number, `inner` first. */
Map composed(Map outer, Map inner);

/* What a rank gives: the maps of no two ranks commute, up to 32768 of them. */
Map map_of(int rank);

/*
 * Reduces this many bytes, a multiple of four, with an operator that does not commute; a reduce
 * has the first rank as root and then the last one. Other collectives than reduce, allreduce and
 * reduce_scatter are right without a call. Collective over `comm`.
 */
Answer reduce_in_order(collectives::Collective collective, std::uint64_t message_bytes,
                       MPI_Comm comm);

}  // namespace lanewise::tune
