// SPDX-License-Identifier: BSD-3-Clause
//
// See proof.hpp. Byte i of the block that rank r gives rank s is known to all; a reduction adds
// small whole numbers, which floats hold exactly.

#include "tune/proof.hpp"

#include <mpi.h>

#include <cstddef>
#include <cstdlib>
#include <vector>

#include "base/sizes.hpp"
#include "tune/ordered_proof.hpp"

namespace lanewise::tune {
namespace {

enum class Manner {
    full,    /* every argument given on every rank */
    sparse,  /* insignificant arguments empty, MPI_IN_PLACE where there is one */
    ordered, /* a reduction whose operator does not commute */
};

using collectives::Collective;
using Bytes = std::vector<unsigned char>;
using Reals = std::vector<float>;

struct Place {
    MPI_Comm comm;
    int rank = 0;
    int ranks = 1;
    bool sparse = false;
    int count = 0;

    bool root() const { return rank == 0; }
    std::size_t block() const { return static_cast<std::size_t>(count); }
    std::size_t blocks() const { return block() * static_cast<std::size_t>(ranks); }
};

unsigned char byte_of(int from, int to, std::size_t i) {
    return static_cast<unsigned char>(from * 31 + to * 7 + static_cast<int>(i % 251));
}

/* The blocks that `from` gives each rank, or those that `to` gets from each. */
Bytes blocks_from(int from, const Place& p) {
    Bytes bytes;
    for (int to = 0; to < p.ranks; ++to) {
        for (std::size_t i = 0; i < p.block(); ++i) bytes.push_back(byte_of(from, to, i));
    }
    return bytes;
}

Bytes blocks_to(int to, const Place& p) {
    Bytes bytes;
    for (int from = 0; from < p.ranks; ++from) {
        for (std::size_t i = 0; i < p.block(); ++i) bytes.push_back(byte_of(from, to, i));
    }
    return bytes;
}

Bytes block_of(int from, int to, const Place& p) {
    Bytes bytes;
    for (std::size_t i = 0; i < p.block(); ++i) bytes.push_back(byte_of(from, to, i));
    return bytes;
}

struct Counts {
    std::vector<int> counts;
    std::vector<int> displacements;

