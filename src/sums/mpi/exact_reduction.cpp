// SPDX-License-Identifier: BSD-3-Clause

#include "sums/mpi/exact_reduction.hpp"

#include <algorithm>
#include <array>
#include <complex>
#include <cstring>
#include <memory>
#include <new>
#include <numeric>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

#include "sums/mpi/f90_types.hpp"
#include "sums/nearest_products.hpp"
#include "sums/nearest_sums.hpp"
#include "sums/plain_arithmetic.hpp"
#include "sums/window.hpp"

namespace lanewise::sums {
namespace {

// Numbers that are under way at once: each chunk costs three collective calls.
constexpr std::size_t chunk_count = std::size_t{1} << 18;

// Among up to so many ranks, the numbers themselves travel, and each message is short enough.
constexpr int few_ranks_max = 64;
int few_ranks = few_ranks_max;

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
    Combining combining = Combining::sum;
    int root = everywhere;
    bool lacks_memory = false; /* this rank, for what the call needs already */
    bool must_agree = false;   /* whether ranks may lack it */
    int rank = 0;
    int ranks = 1;

    static constexpr int everywhere = -1;

    bool is_reduce() const { return root != everywhere; }
    bool gets_result() const { return root == everywhere || root == rank; }
};

// Ranks take the memory that they need before they wait for data of each other, and agree that all
// have it: else one that has none would leave, and the others wait for it.
int agree_on_memory(bool lacks, MPI_Comm comm) {
    const int mine = lacks ? 1 : 0;
    int any = 0;
    const int code = PMPI_Allreduce(&mine, &any, 1, MPI_INT, MPI_MAX, comm);
    return code == MPI_SUCCESS && any != 0 ? MPI_ERR_NO_MEM : code;
}

template <typename Take>
bool lacks_memory_for(const Take& take) {
    try {
        take();
        return false;
    } catch (const std::bad_alloc&) {
        return true;
    }
}

// Not while the MPI is called: it may go on with another reduction, whose operator is the program's
// and has to find the arithmetic that the program chose.
template <typename Compute>
void plainly(const Compute& compute) {
    const PlainArithmetic here;
    compute();
}

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

void share_out(std::span<const Window> windows, std::size_t count, const Packing& packing,
               std::span<Share> shares) {
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
}

// Everything but words that a call with windows takes.
struct Sharing {
    std::vector<Share> shares;
    std::vector<int> counts;
    std::vector<int> firsts;

