// SPDX-License-Identifier: BSD-3-Clause
//
// Every algorithm that is listed against the MPI's own: random counts, types,
// roots, segments and MPI_IN_PLACE, the same on every rank by one seed. Buffers
// are compared whole, so that a byte written outside what MPI allows is seen.

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <numeric>
#include <vector>

#include "collectives/execute/execute.hpp"
#include "collectives/execute/prepare.hpp"
#include "collectives/execute/program.hpp"
#include "collectives/execute/testing/calls.hpp"
#include "testing/cases.hpp"
#include "testing/ranks.hpp"

namespace lanewise::collectives {
namespace {

using lanewise::testing::ReturnedErrors;
using testing::Trial;

const auto trials = lanewise::testing::cases<unsigned>(12, 5);

TEST(FusedProgram, AResultThatLiesOverAnOperandIsWhatItIsApart) {
    constexpr std::int64_t count = 300;
    constexpr auto bytes = static_cast<std::int64_t>(sizeof(double));
    model::Builder steps;
    steps.reduce({model::Place::send, 0}, {model::Place::scratch, 0}, count);
    steps.copy({model::Place::scratch, 0}, {model::Place::receive, 0}, count);
    const UnitLayout doubles{.stride_bytes = bytes, .data_bytes = bytes};
    const auto program = compile(steps.finish(), doubles, Arithmetic::own);
    for (const std::size_t shift : {0U, 1U, 5U, 299U}) {
        std::vector<double> buffer(count + shift);
        std::iota(buffer.begin(), buffer.end(), 1.0);
        std::vector<double> right(count, 0.25);
        Operands operands{.stride_bytes = bytes, .combine = sums::combine_by({}, {})};
        operands.base = {reinterpret_cast<std::byte *>(buffer.data()),
                         reinterpret_cast<std::byte *>(buffer.data() + shift),
                         reinterpret_cast<std::byte *>(right.data())};

        EXPECT_EQ(run(program, operands, {}), MPI_SUCCESS);

        for (std::size_t i = 0; i < count; ++i) {
            ASSERT_EQ(buffer[shift + i], static_cast<double>(i) + 1.25) << shift;
        }
    }
    EXPECT_EQ(program.instructions.size(), 1U);
}

class EveryAlgorithm : public ::testing::TestWithParam<const Algorithm *> {};

TEST_P(EveryAlgorithm, GivesWhatTheMpiGives) {
    const Algorithm& algorithm = *GetParam();
    for (unsigned seed = 0; seed < trials; ++seed) {
        Trial trial(algorithm.collective, seed, MPI_COMM_WORLD);
        if (!refusal(algorithm, trial.traits()).empty()) continue;
        const auto expected = trial.by_the_mpi();

        bool served = false;
        const Choice choice{&algorithm, trial.segment_bytes(), 1};
        const auto given =
            trial.by([&](const Call& call) { return execute(call, choice, served); });

        ASSERT_TRUE(served) << trial.describe();
        ASSERT_EQ(given, expected) << algorithm.name << ": " << trial.describe();
    }
}

TEST_P(EveryAlgorithm, GivesTheSameWithoutWaiting) {
    const Algorithm& algorithm = *GetParam();
    for (unsigned seed = 100; seed < 100 + trials; ++seed) {
        Trial trial(algorithm.collective, seed, MPI_COMM_WORLD);
        if (!refusal(algorithm, trial.traits()).empty()) continue;
        const auto expected = trial.by_the_mpi();

        bool served = false;
        const auto given = trial.by([&](const Call& call) {
            PendingCall pending;
            const int code = start(call, {&algorithm, trial.segment_bytes(), 1}, served, pending);
            return served && code == MPI_SUCCESS ? wait(*pending) : code;
        });

        ASSERT_EQ(served, !shares_counts(algorithm)) << trial.describe();
        if (!served) continue;
        ASSERT_EQ(given, expected) << algorithm.name << ": " << trial.describe();
    }
}

// Segments and the memory that a call may use are told in bytes, and schedules count in elements.
TEST(Reductions, CountInElementsOfWhichEachHasTheBytesOfItsData) {
    CommunicatorState state;
    state.rank = 0;
    state.ranks = 1;
    for (const auto type : {MPI_CHAR, MPI_FLOAT, MPI_DOUBLE}) {
        double sent[3] = {};
        double received[3] = {};
        const Call call{.collective = Collective::allreduce,
                        .send = sent,
                        .receive = received,
                        .receive_count = 3,
                        .receive_type = type,
                        .op = MPI_SUM,
                        .comm = MPI_COMM_WORLD};
        Arrangement arrangement;
        int type_bytes = 0;
        MPI_Type_size(type, &type_bytes);

        arrange(call, state, arrangement);

        EXPECT_EQ(arrangement.unit_bytes, type_bytes);
        EXPECT_EQ(arrangement.count, 3);
    }
}

/* While it lives, calls may take so much memory for packing and scratch. */
class ScratchLimit {
  public:
    explicit ScratchLimit(std::int64_t bytes) { set_scratch_limit(bytes); }
    ~ScratchLimit() { set_scratch_limit(std::int64_t{256} << 20); }
    ScratchLimit(const ScratchLimit&) = delete;
    ScratchLimit& operator=(const ScratchLimit&) = delete;
};

/* `blocks` blocks of so many bytes, with as much between them. */
class Spread {
  public:
    Spread(int blocks, int block_bytes) {
        MPI_Datatype block = MPI_DATATYPE_NULL;
        MPI_Type_contiguous(block_bytes, MPI_BYTE, &block);
        MPI_Type_vector(blocks, 1, 2, block, &type_);
        MPI_Type_commit(&type_);
        MPI_Type_free(&block);
    }
    ~Spread() { MPI_Type_free(&type_); }
    Spread(const Spread&) = delete;
    Spread& operator=(const Spread&) = delete;
    MPI_Datatype type() const { return type_; }