    explicit Counts(const Place& p) : counts(static_cast<std::size_t>(p.ranks), p.count) {
        for (int r = 0; r < p.ranks; ++r) displacements.push_back(r * p.count);
    }
};

Answer scatter(const Place& p, bool varying) {
    const bool give = p.root() || !p.sparse;
    const auto blocks = give ? blocks_from(0, p) : Bytes();
    auto mine = Bytes(p.block());
    const bool in_place = p.sparse && p.root();
    void *receive = in_place ? MPI_IN_PLACE : mine.data();
    const Counts v(p);
    const int code = varying ? MPI_Scatterv(blocks.data(), give ? v.counts.data() : nullptr,
                                            give ? v.displacements.data() : nullptr, MPI_BYTE,
                                            receive, p.count, MPI_BYTE, 0, p.comm)
                             : MPI_Scatter(blocks.data(), give ? p.count : 0, MPI_BYTE, receive,
                                           p.count, MPI_BYTE, 0, p.comm);
    return answer(code, in_place || mine == block_of(0, p.rank, p));
}

Answer gather(const Place& p, bool varying) {
    const bool get = p.root() || !p.sparse;
    auto blocks = Bytes(get ? p.blocks() : 0);
    const auto mine = block_of(p.rank, 0, p);
    const bool in_place = p.sparse && p.root();
    if (in_place) std::copy(mine.begin(), mine.end(), blocks.begin());
    const void *send = in_place ? MPI_IN_PLACE : mine.data();
    const int send_count = in_place ? 0 : p.count;
    const Counts v(p);
    const int code = varying
                         ? MPI_Gatherv(send, send_count, MPI_BYTE, blocks.data(),
                                       get ? v.counts.data() : nullptr,
                                       get ? v.displacements.data() : nullptr, MPI_BYTE, 0, p.comm)
                         : MPI_Gather(send, send_count, MPI_BYTE, blocks.data(), get ? p.count : 0,
                                      MPI_BYTE, 0, p.comm);
    return answer(code, !p.root() || blocks == blocks_to(0, p));
}

Answer bcast(const Place& p) {
    auto bytes = p.root() ? block_of(0, 0, p) : Bytes(p.block());
    const int code = MPI_Bcast(bytes.data(), p.count, MPI_BYTE, 0, p.comm);
    return answer(code, bytes == block_of(0, 0, p));
}

Answer allgather(const Place& p, bool varying) {
    auto blocks = Bytes(p.blocks());
    const auto mine = block_of(p.rank, 0, p);
    if (p.sparse) {
        std::copy(mine.begin(), mine.end(),
                  blocks.begin() + static_cast<std::ptrdiff_t>(p.block()) * p.rank);
    }
    const void *send = p.sparse ? MPI_IN_PLACE : mine.data();
    const int send_count = p.sparse ? 0 : p.count;
    const Counts v(p);
    const int code =
        varying
            ? MPI_Allgatherv(send, send_count, MPI_BYTE, blocks.data(), v.counts.data(),
                             v.displacements.data(), MPI_BYTE, p.comm)
            : MPI_Allgather(send, send_count, MPI_BYTE, blocks.data(), p.count, MPI_BYTE, p.comm);
    return answer(code, blocks == blocks_to(0, p));
}

Answer alltoall(const Place& p) {
    const auto given = blocks_from(p.rank, p);
    auto got = p.sparse ? given : Bytes(p.blocks());
    const void *send = p.sparse ? MPI_IN_PLACE : given.data();
    const int code =
        MPI_Alltoall(send, p.sparse ? 0 : p.count, MPI_BYTE, got.data(), p.count, MPI_BYTE, p.comm);
    return answer(code, got == blocks_to(p.rank, p));
}

/* Blocks of the same size, by the functions in which they may differ. */
Answer uneven_alltoall(const Place& p, bool by_types) {
    const auto given = blocks_from(p.rank, p);
    auto got = p.sparse ? given : Bytes(p.blocks());
    const void *send = p.sparse ? MPI_IN_PLACE : given.data();
    const Counts v(p);
    const std::vector<MPI_Datatype> types(static_cast<std::size_t>(p.ranks), MPI_BYTE);
    const int *counts = p.sparse ? nullptr : v.counts.data();
    const int *displacements = p.sparse ? nullptr : v.displacements.data();
    const int code =
        by_types ? MPI_Alltoallw(send, counts, displacements, p.sparse ? nullptr : types.data(),
                                 got.data(), v.counts.data(), v.displacements.data(), types.data(),
                                 p.comm)
                 : MPI_Alltoallv(send, counts, displacements, MPI_BYTE, got.data(), v.counts.data(),
                                 v.displacements.data(), MPI_BYTE, p.comm);
    return answer(code, got == blocks_to(p.rank, p));
}

float sum_of_ranks(const Place& p) {
    const int sum = p.ranks * (p.ranks + 1) / 2;
    return static_cast<float>(sum);
}

Answer reduce(const Place& p, bool to_all) {
    const Reals given(p.block() / sizeof(float), static_cast<float>(p.rank + 1));
    const bool gets = p.root() || to_all;
    const bool in_place = p.sparse && gets;
    Reals got = in_place ? given : Reals(gets || !p.sparse ? given.size() : 0);
    const void *send = in_place ? MPI_IN_PLACE : given.data();
    const auto count = static_cast<int>(given.size());
    const int code = to_all ? MPI_Allreduce(send, got.data(), count, MPI_FLOAT, MPI_SUM, p.comm)
                            : MPI_Reduce(send, got.data(), count, MPI_FLOAT, MPI_SUM, 0, p.comm);
    return answer(code, !gets || got == Reals(given.size(), sum_of_ranks(p)));
}

Answer scan(const Place& p, bool exclusive) {
    const Reals given(p.block() / sizeof(float), 1.0F);
    Reals got = p.sparse ? given : Reals(given.size());
    const void *send = p.sparse ? MPI_IN_PLACE : given.data();
    const auto count = static_cast<int>(given.size());
    const int code =
        (exclusive ? MPI_Exscan : MPI_Scan)(send, got.data(), count, MPI_FLOAT, MPI_SUM, p.comm);
    const int ranks = exclusive ? p.rank : p.rank + 1;
    return answer(code, ranks == 0 || got == Reals(given.size(), static_cast<float>(ranks)));
}

Answer reduce_scatter(const Place& p) {
    const auto own = p.block() / sizeof(float);
    const Reals given(p.blocks() / sizeof(float), static_cast<float>(p.rank + 1));
    Reals got = p.sparse ? given : Reals(own);
    const std::vector<int> counts(static_cast<std::size_t>(p.ranks), static_cast<int>(own));
    const int code = MPI_Reduce_scatter(p.sparse ? MPI_IN_PLACE : given.data(), got.data(),
                                        counts.data(), MPI_FLOAT, MPI_SUM, p.comm);
    got.resize(own);
    return answer(code, got == Reals(own, sum_of_ranks(p)));
}

Answer call_and_check(Collective collective, std::uint64_t message_bytes, Manner manner,
                      MPI_Comm comm) {
    if (manner == Manner::ordered) return reduce_in_order(collective, message_bytes, comm);
    Place p{.comm = comm, .sparse = manner == Manner::sparse};
    p.count = static_cast<int>(message_bytes);
    MPI_Comm_rank(comm, &p.rank);
    MPI_Comm_size(comm, &p.ranks);
    switch (collective) {
        case Collective::barrier: return answer(MPI_Barrier(comm), true);
        case Collective::bcast: return bcast(p);
        case Collective::scatter: return scatter(p, false);
        case Collective::scatterv: return scatter(p, true);
        case Collective::gather: return gather(p, false);
        case Collective::gatherv: return gather(p, true);
        case Collective::allgather: return allgather(p, false);
        case Collective::allgatherv: return allgather(p, true);
        case Collective::alltoall: return alltoall(p);
        case Collective::alltoallv: return uneven_alltoall(p, false);
        case Collective::alltoallw: return uneven_alltoall(p, true);
        case Collective::reduce: return reduce(p, false);
        case Collective::allreduce: return reduce(p, true);
        case Collective::reduce_scatter: return reduce_scatter(p);
        case Collective::scan: return scan(p, false);
        case Collective::exscan: return scan(p, true);
        case Collective::neighbor_allgather:
        case Collective::neighbor_allgatherv:
        case Collective::neighbor_alltoall:
        case Collective::neighbor_alltoallv:
        case Collective::neighbor_alltoallw: break;
    }
    return Answer::wrong;
}

const char *name_of_worst(const measure::Harness& harness, Answer mine) {
    if (harness.any(mine == Answer::wrong)) return "wrong";
    return harness.any(mine == Answer::refused) ? "refused" : "right";
}

}  // namespace

Result<ProofRequest> read_proof_request(const std::string& text) {
    const auto first = text.find(':');
    const auto second = text.find(':', first + 1);
    const auto collective = collectives::collective_named(text.substr(0, first));
    const bool measured = collective && !is_neighborhood(*collective);
    if (!measured || first == text.npos || second == text.npos)
        return Failure{LW_ERR_ARGUMENT, "\"" + text + "\" is not COLLECTIVE:BYTES:RANKS"};
    const auto bytes = parse_size(text.substr(first + 1, second - first - 1));
    if (!bytes) return bytes.failure();
    return ProofRequest{*collective, *bytes, std::atoi(text.c_str() + second + 1)};
}

// A rank outside the request's communicator counts as right.
Json prove(const ProofRequest& request, Manners manners, const MpiAlgorithms& algorithms,
           const measure::Harness& harness) {
    MPI_Comm comm = MPI_COMM_NULL;
    const int color = harness.rank() < request.ranks ? 0 : MPI_UNDEFINED;
    measure::check(MPI_Comm_split(harness.comm(), color, harness.rank(), &comm));
    const auto call = [&](Manner manner) {
        const bool takes_part = comm != MPI_COMM_NULL;
        const auto answer =
            takes_part ? call_and_check(request.collective, request.message_bytes, manner, comm)
                       : Answer::right;
        return name_of_worst(harness, answer);
    };
    Json line = {{"event", "proof"},
                 {"collective", name_of(request.collective)},
                 {"message_bytes", request.message_bytes},
                 {"ranks", request.ranks}};
    line["full"] = call(Manner::full);
    if (manners.sparse) line["sparse"] = call(Manner::sparse);
    if (manners.ordered) line["ordered"] = call(Manner::ordered);
    line["forced"] = algorithms.forced(request.collective);
    line["algorithms"] = Json::object();
    for (const auto& algorithm : algorithms.of(request.collective, request.ranks)) {
        line["algorithms"][algorithm.name] = algorithm.number;
    }
    if (comm != MPI_COMM_NULL) MPI_Comm_free(&comm);
    return line;
}

}  // namespace lanewise::tune