    void make_room(int ranks) {
        const auto all = static_cast<std::size_t>(ranks);
        shares.resize(all);
        counts.resize(all);
        firsts.resize(all);
    }
};

template <typename Number>
MPI_Datatype type_of();
template <>
MPI_Datatype type_of<double>() {
    return MPI_DOUBLE;
}
template <>
MPI_Datatype type_of<float>() {
    return MPI_FLOAT;
}
template <>
MPI_Datatype type_of<std::complex<double>>() {
    return MPI_C_DOUBLE_COMPLEX;
}
template <>
MPI_Datatype type_of<std::complex<float>>() {
    return MPI_C_FLOAT_COMPLEX;
}

template <typename Real>
int reduce_shared(const std::int64_t *words, std::int64_t *sums, std::span<const Window> windows,
                  std::span<Real> result, const Packing& packing, const Job& job,
                  Sharing& sharing) {
    auto& [shares, counts, firsts] = sharing;
    share_out(windows, result.size(), packing, shares);
    for (std::size_t r = 0; r < shares.size(); ++r) counts[r] = shares[r].words;
    // Not in place: MPICH 4.0 would copy between parts of `words` that overlap, and aborts.
    int code = PMPI_Reduce_scatter(words, sums, counts.data(), MPI_INT64_T, MPI_SUM, job.comm);
    if (code != MPI_SUCCESS) return code;
    const Share& own = shares[static_cast<std::size_t>(job.rank)];
    const auto own_windows = windows.subspan(own.first_block, own.block_end - own.first_block);
    const auto own_result =
        result.subspan(static_cast<std::size_t>(own.first), static_cast<std::size_t>(own.count));
    plainly([&] { packing.unpack(sums, own_windows, own_result); });
    for (std::size_t r = 0; r < shares.size(); ++r) {
        counts[r] = shares[r].count;
        firsts[r] = shares[r].first;
    }
    return PMPI_Allgatherv(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, result.data(), counts.data(),
                           firsts.data(), type_of<Real>(), job.comm);
}

// Blocks of a chunk, whose windows the ranks have agreed on, and room for their words and the sums.
template <typename Real>
int reduce_blocks(std::span<const Real> values, std::span<const Window> windows, Real *result,
                  const Packing& packing, const Job& job, std::int64_t *words, Sharing& sharing) {
    const std::size_t count = packing.words(windows, values.size());
    std::int64_t *sums = words + count;
    plainly([&] { packing.pack(values, windows, words); });
    if (!job.is_reduce() && job.ranks > 1 && values.size() >= shared_count) {
        return reduce_shared(words, sums, windows, std::span<Real>(result, values.size()), packing,
                             job, sharing);
    }
    const int code = add_words(words, sums, count, job);
    if (code != MPI_SUCCESS || !job.gets_result()) return code;
    plainly([&] { packing.unpack(sums, windows, std::span<Real>(result, values.size())); });
    return MPI_SUCCESS;
}

// Two words a number are room for most data, and fewer numbers travel at once where they take more.
std::size_t room_for(std::size_t numbers, const Packing& packing) {
    constexpr std::size_t words_expected = 2;
    constexpr std::size_t words_least = std::size_t{1} << 16;
    return std::max(words_expected * numbers,
                    std::min(words_least, packing.number_words_max() * numbers));
}

// Whether a rank lacks memory travels with the windows.
template <typename Real>
int reduce_chunk(std::span<const Real> values, Real *result, const Job& job, Words& memory) {
    std::array<Window, blocks_of(chunk_count) + 1> windows_and_agreed;
    const auto windows = std::span(windows_and_agreed).first(blocks_of(values.size()));
    thread_local Sharing sharing;
    const Packing packing(job.ranks);
    const std::size_t room = room_for(values.size(), packing);
    std::int64_t *words = nullptr;
    const bool lacks = lacks_memory_for([&] {
        words = memory.make_room(2 * room);
        sharing.make_room(job.ranks);
    });
    plainly([&] { find_windows(values, windows); });
    Window& agreed = windows_and_agreed[windows.size()];
    agreed.specials = lacks || job.lacks_memory ? 1 : 0;
    int code = PMPI_Allreduce(MPI_IN_PLACE, windows_and_agreed.data(),
                              static_cast<int>((windows.size() + 1) * window_values), MPI_INT16_T,
                              MPI_MAX, job.comm);
    if (code != MPI_SUCCESS) return code;
    if (agreed.specials != 0) return MPI_ERR_NO_MEM;
    for (std::size_t block = 0; block < windows.size() && code == MPI_SUCCESS;) {
        const auto rest = windows.subspan(block);
        const std::size_t first = block * block_count;
        const std::size_t blocks = packing.blocks_within(room, rest, values.size() - first);
        const std::size_t count = std::min(blocks * block_count, values.size() - first);
        code = reduce_blocks(values.subspan(first, count), rest.first(blocks),
                             job.gets_result() ? result + first : nullptr, packing, job, words,
                             sharing);
        block += blocks;
    }
    return code;
}

template <typename Number>
Number *make_room(Words& memory, std::size_t count) {
    const std::size_t bytes = count * sizeof(Number);
    return reinterpret_cast<Number *>(memory.make_room((bytes + 7) / sizeof(std::int64_t)));
}

template <typename Real>
void combine_to_nearest(std::span<const Real *const> vectors, std::size_t count, Real *result,
                        Combining combining) {
    const PlainArithmetic here;
    if (combining == Combining::sum) {
        add_to_nearest(vectors, count, result);
    } else if (combining == Combining::product) {
        multiply_to_nearest(vectors, count, result);
    } else {
        const auto take = combining == Combining::maximum ? maximum<Real> : minimum<Real>;
        for (std::size_t i = 0; i < count; ++i) {
            Real taken = take(vectors[0][i], vectors[0][i]);
            for (const Real *values : vectors) taken = take(taken, values[i]);
            result[i] = taken;
        }
    }
}

// Of complex numbers only products are combined as such: their sums are sums of the parts.
template <typename Real>
void combine_to_nearest(std::span<const std::complex<Real> *const> vectors, std::size_t count,
                        std::complex<Real> *result, Combining) {
    const PlainArithmetic here;
    multiply_to_nearest(vectors, count, result);
}

template <typename Number>
int combine_here(std::span<const Number *const> vectors, std::size_t count, Number *result,
                 Combining combining) {
    const bool lacks =
        lacks_memory_for([&] { combine_to_nearest(vectors, count, result, combining); });
    return lacks ? MPI_ERR_NO_MEM : MPI_SUCCESS;
}

/* While the other ranks combine their shares. How many bits a product takes shows only now. */
template <typename Number>
int combine_with_all(std::span<const Number *const> vectors, std::size_t count, Number *result,
                     const Job& job) {
    const int code = combine_here(vectors, count, result, job.combining);
    if (job.combining != Combining::product) return code;
    return agree_on_memory(code != MPI_SUCCESS, job.comm);
}

/* Every rank that gets the result gets the numbers of all. */
template <typename Number>
int reduce_gathered(std::span<const Number> values, Number *result, const Job& job) {
    const auto ranks = static_cast<std::size_t>(job.ranks);
    const int count = static_cast<int>(values.size());
    const auto type = type_of<Number>();
    std::array<Number, gathered_bytes_max / sizeof(Number)> all;
    const int code =
        job.is_reduce()
            ? PMPI_Gather(values.data(), count, type, all.data(), count, type, job.root, job.comm)
            : PMPI_Allgather(values.data(), count, type, all.data(), count, type, job.comm);
    if (code != MPI_SUCCESS || !job.gets_result()) return code;
    std::array<const Number *, few_ranks_max> vectors;
    for (std::size_t rank = 0; rank < ranks; ++rank) {
        vectors[rank] = all.data() + rank * values.size();
    }
    return combine_here(std::span<const Number *const>(vectors).first(ranks), values.size(), result,
                        job.combining);
}

// What an exchange takes besides the buffers of the program.
template <typename Number>
struct Exchange {
    std::vector<int> firsts;
    std::vector<int> counts;
    std::vector<int> sent;
    std::vector<int> received;
    std::vector<int> places;
    std::vector<const Number *> vectors;
    Number *parts = nullptr;

