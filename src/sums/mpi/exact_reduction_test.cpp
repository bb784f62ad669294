// SPDX-License-Identifier: BSD-3-Clause
//
// Exact sums and products over the ranks of a real MPI, against results that are known exactly,
// and on a rank that has no memory left.

#include <dlfcn.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <lanewise/sum.h>
#include <mpi.h>

#include <cfenv>
#include <cmath>
#include <complex>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <new>
#include <random>
#include <utility>
#include <vector>

#if defined(__x86_64__)
#include <xmmintrin.h>
#endif

#include "sums/exact_sum.hpp"
#include "sums/mpi/exact_reduction.hpp"
#include "sums/nearest_products.hpp"

// Larger allocations fail on this rank. In line, GCC would take `free` for a mistake.
static std::size_t allocation_max_bytes = std::numeric_limits<std::size_t>::max();

[[gnu::noinline]] void *operator new(std::size_t bytes, const std::nothrow_t&) noexcept {
    return bytes <= allocation_max_bytes ? std::malloc(bytes > 0 ? bytes : 1) : nullptr;
}

[[gnu::noinline]] void *operator new(std::size_t bytes) {
    void *made = operator new(bytes, std::nothrow);
    if (!made) throw std::bad_alloc();
    return made;
}

// The sanitizer has operators of its own for arrays, which do not come to those above.
[[gnu::noinline]] void *operator new[](std::size_t bytes, const std::nothrow_t&) noexcept {
    return operator new(bytes, std::nothrow);
}

[[gnu::noinline]] void *operator new[](std::size_t bytes) {
    return operator new(bytes);
}

[[gnu::noinline]] void operator delete(void *made) noexcept {
    std::free(made);
}

[[gnu::noinline]] void operator delete(void *made, std::size_t) noexcept {
    std::free(made);
}

[[gnu::noinline]] void operator delete[](void *made) noexcept {
    std::free(made);
}

[[gnu::noinline]] void operator delete[](void *made, std::size_t) noexcept {
    std::free(made);
}

// Not by fegetround, which does not ask the unit that adds.
static bool rounds_upwards() {
    const volatile double one = 1.0;
    const volatile double tiny = 0x1p-60;
    return one + tiny > one;
}

// Whether the MPI rounds upwards when it is called. Linked first, these stand before its own.
static std::vector<bool> mpi_rounds_upwards;

template <typename Function>
static Function next_after(Function, const char *name) {
    mpi_rounds_upwards.push_back(rounds_upwards());
    return reinterpret_cast<Function>(dlsym(RTLD_NEXT, name));
}

extern "C" int PMPI_Allreduce(const void *send, void *receive, int count, MPI_Datatype type,
                              MPI_Op op, MPI_Comm comm) {
    return next_after(&PMPI_Allreduce, "PMPI_Allreduce")(send, receive, count, type, op, comm);
}

extern "C" int PMPI_Reduce_scatter(const void *send, void *receive, const int *counts,
                                   MPI_Datatype type, MPI_Op op, MPI_Comm comm) {
    return next_after(&PMPI_Reduce_scatter, "PMPI_Reduce_scatter")(send, receive, counts, type, op,
                                                                   comm);
}

extern "C" int PMPI_Allgatherv(const void *send, int send_count, MPI_Datatype send_type,
                               void *receive, const int *counts, const int *places,
                               MPI_Datatype receive_type, MPI_Comm comm) {
    return next_after(&PMPI_Allgatherv, "PMPI_Allgatherv")(send, send_count, send_type, receive,
                                                           counts, places, receive_type, comm);
}

// As in an MPI whose Fortran has default types of twice the width.
static bool fortran_is_wide = false;

extern "C" int PMPI_Type_size(MPI_Datatype type, int *bytes) {
    const int code = next_after(&PMPI_Type_size, "PMPI_Type_size")(type, bytes);
    const bool is_default = type == MPI_REAL || type == MPI_DOUBLE_PRECISION ||
                            type == MPI_COMPLEX || type == MPI_DOUBLE_COMPLEX;
    if (fortran_is_wide && is_default) *bytes *= 2;
    return code;
}

