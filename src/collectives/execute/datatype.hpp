// SPDX-License-Identifier: BSD-3-Clause
//
// Datatype: what a schedule needs to know of an MPI datatype. A plain type lies in memory byte
// after byte in the order in which the MPI would send it, so it needs no packing. Any other type is
// packed where it is only moved, and given to the MPI element by element where it is reduced.

#pragma once

#include <mpi.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>

namespace lanewise::collectives {

struct TypeLayout {
    std::int64_t size = 0; /* bytes of data in an element */
    std::int64_t extent = 0;
    std::int64_t true_lb = 0;
    std::int64_t true_extent = 0;
    bool plain = false;
    bool predefined = false; /* its handle is never reused */
};

template <typename Handle, std::size_t count>
bool is_one_of(Handle handle, const Handle (&handles)[count]) {
    return std::ranges::find(handles, handle) != std::end(handles);
}

TypeLayout layout_of(MPI_Datatype type);

/* What a message to oneself travels by. Other threads may send themselves some at the same time. */
struct ToSelf {
    MPI_Comm comm;
    int tag;
};

/* `count` elements at `from` to or from their packed bytes; an MPI error code. Some MPIs pass an
   element of more bytes than an int counts `by` a message. */
int pack(const void *from, std::int64_t count, MPI_Datatype type, const TypeLayout& layout,
         std::byte *to, ToSelf by);
int unpack(const std::byte *from, void *to, std::int64_t count, MPI_Datatype type,
           const TypeLayout& layout, ToSelf by);

}  // namespace lanewise::collectives