    void make_room(std::size_t ranks, std::size_t count, Words& memory) {
        for (auto *numbers : {&counts, &sent, &received, &places}) numbers->resize(ranks);
        firsts.resize(ranks + 1);
        vectors.resize(ranks);
        parts = lanewise::sums::make_room<Number>(memory, ranks * (count / ranks + 1));
    }
};

/* Each rank gets a share of the numbers from all others, combines it, and passes on what it comes
   to. */
template <typename Number>
int exchange(std::span<const Number> values, Number *result, const Job& job,
             Exchange<Number>& room) {
    const auto ranks = static_cast<std::size_t>(job.ranks);
    const auto me = static_cast<std::size_t>(job.rank);
    const auto type = type_of<Number>();
    auto& [firsts, counts, sent, received, places, vectors, parts] = room;
    for (std::size_t r = 0; r <= ranks; ++r) {
        firsts[r] = static_cast<int>(r * values.size() / ranks);
        if (r > 0) counts[r - 1] = firsts[r] - firsts[r - 1];
    }
    const auto own = static_cast<std::size_t>(counts[me]);
    std::copy(counts.begin(), counts.end(), sent.begin());
    std::fill(received.begin(), received.end(), counts[me]);
    sent[me] = received[me] = 0;
    for (std::size_t r = 0; r < ranks; ++r) {
        places[r] = static_cast<int>(r * own);
        vectors[r] = parts + r * own;
    }
    vectors[me] = values.data() + firsts[me];
    int code = PMPI_Alltoallv(values.data(), sent.data(), firsts.data(), type, parts,
                              received.data(), places.data(), type, job.comm);
    if (code != MPI_SUCCESS) return code;
    Number *combined = job.gets_result() ? result + firsts[me] : parts + me * own;
    code = combine_with_all(std::span<const Number *const>(vectors), own, combined, job);
    if (code != MPI_SUCCESS) return code;
    if (!job.is_reduce()) {
        return PMPI_Allgatherv(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, result, counts.data(),
                               firsts.data(), type, job.comm);
    }
    return PMPI_Gatherv(job.gets_result() ? MPI_IN_PLACE : combined, counts[me], type, result,
                        counts.data(), firsts.data(), type, job.root, job.comm);
}

template <typename Number>
int reduce_exchanged(std::span<const Number> values, Number *result, const Job& job,
                     Words& memory) {
    thread_local Exchange<Number> room;
    const std::size_t most = std::min(exchanged_count, values.size());
    const auto ranks = static_cast<std::size_t>(job.ranks);
    const bool lacks = lacks_memory_for([&] { room.make_room(ranks, most, memory); });
    int code = agree_on_memory(lacks || job.lacks_memory, job.comm);
    for (std::size_t done = 0; done < values.size() && code == MPI_SUCCESS; done += most) {
        const std::size_t now = std::min(most, values.size() - done);
        code = exchange(values.subspan(done, now), job.gets_result() ? result + done : nullptr, job,
                        room);
    }
    return code;
}

template <typename Real>
int reduce_chunks(std::span<const Real> values, Real *result, const Job& job, Words& memory) {
    int code = MPI_SUCCESS;
    for (std::size_t done = 0; done < values.size() && code == MPI_SUCCESS; done += chunk_count) {
        const std::size_t now = std::min(chunk_count, values.size() - done);
        code = reduce_chunk(values.subspan(done, now), job.gets_result() ? result + done : nullptr,
                            job, memory);
    }
    return code;
}

/* By numbers that travel themselves. */
template <typename Number>
int reduce_travelling(std::span<const Number> values, Number *result, const Job& job,
                      Words& memory) {
    const auto bytes_of_all = values.size_bytes() * static_cast<std::size_t>(job.ranks);
    const bool gathered = job.ranks <= few_ranks && bytes_of_all <= gathered_bytes_max;
    if (!gathered) return reduce_exchanged(values, result, job, memory);
    const int code = job.must_agree ? agree_on_memory(job.lacks_memory, job.comm) : MPI_SUCCESS;
    return code == MPI_SUCCESS ? reduce_gathered(values, result, job) : code;
}

// One for vectors of all types.
Words& memory_of_thread() {
    thread_local Words memory;
    return memory;
}

template <typename Number>
int reduce_all(const void *send, void *receive, std::size_t count, const Job& job) {
    const std::span values(static_cast<const Number *>(send), count);
    auto *result = static_cast<Number *>(receive);
    Words& memory = memory_of_thread();
    if (count == 0) return MPI_SUCCESS;
    // A product has as many bits as its factors together: they have to come together.
    if constexpr (std::is_floating_point_v<Number>) {
        if (job.ranks > few_ranks && job.combining == Combining::sum) {
            return reduce_chunks(values, result, job, memory);
        }
    }
    return reduce_travelling(values, result, job, memory);
}

template <typename Number>
void combine_vectors(std::span<const void *const> given, std::size_t count, void *result,
                     Combining combining) {
    std::vector<const Number *> vectors;
    vectors.reserve(given.size());
    for (const void *vector : given) vectors.push_back(static_cast<const Number *>(vector));
    combine_to_nearest(std::span<const Number *const>(vectors), count,
                       static_cast<Number *>(result), combining);
}

/* Calls `act` with a number of what is combined, and how many of them an element has. */
template <typename Act>
auto with_number(Numbers numbers, Combining combining, const Act& act) {
    if (combining == Combining::product && numbers.per_element == 2) {
        return numbers.are_doubles ? act(std::complex<double>(), 1) : act(std::complex<float>(), 1);
    }
    return numbers.are_doubles ? act(double{}, numbers.per_element)
                               : act(float{}, numbers.per_element);
}

int reduce(const void *send, void *receive, std::int64_t count, Numbers numbers, Job job) {
    int code = PMPI_Comm_size(job.comm, &job.ranks);
    if (code == MPI_SUCCESS) code = PMPI_Comm_rank(job.comm, &job.rank);
    if (code != MPI_SUCCESS) return code;
    const void *values = send == MPI_IN_PLACE ? receive : send;
    return with_number(numbers, job.combining, [&](auto number, int per_element) {
        const auto all = static_cast<std::size_t>(count * per_element);
        return reduce_all<decltype(number)>(values, receive, all, job);
    });
}

/* A compiler can be told to make the default types of Fortran wider, such as by -fdefault-real-8,
   and one that was made for a precision and a range may be of any width. */
std::optional<Numbers> numbers_of_width(MPI_Datatype type, int per_element) {
    int bytes = 0;
    if (PMPI_Type_size(type, &bytes) != MPI_SUCCESS) return std::nullopt;
    if (bytes == 8 * per_element) return Numbers{true, per_element};
    if (bytes == 4 * per_element) return Numbers{false, per_element};
    return std::nullopt;
}

std::optional<Numbers> numbers_of_f90(MPI_Datatype type) {
    const auto kind = f90_kind_of(type);
    if (!kind || *kind == F90Kind::integer) return std::nullopt;
    return numbers_of_width(type, *kind == F90Kind::complex ? 2 : 1);
}

}  // namespace

