// SPDX-License-Identifier: BSD-3-Clause
//
// Reductions with LW_BITS_RANKS from C, compared with rational arithmetic on any number of ranks.

#include <gtest/gtest.h>
#include <lanewise/collectives.h>
#include <lanewise/sum.h>

#include <algorithm>
#include <bit>
#include <boost/multiprecision/cpp_int.hpp>
#include <cmath>
#include <complex>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "collectives/execute/communicator_state.hpp"
#include "testing/measuring.hpp"

namespace {

using lanewise::testing::rank_of;
using lanewise::testing::size_of;
using Rational = boost::multiprecision::cpp_rational;
using Integer = boost::multiprecision::cpp_int;

constexpr int root = 0;

struct Free {
    void operator()(lw_algorithm *algorithm) const { lw_algorithm_free(algorithm); }
};
using Algorithm = std::unique_ptr<lw_algorithm, Free>;

/* What a program was told of refusals. */
struct Told {
    std::vector<lw_status> statuses;
    std::vector<std::string> sentences;
};

void keep_sentence(void *context, lw_status status, const char *sentence) {
    static_cast<Told *>(context)->statuses.push_back(status);
    static_cast<Told *>(context)->sentences.emplace_back(sentence);
}

lw_algorithm_options on_any_ranks(Told *told = nullptr) {
    lw_algorithm_options options = LW_ALGORITHM_OPTIONS;
    options.bits = LW_BITS_RANKS;
    options.report = told ? keep_sentence : nullptr;
    options.report_context = told;
    return options;
}

Algorithm made_for(const char *collective, const lw_algorithm_options& options) {
    lw_algorithm *algorithm = nullptr;
    EXPECT_EQ(lw_algorithm_with(collective, nullptr, &options, &algorithm), LW_OK);
    return Algorithm(algorithm);
}

Rational exact_value(double value) {
    int exponent = 0;
    const double fraction = std::frexp(value, &exponent);
    const Integer mantissa(static_cast<std::int64_t>(std::ldexp(fraction, 53)));
    const int shift = exponent - 53;
    const Integer power = Integer(1) << static_cast<unsigned>(std::abs(shift));
    return shift >= 0 ? Rational(mantissa * power) : Rational(mantissa, power);
}

/* The number nearest to a rational one, of two that are as near the even one. */
template <typename Real>
Real nearest(const Rational& exact) {
    constexpr Real infinity = std::numeric_limits<Real>::infinity();
    using Bits = std::conditional_t<sizeof(Real) == 8, std::uint64_t, std::uint32_t>;
    auto best = static_cast<Real>(static_cast<double>(exact));
    const auto away = [&](Real value) {
        return Rational(abs(exact_value(static_cast<double>(value)) - exact));
    };
    for (const Real other : {std::nextafter(best, -infinity), std::nextafter(best, infinity)}) {
        const bool even = (std::bit_cast<Bits>(other) & 1U) == 0;
        if (away(other) < away(best) || (away(other) == away(best) && even)) best = other;
    }
    return best;
}

/* What a rank gives: exponents that differ a lot, and numbers that cancel others. */
template <typename Real>
std::vector<Real> given(int rank, std::size_t count, int spread) {
    std::mt19937_64 random(static_cast<unsigned>(rank + 1));
    std::uniform_int_distribution<int> exponent(-spread, spread);
    std::uniform_real_distribution<double> fraction(0.5, 2);
    std::vector<Real> values(count);
    for (std::size_t i = 0; i < count; ++i) {
        const auto sign = i % 2 == 0 && rank % 2 == 1 ? -1.0 : 1.0;
        values[i] = static_cast<Real>(sign * std::ldexp(fraction(random), exponent(random)));
    }
    return values;
}

/* What is computed from the numbers that all ranks give. */
enum class Reduced { sum, product };

/* Collective: each rank computes some of the elements, since with many ranks all of them would take
   long, and the ranks exchange them. */
template <typename Real>
std::vector<Real> reduced_exactly(Reduced what, std::size_t count, int spread) {
    const auto ranks = static_cast<std::size_t>(size_of(MPI_COMM_WORLD));
    const auto me = static_cast<std::size_t>(rank_of(MPI_COMM_WORLD));
    std::vector<std::vector<Real>> vectors;
    for (std::size_t rank = 0; rank < ranks; ++rank) {
        vectors.push_back(given<Real>(static_cast<int>(rank), count, spread));
    }
    // The bits of those of others are 0, so that adding them as integers puts them together.
    using Bits = std::conditional_t<sizeof(Real) == 8, std::uint64_t, std::uint32_t>;
    std::vector<Bits> bits(count, 0);
    for (std::size_t i = me; i < count; i += ranks) {
        Rational exact = what == Reduced::sum ? 0 : 1;
        for (const auto& vector : vectors) {
            if (what == Reduced::sum) exact += exact_value(vector[i]);
            if (what == Reduced::product) exact *= exact_value(vector[i]);
        }
        bits[i] = std::bit_cast<Bits>(nearest<Real>(exact));
    }
    MPI_Allreduce(MPI_IN_PLACE, bits.data(), static_cast<int>(count),
                  sizeof(Bits) == 8 ? MPI_UINT64_T : MPI_UINT32_T, MPI_SUM, MPI_COMM_WORLD);
    std::vector<Real> all(count);
    std::ranges::transform(bits, all.begin(), [](Bits one) { return std::bit_cast<Real>(one); });
    return all;
}

template <typename Real>
std::vector<Real> exact_sums(std::size_t count, int spread) {
    return reduced_exactly<Real>(Reduced::sum, count, spread);
}

template <typename Real>
std::vector<Real> exact_products(std::size_t count, int spread) {
    return reduced_exactly<Real>(Reduced::product, count, spread);
}

template <typename Real>
bool same_bits(const std::vector<Real>& a, const std::vector<Real>& b) {
    if (a.size() != b.size()) return false;
    return a.empty() || std::memcmp(a.data(), b.data(), a.size() * sizeof(Real)) == 0;
}

constexpr int double_spread = 60;
/* With which products fit a float. */
int float_spread() {
    return size_of(MPI_COMM_WORLD) > 5 ? 0 : 20;
}
/* Around what is sent to all ranks whole on 64 and on 16 of them, or on 2 to 5, and longer. */
std::vector<std::size_t> sizes() {
    if (size_of(MPI_COMM_WORLD) > 5) return {1, 32, 33, 128, 129, 700};
    return {1, 409, 410, 683, 1024, 1025, 3000};
}

TEST(ExactCall, AddsDoublesToTheNumberNearestToTheExactSumWaitedForOrNot) {
    const auto sum = made_for("allreduce", on_any_ranks());
    for (const auto size : sizes()) {
        const auto count = static_cast<int>(size);
        const auto own = given<double>(rank_of(MPI_COMM_WORLD), size, double_spread);
        std::vector<double> sums(size);
        std::vector<double> later(size);
        lw_pending *pending = nullptr;

        EXPECT_EQ(lw_allreduce(own.data(), sums.data(), count, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD,
                               sum.get()),
                  LW_OK);
        EXPECT_EQ(lw_iallreduce(own.data(), later.data(), count, MPI_DOUBLE, MPI_SUM,
                                MPI_COMM_WORLD, sum.get(), &pending),
                  LW_OK);
        EXPECT_EQ(lw_pending_wait(&pending), LW_OK);

        EXPECT_TRUE(same_bits(sums, exact_sums<double>(size, double_spread))) << size;
        EXPECT_TRUE(same_bits(later, sums)) << size;
    }
}

TEST(ExactCall, MultipliesFloatsToTheNumberNearestToTheExactProductInPlace) {
    const auto product = made_for("allreduce", on_any_ranks());
    for (const auto size : sizes()) {
        auto products = given<float>(rank_of(MPI_COMM_WORLD), size, float_spread());
        auto later = products;
        lw_pending *pending = nullptr;

        EXPECT_EQ(lw_allreduce(MPI_IN_PLACE, products.data(), static_cast<int>(size), MPI_FLOAT,
                               MPI_PROD, MPI_COMM_WORLD, product.get()),
                  LW_OK);
        EXPECT_EQ(lw_iallreduce(MPI_IN_PLACE, later.data(), static_cast<int>(size), MPI_FLOAT,
                                MPI_PROD, MPI_COMM_WORLD, product.get(), &pending),
                  LW_OK);
        EXPECT_EQ(lw_pending_wait(&pending), LW_OK);

        EXPECT_TRUE(same_bits(products, exact_products<float>(size, float_spread()))) << size;
        EXPECT_TRUE(same_bits(later, products)) << size;
    }
}

TEST(ExactCall, AddsComplexNumbersOnTheRootAlone) {
    const auto sum = made_for("reduce", on_any_ranks());
    const bool is_root = rank_of(MPI_COMM_WORLD) == root;
    constexpr int count = 700;
    const auto own = given<double>(rank_of(MPI_COMM_WORLD), 2 * count, double_spread);
    std::vector<double> sums(2 * count, -1);
    std::vector<double> later(2 * count, -1);
    lw_pending *pending = nullptr;

    EXPECT_EQ(lw_reduce(own.data(), sums.data(), count, MPI_C_DOUBLE_COMPLEX, MPI_SUM, root,
                        MPI_COMM_WORLD, sum.get()),
              LW_OK);
    EXPECT_EQ(lw_ireduce(own.data(), is_root ? later.data() : nullptr, count, MPI_C_DOUBLE_COMPLEX,
                         MPI_SUM, root, MPI_COMM_WORLD, sum.get(), &pending),
              LW_OK);
    EXPECT_EQ(lw_pending_wait(&pending), LW_OK);

    const std::vector<double> untouched(2 * count, -1);
    const auto exact = exact_sums<double>(2 * count, double_spread);
    const auto& expected = is_root ? exact : untouched;
    EXPECT_TRUE(same_bits(sums, expected));
    EXPECT_TRUE(same_bits(later, expected));
}

// On two ranks, too, where one operation rounds each part of a complex product three times.
TEST(ExactCall, MultipliesComplexNumbersToTheNearestOnes) {
    const auto product = made_for("allreduce", on_any_ranks());
    constexpr int count = 700;
    using Complex = std::complex<double>;
    std::vector<std::vector<Complex>> all;
    for (int rank = 0; rank < size_of(MPI_COMM_WORLD); ++rank) {
        const auto parts = given<double>(rank, 2 * count, 5);
        auto& numbers = all.emplace_back();
        for (std::size_t i = 0; i < parts.size(); i += 2) {
            numbers.emplace_back(parts[i], parts[i + 1]);
        }
    }
    const auto& own = all[static_cast<std::size_t>(rank_of(MPI_COMM_WORLD))];
    std::vector<Complex> products(count);
    std::vector<Complex> later(count);
    lw_pending *pending = nullptr;

    EXPECT_EQ(lw_allreduce(own.data(), products.data(), count, MPI_C_DOUBLE_COMPLEX, MPI_PROD,
                           MPI_COMM_WORLD, product.get()),
              LW_OK);
    EXPECT_EQ(lw_iallreduce(own.data(), later.data(), count, MPI_C_DOUBLE_COMPLEX, MPI_PROD,
                            MPI_COMM_WORLD, product.get(), &pending),
              LW_OK);
    EXPECT_EQ(lw_pending_wait(&pending), LW_OK);

    for (int i = 0; i < count; ++i) {
        std::vector<double> factors;
        for (const auto& vector : all) {
            const auto factor = vector[static_cast<std::size_t>(i)];
            factors.insert(factors.end(), {factor.real(), factor.imag()});
        }
        Complex expected;
        lw_prod_c128(factors.data(), all.size(), reinterpret_cast<double *>(&expected));
        EXPECT_EQ(products[static_cast<std::size_t>(i)], expected) << i;
        EXPECT_EQ(later[static_cast<std::size_t>(i)], expected) << i;
    }
}

TEST(ExactCall, ScattersBlocksOfSeveralSizesOfTheExactSum) {
    const auto sum = made_for("reduce_scatter", on_any_ranks());
    const int ranks = size_of(MPI_COMM_WORLD);
    const int me = rank_of(MPI_COMM_WORLD);
    std::vector<int> counts;
    int before = 0;
    int all = 0;
    for (int rank = 0; rank < ranks; ++rank) {
        counts.push_back(100 * (rank % 7));
        if (rank < me) before += counts.back();
        all += counts.back();
    }
    const auto size = static_cast<std::size_t>(all);
    const auto own = given<double>(me, size, double_spread);
    const auto mine = static_cast<std::size_t>(counts[static_cast<std::size_t>(me)]);
    std::vector<double> block(mine);

    EXPECT_EQ(lw_reduce_scatter(own.data(), block.data(), counts.data(), MPI_DOUBLE, MPI_SUM,
                                MPI_COMM_WORLD, sum.get()),
              LW_OK);

    const auto sums = exact_sums<double>(size, double_spread);
    EXPECT_TRUE(same_bits(block, std::vector(sums.begin() + before,
                                             sums.begin() + before + static_cast<long>(mine))));
}

TEST(ExactCall, MakesOneNanAndOneZeroOfAllOnOneRankAsOnSeveral) {
    const auto reduction = made_for("allreduce", on_any_ranks());
    const bool first = rank_of(MPI_COMM_WORLD) == 0;
    const double own[] = {first ? -std::nan("0x123") : 1.0, -0.0, first ? 0x1p-1074 : 0.0};
    const std::vector<double> expected = {std::numeric_limits<double>::quiet_NaN(), -0.0,
                                          0x1p-1074};
    for (const MPI_Op op : {MPI_SUM, MPI_MAX}) {
        std::vector<double> results(3);
        std::vector<double> later(3);
        lw_pending *pending = nullptr;

        lw_allreduce(own, results.data(), 3, MPI_DOUBLE, op, MPI_COMM_WORLD, reduction.get());
        lw_iallreduce(own, later.data(), 3, MPI_DOUBLE, op, MPI_COMM_WORLD, reduction.get(),
                      &pending);
        lw_pending_wait(&pending);

        EXPECT_TRUE(same_bits(results, expected)) << (op == MPI_SUM);
        EXPECT_TRUE(same_bits(later, expected)) << (op == MPI_SUM);
    }
}

TEST(ExactCall, IsInfiniteOnlyWhereTheFinalSumIsTooLarge) {
    const auto sum = made_for("allreduce", on_any_ranks());
    const int ranks = size_of(MPI_COMM_WORLD);
    const int me = rank_of(MPI_COMM_WORLD);
    constexpr double largest = std::numeric_limits<double>::max();
    const double own[] = {me == ranks - 1 ? -largest : largest, largest};
    double sums[2] = {};

    lw_allreduce(own, sums, 2, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD, sum.get());

    constexpr double infinity = std::numeric_limits<double>::infinity();
    const double all_but_two[] = {-largest, 0, largest, infinity, infinity};
    EXPECT_EQ(sums[0], all_but_two[std::min(ranks - 1, 4)]);
    EXPECT_EQ(sums[1], ranks == 1 ? largest : infinity);
}

TEST(ExactCall, LeavesIntegersAndMaximaOfScansAsTheyAreByAnyAlgorithm) {
    const auto sum = made_for("allreduce", on_any_ranks());
    const auto maximum = made_for("scan", on_any_ranks());
    const int me = rank_of(MPI_COMM_WORLD);
    const int ranks = size_of(MPI_COMM_WORLD);
    const double mine = me == 1 ? 7.5 : 1.0;
    int total = 0;
    double greatest = 0;

    EXPECT_EQ(lw_allreduce(&me, &total, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, sum.get()), LW_OK);
    EXPECT_EQ(lw_scan(&mine, &greatest, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD, maximum.get()),
              LW_OK);

    EXPECT_EQ(total, ranks * (ranks - 1) / 2);
    EXPECT_EQ(greatest, me >= 1 ? 7.5 : 1.0);
}

TEST(ExactCall, RefusesWhatHasNoExactResultAndSaysSoOnce) {
    Told told;
    const auto reduction = made_for("allreduce", on_any_ranks(&told));
    const auto scan = made_for("scan", on_any_ranks(&told));
    long double large[2] = {1, 2};
    const double numbers[2] = {1, 2};
    double results[4] = {-1, -1, -1, -1};
    lw_pending *pending = nullptr;

    EXPECT_EQ(
        lw_allreduce(large, results, 1, MPI_LONG_DOUBLE, MPI_SUM, MPI_COMM_WORLD, reduction.get()),
        LW_ERR_UNSUPPORTED);
    EXPECT_EQ(lw_iallreduce(large, results, 1, MPI_C_LONG_DOUBLE_COMPLEX, MPI_PROD, MPI_COMM_WORLD,
                            reduction.get(), &pending),
              LW_ERR_UNSUPPORTED);
    EXPECT_EQ(lw_scan(numbers, results, 2, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD, scan.get()),
              LW_ERR_UNSUPPORTED);

    EXPECT_EQ(results[0], -1);
    EXPECT_EQ(pending, nullptr);
    const bool first = rank_of(MPI_COMM_WORLD) == 0;
    ASSERT_EQ(told.sentences.size(), first ? 3U : 0U);
    if (!first) return;
    EXPECT_EQ(told.sentences[0],
              "LW_BITS_RANKS knows sums and products of doubles, floats and their complex types, "
              "maxima, minima and integers; use LW_BITS_ORDER");
    EXPECT_EQ(told.sentences[1], told.sentences[0]);
    EXPECT_EQ(told.sentences[2],
              "LW_BITS_RANKS knows only maxima, minima and integers in a scan; use LW_BITS_ORDER");
}

TEST(ExactCall, RefusesAnOperatorOfTheProgram) {
    const auto reduction = made_for("allreduce", on_any_ranks());
    MPI_Op own = MPI_OP_NULL;
    MPI_Op_create([](void *, void *, int *, MPI_Datatype *) {}, 1, &own);
    double number = 1;
    double result = -1;

    EXPECT_EQ(lw_allreduce(&number, &result, 1, MPI_DOUBLE, own, MPI_COMM_WORLD, reduction.get()),
              LW_ERR_UNSUPPORTED);

    EXPECT_EQ(result, -1);
    MPI_Op_free(&own);
}

TEST(ExactCall, RefusesCountsAndRootsThatAreNone) {
    const auto everywhere = made_for("allreduce", on_any_ranks());
    const auto at_root = made_for("reduce", on_any_ranks());
    double number = 1;
    double result = -1;

    EXPECT_EQ(
        lw_allreduce(&number, &result, -1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD, everywhere.get()),
        LW_ERR_ARGUMENT);
    EXPECT_EQ(
        lw_reduce(&number, &result, 1, MPI_DOUBLE, MPI_SUM, -1, MPI_COMM_WORLD, at_root.get()),
        LW_ERR_ARGUMENT);

    EXPECT_EQ(result, -1);
}

TEST(ExactCall, IsRefusedWhereNoCallIsExecutedOnACommunicator) {
    Told told;
    const auto reduction = made_for("allreduce", on_any_ranks(&told));
    const lanewise::testing::Communicator comm(lanewise::testing::split_of(MPI_COMM_WORLD, 0));
    lanewise::collectives::state_of(comm.get())->is_left_to_mpi = true;
    double number = 1;
    double result = -1;
    lw_pending *pending = nullptr;

    EXPECT_EQ(lw_allreduce(&number, &result, 1, MPI_DOUBLE, MPI_SUM, comm.get(), reduction.get()),
              LW_ERR_UNSUPPORTED);
    EXPECT_EQ(lw_iallreduce(&number, &result, 1, MPI_DOUBLE, MPI_SUM, comm.get(), reduction.get(),
                            &pending),
              LW_ERR_UNSUPPORTED);

    EXPECT_EQ(result, -1);
    EXPECT_EQ(pending, nullptr);
    const bool first = rank_of(MPI_COMM_WORLD) == 0;
    EXPECT_EQ(told.sentences,
              std::vector<std::string>(first ? 2 : 0,
                                       "calls are executed on at most 512 communicators at a time; "
                                       "free some, or use the function of the MPI"));
}

TEST(ExactCall, LeavesNoChoiceOfAnAlgorithmAndSaysWhatToName) {
    Told told;
    auto options = on_any_ranks(&told);
    lw_algorithm *algorithm = nullptr;

    EXPECT_EQ(lw_algorithm_with("reduce", "binomial", &options, &algorithm), LW_ERR_UNSUPPORTED);
    EXPECT_EQ(lw_algorithm_with("bcast", nullptr, &options, &algorithm), LW_ERR_UNSUPPORTED);
    EXPECT_EQ(lw_algorithm_with("shuffle", nullptr, &options, &algorithm), LW_ERR_NOT_FOUND);
    options.bits = static_cast<lw_bits>(3);
    EXPECT_EQ(lw_algorithm_with("reduce", nullptr, &options, &algorithm), LW_ERR_ARGUMENT);

    EXPECT_EQ(algorithm, nullptr);
    EXPECT_EQ(told.sentences, (std::vector<std::string>{
                                  "with LW_BITS_RANKS the library chooses the algorithm and its "
                                  "segments; name none",
                                  "bcast combines nothing, so its bits are the same anyway; ask "
                                  "for LW_BITS_ANY",
                                  "no collective is called shuffle; lw_algorithm_collective "
                                  "lists them",
                                  "bits is 3; say LW_BITS_ANY, LW_BITS_ORDER or "
                                  "LW_BITS_RANKS"}));
    EXPECT_EQ(told.statuses, (std::vector{LW_ERR_UNSUPPORTED, LW_ERR_UNSUPPORTED, LW_ERR_NOT_FOUND,
                                          LW_ERR_ARGUMENT}));
}

TEST(ExactCall, TakesOptionsOfTheFirstSizeWithoutWhatTheyDoNotHave) {
    Told told;
    auto older = on_any_ranks(&told);
    older.struct_size = offsetof(lw_algorithm_options, report);
    const auto reduction = made_for("allreduce", older);
    long double number = 1;
    long double result = -1;

    EXPECT_EQ(lw_allreduce(&number, &result, 1, MPI_LONG_DOUBLE, MPI_SUM, MPI_COMM_WORLD,
                           reduction.get()),
              LW_ERR_UNSUPPORTED);

    EXPECT_TRUE(told.sentences.empty());
}

}  // namespace
