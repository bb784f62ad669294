// SPDX-License-Identifier: BSD-3-Clause
#include "sums/mpi/exact_reduction.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <memory>
#include <numeric>
#include <span>
#include <vector>

#include "sums/window.hpp"

namespace lanewise::sums {
namespace {

// Numbers that are under way at once: each chunk costs three collective calls.
constexpr std::size_t chunk_count = std::size_t{1} << 18;

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
int reduce_all(const void *send, void *receive, std::size_t count, const Job& job) {
    const auto *values = static_cast<const Real *>(send);
    auto *result = static_cast<Real *>(receive);
    thread_local Words memory;
    for (std::size_t done = 0; done < count; done += chunk_count) {
        const std::size_t now = std::min(chunk_count, count - done);
        Real *into = job.gets_result() ? result + done : nullptr;
        const int code = reduce_chunk(std::span<const Real>(values + done, now), into, job, memory);
        if (code != MPI_SUCCESS) return code;
    }
    return MPI_SUCCESS;
}

int reduce(const void *send, void *receive, std::int64_t count, Numbers numbers, Job job) {
    int code = PMPI_Comm_size(job.comm, &job.ranks);
    if (code == MPI_SUCCESS) code = PMPI_Comm_rank(job.comm, &job.rank);
    if (code != MPI_SUCCESS) return code;
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