std::optional<Numbers> numbers_of(MPI_Datatype type) {
    struct Known {
        MPI_Datatype type;
        int per_element;
    };
    // An MPI without Fortran or C++ has MPI_DATATYPE_NULL in the place of their types.
    const Known known[] = {
        {MPI_DOUBLE, 1},
        {MPI_FLOAT, 1},
        {MPI_C_DOUBLE_COMPLEX, 2},
        {MPI_C_FLOAT_COMPLEX, 2},
#ifndef LANEWISE_SIMULATED  // SMPI declares these two and does not define them
        {MPI_CXX_DOUBLE_COMPLEX, 2},
        {MPI_CXX_FLOAT_COMPLEX, 2},
#endif
        {MPI_DOUBLE_PRECISION, 1},
        {MPI_REAL, 1},
        {MPI_DOUBLE_COMPLEX, 2},
        {MPI_COMPLEX, 2},
        {MPI_REAL8, 1},
        {MPI_REAL4, 1},
        {MPI_COMPLEX16, 2},
        {MPI_COMPLEX8, 2},
    };
    if (type == MPI_DATATYPE_NULL) return std::nullopt;
    for (const Known& one : known) {
        if (one.type == type) return numbers_of_width(type, one.per_element);
    }
    return numbers_of_f90(type);
}

