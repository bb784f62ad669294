// SPDX-License-Identifier: BSD-3-Clause

#include "collectives/execute/datatype.hpp"

#include <algorithm>
#include <array>
#include <climits>
#include <vector>

namespace lanewise::collectives {
namespace {

bool is_plain(MPI_Datatype type, const TypeLayout& layout);

/* How a type was made. Types of constructors with large counts, which end in _c, have large counts
   among their arguments, and only functions that end in _c as well describe them. */
struct Envelope {
    MPI_Count integers = 0;
    MPI_Count addresses = 0;
    MPI_Count large_counts = 0;
    MPI_Count datatypes = 0;
    int combiner = MPI_COMBINER_NAMED;

    bool is_unowned() const {
        return combiner == MPI_COMBINER_NAMED || combiner == MPI_COMBINER_F90_REAL ||
               combiner == MPI_COMBINER_F90_COMPLEX || combiner == MPI_COMBINER_F90_INTEGER;
    }
};

Envelope envelope_of(MPI_Datatype type) {
    Envelope found;
#ifdef LANEWISE_HAS_LARGE_COUNTS
    PMPI_Type_get_envelope_c(type, &found.integers, &found.addresses, &found.large_counts,
                             &found.datatypes, &found.combiner);
#else
    int integers = 0;
    int addresses = 0;
    int datatypes = 0;
    PMPI_Type_get_envelope(type, &integers, &addresses, &datatypes, &found.combiner);
    found.integers = integers;
    found.addresses = addresses;
    found.datatypes = datatypes;
#endif
    return found;
}

/* The single type that a duplicate, an array or a resized type is made of, and whether it is plain.
 */
bool is_made_of_plain(MPI_Datatype type, const Envelope& envelope) {
    std::vector<int> i(static_cast<std::size_t>(envelope.integers));
    std::vector<MPI_Aint> a(static_cast<std::size_t>(envelope.addresses));
    std::vector<MPI_Datatype> d(static_cast<std::size_t>(envelope.datatypes), MPI_DATATYPE_NULL);
#ifdef LANEWISE_HAS_LARGE_COUNTS
    std::vector<MPI_Count> c(static_cast<std::size_t>(envelope.large_counts));
    PMPI_Type_get_contents_c(type, envelope.integers, envelope.addresses, envelope.large_counts,
                             envelope.datatypes, i.data(), a.data(), c.data(), d.data());
#else
    PMPI_Type_get_contents(type, static_cast<int>(i.size()), static_cast<int>(a.size()),
                           static_cast<int>(d.size()), i.data(), a.data(), d.data());
#endif
    const bool plain = layout_of(d[0]).plain;
    if (!envelope_of(d[0]).is_unowned()) PMPI_Type_free(d.data());
    return plain;
}

bool is_plain(MPI_Datatype type, const TypeLayout& layout) {
    if (layout.extent != layout.size || layout.true_lb != 0 || layout.true_extent != layout.size) {
        return false;
    }
    const auto envelope = envelope_of(type);
    if (envelope.is_unowned()) return true;
    switch (envelope.combiner) {
        case MPI_COMBINER_DUP:
        case MPI_COMBINER_CONTIGUOUS:
        case MPI_COMBINER_RESIZED: return is_made_of_plain(type, envelope);
        default: return false;
    }
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
    const bool named = envelope_of(type).combiner == MPI_COMBINER_NAMED;
    TypeLayout layout{size, extent, true_lb, true_extent, false, named};
    layout.plain = is_plain(type, layout);
    return layout;
}

/* The MPI takes int counts and sizes, so what is larger goes in pieces of whole elements, and an
   element that is larger by itself alone. */
template <typename Piece>
int in_pieces(std::int64_t count, const TypeLayout& layout, Piece piece) {
    if (layout.size == 0) return MPI_SUCCESS;
    const std::int64_t most = std::max<std::int64_t>(1, INT_MAX / layout.size);
    for (std::int64_t done = 0; done < count; done += most) {
        const int code = piece(done, static_cast<int>(std::min(most, count - done)));
        if (code != MPI_SUCCESS) return code;
    }
    return MPI_SUCCESS;
}

/*
 * MPICH refuses to pack from and to MPI_BOTTOM, which is a null pointer, although addresses in the
 * type make it a place like any other. The same elements are described from an address that is
 * not null: `act(address, type)`.
 */
template <typename Act>
int from_an_address(int count, MPI_Datatype type, const Act& act) {
    static std::byte origin;
    MPI_Aint address = 0;
    PMPI_Get_address(&origin, &address);
    const MPI_Aint displacement = -address;
    MPI_Datatype moved = MPI_DATATYPE_NULL;
    int code = PMPI_Type_create_hindexed(1, &count, &displacement, type, &moved);
    if (code != MPI_SUCCESS) return code;
    PMPI_Type_commit(&moved);
    code = act(&origin, moved);
    PMPI_Type_free(&moved);
    return code;
}

#ifdef LANEWISE_HAS_LARGE_COUNTS
int pack_piece(const void *from, int count, MPI_Datatype type, std::int64_t bytes, std::byte *to,
               ToSelf by) {
    MPI_Count position = 0;
    return PMPI_Pack_c(from, count, type, to, bytes, &position, by.comm);
}

int unpack_piece(const std::byte *from, std::int64_t bytes, void *to, int count, MPI_Datatype type,
                 ToSelf by) {
    MPI_Count position = 0;
    return PMPI_Unpack_c(from, bytes, &position, to, count, type, by.comm);
}
#else
/* A type of so many bytes, which may be more than an int counts. */
class BytesType {
  public:
    explicit BytesType(std::int64_t bytes) {
        constexpr std::int64_t block = std::int64_t{1} << 30;
        const MPI_Aint displacements[] = {0, static_cast<MPI_Aint>(bytes / block * block)};
        const int lengths[] = {static_cast<int>(bytes / block), static_cast<int>(bytes % block)};
        MPI_Datatype types[] = {MPI_DATATYPE_NULL, MPI_BYTE};
        PMPI_Type_contiguous(static_cast<int>(block), MPI_BYTE, types);
        PMPI_Type_create_struct(2, lengths, displacements, types, &type_);
        PMPI_Type_commit(&type_);
        PMPI_Type_free(types);
    }
    ~BytesType() { PMPI_Type_free(&type_); }
    BytesType(const BytesType&) = delete;
    BytesType& operator=(const BytesType&) = delete;
    MPI_Datatype get() const { return type_; }

