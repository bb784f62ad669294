// SPDX-License-Identifier: BSD-3-Clause
//
// HeldHandles: operators and datatypes of the program that calls in flight still need. MPI lets a
// program free them meanwhile, and has no function that duplicates an operator; a datatype must be
// the one that the program gave where its operator looks at it, and may be another elsewhere. So
// who intercepts MPI_Op_free and MPI_Type_free asks here, and what is in use is freed with the last
// call that needs it.

#pragma once

#include <mpi.h>

namespace lanewise::collectives {

/* Whether somebody intercepts these functions. Written once, before MPI is initialized. */
extern constinit bool frees_are_intercepted;

/* The two kinds of handles, which MPICH has of one type. */
struct Operators {
    using Handle = MPI_Op;
};
struct Datatypes {
    using Handle = MPI_Datatype;
};

/* A datatype that lives as long as its holder, for where any of its kind will do. One that cannot
   be freed is not held. What holds another is one element of it, because a duplicate would run the
   program's callbacks for attributes. */
class HeldType {
  public:
    HeldType() = default;
    ~HeldType();
    HeldType(const HeldType&) = delete;
    HeldType& operator=(const HeldType&) = delete;

    /* Replaces `type` by what is held. An MPI error code. */
    int hold(MPI_Datatype& type);

  private:
    MPI_Datatype own_ = MPI_DATATYPE_NULL;
};

/* Holds a handle while it lives. Nothing is held where it was made without one. */
template <typename Kind>
class HeldHandle {
  public:
    using Handle = typename Kind::Handle;

    HeldHandle() = default;
    ~HeldHandle();
    HeldHandle(const HeldHandle&) = delete;
    HeldHandle& operator=(const HeldHandle&) = delete;

    /* Once. */
    void hold(Handle handle);

  private:
    Handle handle_{};
    bool holds_ = false;
};

/* Whether a call in flight holds it: then it is freed when none does, and not by who asks. */
template <typename Kind>
bool is_freed_later(typename Kind::Handle handle);

}  // namespace lanewise::collectives
