// SPDX-License-Identifier: BSD-3-Clause
//
// Calls that come again, among calls that nearly are the same: drawn from few
// counts, types, roots, operators, algorithms and communicators, so that most
// come back after others, each time with other memory and other data.

#include <gtest/gtest.h>

#include <array>
#include <cstddef>
#include <initializer_list>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "collectives/execute/cached_call.hpp"
#include "collectives/execute/execute.hpp"
#include "collectives/execute/testing/calls.hpp"
#include "testing/measuring.hpp"

namespace lanewise::collectives {
namespace {

using lanewise::testing::carry_out_by_the_mpi;
using lanewise::testing::rank_of;
using lanewise::testing::size_of;

using Memory = std::vector<long>;

/* Drawn alike on every rank. */
template <typename T>
T one_of(std::mt19937& random, std::initializer_list<T> choices) {
    return choices.begin()[random() % choices.size()];
}

/* The communicators of a test; one of them is now and then freed and made anew. */
class Communicators {
  public:
    Communicators() { PMPI_Comm_dup(MPI_COMM_WORLD, &second_); }
    ~Communicators() { PMPI_Comm_free(&second_); }
    Communicators(const Communicators&) = delete;
    Communicators& operator=(const Communicators&) = delete;

    MPI_Comm draw(std::mt19937& random) {
        if (random() % 16 == 0) {
            PMPI_Comm_free(&second_);
            PMPI_Comm_dup(MPI_COMM_WORLD, &second_);
        }
        return one_of(random, {MPI_COMM_WORLD, second_});
    }

  private:
    MPI_Comm second_ = MPI_COMM_NULL;
};

struct Repeatable {
    Call call; /* but for its buffers */
    Choice choice;
    bool in_place = false;
};

std::vector<const Algorithm *> algorithms_of(Collective collective, int ranks) {
    std::vector<const Algorithm *> usable;
    for (const auto *algorithm : algorithms()) {
        if (algorithm->collective != collective) continue;
        if (refusal(*algorithm, {.ranks = ranks}).empty()) usable.push_back(algorithm);
    }
    return usable;
}

Repeatable draw(Collective collective, std::mt19937& random, Communicators& communicators) {
    const int ranks = size_of(MPI_COMM_WORLD);
    Repeatable drawn;
    Call& call = drawn.call;
    call.collective = collective;
    call.comm = communicators.draw(random);
    call.root = one_of(random, {0, ranks - 1});
    call.receive_count = one_of(random, {1, 3});
    call.receive_type = one_of(random, {MPI_LONG, MPI_INT});
    const bool reduces = is_reduction(collective);
    if (reduces) call.op = one_of(random, {MPI_SUM, MPI_MAX});
    if (!reduces && collective != Collective::bcast) {
        call.send_count = call.receive_count;
        call.send_type = call.receive_type;
    }
    const auto usable = algorithms_of(collective, ranks);
    drawn.choice.algorithm = usable[random() % usable.size()];
    drawn.choice.segment_bytes = one_of<std::int64_t>(random, {0, 8});
    const bool can_be_in_place = collective != Collective::bcast;
    drawn.in_place = can_be_in_place && random() % 8 == 0;
    return drawn;
}

/* Points the call to `memory`: its first half is sent from, its second received into. */
Call in(Memory& memory, const Repeatable& drawn) {
    Call call = drawn.call;
    call.send = memory.data();
    call.receive = memory.data() + memory.size() / 2;
    if (!drawn.in_place) return call;
    const bool root = rank_of(call.comm) == call.root;
    const bool rooted =
        call.collective == Collective::gather || call.collective == Collective::reduce;
    if (call.collective == Collective::scatter) {
        if (root) call.receive = MPI_IN_PLACE;
    } else if (root || !rooted) {
        call.send = MPI_IN_PLACE;
    }
    return call;
}

class EveryCollective : public ::testing::TestWithParam<Collective> {};

TEST_P(EveryCollective, GivesWhatTheMpiGivesHoweverOftenAndInWhichOrderItIsCalled) {
    std::mt19937 random(7);
    std::mt19937 data(static_cast<unsigned>(rank_of(MPI_COMM_WORLD)));
    Communicators communicators;
    for (int i = 0; i < 400; ++i) {
        const auto drawn = draw(GetParam(), random, communicators);
        Memory given(static_cast<std::size_t>(6 * size_of(MPI_COMM_WORLD)));
        for (auto& number : given) number = static_cast<long>(data() % 1000);
        Memory expected = given;
        ASSERT_EQ(carry_out_by_the_mpi(in(expected, drawn)), MPI_SUCCESS);

        bool served = false;
        const int code = execute(in(given, drawn), drawn.choice, served);

        ASSERT_TRUE(served && code == MPI_SUCCESS) << drawn.choice.algorithm->name;
        ASSERT_EQ(given, expected) << i << ": " << drawn.choice.algorithm->name;
    }
}

std::string name(const ::testing::TestParamInfo<Collective>& info) {
    return name_of(info.param);
}

INSTANTIATE_TEST_SUITE_P(, EveryCollective,
                         ::testing::Values(Collective::bcast, Collective::scatter,
                                           Collective::gather, Collective::allgather,
                                           Collective::alltoall, Collective::reduce,
                                           Collective::allreduce, Collective::scan),
                         name);

/* The cached call, if it is prepared, of this thread. */
const CachedCall *prepared_call(const Call& call, const Choice& choice) {
    const auto *known = cached_call(call, choice);
    return known && known->prepared ? known : nullptr;
}

class AnAllreduce : public ::testing::Test {
  protected:
    void SetUp() override {
        bool served = false;
        execute(call_, choice_, served);
    }