std::optional<Combining> combining_of(MPI_Op op, MPI_Datatype type) {
    if (op != MPI_SUM && op != MPI_PROD && op != MPI_MAX && op != MPI_MIN) return std::nullopt;
    const auto numbers = numbers_of(type);
    if (!numbers) return std::nullopt;
    if (op == MPI_SUM) return Combining::sum;
    if (op == MPI_PROD) return Combining::product;
    if (numbers->per_element != 1) return std::nullopt;
    if (op == MPI_MAX) return Combining::maximum;
    return Combining::minimum;
}

Combine combine_of(MPI_Op op, MPI_Datatype type) {
    const auto combining = combining_of(op, type);
    return combining ? combine_by(*combining, *numbers_of(type)) : nullptr;
}

void set_few_ranks_for_tests(int ranks) {
    few_ranks = ranks;
}

int exact_allreduce(const void *send, void *receive, std::int64_t count, Numbers numbers,
                    Combining combining, MPI_Comm comm) {
    return reduce(send, receive, count, numbers, {.comm = comm, .combining = combining});
}

int exact_reduce(const void *send, void *receive, std::int64_t count, Numbers numbers,
                 Combining combining, int root, MPI_Comm comm) {
    return reduce(send, receive, count, numbers,
                  {.comm = comm, .combining = combining, .root = root});
}

