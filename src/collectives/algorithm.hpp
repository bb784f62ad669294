// SPDX-License-Identifier: BSD-3-Clause
//
// Algorithm: a function from the shape of a call to the schedule of one rank, with its requirements
// as data. There is one folder per collective and one file per family of algorithms. Adding one
// takes that file and one line in registry.cpp; being listed there also tests it.

#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "collectives/call_shape.hpp"
#include "model/schedule/schedule.hpp"

namespace lanewise::collectives {

enum class Collective : std::uint8_t {
    barrier,
    bcast,
    scatter,
    scatterv,
    gather,
    gatherv,
    allgather,
    allgatherv,
    alltoall,
    alltoallv,
    alltoallw,
    reduce,
    allreduce,
    reduce_scatter,
    scan,
    exscan,
    neighbor_allgather,
    neighbor_allgatherv,
    neighbor_alltoall,
    neighbor_alltoallv,
    neighbor_alltoallw,
};
inline constexpr int collective_count = 21;

inline bool is_rooted(Collective collective) {
    switch (collective) {
        case Collective::bcast:
        case Collective::scatter:
        case Collective::scatterv:
        case Collective::gather:
        case Collective::gatherv:
        case Collective::reduce: return true;
        default: return false;
    }
}

/* Whether a rank gets the result over the ranks up to itself. */
inline bool is_scan(Collective collective) {
    return collective == Collective::scan || collective == Collective::exscan;
}

inline bool is_reduction(Collective collective) {
    return collective == Collective::reduce || collective == Collective::allreduce ||
           collective == Collective::reduce_scatter || is_scan(collective);
}

/* Whether each rank sends and receives blocks that differ, and knows no others. */
inline bool is_uneven_exchange(Collective collective) {
    return collective == Collective::alltoallv || collective == Collective::alltoallw;
}

/* Whether ranks exchange blocks with the neighbors that the topology of their communicator gives
   them: each rank knows its own, and not how many the others have. */
inline bool is_neighborhood(Collective collective) {
    switch (collective) {
        case Collective::neighbor_allgather:
        case Collective::neighbor_allgatherv:
        case Collective::neighbor_alltoall:
        case Collective::neighbor_alltoallv:
        case Collective::neighbor_alltoallw: return true;
        default: return false;
    }
}

/* Whether a neighbor gets the same block as all others. */
constexpr bool sends_one_block(Collective collective) {
    return collective == Collective::neighbor_allgather ||
           collective == Collective::neighbor_allgatherv;
}

/* Whether each block has a type of its own, and its place is told in bytes. */
inline bool has_types(Collective collective) {
    return collective == Collective::alltoallw || collective == Collective::neighbor_alltoallw;
}

/* Whether the neighbors of a rank send it blocks of one size, as it sends them. */
inline bool has_even_blocks(Collective collective) {
    return collective == Collective::neighbor_allgather ||
           collective == Collective::neighbor_alltoall;
}

/* Whether a rank may know no counts but its own: those of the others are known at most to a root.
 */
inline bool hides_counts(Collective collective) {
    return collective == Collective::scatterv || collective == Collective::gatherv ||
           is_uneven_exchange(collective) || is_neighborhood(collective);
}

/* Whether a call has no size that is the same on all ranks, so that one rule serves all sizes. */
inline bool is_sizeless(Collective collective) {
    return collective == Collective::allgatherv || hides_counts(collective);
}

/* "scatter"; what the MPI calls it without MPI_ and in small letters. */
const char *name_of(Collective collective);
std::optional<Collective> collective_named(std::string_view name);

/* Whether a caller waits in the call itself, or later, for a request (MPI_I...). */
enum class Calling : std::uint8_t { blocking, nonblocking };

/* A collective as it is called. A collective alone means its blocking form. */
struct Operation {
    Collective collective;
    Calling calling = Calling::blocking;

