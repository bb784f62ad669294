// SPDX-License-Identifier: BSD-3-Clause
#include "sums/mpi/exact_reduction.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <memory>
#include <numeric>
#include <span>
#include <vector>

#include "sums/nearest_sums.hpp"
#include "sums/plain_arithmetic.hpp"
#include "sums/window.hpp"

namespace lanewise::sums {
namespace {

// Numbers that are under way at once: each chunk costs three collective calls.
constexpr std::size_t chunk_count = std::size_t{1} << 18;

// Among up to so many ranks, the numbers themselves travel, and each message is short enough.
int few_ranks = 64;

// Up to so many bytes of all ranks, each rank adds all of them.
constexpr std::size_t gathered_bytes_max = std::size_t{1} << 14;

// Numbers that travel at once otherwise: they and their sums stay in a cache.
constexpr std::size_t exchanged_count = std::size_t{1} << 16;

// From so many numbers on, the ranks of an allreduce share the rounding, each of some blocks, and
// send each other numbers, which are shorter than words.
constexpr std::size_t shared_count = 4 * block_count;

// An allreduce, or a reduce where `root` is a rank.
struct Job {
    MPI_Comm comm;
    int root = everywhere;
    int rank = 0;
    int ranks = 1;

    static constexpr int everywhere = -1;

    bool is_reduce() const { return root != everywhere; }
    bool gets_result() const { return root == everywhere || root == rank; }
};

// The words of a chunk. Each thread keeps its own from call to call, since fresh memory costs more
// than the sums do.
class Words {
  public:
    std::int64_t *make_room(std::size_t count) {
        if (count > room_) {
            words_ = std::make_unique_for_overwrite<std::int64_t[]>(count);
            room_ = count;
        }
        return words_.get();
    }