    std::array<long, 2> numbers_{};
    std::array<long, 2> sums_{};
    Call call_{.collective = Collective::allreduce,
               .send = numbers_.data(),
               .receive = sums_.data(),
               .receive_count = 1,
               .receive_type = MPI_LONG,
               .op = MPI_SUM,
               .comm = MPI_COMM_WORLD};
    Choice choice_{find_algorithm(Collective::allreduce, "recursive_doubling"), 0, 1};
};

TEST(AnEntry, HasWhatALookupReadsInItsFirstCacheLine) {
    const CachedCall call;
    const auto *first = reinterpret_cast<const std::byte *>(&call);
    const auto *past_last = reinterpret_cast<const std::byte *>(&call.state);

    EXPECT_LE(past_last - first, static_cast<std::ptrdiff_t>(cache_line_bytes));
}

TEST_F(AnAllreduce, IsKnownAgainWithOtherBuffers) {
    call_.send = &numbers_[1];
    call_.receive = &sums_[1];

    EXPECT_NE(prepared_call(call_, choice_), nullptr);
}

TEST_F(AnAllreduce, IsAnotherCallIfAnythingElseIsDifferent) {
    const auto differs = [&](auto change) {
        Call call = call_;
        Choice choice = choice_;
        change(call, choice);
        return prepared_call(call, choice) == nullptr;
    };
    constexpr int counts[] = {1};

    EXPECT_TRUE(differs([](Call& call, Choice&) { call.receive_count = 2; }));
    EXPECT_TRUE(differs([](Call& call, Choice&) { call.receive_type = MPI_INT; }));
    EXPECT_TRUE(differs([](Call& call, Choice&) { call.op = MPI_MAX; }));
    EXPECT_TRUE(differs([](Call& call, Choice&) { call.root = 1; }));
    EXPECT_TRUE(differs([](Call& call, Choice&) { call.comm = MPI_COMM_SELF; }));
    EXPECT_TRUE(differs([](Call& call, Choice&) { call.send = MPI_IN_PLACE; }));
    EXPECT_TRUE(differs([&](Call& call, Choice&) { call.counts = counts; }));
    EXPECT_TRUE(differs([](Call&, Choice& choice) { choice.segment_bytes = 8; }));
    EXPECT_TRUE(differs([](Call&, Choice& choice) { choice.lanes = 2; }));
    EXPECT_TRUE(differs([](Call&, Choice& choice) {
        choice.algorithm = find_algorithm(Collective::allreduce, "ring");
    }));
}

TEST_F(AnAllreduce, IsKnownAgainAfterManyOthers) {
    Call other = call_;
    std::vector<long> numbers(300);
    std::vector<long> sums(300);
    other.send = numbers.data();
    other.receive = sums.data();
    bool served = false;
    int known_again = 0;
    for (int count = 1; count <= 16; ++count) {
        other.receive_count = count;
        execute(other, choice_, served);
    }
    for (int count = 1; count <= 16; ++count) {
        other.receive_count = count;
        known_again += prepared_call(other, choice_) ? 1 : 0;
    }

    EXPECT_EQ(known_again, 16);
}

TEST_F(AnAllreduce, IsDecidedByItsCallerAndNotByRules) {
    EXPECT_EQ(cached_call(Collective::allreduce, call_), nullptr);
}

TEST_F(AnAllreduce, IsNotPreparedWhereItIsInPlaceOrHasAnOperatorOfTheProgram) {
    MPI_Op own = MPI_OP_NULL;
    PMPI_Op_create([](void *, void *, int *, MPI_Datatype *) {}, 1, &own);
    Call in_place = call_;
    in_place.send = MPI_IN_PLACE;
    Call by_own_operator = call_;
    by_own_operator.op = own;
    bool served = false;

    execute(in_place, choice_, served);
    execute(by_own_operator, choice_, served);

    EXPECT_EQ(prepared_call(in_place, choice_), nullptr);
    EXPECT_EQ(prepared_call(by_own_operator, choice_), nullptr);
    PMPI_Op_free(&own);
}

TEST_F(AnAllreduce, IsNotKeptWhereItsTypeCanBeFreed) {
    Call call = call_;
    PMPI_Type_contiguous(1, MPI_LONG, &call.receive_type);
    PMPI_Type_commit(&call.receive_type);
    CachedCall decided;
    decided.choice = choice_;

    EXPECT_EQ(&keep(call, decided), &decided);
    PMPI_Type_free(&call.receive_type);
}

TEST_F(AnAllreduce, IsUnknownToOtherThreads) {
    bool known = true;
    std::thread([&] { known = cached_call(call_, choice_) != nullptr; }).join();

    EXPECT_FALSE(known);
}

TEST_F(AnAllreduce, IsForgottenWhenAnyCommunicatorThatWasUsedDies) {
    MPI_Comm other = MPI_COMM_NULL;
    PMPI_Comm_dup(MPI_COMM_WORLD, &other);
    Call call = call_;
    call.comm = other;
    bool served = false;
    execute(call, choice_, served);
    execute(call_, choice_, served);

    PMPI_Comm_free(&other);

    EXPECT_EQ(prepared_call(call_, choice_), nullptr);
}

TEST(ACommunicator, HasNoStateThatIsKnownUntilItIsAskedForOne) {
    MPI_Comm comm = MPI_COMM_NULL;
    PMPI_Comm_dup(MPI_COMM_WORLD, &comm);

    const auto *before = known_state_of(comm);
    const auto *made = state_of(comm);

    EXPECT_EQ(before, nullptr);
    EXPECT_NE(made, nullptr);
    EXPECT_EQ(known_state_of(comm), made);
    PMPI_Comm_free(&comm);
}

}  // namespace
}  // namespace lanewise::collectives