// All ranks round all results: reductions whose result is scattered are rare. In place, the results
// of a rank go where all values have been read: to the front.
int exact_reduce_scatter(const void *send, void *receive, const Scattered& blocks, Numbers numbers,
                         Combining combining, MPI_Comm comm) {
    const auto number_bytes = numbers.are_doubles ? sizeof(double) : sizeof(float);
    const auto element_bytes = static_cast<std::int64_t>(number_bytes) * numbers.per_element;
    const auto most = static_cast<std::int64_t>(chunk_count) / numbers.per_element;
    const auto *values = static_cast<const std::byte *>(send == MPI_IN_PLACE ? receive : send);
    auto *own = static_cast<std::byte *>(receive);
    std::unique_ptr<std::byte[]> results;
    const bool lacks = lacks_memory_for([&] {
        const auto bytes = static_cast<std::size_t>(std::min(most, blocks.all) * element_bytes);
        results = std::make_unique_for_overwrite<std::byte[]>(bytes);
    });
    for (std::int64_t done = 0; done < blocks.all; done += most) {
        const std::int64_t now = std::min(most, blocks.all - done);
        const int code = reduce(
            values + done * element_bytes, results.get(), now, numbers,
            {.comm = comm, .combining = combining, .lacks_memory = lacks, .must_agree = done == 0});
        if (code != MPI_SUCCESS) return code;
        const std::int64_t begin = std::max(done, blocks.before);
        const std::int64_t end = std::min(done + now, blocks.before + blocks.own);
        if (begin >= end) continue;
        std::memcpy(own + (begin - blocks.before) * element_bytes,
                    results.get() + (begin - done) * element_bytes,
                    static_cast<std::size_t>((end - begin) * element_bytes));
    }
    return MPI_SUCCESS;
}

int combine_exactly(std::span<const void *const> vectors, std::int64_t count, Numbers numbers,
                    Combining combining, void *result) {
    const bool lacks = lacks_memory_for([&] {
        with_number(numbers, combining, [&](auto number, int per_element) {
            const auto all = static_cast<std::size_t>(count * per_element);
            combine_vectors<decltype(number)>(vectors, all, result, combining);
        });
    });
    return lacks ? MPI_ERR_NO_MEM : MPI_SUCCESS;
}

int add_over_ranks(ExactSum& sum, MPI_Comm comm) {
    ExactSum::Words words = sum.words();
    const int code = PMPI_Allreduce(MPI_IN_PLACE, words.data(), static_cast<int>(words.size()),
                                    MPI_INT64_T, MPI_SUM, comm);
    if (code == MPI_SUCCESS) sum = ExactSum::from(words);
    return code;
}

int multiply_over_ranks(LongProduct& product, MPI_Comm comm) {
    int ranks = 1;
    int code = PMPI_Comm_size(comm, &ranks);
    if (code != MPI_SUCCESS) return code;
    const auto count = product.word_count();
    std::vector<std::int64_t> words;
    const bool lacks =
        lacks_memory_for([&] { words.resize((static_cast<std::size_t>(ranks) + 1) * count); });
    code = agree_on_memory(lacks, comm);
    if (code != MPI_SUCCESS) return code;
    const auto own = std::span(words).first(count);
    product.write(own);
    const int sent = static_cast<int>(count);
    code = PMPI_Allgather(own.data(), sent, MPI_INT64_T, words.data() + count, sent, MPI_INT64_T,
                          comm);
    if (code != MPI_SUCCESS) return code;
    const auto read = [&](std::size_t at) {
        return LongProduct::read(std::span(words).subspan(at * count, count));
    };
    LongProduct all = read(1);
    for (std::size_t rank = 1; rank < static_cast<std::size_t>(ranks); ++rank) {
        all.multiply(read(rank + 1));
    }
    product = std::move(all);
    return MPI_SUCCESS;
}

}  // namespace lanewise::sums
