// SPDX-License-Identifier: BSD-3-Clause

#include "collectives/execute/testing/calls.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

namespace lanewise::testing {
namespace {

using collectives::Call;
using collectives::Collective;

// Room around the data of each side, so that what lies outside is compared too.
constexpr int integers_per_side = 1 << 14;
constexpr int origin = 1 << 10;

bool takes_counts(Collective c) {
    return c == Collective::scatterv || c == Collective::gatherv || c == Collective::allgatherv;
}

/* (a, b) op (c, d) = (ac, ad + b): composing x -> ax + b, which does not commute. The two are the
   first and the last integer of an element. */
void compose(void *left, void *right, int *length, MPI_Datatype *type) {
    MPI_Aint begin = 0;
    MPI_Aint extent = 0;
    MPI_Aint true_extent = 0;
    MPI_Type_get_extent(*type, &begin, &extent);
    MPI_Type_get_true_extent(*type, &begin, &true_extent);
    const auto last = true_extent / static_cast<MPI_Aint>(sizeof(unsigned)) - 1;
    for (int i = 0; i < *length; ++i) {
        const auto *f =
            reinterpret_cast<unsigned *>(static_cast<char *>(left) + begin + i * extent);
        auto *g = reinterpret_cast<unsigned *>(static_cast<char *>(right) + begin + i * extent);
        g[last] = f[0] * g[last] + f[last];
        g[0] = f[0] * g[0];
    }
}

/* MPICH 4.0 delivers nothing by MPI_Neighbor_alltoallw from a rank that only sends, nor to one that
   only receives. */
Edges edges_for([[maybe_unused]] Collective collective) {
#ifdef MPICH_VERSION
    if (collective == Collective::neighbor_alltoallw) return Edges::both_ways;
#endif
    return Edges::one_way;
}

int rank_in(MPI_Comm comm) {
    int rank = 0;
    MPI_Comm_rank(comm, &rank);
    return rank;
}

/* MPICH 4.0 gives another result of MPI_Reduce_scatter than of MPI_Reduce and MPI_Scatter where
   elements are interleaved and the operator does not commute. */
bool mpi_takes_interleaved(Collective collective) {
#ifdef MPICH_VERSION
    return collective != Collective::reduce_scatter;
#else
    return static_cast<void>(collective), true;
#endif
}

}  // namespace

int carry_out_by_the_mpi(const Call& c) {
    const auto send_count = static_cast<int>(c.send_count);
    const auto receive_count = static_cast<int>(c.receive_count);
    switch (c.collective) {
        case Collective::barrier: return MPI_Barrier(c.comm);
        case Collective::bcast:
            return MPI_Bcast(c.receive, receive_count, c.receive_type, c.root, c.comm);
        case Collective::scatter:
            return MPI_Scatter(c.send, send_count, c.send_type, c.receive, receive_count,
                               c.receive_type, c.root, c.comm);
        case Collective::scatterv:
            return MPI_Scatterv(c.send, c.counts.narrow(), c.displacements.narrow(), c.send_type,
                                c.receive, receive_count, c.receive_type, c.root, c.comm);
        case Collective::gather:
            return MPI_Gather(c.send, send_count, c.send_type, c.receive, receive_count,
                              c.receive_type, c.root, c.comm);
        case Collective::gatherv:
            return MPI_Gatherv(c.send, send_count, c.send_type, c.receive, c.counts.narrow(),
                               c.displacements.narrow(), c.receive_type, c.root, c.comm);
        case Collective::allgather:
            return MPI_Allgather(c.send, send_count, c.send_type, c.receive, receive_count,
                                 c.receive_type, c.comm);
        case Collective::allgatherv:
            return MPI_Allgatherv(c.send, send_count, c.send_type, c.receive, c.counts.narrow(),
                                  c.displacements.narrow(), c.receive_type, c.comm);
        case Collective::alltoall:
            return MPI_Alltoall(c.send, send_count, c.send_type, c.receive, receive_count,
                                c.receive_type, c.comm);
        case Collective::alltoallv:
            return MPI_Alltoallv(c.send, c.send_counts.narrow(), c.send_displacements.narrow(),
                                 c.send_type, c.receive, c.counts.narrow(),
                                 c.displacements.narrow(), c.receive_type, c.comm);
        case Collective::alltoallw:
            return MPI_Alltoallw(c.send, c.send_counts.narrow(), c.send_displacements.narrow(),
                                 c.send_types.narrow(), c.receive, c.counts.narrow(),
                                 c.displacements.narrow(), c.receive_types.narrow(), c.comm);
        case Collective::reduce:
            return MPI_Reduce(c.send, c.receive, receive_count, c.receive_type, c.op, c.root,
                              c.comm);
        case Collective::allreduce:
            return MPI_Allreduce(c.send, c.receive, receive_count, c.receive_type, c.op, c.comm);
        case Collective::scan:
            return MPI_Scan(c.send, c.receive, receive_count, c.receive_type, c.op, c.comm);
        case Collective::exscan:
            return MPI_Exscan(c.send, c.receive, receive_count, c.receive_type, c.op, c.comm);
        case Collective::reduce_scatter:
            return MPI_Reduce_scatter(c.send, c.receive, c.counts.narrow(), c.receive_type, c.op,
                                      c.comm);
        case Collective::neighbor_allgather:
            return MPI_Neighbor_allgather(c.send, send_count, c.send_type, c.receive, receive_count,
                                          c.receive_type, c.comm);
        case Collective::neighbor_alltoall:
            return MPI_Neighbor_alltoall(c.send, send_count, c.send_type, c.receive, receive_count,
                                         c.receive_type, c.comm);
        case Collective::neighbor_allgatherv:
            return MPI_Neighbor_allgatherv(c.send, send_count, c.send_type, c.receive,
                                           c.counts.narrow(), c.displacements.narrow(),
                                           c.receive_type, c.comm);
        case Collective::neighbor_alltoallv:
            return MPI_Neighbor_alltoallv(
                c.send, c.send_counts.narrow(), c.send_displacements.narrow(), c.send_type,
                c.receive, c.counts.narrow(), c.displacements.narrow(), c.receive_type, c.comm);
        case Collective::neighbor_alltoallw:
            return MPI_Neighbor_alltoallw(c.send, c.send_counts.narrow(),
                                          c.send_displacements.wide(), c.send_types.narrow(),
                                          c.receive, c.counts.narrow(), c.displacements.wide(),
                                          c.receive_types.narrow(), c.comm);
    }
    return MPI_ERR_INTERN;
}

int begin_by_the_mpi(const Call& c, MPI_Request *request) {
    const auto send_count = static_cast<int>(c.send_count);
    const auto receive_count = static_cast<int>(c.receive_count);
    switch (c.collective) {
        case Collective::barrier: return MPI_Ibarrier(c.comm, request);
        case Collective::bcast:
            return MPI_Ibcast(c.receive, receive_count, c.receive_type, c.root, c.comm, request);
        case Collective::scatter:
            return MPI_Iscatter(c.send, send_count, c.send_type, c.receive, receive_count,
                                c.receive_type, c.root, c.comm, request);
        case Collective::scatterv:
            return MPI_Iscatterv(c.send, c.counts.narrow(), c.displacements.narrow(), c.send_type,
                                 c.receive, receive_count, c.receive_type, c.root, c.comm, request);
        case Collective::gather:
            return MPI_Igather(c.send, send_count, c.send_type, c.receive, receive_count,
                               c.receive_type, c.root, c.comm, request);
        case Collective::gatherv:
            return MPI_Igatherv(c.send, send_count, c.send_type, c.receive, c.counts.narrow(),
                                c.displacements.narrow(), c.receive_type, c.root, c.comm, request);
        case Collective::allgather:
            return MPI_Iallgather(c.send, send_count, c.send_type, c.receive, receive_count,
                                  c.receive_type, c.comm, request);
        case Collective::allgatherv:
            return MPI_Iallgatherv(c.send, send_count, c.send_type, c.receive, c.counts.narrow(),
                                   c.displacements.narrow(), c.receive_type, c.comm, request);
        case Collective::alltoall:
            return MPI_Ialltoall(c.send, send_count, c.send_type, c.receive, receive_count,
                                 c.receive_type, c.comm, request);
        case Collective::alltoallv:
            return MPI_Ialltoallv(c.send, c.send_counts.narrow(), c.send_displacements.narrow(),
                                  c.send_type, c.receive, c.counts.narrow(),
                                  c.displacements.narrow(), c.receive_type, c.comm, request);
        case Collective::alltoallw:
            return MPI_Ialltoallw(c.send, c.send_counts.narrow(), c.send_displacements.narrow(),
                                  c.send_types.narrow(), c.receive, c.counts.narrow(),
                                  c.displacements.narrow(), c.receive_types.narrow(), c.comm,
                                  request);
        case Collective::reduce:
            return MPI_Ireduce(c.send, c.receive, receive_count, c.receive_type, c.op, c.root,
                               c.comm, request);
        case Collective::allreduce:
            return MPI_Iallreduce(c.send, c.receive, receive_count, c.receive_type, c.op, c.comm,
                                  request);
        case Collective::scan:
            return MPI_Iscan(c.send, c.receive, receive_count, c.receive_type, c.op, c.comm,
                             request);
        case Collective::exscan:
            return MPI_Iexscan(c.send, c.receive, receive_count, c.receive_type, c.op, c.comm,
                               request);
        case Collective::reduce_scatter:
            return MPI_Ireduce_scatter(c.send, c.receive, c.counts.narrow(), c.receive_type, c.op,
                                       c.comm, request);
        case Collective::neighbor_allgather:
            return MPI_Ineighbor_allgather(c.send, send_count, c.send_type, c.receive,
                                           receive_count, c.receive_type, c.comm, request);
        case Collective::neighbor_alltoall:
            return MPI_Ineighbor_alltoall(c.send, send_count, c.send_type, c.receive, receive_count,
                                          c.receive_type, c.comm, request);
        case Collective::neighbor_allgatherv:
            return MPI_Ineighbor_allgatherv(c.send, send_count, c.send_type, c.receive,
                                            c.counts.narrow(), c.displacements.narrow(),
                                            c.receive_type, c.comm, request);
        case Collective::neighbor_alltoallv:
            return MPI_Ineighbor_alltoallv(c.send, c.send_counts.narrow(),
                                           c.send_displacements.narrow(), c.send_type, c.receive,
                                           c.counts.narrow(), c.displacements.narrow(),
                                           c.receive_type, c.comm, request);
        case Collective::neighbor_alltoallw:
            return MPI_Ineighbor_alltoallw(c.send, c.send_counts.narrow(),
                                           c.send_displacements.wide(), c.send_types.narrow(),
                                           c.receive, c.counts.narrow(), c.displacements.wide(),
                                           c.receive_types.narrow(), c.comm, request);
    }
    return MPI_ERR_INTERN;
}

Element::Element(int kind) : kind_(kind) {
    const int reversed[] = {1, 0};
    const int over_the_next[] = {0, 3};
    const int behind[] = {1, 2};
    const int before[] = {-1, 0};
    const int ones[] = {1, 1};
    MPI_Datatype inner = MPI_DATATYPE_NULL;
    switch (kind) {
        case 1: /* two integers, a gap between and behind */
            MPI_Type_vector(2, 1, 2, MPI_INT, &inner);
            MPI_Type_create_resized(inner, 0, 5 * sizeof(int), &type_);
            break;
        case 2: MPI_Type_indexed(2, ones, reversed, MPI_INT, &type_); break;
        case 3: MPI_Type_contiguous(2, MPI_INT, &type_); break;
        case 4: MPI_Type_create_resized(MPI_INT, -4, 3 * sizeof(int), &type_); break;
        case interleaved:
            MPI_Type_indexed(2, ones, over_the_next, MPI_INT, &inner);
            MPI_Type_create_resized(inner, 0, 2 * sizeof(int), &type_);
            break;
        case behind_origin: MPI_Type_indexed(2, ones, behind, MPI_INT, &type_); break;
        case before_origin: MPI_Type_indexed(2, ones, before, MPI_INT, &type_); break;
        default: return;
    }
    if (inner != MPI_DATATYPE_NULL) MPI_Type_free(&inner);
    owned_ = true;
    integers_ = kind == 4 ? 1 : 2;
    MPI_Type_commit(&type_);
}

Element::~Element() {
    if (owned_) MPI_Type_free(&type_);
}

Trial::Trial(Collective collective, unsigned seed, MPI_Comm comm)
    : collective_(collective), comm_(comm), rank_(rank_in(comm)) {
    MPI_Comm_size(comm, &ranks_);
    std::mt19937 random(seed * 31 + static_cast<unsigned>(collective));
    if (is_neighborhood(collective)) {
        topology_ = std::make_unique<Topology>(random, comm, edges_for(collective));
        comm_ = topology_->comm();
    }
    const int sizes[] = {0, 1, 2, 3, ranks_ - 1, ranks_, 2 * ranks_ + 1, 60};
    pairs_ = sizes[random() % std::size(sizes)];
    if (is_rooted(collective)) root_ = static_cast<int>(random()) & 0x7fff;
    root_ %= ranks_;
    const bool may_be_in_place = collective != Collective::bcast &&
                                 collective != Collective::barrier && !is_neighborhood(collective);
    in_place_ = may_be_in_place && random() % 3 == 0;
    const int segments[] = {0, 4, 16, 64};
    segment_bytes_ = segments[random() % std::size(segments)];
    if (is_reduction(collective)) {
        draw_reduction(random);
    } else {
        draw_blocks(random);
    }
}

Trial::~Trial() {
    if (owns_op_) MPI_Op_free(&op_);
}

/* A rank's own description of its bytes is its own affair: each draws alone. */
void Trial::draw_blocks(std::mt19937& random) {
    std::mt19937 own(random() + static_cast<unsigned>(rank_));
    const auto kind = [&] { return static_cast<int>(own() % Element::kinds); };
    send_ = std::make_unique<Element>(kind());
    receive_ = std::make_unique<Element>(kind());
    if (is_uneven_exchange(collective_)) draw_exchange(random, own);
    if (topology_ && !has_even_blocks(collective_)) draw_edges(random, own);
    if (!takes_counts(collective_)) return;
    const Element& element = collective_ == Collective::scatterv ? *send_ : *receive_;
    std::vector<int> order(static_cast<std::size_t>(ranks_));
    std::iota(order.begin(), order.end(), 0);
    std::shuffle(order.begin(), order.end(), random);
    counts_.resize(order.size());
    displacements_.resize(order.size());
    for (auto& count : counts_) count = static_cast<int>(random() % 4) * 2;
    int next = 1;
#ifdef MPICH_VERSION
    // MPICH 4.0 forgets the displacement of an only rank in MPI_Allgatherv.
    if (ranks_ == 1 && collective_ == Collective::allgatherv) next = 0;
#endif
    for (const int r : order) {
        const auto i = static_cast<std::size_t>(r);
        if (r == rank_) pairs_ = counts_[i] / 2;
        counts_[i] /= element.integers();
        displacements_[i] = next;
        next += counts_[i] + 1;
    }
}

/* As much on each edge from one rank to another; what nobody sends has some size all the same. */
void Trial::draw_edges(std::mt19937& random, std::mt19937& own) {
    for (int kind = 0; kind < Element::kinds; ++kind) {
        elements_.push_back(std::make_unique<Element>(kind));
    }
    const auto n = static_cast<std::size_t>(ranks_);
    std::vector<int> pairs(n * n);
    for (std::size_t edge = 0; edge < pairs.size(); ++edge) {
        const bool same = sends_one_block(collective_) && edge % n > 0;
        pairs[edge] = same ? pairs[edge - 1] : static_cast<int>(random() % 4);
    }
    const auto me = static_cast<std::size_t>(rank_);
    const auto between = [&](int from, int to) {
        if (from < 0 || to < 0) return 2;
        return pairs[static_cast<std::size_t>(from) * n + static_cast<std::size_t>(to)];
    };
    std::vector<int> received;
    std::vector<int> sent;
    for (const int source : topology_->sources()) received.push_back(between(source, rank_));
    for (const int to : topology_->destinations()) sent.push_back(between(rank_, to));
    if (sends_one_block(collective_)) pairs_ = pairs[me * n];
    received_ = lay(received, *receive_, own);
    sent_ = lay(sent, *send_, own);
}

/* In place, a rank sends each other as much as it receives from it. */
void Trial::draw_exchange(std::mt19937& random, std::mt19937& own) {
    for (int kind = 0; kind < Element::kinds; ++kind) {
        elements_.push_back(std::make_unique<Element>(kind));
    }
    const auto n = static_cast<std::size_t>(ranks_);
    std::vector<int> pairs(n * n);
    for (auto& one : pairs) one = std::max(0, static_cast<int>(random() % 6) - 2);
    std::vector<int> received;
    std::vector<int> sent;
    for (std::size_t peer = 0; peer < n; ++peer) {
        const auto me = static_cast<std::size_t>(rank_);
        const auto first = in_place_ ? std::min(me, peer) : peer;
        const auto second = in_place_ ? std::max(me, peer) : me;
        received.push_back(pairs[first * n + second]);
        sent.push_back(pairs[me * n + peer]);
    }
    received_ = lay(received, *receive_, own);
    sent_ = lay(sent, *send_, own);
}

/* In any order, and apart. */
Trial::Laid Trial::lay(const std::vector<int>& pairs, const Element& element, std::mt19937& own) {
    const bool each_its_type = has_types(collective_);
    constexpr int longest_element = 5;
    Laid laid{.counts = pairs, .places = pairs, .far_places = {}, .types = {}};
    laid.types.resize(pairs.size());
    std::vector<std::size_t> order(pairs.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::shuffle(order.begin(), order.end(), own);
    // On an only rank Open MPI 4.1 counts the displacements of MPI_Alltoallw in elements.
    int next = ranks_ == 1 && collective_ == Collective::alltoallw ? 0 : 1;
    for (const auto r : order) {
        const Element& of = each_its_type ? *elements_[own() % elements_.size()] : element;
        laid.types[r] = of.type();
        laid.counts[r] = 2 * pairs[r] / of.integers();
        laid.places[r] = each_its_type ? next * static_cast<int>(sizeof(int)) : next;
        next += (laid.counts[r] + 1) * (each_its_type ? longest_element : 1);
    }
    laid.far_places.assign(laid.places.begin(), laid.places.end());
    // An array of no elements has an address all the same.
    laid.counts.push_back(0), laid.places.push_back(0), laid.far_places.push_back(0);
    laid.types.push_back(MPI_INT);
    return laid;
}

void Trial::draw_reduction(std::mt19937& random) {
    commutes_ = random() % 2 == 0;
    // The user's operator works on pairs of integers, wherever their type puts them.
    const int kinds[] = {3, Element::interleaved, Element::behind_origin, Element::before_origin};
    const int drawn = kinds[random() % std::size(kinds)];
    const bool taken = drawn != Element::interleaved || mpi_takes_interleaved(collective_);
    const int pair = taken ? drawn : 3;
    receive_ = std::make_unique<Element>(commutes_ ? 0 : pair);
    send_ = std::make_unique<Element>(0);
    op_ = MPI_SUM;
    if (!commutes_) {
        MPI_Op_create(compose, 0, &op_);
        owns_op_ = true;
    }
    if (collective_ != Collective::reduce_scatter) return;
    counts_.resize(static_cast<std::size_t>(ranks_));
    for (auto& count : counts_) count = static_cast<int>(random() % 5);
}

collectives::CallTraits Trial::traits() const {
    return {.ranks = ranks_,
            .commutative = commutes_,
            .platform = false,
            .repeated_edges = topology_ && topology_->repeats()};
}

std::string Trial::describe() const {
    return fmt::format("{} of {} pairs on {} ranks, root {}, {}segment {} bytes, {}{}",
                       collectives::name_of(collective_), pairs_, ranks_, root_,
                       in_place_ ? "in place, " : "", segment_bytes_,
                       commutes_ ? "commutative" : "not commutative",
                       topology_ ? ", " + topology_->describe() : std::string());
}

Call Trial::call(Memory& memory) const {
    int *send = memory.data() + origin;
    int *receive = memory.data() + integers_per_side + origin;
    Call call{.collective = collective_,
              .send = send,
              .send_count = 2 * pairs_ / send_->integers(),
              .send_type = send_->type(),
              .receive = receive,
              .receive_count = 2 * pairs_ / receive_->integers(),
              .receive_type = receive_->type(),
              .counts = counts_.empty() ? nullptr : counts_.data(),
              .displacements = displacements_.empty() ? nullptr : displacements_.data(),
              .op = op_,
              .root = root_,
              .comm = comm_};
    if (is_uneven_exchange(collective_)) return exchange_call(call);
    if (topology_ && !has_even_blocks(collective_)) return exchange_with_neighbors(call);
    if (!in_place_) return call;
    const bool at_root = rank_ == root_;
    if (collective_ == Collective::scatter || collective_ == Collective::scatterv) {
        if (at_root) call.receive = MPI_IN_PLACE;
    } else if (!is_rooted(collective_) || at_root) {
        call.send = MPI_IN_PLACE;
    }
    return call;
}

Call Trial::exchange_with_neighbors(Call call) const {
    if (sends_one_block(collective_)) {
        call.counts = received_.counts.data();
        call.displacements = received_.places.data();
        return call;
    }
    call = exchange_call(call);
    if (!has_types(collective_)) return call;
    call.displacements = received_.far_places.data();
    call.send_displacements = sent_.far_places.data();
    return call;
}

Call Trial::exchange_call(Call call) const {
    call.counts = received_.counts.data();
    call.displacements = received_.places.data();
    if (in_place_) {
        call.send = MPI_IN_PLACE;
    } else {
        call.send_counts = sent_.counts.data();
        call.send_displacements = sent_.places.data();
    }
    if (!has_types(collective_)) return call;
    call.send_type = call.receive_type = MPI_DATATYPE_NULL;
    call.receive_types = received_.types.data();
    if (!in_place_) call.send_types = sent_.types.data();
    return call;
}

Trial::Memory Trial::by(const std::function<int(const Call&)>& carry_out) {
    Memory memory(2 * integers_per_side);
    std::mt19937 random(static_cast<unsigned>(rank_) + 1);
    for (auto& value : memory) value = static_cast<int>(random() % 1000);
    EXPECT_EQ(carry_out(call(memory)), MPI_SUCCESS) << describe();
    if (in_place_ && collective_ == Collective::reduce_scatter) forget_input(memory);
    // The MPI may write there what it likes.
    if (collective_ == Collective::exscan && rank_ == 0) memory.resize(integers_per_side);
    return memory;
}

/* In place the vector that was reduced is left behind the result in whatever state. */
void Trial::forget_input(Memory& memory) const {
    const auto result = counts_[static_cast<std::size_t>(rank_)];
    const auto vector = std::accumulate(counts_.begin(), counts_.end(), 0);
    const auto begin = memory.begin() + integers_per_side + origin + receive_->integers_off();
    const int each = receive_->integers();
    const int last = each - 1 + receive_->integers_over_the_next();
    for (int i = result; i < vector; ++i) begin[i * each] = begin[i * each + last] = 0;
}

Trial::Memory Trial::by_the_mpi() {
    return by(carry_out_by_the_mpi);
}

std::string test_name(const collectives::Algorithm& algorithm) {
    std::string name = algorithm.name;
    std::replace(name.begin(), name.end(), ':', '_');
    return std::string(name_of(algorithm.collective)) + "_" + name;
}

}  // namespace lanewise::testing