  private:
    std::unique_ptr<std::int64_t[]> words_;
    std::size_t room_ = 0;
};

// Not in place, though it would save memory: with a root that is not rank 0, MPICH 4.0 then reads
// from MPI_IN_PLACE.
int add_words(const std::int64_t *words, std::int64_t *sums, std::size_t count, const Job& job) {
    const int all = static_cast<int>(count);
    if (all == 0) return MPI_SUCCESS;
    if (!job.is_reduce()) {
        return PMPI_Allreduce(words, sums, all, MPI_INT64_T, MPI_SUM, job.comm);
    }
    return PMPI_Reduce(words, job.gets_result() ? sums : nullptr, all, MPI_INT64_T, MPI_SUM,
                       job.root, job.comm);
}

// Which blocks, numbers and words are a rank's, when the ranks share them.
struct Share {
    std::size_t first_block = 0;
    std::size_t block_end = 0;
    int first = 0;
    int count = 0;
    int words = 0;
};

std::vector<Share> shares_of(std::span<const Window> windows, std::size_t count,
                             const Packing& packing, int ranks) {
    std::vector<Share> shares(static_cast<std::size_t>(ranks));
    for (std::size_t r = 0; r < shares.size(); ++r) {
        Share& share = shares[r];
        share.first_block = r * windows.size() / shares.size();
        share.block_end = (r + 1) * windows.size() / shares.size();
        const std::size_t first = share.first_block * block_count;
        const std::size_t own = std::min(share.block_end * block_count, count) - first;
        const std::size_t blocks = share.block_end - share.first_block;
        share.first = static_cast<int>(first);
        share.count = static_cast<int>(own);
        const auto its_windows = windows.subspan(share.first_block, blocks);
        share.words = static_cast<int>(packing.words(its_windows, own));
    }
    return shares;
}

template <typename Real>
int reduce_shared(const std::int64_t *words, std::int64_t *sums, std::span<const Window> windows,
                  std::span<Real> result, const Packing& packing, const Job& job) {
    const auto shares = shares_of(windows, result.size(), packing, job.ranks);
    std::vector<int> counts;
    std::vector<int> firsts;
    for (const Share& share : shares) counts.push_back(share.words);
    // Not in place: MPICH 4.0 would copy between parts of `words` that overlap, and aborts.
    int code =
        PMPI_Reduce_scatter(words, sums, counts.data(), MPI_INT64_T, MPI_SUM, job.comm);
    if (code != MPI_SUCCESS) return code;
    const Share& own = shares[static_cast<std::size_t>(job.rank)];
    packing.unpack(sums, windows.subspan(own.first_block, own.block_end - own.first_block),
                   result.subspan(static_cast<std::size_t>(own.first),
                                  static_cast<std::size_t>(own.count)));
    counts.clear();
    for (const Share& share : shares) {
        counts.push_back(share.count);
        firsts.push_back(share.first);
    }
    const MPI_Datatype type = sizeof(Real) == sizeof(double) ? MPI_DOUBLE : MPI_FLOAT;
    return PMPI_Allgatherv(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, result.data(), counts.data(),
                           firsts.data(), type, job.comm);
}

template <typename Real>
int reduce_chunk(std::span<const Real> values, Real *result, const Job& job, Words& memory) {
    std::array<Window, blocks_of(chunk_count)> room;
    const auto windows = std::span(room).first(blocks_of(values.size()));
    find_windows(values, windows);
    int code = PMPI_Allreduce(MPI_IN_PLACE, windows.data(),
                              static_cast<int>(windows.size() * window_values), MPI_INT16_T,
                              MPI_MAX, job.comm);
    if (code != MPI_SUCCESS) return code;
    const Packing packing(job.ranks);
    const std::size_t count = packing.words(windows, values.size());
    const bool shared = !job.is_reduce() && job.ranks > 1 && values.size() >= shared_count;
    std::int64_t *words = memory.make_room(2 * count);
    std::int64_t *sums = words + count;
    packing.pack(values, windows, words);
    if (shared) {
        return reduce_shared(words, sums, windows, std::span<Real>(result, values.size()), packing,
                             job);
    }
    code = add_words(words, sums, count, job);
    if (code != MPI_SUCCESS || !job.gets_result()) return code;
    packing.unpack(sums, windows, std::span<Real>(result, values.size()));
    return MPI_SUCCESS;
}

template <typename Real>
MPI_Datatype type_of() {
    return sizeof(Real) == sizeof(double) ? MPI_DOUBLE : MPI_FLOAT;
}

template <typename Real>
Real *make_room(Words& memory, std::size_t count) {
    const std::size_t bytes = count * sizeof(Real);
    return reinterpret_cast<Real *>(memory.make_room((bytes + 7) / sizeof(std::int64_t)));
}

/* Every rank that gets the result gets the numbers of all. */
template <typename Real>
int reduce_gathered(std::span<const Real> values, Real *result, const Job& job, Words& memory) {
    const auto ranks = static_cast<std::size_t>(job.ranks);
    const int count = static_cast<int>(values.size());
    const auto type = type_of<Real>();
    Real *all = make_room<Real>(memory, job.gets_result() ? ranks * values.size() : 1);
    const int code = job.is_reduce() ? PMPI_Gather(values.data(), count, type, all, count, type,
                                                   job.root, job.comm)
                                     : PMPI_Allgather(values.data(), count, type, all, count, type,
                                                      job.comm);
    if (code != MPI_SUCCESS || !job.gets_result()) return code;
    std::vector<const Real *> vectors;
    for (std::size_t rank = 0; rank < ranks; ++rank) vectors.push_back(all + rank * values.size());
    add_to_nearest(std::span<const Real *const>(vectors), values.size(), result);
    return MPI_SUCCESS;
}

/* Each rank gets a share of the numbers of all others, adds it, and passes on what it comes to. */
template <typename Real>
int reduce_exchanged(std::span<const Real> values, Real *result, const Job& job, Words& memory) {
    const auto ranks = static_cast<std::size_t>(job.ranks);
    const auto me = static_cast<std::size_t>(job.rank);
    const auto type = type_of<Real>();
    std::vector<int> firsts(ranks + 1);
    std::vector<int> counts(ranks);
    for (std::size_t r = 0; r <= ranks; ++r) {
        firsts[r] = static_cast<int>(r * values.size() / ranks);
        if (r > 0) counts[r - 1] = firsts[r] - firsts[r - 1];
    }
    const auto own = static_cast<std::size_t>(counts[me]);
    Real *parts = make_room<Real>(memory, ranks * own);
    std::vector<int> sent = counts;
    std::vector<int> received(ranks, counts[me]);
    sent[me] = received[me] = 0;
    std::vector<int> places(ranks);
    std::vector<const Real *> vectors(ranks);
    for (std::size_t r = 0; r < ranks; ++r) {
        places[r] = static_cast<int>(r * own);
        vectors[r] = parts + r * own;
    }
    vectors[me] = values.data() + firsts[me];
    int code = PMPI_Alltoallv(values.data(), sent.data(), firsts.data(), type, parts,
                              received.data(), places.data(), type, job.comm);
    if (code != MPI_SUCCESS) return code;
    Real *sums = job.gets_result() ? result + firsts[me] : parts + me * own;
    add_to_nearest(std::span<const Real *const>(vectors), own, sums);
    if (!job.is_reduce()) {
        return PMPI_Allgatherv(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, result, counts.data(),
                               firsts.data(), type, job.comm);
    }
    return PMPI_Gatherv(job.gets_result() ? MPI_IN_PLACE : sums, counts[me], type, result,
                        counts.data(), firsts.data(), type, job.root, job.comm);
}

template <typename Real>
int reduce_all(const void *send, void *receive, std::size_t count, const Job& job) {
    const auto *values = static_cast<const Real *>(send);
    auto *result = static_cast<Real *>(receive);
    thread_local Words memory;
    const bool few = job.ranks <= few_ranks;
    const bool gathered =
        few && count * sizeof(Real) * static_cast<std::size_t>(job.ranks) <= gathered_bytes_max;
    const auto reduce_some = gathered ? reduce_gathered<Real>
                             : few    ? reduce_exchanged<Real>
                                      : reduce_chunk<Real>;
    const std::size_t most = few ? exchanged_count : chunk_count;
    for (std::size_t done = 0; done < count; done += most) {
        const std::size_t now = std::min(most, count - done);
        Real *into = job.gets_result() ? result + done : nullptr;
        const int code = reduce_some(std::span<const Real>(values + done, now), into, job, memory);
        if (code != MPI_SUCCESS) return code;
    }
    return MPI_SUCCESS;
}

int reduce(const void *send, void *receive, std::int64_t count, Numbers numbers, Job job) {
    int code = PMPI_Comm_size(job.comm, &job.ranks);
    if (code == MPI_SUCCESS) code = PMPI_Comm_rank(job.comm, &job.rank);
    if (code != MPI_SUCCESS) return code;
    const PlainArithmetic here;
    const void *values = send == MPI_IN_PLACE ? receive : send;
    const auto all = static_cast<std::size_t>(count * numbers.per_element);
    return numbers.are_doubles ? reduce_all<double>(values, receive, all, job)
                               : reduce_all<float>(values, receive, all, job);
}

}  // namespace

std::optional<Numbers> numbers_of(MPI_Datatype type) {
    struct Known {
        MPI_Datatype type;
        Numbers numbers;
    };
    // An MPI without Fortran has MPI_DATATYPE_NULL in the place of its types.
    const Known known[] = {
        {MPI_DOUBLE, {true, 1}},
        {MPI_FLOAT, {false, 1}},
        {MPI_C_DOUBLE_COMPLEX, {true, 2}},
        {MPI_C_FLOAT_COMPLEX, {false, 2}},
        {MPI_DOUBLE_PRECISION, {true, 1}},
        {MPI_REAL, {false, 1}},
        {MPI_DOUBLE_COMPLEX, {true, 2}},
        {MPI_COMPLEX, {false, 2}},
        {MPI_REAL8, {true, 1}},
        {MPI_REAL4, {false, 1}},
        {MPI_COMPLEX16, {true, 2}},
        {MPI_COMPLEX8, {false, 2}},
    };
    if (type == MPI_DATATYPE_NULL) return std::nullopt;
    for (const Known& one : known) {
        if (one.type == type) return one.numbers;
    }
    return std::nullopt;
}

Combine combine_of(MPI_Op op, MPI_Datatype type) {
    if (op != MPI_SUM && op != MPI_PROD) return nullptr;
    const auto numbers = numbers_of(type);
    if (!numbers) return nullptr;
    return combine_by(op == MPI_SUM ? Combining::sum : Combining::product, *numbers);
}

void set_few_ranks(int ranks) {
    few_ranks = ranks;
}

int exact_allreduce(const void *send, void *receive, std::int64_t count, Numbers numbers,
                    MPI_Comm comm) {
    return reduce(send, receive, count, numbers, {.comm = comm});
}

int exact_reduce(const void *send, void *receive, std::int64_t count, Numbers numbers, int root,
                 MPI_Comm comm) {
    return reduce(send, receive, count, numbers, {.comm = comm, .root = root});
}

// All ranks round all sums: reductions whose result is scattered are rare.
int exact_reduce_scatter(const void *send, void *receive, std::span<const std::int64_t> counts,
                         Numbers numbers, MPI_Comm comm) {
    int rank = 0;
    int code = PMPI_Comm_rank(comm, &rank);
    if (code != MPI_SUCCESS) return code;
    const auto number_bytes = numbers.are_doubles ? sizeof(double) : sizeof(float);
    const auto element_bytes = number_bytes * static_cast<std::size_t>(numbers.per_element);
    const auto own = counts.begin() + rank;
    const auto before = std::accumulate(counts.begin(), own, std::int64_t{0});
    const auto all = std::accumulate(own, counts.end(), before);
    std::vector<std::byte> sums(static_cast<std::size_t>(all) * element_bytes);
    const void *values = send == MPI_IN_PLACE ? receive : send;
    code = exact_allreduce(values, sums.data(), all, numbers, comm);
    if (code != MPI_SUCCESS || *own == 0) return code;
    std::memcpy(receive, sums.data() + static_cast<std::size_t>(before) * element_bytes,
                static_cast<std::size_t>(*own) * element_bytes);
    return MPI_SUCCESS;
}

int add_over_ranks(ExactSum& sum, MPI_Comm comm) {
    ExactSum::Words words = sum.words();
    const int code = PMPI_Allreduce(MPI_IN_PLACE, words.data(), static_cast<int>(words.size()),
                                    MPI_INT64_T, MPI_SUM, comm);
    if (code == MPI_SUCCESS) sum = ExactSum::from(words);
    return code;
}

}  // namespace lanewise::sums