  private:
    MPI_Datatype type_ = MPI_DATATYPE_NULL;
};

/* A message to oneself does what packing does, without a size in an int. */
int pass_to_self(const void *from, int from_count, MPI_Datatype from_type, void *to, int to_count,
                 MPI_Datatype to_type, ToSelf by) {
    int rank = 0;
    PMPI_Comm_rank(by.comm, &rank);
    return PMPI_Sendrecv(from, from_count, from_type, rank, by.tag, to, to_count, to_type, rank,
                         by.tag, by.comm, MPI_STATUS_IGNORE);
}

int pack_piece(const void *from, int count, MPI_Datatype type, std::int64_t bytes, std::byte *to,
               ToSelf by) {
    if (bytes > INT_MAX) {
        return pass_to_self(from, count, type, to, 1, BytesType(bytes).get(), by);
    }
    int position = 0;
    return PMPI_Pack(from, count, type, to, static_cast<int>(bytes), &position, by.comm);
}

int unpack_piece(const std::byte *from, std::int64_t bytes, void *to, int count, MPI_Datatype type,
                 ToSelf by) {
    if (bytes > INT_MAX) {
        return pass_to_self(from, 1, BytesType(bytes).get(), to, count, type, by);
    }
    int position = 0;
    return PMPI_Unpack(from, static_cast<int>(bytes), &position, to, count, type, by.comm);
}
#endif

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
         std::byte *to, ToSelf by) {
    return in_pieces(count, layout, [&](std::int64_t done, int piece) {
        const auto *source = static_cast<const std::byte *>(from) + done * layout.extent;
        auto *target = to + done * layout.size;
        const auto bytes = piece * layout.size;
        if (source) return pack_piece(source, piece, type, bytes, target, by);
        return from_an_address(piece, type, [&](const void *address, MPI_Datatype moved) {
            return pack_piece(address, 1, moved, bytes, target, by);
        });
    });
}

int unpack(const std::byte *from, void *to, std::int64_t count, MPI_Datatype type,
           const TypeLayout& layout, ToSelf by) {
    return in_pieces(count, layout, [&](std::int64_t done, int piece) {
        const auto *source = from + done * layout.size;
        auto *target = static_cast<std::byte *>(to) + done * layout.extent;
        const auto bytes = piece * layout.size;
        if (target) return unpack_piece(source, bytes, target, piece, type, by);
        return from_an_address(piece, type, [&](void *address, MPI_Datatype moved) {
            return unpack_piece(source, bytes, address, 1, moved, by);
        });
    });
}

}  // namespace lanewise::collectives