namespace lanewise::sums {
namespace {

int rank_here() {
    int rank = 0;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    return rank;
}

int rank_count() {
    int ranks = 1;
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    return ranks;
}

// The vector that a rank gives; every rank can say it.
template <typename Real>
std::vector<Real> given(int rank, std::size_t count) {
    std::mt19937_64 random(static_cast<unsigned>(rank + 1));
    std::normal_distribution<double> normal;
    std::uniform_int_distribution<int> exponent(-30, 30);
    std::vector<Real> values(count);
    for (Real& value : values) {
        value = static_cast<Real>(std::ldexp(normal(random), exponent(random)));
    }
    return values;
}

template <typename Real>
std::vector<Real> expected_sum(std::size_t count) {
    std::vector<ExactSum> sums(count);
    for (int rank = 0; rank < rank_count(); ++rank) {
        const auto values = given<Real>(rank, count);
        for (std::size_t i = 0; i < count; ++i) {
            sums[i].add(std::span<const Real>(&values[i], 1));
        }
    }
    std::vector<Real> made(count);
    for (std::size_t i = 0; i < count; ++i) {
        if constexpr (sizeof(Real) == 8) {
            made[i] = sums[i].as_double();
        } else {
            made[i] = sums[i].as_float();
        }
    }
    return made;
}

// Factors whose partial products are beyond the format, with zeros and infinities among them.
template <typename Real>
std::vector<Real> factors(int rank, std::size_t count) {
    auto values = given<Real>(rank, count);
    const Real scale = rank % 2 == 0 ? Real(0x1p100) : Real(0x1p-100);
    for (std::size_t i = 0; i < count; ++i) {
        if (i % 4 != 0) values[i] *= scale;
        if (i % 97 != static_cast<std::size_t>(rank)) continue;
        values[i] = i % 2 == 0 ? Real{-0.0} : std::numeric_limits<Real>::infinity();
    }
    return values;
}

// NearestProducts is compared with exact arithmetic by its own test.
template <typename Real>
std::vector<Real> expected_product(std::size_t count) {
    std::vector<std::vector<Real>> vectors;
    std::vector<const Real *> pointers;
    for (int rank = 0; rank < rank_count(); ++rank) {
        vectors.push_back(factors<Real>(rank, count));
        pointers.push_back(vectors.back().data());
    }
    std::vector<Real> made(count);
    multiply_to_nearest(std::span<const Real *const>(pointers), count, made.data());
    return made;
}

template <typename Real>
bool same_bits(const std::vector<Real>& a, const std::vector<Real>& b) {
    if (a.size() != b.size()) return false;
    return a.empty() || std::memcmp(a.data(), b.data(), a.size() * sizeof(Real)) == 0;
}

// Numbers travel, or integers made of them.
class ExactReductionTest : public testing::TestWithParam<int> {
  protected:
    void SetUp() override { set_few_ranks_for_tests(GetParam()); }
};

INSTANTIATE_TEST_SUITE_P(BothWays, ExactReductionTest, testing::Values(64, 0),
                         [](const auto& tested) {
                             return tested.param > 0 ? "AsNumbers" : "AsIntegers";
                         });

// As `given`, of all exponents that a sum over the ranks can have.
std::vector<double> wild(int rank, std::size_t count) {
    std::mt19937_64 random(static_cast<unsigned>(rank + 100));
    std::uniform_real_distribution<double> fraction(-1, 1);
    std::uniform_int_distribution<int> exponent(-1070, 1010);
    std::vector<double> values(count);
    for (double& value : values) value = std::ldexp(fraction(random), exponent(random));
    return values;
}

lw_status add(const std::vector<double>& values, std::vector<double>& sums, bool lacks_memory) {
    sums.resize(values.size());
    if (lacks_memory && rank_here() == rank_count() - 1) allocation_max_bytes = 1 << 14;
    const auto status = lw_exact_allreduce(
        values.data(), sums.data(), static_cast<int>(values.size()), MPI_DOUBLE, MPI_COMM_WORLD);
    allocation_max_bytes = std::numeric_limits<std::size_t>::max();
    return status;
}

// The first test, since memory that was once taken is kept.
TEST_P(ExactReductionTest, ARankWithoutMemoryFailsWithAllOthers) {
    const std::vector<double> values(65536, 1.5);
    auto wide = values;
    for (std::size_t i = 0; i < wide.size(); i += 2) wide[i] = 0x1p-900;
    std::vector<double> sums;

    EXPECT_EQ(add(values, sums, true), LW_ERR_MEMORY);
    EXPECT_EQ(add(values, sums, false), LW_OK);
    EXPECT_EQ(sums.back(), 1.5 * rank_count());
    EXPECT_EQ(add(values, sums, true), LW_OK) << "it is kept";
    EXPECT_EQ(add(wide, sums, true), LW_OK) << "numbers of all exponents go in parts";
    EXPECT_EQ(sums.back(), 1.5 * rank_count());
    EXPECT_EQ(sums.front(), std::ldexp(rank_count(), -900));
}

TEST_P(ExactReductionTest, AddsNumbersOfAllExponents) {
    for (const std::size_t count : {1U, 257U, 1023U, 1024U, 5000U}) {
        std::vector<ExactSum> exact(count);
        for (int rank = 0; rank < rank_count(); ++rank) {
            const auto theirs = wild(rank, count);
            for (std::size_t i = 0; i < count; ++i) exact[i].add(theirs[i]);
        }
        std::vector<double> expected(count);
        for (std::size_t i = 0; i < count; ++i) expected[i] = exact[i].as_double();
        std::vector<double> sums;

        EXPECT_EQ(add(wild(rank_here(), count), sums, false), LW_OK);
        EXPECT_TRUE(same_bits(sums, expected)) << count;
    }
}

TEST_P(ExactReductionTest, GivesEveryRankTheNearestNumberToTheExactSum) {
    for (const std::size_t count : {0U, 1U, 255U, 256U, 257U, 1000U, 70000U}) {
        const auto values = given<double>(rank_here(), count);
        std::vector<double> sums(count);

        const auto status = lw_exact_allreduce(values.data(), sums.data(), static_cast<int>(count),
                                               MPI_DOUBLE, MPI_COMM_WORLD);

        EXPECT_EQ(status, LW_OK);
        EXPECT_TRUE(same_bits(sums, expected_sum<double>(count))) << count;
    }
}

// What it calls may go on with a reduction by an operator of the program.
TEST_P(ExactReductionTest, RoundsToNearestWhereTheProgramRoundsUpwardsAndTheMpiWith) {
    for (const std::size_t count : {255U, 70000U}) {
        const auto values = given<double>(rank_here(), count);
        const auto expected = expected_sum<double>(count);
        std::vector<double> sums(count);
        mpi_rounds_upwards.clear();
        std::fesetround(FE_UPWARD);

        const auto status = lw_exact_allreduce(values.data(), sums.data(), static_cast<int>(count),
                                               MPI_DOUBLE, MPI_COMM_WORLD);

        const bool program_rounds_upwards = rounds_upwards();
        std::fesetround(FE_TONEAREST);
        EXPECT_EQ(status, LW_OK);
        EXPECT_TRUE(program_rounds_upwards);
        EXPECT_TRUE(same_bits(sums, expected)) << count;
        EXPECT_THAT(mpi_rounds_upwards, testing::Each(true));
        // Few numbers go by functions that are not looked at here.
        if (GetParam() == 0 || count > 255) {
            EXPECT_FALSE(mpi_rounds_upwards.empty());
        }
    }
}

TEST_P(ExactReductionTest, GivesTheSameForAPartAsForTheWhole) {
    constexpr std::size_t count = 300000;  // in three chunks
    const auto values = given<float>(rank_here(), count);
    std::vector<float> whole(count);
    std::vector<float> parts(count);
    lw_exact_allreduce(values.data(), whole.data(), count, MPI_FLOAT, MPI_COMM_WORLD);
    for (std::size_t begin = 0; begin < count; begin += 77777) {
        const auto now = static_cast<int>(std::min<std::size_t>(77777, count - begin));
        lw_exact_allreduce(&values[begin], &parts[begin], now, MPI_FLOAT, MPI_COMM_WORLD);
    }

    EXPECT_TRUE(same_bits(whole, parts));
}

TEST_P(ExactReductionTest, AScatteredResultTakesNoMemoryForAllOfIt) {
    constexpr std::size_t count = 525'288;
    const int rank = rank_here();
    const auto all = static_cast<std::int64_t>(count);
    const std::int64_t first = rank_count() > 1 ? 100 : all;
    const std::int64_t before = rank == 0 ? 0 : first + (rank - 1) * (all - first) / rank_count();
    const std::int64_t end =
        rank == rank_count() - 1 ? all : first + rank * (all - first) / rank_count();
    const Scattered blocks{.before = before, .own = end - before, .all = all};
    std::vector<double> values(count);
    for (std::size_t i = 0; i < count; ++i) {
        const auto place = static_cast<int>(i) + rank;
        values[i] = std::ldexp(place % 1001 - 500, place % 60);
    }
    std::vector<double> sums(count);
    std::vector<double> apart(static_cast<std::size_t>(blocks.own));
    auto in_place = values;
    ASSERT_EQ(exact_allreduce(values.data(), sums.data(), all, {}, Combining::sum, MPI_COMM_WORLD),
              MPI_SUCCESS);

    allocation_max_bytes = std::size_t{3} << 20;
    EXPECT_EQ(exact_reduce_scatter(values.data(), apart.data(), blocks, {}, Combining::sum,
                                   MPI_COMM_WORLD),
              MPI_SUCCESS);
    EXPECT_EQ(exact_reduce_scatter(MPI_IN_PLACE, in_place.data(), blocks, {}, Combining::sum,
                                   MPI_COMM_WORLD),
              MPI_SUCCESS);
    allocation_max_bytes = std::numeric_limits<std::size_t>::max();

    const std::vector<double> expected(sums.begin() + before, sums.begin() + end);
    in_place.resize(expected.size());
    EXPECT_TRUE(same_bits(apart, expected));
    EXPECT_TRUE(same_bits(in_place, expected));
}

TEST(ExactReduction, OfARootThatIsNoRankIsRefused) {
    int ranks = 1;
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    const double mine = 1;
    double result = 7;

    for (const int root : {-1, ranks, 99}) {
        EXPECT_EQ(lw_exact_reduce(&mine, &result, 1, MPI_DOUBLE, root, MPI_COMM_WORLD),
                  LW_ERR_ARGUMENT);
        EXPECT_EQ(lw_exact_reduce_prod(&mine, &result, 1, MPI_DOUBLE, root, MPI_COMM_WORLD),
                  LW_ERR_ARGUMENT);
    }

    EXPECT_EQ(result, 7);
}

TEST_P(ExactReductionTest, ReducesComplexNumbersInPlaceToOneRank) {
    constexpr std::size_t count = 600;
    const int root = rank_count() - 1;
    const bool is_root = rank_here() == root;
    auto values = given<double>(rank_here(), count);
    const auto before = values;

    const auto status =
        lw_exact_reduce(is_root ? MPI_IN_PLACE : values.data(), is_root ? values.data() : nullptr,
                        count / 2, MPI_C_DOUBLE_COMPLEX, root, MPI_COMM_WORLD);

    EXPECT_EQ(status, LW_OK);
    EXPECT_TRUE(same_bits(values, is_root ? expected_sum<double>(count) : before));
}

TEST_P(ExactReductionTest, GivesEveryRankTheNearestNumberToTheExactProduct) {
    for (const std::size_t count : {0U, 1U, 292U, 293U, 1000U, 65536U, 65537U}) {
        const auto values = factors<double>(rank_here(), count);
        std::vector<double> products(count);

        const auto status = lw_exact_allreduce_prod(
            values.data(), products.data(), static_cast<int>(count), MPI_DOUBLE, MPI_COMM_WORLD);

        EXPECT_EQ(status, LW_OK);
        EXPECT_TRUE(same_bits(products, expected_product<double>(count))) << count;
    }
}

template <typename Real>
std::vector<std::complex<Real>> complex_factors(int rank, std::size_t count) {
    const auto parts = factors<Real>(rank, 2 * count);
    std::vector<std::complex<Real>> made(count);
    for (std::size_t i = 0; i < count; ++i) made[i] = {parts[2 * i], parts[2 * i + 1]};
    return made;
}

template <typename Real>
void multiply_complex_numbers(MPI_Datatype type) {
    using Complex = std::complex<Real>;
    for (const std::size_t count : {0U, 1U, 146U, 147U, 1000U, 65537U}) {
        std::vector<std::vector<Complex>> all;
        std::vector<const Complex *> pointers;
        for (int rank = 0; rank < rank_count(); ++rank) {
            all.push_back(complex_factors<Real>(rank, count));
            pointers.push_back(all.back().data());
        }
        std::vector<Complex> expected(count);
        multiply_to_nearest(std::span<const Complex *const>(pointers), count, expected.data());
        std::vector<Complex> products(count);

        const auto status =
            lw_exact_allreduce_prod(all[static_cast<std::size_t>(rank_here())].data(),
                                    products.data(), static_cast<int>(count), type, MPI_COMM_WORLD);

        EXPECT_EQ(status, LW_OK);
        EXPECT_TRUE(same_bits(products, expected)) << count;
    }
}

TEST_P(ExactReductionTest, GivesBothPartsOfAComplexProduct) {
    multiply_complex_numbers<double>(MPI_C_DOUBLE_COMPLEX);
    multiply_complex_numbers<float>(MPI_C_FLOAT_COMPLEX);
}

// Its imaginary part is zero, which only all bits of the factors together can tell.
TEST_P(ExactReductionTest, AProductThatARankHasNoMemoryForEndsInAnErrorAndNobodyWaits) {
    if (rank_count() < 4) GTEST_SKIP() << "the first bits hold all of so few factors";
    constexpr double part = 1 + 0x1p-52;
    const double own = rank_here() % 2 == 0 ? part : -part;
    const bool is_odd_one = rank_here() == 0 && rank_count() % 2 != 0;
    const bool is_last = rank_here() == rank_count() - 1;
    for (const std::size_t count : {1U, 2000U}) {
        const std::complex<double> factor(1, is_odd_one ? 0 : own);
        const std::vector<std::complex<double>> factors(count, factor);
        auto products = factors;
        const auto multiply = [&] {
            return lw_exact_allreduce_prod(factors.data(), products.data(), static_cast<int>(count),
                                           MPI_C_DOUBLE_COMPLEX, MPI_COMM_WORLD);
        };
        mpi_rounds_upwards.reserve(1000);
        EXPECT_EQ(multiply(), LW_OK);
        EXPECT_EQ(products.back().imag(), 0);

        if (is_last) allocation_max_bytes = 0;
        const auto status = multiply();
        allocation_max_bytes = std::numeric_limits<std::size_t>::max();

        const bool alone = GetParam() != 0 && count == 1;
        EXPECT_EQ(status, alone && !is_last ? LW_OK : LW_ERR_MEMORY) << count;
        EXPECT_EQ(multiply(), LW_OK);
    }
}

TEST_P(ExactReductionTest, MultipliesInPlaceToOneRank) {
    constexpr std::size_t count = 3000;
    const int root = rank_count() - 1;
    const bool is_root = rank_here() == root;
    auto values = factors<float>(rank_here(), count);

    const auto status = lw_exact_reduce_prod(is_root ? MPI_IN_PLACE : values.data(),
                                             is_root ? values.data() : nullptr, count, MPI_FLOAT,
                                             root, MPI_COMM_WORLD);

    EXPECT_EQ(status, LW_OK);
    EXPECT_TRUE(same_bits(
        values, is_root ? expected_product<float>(count) : factors<float>(rank_here(), count)));
}

TEST_P(ExactReductionTest, AProductDoesNotCareHowFactorsAreDealtAmongRanks) {
    constexpr int count = 600;
    auto all = given<double>(0, count);
    for (double& value : all) value = std::ldexp(value, -std::ilogb(value));
    double alone = 0;
    EXPECT_EQ(lw_prod_f64(all.data(), all.size(), &alone), LW_OK);
    for (const bool cyclic : {false, true}) {
        lw_product *product = nullptr;
        EXPECT_EQ(lw_product_create(&product), LW_OK);
        for (int i = 0; i < count; ++i) {
            const int owner = cyclic ? i % rank_count() : i * rank_count() / count;
            const auto at = static_cast<std::size_t>(i);
            if (owner == rank_here()) lw_product_multiply_f64(product, &all[at], 1);
        }
        double made = 0;
        EXPECT_EQ(lw_product_allreduce(product, MPI_COMM_WORLD), LW_OK);
        EXPECT_EQ(lw_product_f64(product, &made), LW_OK);
        lw_product_free(product);

        EXPECT_EQ(made, alone);
    }
}

#if defined(__x86_64__)
// As a program has it that was compiled with -ffast-math.
TEST(ExactSums, CountSubnormalFloatsWhereTheProgramFlushesThem) {
    constexpr float least = 0x1p-149F;
    const std::vector<float> values{least, -least, least, -least};
    float sum = 0;
    float parts[2] = {};
    const auto before = _mm_getcsr();

    _mm_setcsr(before | 0x8040);
    lw_sum_f32(values.data(), 1, &sum);
    lw_sum_c64(values.data(), 2, parts);
    _mm_setcsr(before);

    EXPECT_EQ(sum, least);
    EXPECT_EQ(parts[0], 2 * least);
    EXPECT_EQ(parts[1], -2 * least);
}
#endif

TEST(ExactSums, AreMergedAndRoundedToAFloat) {
    lw_accumulator *sum = nullptr;
    lw_accumulator *other = nullptr;
    ASSERT_EQ(lw_accumulator_create(&sum), LW_OK);
    ASSERT_EQ(lw_accumulator_create(&other), LW_OK);
    const float values[] = {0x1p100F, 1, 0x1p-30F, -0x1p100F};
    float nearest = 0;
    double made = 0;

    EXPECT_EQ(lw_accumulator_add_f32(sum, values, 2), LW_OK);
    EXPECT_EQ(lw_accumulator_add_f32(other, values + 2, 2), LW_OK);
    EXPECT_EQ(lw_accumulator_merge(sum, other), LW_OK);
    EXPECT_EQ(lw_accumulator_f32(sum, &nearest), LW_OK);
    EXPECT_EQ(lw_accumulator_f64(sum, &made), LW_OK);

    EXPECT_EQ(nearest, 1);
    EXPECT_EQ(made, 1 + 0x1p-30);
    lw_accumulator_free(other);
    lw_accumulator_free(sum);
}

TEST(ExactSums, OfComplexNumbersHaveBothParts) {
    const double values[] = {0x1p100, 0x1p-60, 1, 3, -0x1p100, -3};
    double parts[2] = {};

    EXPECT_EQ(lw_sum_c128(values, 3, parts), LW_OK);

    EXPECT_THAT(parts, ::testing::ElementsAre(1, 0x1p-60));
}

TEST(ExactProducts, AreMergedAndRoundedToAFloat) {
    lw_product *product = nullptr;
    lw_product *other = nullptr;
    ASSERT_EQ(lw_product_create(&product), LW_OK);
    ASSERT_EQ(lw_product_create(&other), LW_OK);
    const float values[] = {0x1p100F, 0x1p100F, 0x1p-99F, 3 * 0x1p-100F};
    float nearest = 0;
    float alone = 0;

    EXPECT_EQ(lw_product_multiply_f32(product, values, 2), LW_OK);
    EXPECT_EQ(lw_product_multiply_f32(other, values + 2, 2), LW_OK);
    EXPECT_EQ(lw_product_merge(product, other), LW_OK);
    EXPECT_EQ(lw_product_f32(product, &nearest), LW_OK);
    EXPECT_EQ(lw_prod_f32(values, 4, &alone), LW_OK);

    EXPECT_EQ(nearest, 6);
    EXPECT_EQ(alone, 6);
    lw_product_free(other);
    lw_product_free(product);
}

TEST(ExactProducts, OfComplexFloatsHaveBothParts) {
    const float values[] = {1, 2, 3, 4};
    float parts[2] = {};

    EXPECT_EQ(lw_prod_c64(values, 2, parts), LW_OK);

    EXPECT_THAT(parts, ::testing::ElementsAre(-5, 10));
}

TEST(ExactSums, AreNotSetToTheWordsOfNoSum) {
    lw_accumulator *sum = nullptr;
    ASSERT_EQ(lw_accumulator_create(&sum), LW_OK);
    const double one = 1;
    lw_accumulator_add_f64(sum, &one, 1);
    std::vector<std::int64_t> words(LW_ACCUMULATOR_WORDS);
    lw_accumulator_words(sum, words.data());
    words[LW_ACCUMULATOR_WORDS - 5] = -1;
    double made = 0;

    EXPECT_EQ(lw_accumulator_set_words(sum, words.data()), LW_ERR_ARGUMENT);
    EXPECT_EQ(lw_accumulator_f64(sum, &made), LW_OK);
    EXPECT_EQ(made, 1);
    lw_accumulator_free(sum);
}

TEST(ExactProducts, AreNotSetToTheWordsOfNoProduct) {
    lw_product *product = nullptr;
    ASSERT_EQ(lw_product_create(&product), LW_OK);
    std::vector<std::int64_t> words(LW_PRODUCT_WORDS);
    lw_product_words(product, words.data());
    EXPECT_EQ(lw_product_set_words(product, words.data()), LW_OK);
    const auto least = std::numeric_limits<std::int64_t>::min();
    constexpr std::size_t first_bits = LW_PRODUCT_WORDS - 4;
    const std::pair<std::size_t, std::int64_t> slips[] = {
        {first_bits, 0}, {first_bits + 1, least}, {first_bits + 2, -1}, {first_bits + 3, 32}};
    for (const auto& [at, word] : slips) {
        auto wrong = words;
        wrong[at] = word;
        EXPECT_EQ(lw_product_set_words(product, wrong.data()), LW_ERR_ARGUMENT) << at;
    }
    lw_product_free(product);
}

TEST_P(ExactReductionTest, RefusesOtherTypes) {
    int one = 1;
    int sum = 0;

    EXPECT_EQ(lw_exact_allreduce(&one, &sum, 1, MPI_INT, MPI_COMM_WORLD), LW_ERR_UNSUPPORTED);
    EXPECT_EQ(lw_exact_allreduce(&one, &sum, -1, MPI_DOUBLE, MPI_COMM_WORLD), LW_ERR_ARGUMENT);
    EXPECT_EQ(lw_exact_allreduce_prod(&one, &sum, 1, MPI_C_LONG_DOUBLE_COMPLEX, MPI_COMM_WORLD),
              LW_ERR_UNSUPPORTED);
}

TEST(ExactReduction, TakesDefaultTypesOfFortranForAsWideAsTheMpiHasThem) {
    struct Expected {
        MPI_Datatype type;
        int bytes; /* of each number, and twice as many where Fortran is wide */
        int per_element;
    };
    const Expected all[] = {{MPI_REAL, 4, 1},
                            {MPI_COMPLEX, 4, 2},
                            {MPI_DOUBLE_PRECISION, 8, 1},
                            {MPI_DOUBLE_COMPLEX, 8, 2}};
    for (const bool wide : {false, true}) {
        fortran_is_wide = wide;
        for (const auto& one : all) {
            const auto numbers = numbers_of(one.type);
            const int bytes = wide ? 2 * one.bytes : one.bytes;
            ASSERT_EQ(numbers.has_value(), bytes <= 8) << bytes;
            if (!numbers) continue;
            EXPECT_EQ(numbers->are_doubles, bytes == 8) << bytes;
            EXPECT_EQ(numbers->per_element, one.per_element) << bytes;
        }
    }
    fortran_is_wide = false;
}

TEST_P(ExactReductionTest, RefusesMissingBuffers) {
    double one = 1;
    double sum = 0;
    const MPI_Comm world = MPI_COMM_WORLD;
    const bool is_root = rank_here() == 0;

    EXPECT_EQ(lw_exact_allreduce(nullptr, &sum, 1, MPI_DOUBLE, world), LW_ERR_ARGUMENT);
    EXPECT_EQ(lw_exact_allreduce(&one, nullptr, 1, MPI_DOUBLE, world), LW_ERR_ARGUMENT);
    EXPECT_EQ(lw_exact_allreduce(&one, MPI_IN_PLACE, 1, MPI_DOUBLE, world), LW_ERR_ARGUMENT);
    EXPECT_EQ(lw_exact_reduce(nullptr, &sum, 1, MPI_DOUBLE, 0, world), LW_ERR_ARGUMENT);
    EXPECT_EQ(lw_exact_reduce(is_root ? &one : MPI_IN_PLACE, is_root ? MPI_IN_PLACE : nullptr, 1,
                              MPI_DOUBLE, 0, world),
              LW_ERR_ARGUMENT);
    EXPECT_EQ(lw_exact_reduce(&one, is_root ? &sum : nullptr, 1, MPI_DOUBLE, 0, world), LW_OK);
    EXPECT_EQ(lw_exact_allreduce(nullptr, nullptr, 0, MPI_DOUBLE, world), LW_OK);
}

TEST_P(ExactReductionTest, RefusesACommunicatorBetweenTwoGroups) {
    if (rank_count() < 2) GTEST_SKIP() << "needs two ranks"; /* One rank makes no two groups. */
    const int side = rank_here() == 0 ? 0 : 1;
    MPI_Comm group = MPI_COMM_NULL;
    MPI_Comm between = MPI_COMM_NULL;
    MPI_Comm_split(MPI_COMM_WORLD, side, 0, &group);
    MPI_Intercomm_create(group, 0, MPI_COMM_WORLD, 1 - side, 0, &between);
    MPI_Comm_set_errhandler(between, MPI_ERRORS_RETURN);
    lw_accumulator *sum = nullptr;
    lw_product *product = nullptr;
    lw_accumulator_create(&sum);
    lw_product_create(&product);
    double one = 1;
    double all = 0;
    const int root = side == 0 ? MPI_ROOT : 0;

    EXPECT_EQ(lw_exact_allreduce(&one, &all, 1, MPI_DOUBLE, between), LW_ERR_UNSUPPORTED);
    EXPECT_EQ(lw_exact_reduce(&one, &all, 1, MPI_DOUBLE, root, between), LW_ERR_UNSUPPORTED);
    EXPECT_EQ(lw_exact_reduce_prod(&one, &all, 1, MPI_DOUBLE, root, between), LW_ERR_UNSUPPORTED);
    EXPECT_EQ(lw_accumulator_allreduce(sum, between), LW_ERR_UNSUPPORTED);
    EXPECT_EQ(lw_product_allreduce(product, between), LW_ERR_UNSUPPORTED);

    lw_accumulator_free(sum);
    lw_product_free(product);
    MPI_Comm_free(&between);
    MPI_Comm_free(&group);
}

// A vector of all numbers, dealt among the ranks in one way or another.
double total(bool cyclic) {
    constexpr int count = 1000;
    const auto all = given<double>(0, count);
    lw_accumulator *sum = nullptr;
    lw_accumulator_create(&sum);
    for (int i = 0; i < count; ++i) {
        const int owner = cyclic ? i % rank_count() : i * rank_count() / count;
        if (owner == rank_here()) lw_accumulator_add_f64(sum, &all[static_cast<std::size_t>(i)], 1);
    }
    double made = 0;
    EXPECT_EQ(lw_accumulator_allreduce(sum, MPI_COMM_WORLD), LW_OK);
    EXPECT_EQ(lw_accumulator_f64(sum, &made), LW_OK);
    lw_accumulator_free(sum);
    return made;
}

TEST_P(ExactReductionTest, AnAccumulatorDoesNotCareHowNumbersAreDealtAmongRanks) {
    const auto all = given<double>(0, 1000);
    double alone = 0;
    lw_sum_f64(all.data(), all.size(), &alone);

    EXPECT_EQ(total(true), alone);
    EXPECT_EQ(total(false), alone);
}

}  // namespace
}  // namespace lanewise::sums
