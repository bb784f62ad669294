// SPDX-License-Identifier: BSD-3-Clause
//
// See ordered_proof.hpp. The operator composes two maps, which is associative. A map is as large as
// a float, so that the same rules apply to it.

#include "tune/ordered_proof.hpp"

#include <algorithm>
#include <cstddef>
#include <vector>

#include "measure/harness/harness.hpp"

namespace lanewise::tune {
namespace {

using collectives::Collective;

using Maps = std::vector<Map>;

void compose(void *in, void *in_out, int *count, MPI_Datatype *) {
    const auto *outer = static_cast<const Map *>(in);
    auto *inner = static_cast<Map *>(in_out);
    for (int i = 0; i < *count; ++i) inner[i] = composed(outer[i], inner[i]);
}

struct Reducing {
    MPI_Comm comm;
    int rank = 0;
    int ranks = 1;
    MPI_Datatype type = MPI_DATATYPE_NULL;
    MPI_Op operation = MPI_OP_NULL;

    explicit Reducing(MPI_Comm over) : comm(over) {
        MPI_Comm_rank(comm, &rank);
        MPI_Comm_size(comm, &ranks);
        measure::check(MPI_Type_contiguous(2, MPI_UINT16_T, &type));
        measure::check(MPI_Type_commit(&type));
        measure::check(MPI_Op_create(compose, 0, &operation));
    }
    Reducing(const Reducing&) = delete;
    Reducing& operator=(const Reducing&) = delete;
    ~Reducing() {
        MPI_Op_free(&operation);
        MPI_Type_free(&type);
    }

    Maps given(std::size_t count) const { return Maps(count, map_of(rank)); }

    bool right(const Maps& got) const {
        Map expected;
        for (int r = 0; r < ranks; ++r) expected = composed(expected, map_of(r));
        return std::ranges::all_of(got, [&](Map one) { return one == expected; });
    }
};

Answer reduce(const Reducing& to, std::size_t count, int root) {
    const auto given = to.given(count);
    Maps got(count);
    const int code = MPI_Reduce(given.data(), got.data(), static_cast<int>(count), to.type,
                                to.operation, root, to.comm);
    return answer(code, to.rank != root || to.right(got));
}

Answer allreduce(const Reducing& to, std::size_t count) {
    const auto given = to.given(count);
    Maps got(count);
    const int code = MPI_Allreduce(given.data(), got.data(), static_cast<int>(count), to.type,
                                   to.operation, to.comm);
    return answer(code, to.right(got));
}

Answer reduce_scatter(const Reducing& to, std::size_t count) {
    const auto ranks = static_cast<std::size_t>(to.ranks);
    const auto given = to.given(count * ranks);
    const std::vector<int> counts(ranks, static_cast<int>(count));
    Maps got(count);
    const int code =
        MPI_Reduce_scatter(given.data(), got.data(), counts.data(), to.type, to.operation, to.comm);
    return answer(code, to.right(got));
}

}  // namespace

Map composed(Map outer, Map inner) {
    const auto scale = static_cast<std::uint32_t>(outer.scale) * inner.scale;
    const auto shift = static_cast<std::uint32_t>(outer.scale) * inner.shift + outer.shift;
    return {static_cast<std::uint16_t>(scale), static_cast<std::uint16_t>(shift)};
}

// Maps with the same shift of 1 commute only where their scales are the same as well.
Map map_of(int rank) {
    return {static_cast<std::uint16_t>(2 * rank + 3), 1};
}

Answer reduce_in_order(Collective collective, std::uint64_t message_bytes, MPI_Comm comm) {
    const Reducing to(comm);
    const auto count = static_cast<std::size_t>(message_bytes) / sizeof(Map);
    if (collective == Collective::allreduce) return allreduce(to, count);
    if (collective == Collective::reduce_scatter) return reduce_scatter(to, count);
    if (collective != Collective::reduce) return Answer::right;
    const auto with_first = reduce(to, count, 0);
    const auto with_last = reduce(to, count, to.ranks - 1);
    return with_first == Answer::right ? with_last : with_first;
}

}  // namespace lanewise::tune