    constexpr Operation(Collective which, Calling how = Calling::blocking)
        : collective(which), calling(how) {}
    constexpr std::size_t index() const {
        return static_cast<std::size_t>(collective) +
               (calling == Calling::nonblocking ? std::size_t{collective_count} : 0);
    }
    bool operator==(const Operation&) const = default;
};
inline constexpr int operation_count = 2 * collective_count;

/* "scatter", or "iscatter" where it is nonblocking. */
std::string name_of(Operation operation);
std::optional<Operation> operation_named(std::string_view name);

/* What an algorithm asks of a call. What is not asked always works. */
struct Restrictions {
    bool commutative = false;  /* the operator must commute */
    bool power_of_two = false; /* of ranks */
    bool even_ranks = false;
    bool all_counts = false;   /* scatterv, gatherv: every rank must know every count */
    bool platform = false;     /* the shape must bring a platform */
    bool segmented = false;    /* makes use of CallShape::segment */
    bool lanes = false;        /* makes use of CallShape::lanes */
    bool hosts = false;        /* ranks must be on two hosts or more, and the shape say on which */
    bool sites = false;        /* ranks must be at two sites or more, and the shape say at which */
    bool single_edges = false; /* no rank may send to another more than once: MPIs differ there */
};

/* In which order the contributions of ranks are combined, in every element of every call. */
enum class Bracketing : std::uint8_t {
    unspecified,    /* it may depend on the size, the segment, the root and the element */
    from_the_right, /* x0 op (x1 op (... op xn)) */
    balanced,       /* (x0 op x1) op (x2 op x3); for any number of ranks see bracketing.hpp */
    from_the_left,  /* ((x0 op x1) op ...) op xn */
};

struct Algorithm {
    Collective collective;
    const char *name;   /* "binomial", in the words of the literature */
    const char *source; /* paper or book, short */
    const char *cost;   /* for n ranks, M bytes, latency a, time per byte b */
    Restrictions needs;
    model::Schedule (*build)(const CallShape& shape);
    /* So much scratch memory is enough on any rank (scratch_bound.hpp). Null: none is taken. */
    std::int64_t (*scratch_units_max)(const CallShape& shape) = nullptr;
    /* No message of any rank waits for another: once begun, a call needs nobody to go on. */
    bool posts_at_once = false;
    Bracketing bracketing = Bracketing::unspecified;
    /* Of a k-nomial tree, or one more than the messages that may be under way: on so many ranks or
       fewer the algorithm sends what its linear form sends. */
    int radix = 2;
};

/* The same algorithm for the vector form of its collective, such as scatterv or alltoallw. */
constexpr Algorithm vector_form(Algorithm algorithm, Collective collective, Restrictions needs) {
    algorithm.collective = collective;
    algorithm.needs = needs;
    return algorithm;
}

/* The same algorithm for exscan; `cost` where it has another one. */
constexpr Algorithm exclusive_form(Algorithm algorithm, model::Schedule (*build)(const CallShape&),
                                   const char *cost = nullptr) {
    algorithm.collective = Collective::exscan;
    algorithm.build = build;
    if (cost) algorithm.cost = cost;
    return algorithm;
}

/* All algorithms that are listed, by collective and then as registered. */
std::span<const Algorithm *const> algorithms();
/* Also one that is not listed: a k-nomial tree of another radix (knomial.hpp). */
const Algorithm *find_algorithm(Collective collective, std::string_view name);

/* What the restrictions of algorithms are tested against. */
struct CallTraits {
    int ranks = 1;
    bool commutative = true;
    bool platform = false;
    bool hosts = false;          /* ranks are known to be on several */
    bool sites = false;          /* and at several of these */
    int lanes_max = 1;           /* more lanes between two of them are of no use */
    bool repeated_edges = false; /* some rank is a neighbor of another more than once */
};

/* Why `algorithm` cannot serve a call, in a few words; empty if it can. */
std::string_view refusal(const Algorithm& algorithm, const CallTraits& call);

}  // namespace lanewise::collectives
