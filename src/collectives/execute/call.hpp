// SPDX-License-Identifier: BSD-3-Clause
//
// Call: one collective call, and the algorithm that executes it.

#pragma once

#include <mpi.h>

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "collectives/algorithm.hpp"

namespace lanewise::collectives {

/*
 * An array of counts or displacements, one per rank, which is read where it lies. Functions of MPI
 * take such numbers as int, those that end in _c as MPI_Count and MPI_Aint.
 */
class Numbers {
  public:
    Numbers() = default;
    Numbers(std::nullptr_t) {}
    // Field by field, for `copy_of`.
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

    /* For one that takes MPI_Aint; only where the caller gave that. */
    const MPI_Aint *wide() const { return wide_ ? static_cast<const MPI_Aint *>(first_) : nullptr; }

    /* The same memory as an array of MPI_Aint. */
    Numbers widened() const {
        Numbers same = *this;
        same.wide_ = true;
        return same;
    }

  private:
    const void *first_ = nullptr;
    bool wide_ = false;
};

/* An array of datatypes, one per rank, which is read where it lies: handles of C or of Fortran. */
class Types {
  public:
    Types() = default;
    Types(std::nullptr_t) {}
    Types(const MPI_Datatype *types) : first_(types) {}
    static Types of_fortran(const MPI_Fint *handles) {
        Types types;
        types.first_ = handles;
        types.is_fortran_ = true;
        return types;
    }

    explicit operator bool() const { return first_ != nullptr; }

    MPI_Datatype operator[](int rank) const {
        if (is_fortran_) return PMPI_Type_f2c(static_cast<const MPI_Fint *>(first_)[rank]);
        return static_cast<const MPI_Datatype *>(first_)[rank];
    }

    /* For a function of C; only where the caller gave its handles. */
    const MPI_Datatype *narrow() const {
        return is_fortran_ ? nullptr : static_cast<const MPI_Datatype *>(first_);
    }

  private:
    const void *first_ = nullptr;
    bool is_fortran_ = false;
};

/*
 * One call, with the arguments of the MPI function of that name. What a rank
 * need not give (the send side of scatter off the root, and so on) is never
 * looked at. Counts are of elements of their type. Not used: left at its default.
 */
struct Call {
    Collective collective = Collective::barrier;
    const void *send = nullptr; /* may be MPI_IN_PLACE where the MPI allows it */
    MPI_Count send_count = 0;
    MPI_Datatype send_type = MPI_DATATYPE_NULL;
    void *receive = nullptr; /* may be MPI_IN_PLACE at the root of scatter(v); bcast: the buffer */
    MPI_Count receive_count = 0;
    MPI_Datatype receive_type = MPI_DATATYPE_NULL;
    /* scatterv, gatherv at the root; allgatherv; reduce_scatter; else of what is received. In a
       neighborhood these arrays have an element for each neighbor. */
    Numbers counts = {};
    Numbers displacements = {};
    Numbers send_counts = {}; /* (neighbor_)alltoallv and alltoallw */
    Numbers send_displacements = {};
    Types send_types = {}; /* (neighbor_)alltoallw, whose displacements are in bytes */
    Types receive_types = {};
    MPI_Op op = MPI_OP_NULL; /* reductions; their type is receive_type, their count receive_count */
    int root = 0;
    MPI_Comm comm = MPI_COMM_NULL;
};

/* What the bits of reductions may depend on, as lw_bits (lanewise/collectives.h). */
enum class SameBits : std::uint8_t {
    unasked, /* on anything */
    order,   /* on the operands and the number of ranks only */
    ranks,   /* sums and products: on the numbers only; the others as with `order` */
};

/* Which algorithm, and its parameters; the same on every rank. Where same bits are asked for, two
   vectors are combined as sums/combine does it, as far as it knows operator and type. */
struct Choice {
    const Algorithm *algorithm = nullptr;
    std::int64_t segment_bytes = 0;
    int lanes = 1;
    SameBits same_bits = SameBits::unasked;

    bool operator==(const Choice&) const = default;
};

/*
 * The same, field by field. Where only this copy is passed on, the compiler knows that the
 * original need not lie in memory, and keeps the arguments of a call in registers.
 */
inline Call copy_of(const Call& call) {
    const auto& [collective, send, send_count, send_type, receive, receive_count, receive_type,
                 counts, displacements, send_counts, send_displacements, send_types, receive_types,
                 op, root, comm] = call;
    return {collective,
            send,
            send_count,
            send_type,
            receive,
            receive_count,
            receive_type,
            counts,
            displacements,
            send_counts,
            send_displacements,
            send_types,
            receive_types,
            op,
            root,
            comm};
}

inline Choice copy_of(const Choice& choice) {
    const auto& [algorithm, segment_bytes, lanes, same_bits] = choice;
    return {algorithm, segment_bytes, lanes, same_bits};
}

}  // namespace lanewise::collectives