  private:
    MPI_Datatype type_ = MPI_DATATYPE_NULL;
};

/* On how many ranks the call is served. */
int served_on(const Call& call, const char *algorithm) {
    bool served = false;
    const Choice choice{find_algorithm(call.collective, algorithm), 0, 1};
    EXPECT_EQ(execute(call, choice, served), MPI_SUCCESS);
    int number = served ? 1 : 0;
    MPI_Allreduce(MPI_IN_PLACE, &number, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    return number;
}

/* A call whose blocks have counts of their own, and lie apart on some ranks only. */
class UnequalBlocks {
  public:
    UnequalBlocks(Collective collective, int rank, int ranks) {
        int next = 0;
        for (int r = 0; r < ranks; ++r) {
            counts_.push_back(1 + 3 * (r % 3));
            displacements_.push_back(next);
            next += counts_.back() + rank % 2;
        }
        received_.resize(static_cast<std::size_t>(next));
        call_ = {.collective = collective,
                 .send = sent_.data(),
                 .send_count = counts_[static_cast<std::size_t>(rank)],
                 .send_type = MPI_INT,
                 .receive = received_.data(),
                 .receive_type = MPI_INT,
                 .counts = counts_.data(),
                 .displacements = displacements_.data(),
                 .op = MPI_SUM,
                 .comm = MPI_COMM_WORLD};
    }
    const Call& call() const { return call_; }

  private:
    std::vector<int> counts_;
    std::vector<int> displacements_;
    std::vector<int> sent_ = std::vector<int>(1024);
    std::vector<int> received_;
    Call call_{};
};

TEST(Scratch, BeyondTheLimitIsSeenByAllRanksOrByNoneWhereCountsAreUnequal) {
    auto& state = *state_of(MPI_COMM_WORLD);
    ASSERT_EQ(prepare_to_execute(state, MPI_COMM_WORLD), MPI_SUCCESS);
    for (const auto *algorithm : algorithms()) {
        const bool counted = algorithm->collective == Collective::allgatherv ||
                             algorithm->collective == Collective::reduce_scatter;
        const UnequalBlocks blocks(algorithm->collective, state.rank, state.ranks);
        if (!counted || !admits(*algorithm, blocks.call(), state)) continue;
        Arrangement arrangement;
        arrange(blocks.call(), state, arrangement);
        for (std::int64_t bytes = 0; bytes <= 200; bytes += 4) {
            const ScratchLimit limit(bytes);
            state.programs.clear();
            const auto& kept = program_for({algorithm, 0, 1}, blocks.call(), state, arrangement);
            const int mine = kept.program ? 1 : 0;
            int with_program = 0;
            MPI_Allreduce(&mine, &with_program, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);

            ASSERT_TRUE(with_program == 0 || with_program == state.ranks)
                << algorithm->name << " at a limit of " << bytes << " on rank " << state.rank;
            if (!kept.program) continue;
            const auto taken = scratch_bytes(*kept.program, arrangement);
            ASSERT_LE(taken, static_cast<std::size_t>(bytes)) << algorithm->name;
        }
    }
}

ProgramKey key_of(std::int64_t count) {
    ProgramKey key;
    key.count = count;
    return key;
}

/* Keeps programs for calls of 1, 2 and more elements; answers of how many calls there is one. */
int programs_kept_of(int calls, std::size_t instructions) {
    CommunicatorState state;
    const auto program = std::make_shared<Program>();
    program->instructions.resize(instructions);
    for (int count = 1; count <= calls; ++count) {
        state.keep({key_of(count), {}, {}, program});
        EXPECT_NE(state.find(key_of(count), {}, {}), nullptr);
        EXPECT_EQ(state.find(key_of(1), {}, {}) != nullptr, std::ssize(state.programs) == count);
    }
    return static_cast<int>(state.programs.size());
}

TEST(Programs, OfTheLatestCallsAreKeptAsManyAsTakeLittleMemory) {
    constexpr std::size_t bytes_max = std::size_t{16} << 20;
    constexpr auto most = bytes_max / sizeof(Instruction);

    EXPECT_EQ(programs_kept_of(100, 2), 100);
    EXPECT_EQ(programs_kept_of(300, 2), 128);
    EXPECT_EQ(programs_kept_of(10, most / 3), 3);
    EXPECT_EQ(programs_kept_of(3, 2 * most), 1);
}

TEST(Programs, ThatAreShortStayBesideALongOne) {
    CommunicatorState state;
    for (const std::int64_t count : {1, 2, 3}) {
        const auto program = std::make_shared<Program>();
        program->instructions.resize(count == 2 ? std::size_t{1} << 20 : 1);
        state.keep({key_of(count), {}, {}, program});
    }

    for (const std::int64_t count : {1, 2, 3})
        EXPECT_NE(state.find(key_of(count), {}, {}), nullptr) << count;
}

/* The first rank of a communicator of so many, on hosts of 16. */
std::unique_ptr<CommunicatorState> large_communicator() {
    auto state = std::make_unique<CommunicatorState>();
    state->ranks = 2048;
    for (int rank = 0; rank < state->ranks; ++rank) state->placement.hosts.push_back(rank / 16);
    return state;
}

/* Whether a call on it has a program; no memory is touched. */
bool has_program(Collective collective, const char *algorithm, MPI_Count doubles) {
    double buffer = 0;
    const Call call{.collective = collective,
                    .send = &buffer,
                    .send_count = doubles,
                    .send_type = MPI_DOUBLE,
                    .receive = &buffer,
                    .receive_count = doubles,
                    .receive_type = MPI_DOUBLE,
                    .op = MPI_SUM,
                    .comm = MPI_COMM_WORLD};
    const auto state = large_communicator();
    Arrangement arrangement;
    arrange(call, *state, arrangement);
    const Choice choice{find_algorithm(collective, algorithm), 0, 1};
    return program_for(choice, call, *state, arrangement).program != nullptr;
}

TEST(Scratch, ThatAnAlgorithmTakesIsAllThatCountsOnManyRanks) {
    constexpr MPI_Count mebi = MPI_Count{1} << 20;

    EXPECT_TRUE(has_program(Collective::gather, "linear", mebi));
    EXPECT_TRUE(has_program(Collective::allgather, "ring", mebi));
    EXPECT_TRUE(has_program(Collective::alltoall, "pairwise", mebi));
    EXPECT_TRUE(has_program(Collective::alltoall, "two_level", 128));
    EXPECT_TRUE(has_program(Collective::bcast, "binomial", 64 * mebi));
    EXPECT_TRUE(has_program(Collective::scan, "pipeline", mebi));
    EXPECT_TRUE(has_program(Collective::reduce_scatter, "direct", 1000));
    EXPECT_FALSE(has_program(Collective::scan, "direct", mebi));
    EXPECT_FALSE(has_program(Collective::alltoall, "bruck", mebi));
}

// The byte counts of a scatterv are given to all ranks in this way.
TEST(Scratch, IsNotTakenByABroadcastWhateverTheLimit) {
    const ScratchLimit limit(0);

    EXPECT_TRUE(has_program(Collective::bcast, "binomial", 2048));
}

TEST(Packing, CountsTowardsTheLimitOnMemoryAndNoRankIsServedWhereItExceedsItOnOne) {
    constexpr int block_bytes = 3 * 1024;
    int rank = 0;
    int ranks = 1;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    const Spread spread(3, block_bytes / 3);
    std::vector<std::byte> mine(2 * block_bytes);
    std::vector<std::byte> all(static_cast<std::size_t>(2 * block_bytes * ranks));
    Call call{.collective = Collective::allgather,
              .send = mine.data(),
              .send_count = block_bytes,
              .send_type = MPI_BYTE,
              .receive = all.data(),
              .receive_count = block_bytes,
              .receive_type = MPI_BYTE,
              .comm = MPI_COMM_WORLD};
    const ScratchLimit limit(block_bytes * ranks);

    EXPECT_EQ(served_on(call, "ring"), ranks);
    if (rank == 0) {
        call.send_count = call.receive_count = 1;
        call.send_type = call.receive_type = spread.type();
    }
    EXPECT_EQ(served_on(call, "ring"), 0);
    const ScratchLimit enough(2 * block_bytes * ranks);
    EXPECT_EQ(served_on(call, "ring"), ranks);
}

// No memory is touched: whoever looks at the data here would end the program.
TEST(Packing, OfAnElementBeyondTwoGibibytesIsLeftToTheMpiByAllRanks) {
    int ranks = 1;
    int rank = 0;
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    const Spread spread(3, 1 << 30);
    std::vector<int> counts(static_cast<std::size_t>(ranks), 0);
    const std::vector<int> displacements(counts.size(), 0);
    counts.back() = 1;
    std::byte nowhere{};

    const Call call{.collective = Collective::allgatherv,
                    .send = &nowhere,
                    .send_count = rank == ranks - 1 ? 1 : 0,
                    .send_type = spread.type(),
                    .receive = &nowhere,
                    .receive_type = spread.type(),
                    .counts = counts.data(),
                    .displacements = displacements.data(),
                    .comm = MPI_COMM_WORLD};

    EXPECT_EQ(served_on(call, "ring"), 0);
}

// Messages of a rank with an error are longer than expected.
TEST(Errors, LeaveWhatLiesBehindTheResultOfOtherRanksAsItWas) {
    int ranks = 1;
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    if (ranks < 2) GTEST_SKIP() << "needs two ranks";
    const ReturnedErrors returned;
    for (const auto *algorithm : {"recursive_doubling", "binomial", "direct", "linear_nb"}) {
        const double mine = 1;
        std::vector<double> result(2048, 7);
        // No MPI knows the place of a number by itself.
        const Call call{.collective = Collective::allreduce,
                        .send = &mine,
                        .receive = result.data(),
                        .receive_count = 1,
                        .receive_type = MPI_DOUBLE,
                        .op = MPI_MAXLOC,
                        .comm = MPI_COMM_WORLD};
        bool served = false;

        EXPECT_NE(execute(call, {find_algorithm(call.collective, algorithm), 0, 1}, served),
                  MPI_SUCCESS);

        EXPECT_EQ(std::count(result.begin() + 1, result.end(), 7), 2047) << algorithm;
    }
}

// The other rank would wait for ever. A call that is made again sends its message without a
// program, so the error comes before and after the first good one.
TEST(Errors, OfAnArgumentReachTheRankThatWaitsForTheMessage) {
    int rank = 0;
    int ranks = 1;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    if (ranks < 2) GTEST_SKIP() << "needs two ranks";
    const ReturnedErrors returned;
    const Choice linear{find_algorithm(Collective::gather, "linear"), 0, 1};
    const int mine = 100 + rank;
    std::vector<int> all(static_cast<std::size_t>(ranks));
    Call call{.collective = Collective::gather,
              .send = &mine,
              .send_count = 1,
              .send_type = MPI_INT,
              .receive = all.data(),
              .receive_count = 1,
              .receive_type = MPI_INT,
              .comm = MPI_COMM_WORLD};
    const bool is_last = rank == ranks - 1;
    for (const int nowhere : {1, 0, 1, 1, 0}) {
        bool served = false;
        call.send = is_last && nowhere ? nullptr : static_cast<const void *>(&mine);

        const int code = execute(call, linear, served);

        EXPECT_EQ(code != MPI_SUCCESS, nowhere && (is_last || rank == 0));
        EXPECT_TRUE(nowhere || rank != 0 || all.back() == 100 + ranks - 1);
    }
}

/* Executes at once, or begins and then waits. */
int execute_by(Calling calling, const Call& call, const Choice& choice) {
    bool served = false;
    PendingCall pending;
    const int code = calling == Calling::blocking ? execute(call, choice, served)
                                                  : start(call, choice, served, pending);
    EXPECT_TRUE(served);
    return pending ? wait(*pending) : code;
}

/* A number and a rank, with a gap behind them: what MPI_DOUBLE_INT describes. */
struct Located {
    double number;
    int rank;
};

// As another thread does that starts a call on the same communicator.
TEST(InPlace, InputsAreNotMixedUpWithWhatARankSendsItselfMeanwhile) {
    auto& state = *state_of(MPI_COMM_WORLD);
    ASSERT_EQ(prepare_to_execute(state, MPI_COMM_WORLD), MPI_SUCCESS);
    const auto blocks = static_cast<std::size_t>(state.ranks);
    const Choice direct{find_algorithm(Collective::reduce_scatter, "direct"), 0, 1};
    for (const auto calling : {Calling::blocking, Calling::nonblocking}) {
        const std::vector<Located> others(blocks, {1e9, -1});
        std::vector<Located> taken(blocks);
        std::vector<Located> mine(blocks, {1.0 * state.rank, state.rank});
        const Call call{.collective = Collective::reduce_scatter,
                        .send = MPI_IN_PLACE,
                        .receive = mine.data(),
                        .receive_count = 1,
                        .receive_type = MPI_DOUBLE_INT,
                        .op = MPI_MAXLOC,
                        .comm = MPI_COMM_WORLD};
        MPI_Request sent = MPI_REQUEST_NULL;
        MPI_Isend(others.data(), state.ranks, MPI_DOUBLE_INT, state.rank, 0, state.duplicate,
                  &sent);

        EXPECT_EQ(execute_by(calling, call, direct), MPI_SUCCESS);

        MPI_Recv(taken.data(), state.ranks, MPI_DOUBLE_INT, state.rank, 0, state.duplicate,
                 MPI_STATUS_IGNORE);
        MPI_Wait(&sent, MPI_STATUS_IGNORE);
        EXPECT_EQ(mine.front().rank, state.ranks - 1);
        EXPECT_EQ(taken.front().rank, -1);
    }
}

// Of several messages that it waits for, an MPI says at first only that one had an error.
TEST(Errors, OfOneOfSeveralMessagesHaveTheClassThatTheMpiGivesThem) {
    int rank = 0;
    int ranks = 1;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    if (ranks < 2) GTEST_SKIP() << "needs two ranks";
    const ReturnedErrors returned;
    const Choice at_once{find_algorithm(Collective::gather, "linear_nb"), 0, 1};
    const int mine[] = {100 + rank, 0};
    std::vector<int> all(static_cast<std::size_t>(ranks));
    const Call call{.collective = Collective::gather,
                    .send = mine,
                    .send_count = rank == 1 ? 2 : 1,
                    .send_type = MPI_INT,
                    .receive = all.data(),
                    .receive_count = 1,
                    .receive_type = MPI_INT,
                    .comm = MPI_COMM_WORLD};
    for (const auto calling : {Calling::blocking, Calling::nonblocking}) {
        int error_class = MPI_SUCCESS;
        MPI_Error_class(execute_by(calling, call, at_once), &error_class);

        EXPECT_EQ(error_class, rank == 0 ? MPI_ERR_TRUNCATE : MPI_SUCCESS);
        EXPECT_TRUE(rank != 0 || all.front() == 100);
    }
}

std::string name(const ::testing::TestParamInfo<const Algorithm *>& info) {
    return testing::test_name(*info.param);
}

INSTANTIATE_TEST_SUITE_P(, EveryAlgorithm, ::testing::ValuesIn(algorithms()), name);

}  // namespace
}  // namespace lanewise::collectives
