// SPDX-License-Identifier: BSD-3-Clause
//
// Trial: one random collective call, made twice: by the MPI, and by somebody
// else. All ranks draw the call from one seed; how a rank describes its own
// bytes (plain, strided, reversed, with a lower bound) is drawn by each alone.

#pragma once

#include <mpi.h>

#include <functional>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "collectives/execute/execute.hpp"
#include "collectives/execute/testing/topologies.hpp"

namespace lanewise::testing {

/* A collective and an algorithm of it as a part of a test's name, which has no colons. */
std::string test_name(const collectives::Algorithm& algorithm);

/* Integers described as some MPI datatype; freed with its holder. */
class Element {
  public:
    explicit Element(int kind);
    ~Element();
    Element(const Element&) = delete;
    Element& operator=(const Element&) = delete;

    MPI_Datatype type() const { return type_; }
    int integers() const { return integers_; }
    /* Between its own. */
    int integers_over_the_next() const { return kind_ == interleaved ? 2 : 0; }
    /* From where an element begins to its first integer. */
    int integers_off() const {
        if (kind_ == behind_origin) return 1;
        return kind_ == before_origin ? -1 : 0;
    }

    static constexpr int kinds = 5;
    /* Two integers, of which the second lies between those of the next element. Some MPIs do not
       move it everywhere, so it is only reduced. */
    static constexpr int interleaved = 5;
    /* Two integers that do not begin where the element does; only reduced as well. */
    static constexpr int behind_origin = 6;
    static constexpr int before_origin = 7;

  private:
    int kind_ = 0;
    MPI_Datatype type_ = MPI_INT;
    int integers_ = 1;
    bool owned_ = false;
};

/* The call by the MPI's function for it, or by its nonblocking one. */
int carry_out_by_the_mpi(const collectives::Call& call);
int begin_by_the_mpi(const collectives::Call& call, MPI_Request *request);

class Trial {
  public:
    Trial(collectives::Collective collective, unsigned seed, MPI_Comm comm);
    ~Trial();
    Trial(const Trial&) = delete;
    Trial& operator=(const Trial&) = delete;

    collectives::CallTraits traits() const;
    std::int64_t segment_bytes() const { return segment_bytes_; }
    std::string describe() const;
    bool has_own_operator() const { return owns_op_; }

    /* This rank's buffer after the call: what was sent from, then what was received into. */
    using Memory = std::vector<int>;
    Memory by_the_mpi();
    Memory by(const std::function<int(const collectives::Call&)>& carry_out);

  private:
    /* The blocks of one side of an uneven exchange. */
    struct Laid {
        std::vector<int> counts;
        std::vector<int> places;          /* in elements; where each block has its type, in bytes */
        std::vector<MPI_Aint> far_places; /* the same */
        std::vector<MPI_Datatype> types;
    };

    void draw_blocks(std::mt19937& random);
    void draw_exchange(std::mt19937& random, std::mt19937& own);
    void draw_edges(std::mt19937& random, std::mt19937& own);
    Laid lay(const std::vector<int>& pairs, const Element& element, std::mt19937& own);
    collectives::Call exchange_call(collectives::Call call) const;
    collectives::Call exchange_with_neighbors(collectives::Call call) const;
    void draw_reduction(std::mt19937& random);
    collectives::Call call(Memory& memory) const;
    void forget_input(Memory& memory) const;

    collectives::Collective collective_;
    MPI_Comm comm_;
    int rank_ = 0;
    int ranks_ = 1;
    int root_ = 0;
    int pairs_ = 0; /* pairs of integers in a block or in the vector */
    bool in_place_ = false;
    std::int64_t segment_bytes_ = 0;
    std::vector<int> counts_; /* elements, for those calls that take them */
    std::vector<int> displacements_;
    Laid received_;
    Laid sent_;
    std::vector<std::unique_ptr<Element>> elements_;
    std::unique_ptr<Topology> topology_;
    std::unique_ptr<Element> send_;
    std::unique_ptr<Element> receive_;
    MPI_Op op_ = MPI_OP_NULL;
    bool owns_op_ = false;
    bool commutes_ = true;
};

}  // namespace lanewise::testing
