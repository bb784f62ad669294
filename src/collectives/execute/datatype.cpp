// SPDX-License-Identifier: BSD-3-Clause

#include "collectives/execute/datatype.hpp"

#include <algorithm>
#include <array>
#include <climits>
#include <vector>

namespace lanewise::collectives {
namespace {

bool is_plain(MPI_Datatype type, const TypeLayout& layout);

/* The single type that a duplicate, an array or a resized type is made of, and whether it is plain.
 */
bool is_made_of_plain(MPI_Datatype type, int integers, int addresses, int datatypes) {
    std::vector<int> i(static_cast<std::size_t>(integers));
    std::vector<MPI_Aint> a(static_cast<std::size_t>(addresses));
    std::vector<MPI_Datatype> d(static_cast<std::size_t>(datatypes), MPI_DATATYPE_NULL);
    PMPI_Type_get_contents(type, integers, addresses, datatypes, i.data(), a.data(), d.data());
    const bool plain = layout_of(d[0]).plain;
    int combiner = MPI_COMBINER_NAMED;
    int counts[3] = {};
    PMPI_Type_get_envelope(d[0], &counts[0], &counts[1], &counts[2], &combiner);
    const bool owned = combiner != MPI_COMBINER_NAMED && combiner != MPI_COMBINER_F90_REAL &&
                       combiner != MPI_COMBINER_F90_COMPLEX && combiner != MPI_COMBINER_F90_INTEGER;
    if (owned) PMPI_Type_free(d.data());
    return plain;
}

bool is_plain(MPI_Datatype type, const TypeLayout& layout) {
    if (layout.extent != layout.size || layout.true_lb != 0 || layout.true_extent != layout.size) {
        return false;
    }
    int integers = 0;
    int addresses = 0;
    int datatypes = 0;
    int combiner = 0;
    PMPI_Type_get_envelope(type, &integers, &addresses, &datatypes, &combiner);
    switch (combiner) {
        case MPI_COMBINER_NAMED:
        case MPI_COMBINER_F90_REAL:
        case MPI_COMBINER_F90_COMPLEX:
        case MPI_COMBINER_F90_INTEGER:
            return true;
        case MPI_COMBINER_DUP:
        case MPI_COMBINER_CONTIGUOUS:
        case MPI_COMBINER_RESIZED:
            return is_made_of_plain(type, integers, addresses, datatypes);
        default:
            return false;
    }
}

bool is_named(MPI_Datatype type) {
    int counts[3] = {};
    int combiner = 0;
    PMPI_Type_get_envelope(type, &counts[0], &counts[1], &counts[2], &combiner);
    return combiner == MPI_COMBINER_NAMED;
}

TypeLayout examine(MPI_Datatype type) {
    MPI_Count size = 0;
    MPI_Count lb = 0;
    MPI_Count extent = 0;
    MPI_Count true_lb = 0;
    MPI_Count true_extent = 0;
    PMPI_Type_size_x(type, &size);
    PMPI_Type_get_extent_x(type, &lb, &extent);
    PMPI_Type_get_true_extent_x(type, &true_lb, &true_extent);
    TypeLayout layout{size, extent, true_lb, true_extent, false, is_named(type)};
    layout.plain = is_plain(type, layout);
    return layout;
}

/* The MPI takes int counts and sizes, so what is larger goes in pieces of whole elements. */
template <typename Piece>
int in_pieces(std::int64_t count, const TypeLayout& layout, Piece piece) {
    if (layout.size == 0) return MPI_SUCCESS;
    if (layout.size > INT_MAX) return MPI_ERR_COUNT;
    const std::int64_t most = INT_MAX / layout.size;
    for (std::int64_t done = 0; done < count; done += most) {
        const int code = piece(done, static_cast<int>(std::min(most, count - done)));
        if (code != MPI_SUCCESS) return code;
    }
    return MPI_SUCCESS;
}

/*
 * MPICH refuses to pack from and to MPI_BOTTOM, which is a null pointer, although addresses in the
 * type make it a place like any other. A message to oneself says the same.
 */
int pass_to_self(const void *from, int from_count, MPI_Datatype from_type, void *to, int to_count,
                 MPI_Datatype to_type, MPI_Comm comm) {
    int rank = 0;
    PMPI_Comm_rank(comm, &rank);
    return PMPI_Sendrecv(from, from_count, from_type, rank, 0, to, to_count, to_type, rank, 0, comm,
                         MPI_STATUS_IGNORE);
}

}  // namespace

TypeLayout layout_of(MPI_Datatype type) {
    // Handles of predefined types are never freed, so what was found of them stays true.
    struct Known {
        MPI_Datatype type = MPI_DATATYPE_NULL;
        TypeLayout layout;
    };
    thread_local std::array<Known, 4> known;
    thread_local std::size_t next = 0;
    for (const auto& entry : known) {
        if (entry.type == type) return entry.layout;
    }
    const auto layout = examine(type);
    if (layout.predefined) known[next++ % known.size()] = {type, layout};
    return layout;
}

int pack(const void *from, std::int64_t count, MPI_Datatype type, const TypeLayout& layout,
         std::byte *to, MPI_Comm comm) {
    return in_pieces(count, layout, [&](std::int64_t done, int piece) {
        const auto *source = static_cast<const std::byte *>(from) + done * layout.extent;
        const int bytes = static_cast<int>(piece * layout.size);
        if (!source) {
            return pass_to_self(source, piece, type, to + done * layout.size, bytes, MPI_PACKED,
                                comm);
        }
        int position = 0;
        return PMPI_Pack(source, piece, type, to + done * layout.size, bytes, &position, comm);
    });
}

int unpack(const std::byte *from, void *to, std::int64_t count, MPI_Datatype type,
           const TypeLayout& layout, MPI_Comm comm) {
    return in_pieces(count, layout, [&](std::int64_t done, int piece) {
        auto *target = static_cast<std::byte *>(to) + done * layout.extent;
        const int bytes = static_cast<int>(piece * layout.size);
        if (!target) {
            return pass_to_self(from + done * layout.size, bytes, MPI_PACKED, target, piece, type,
                                comm);
        }
        int position = 0;
        return PMPI_Unpack(from + done * layout.size, bytes, &position, target, piece, type, comm);
    });
}

}  // namespace lanewise::collectives
