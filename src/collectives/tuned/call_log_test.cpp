// SPDX-License-Identifier: BSD-3-Clause
//
// What the log makes of calls that hardly any program makes alike twice: handles that are reused at
// once, communicators that ranks use in different orders, and more of them than are listed.

#include "collectives/tuned/call_log.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <mpi.h>

#include <algorithm>
#include <vector>

#include "collectives/tuned/pending_calls.hpp"

namespace lanewise::tuned {
namespace {

using collectives::Call;
using collectives::Collective;
using ::testing::Each;
using ::testing::SizeIs;

int world_rank() {
    int rank = 0;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    return rank;
}

/* A duplicate of the world, so that no earlier log knows it. */
class Duplicate {
  public:
    explicit Duplicate(MPI_Comm of = MPI_COMM_WORLD) { MPI_Comm_dup(of, &comm_); }
    ~Duplicate() { MPI_Comm_free(&comm_); }
    Duplicate(const Duplicate&) = delete;
    Duplicate& operator=(const Duplicate&) = delete;
    MPI_Comm get() const { return comm_; }

  private:
    MPI_Comm comm_ = MPI_COMM_NULL;
};

/* Calls are logged while it lives. */
class Logged {
  public:
    Logged() {
        EXPECT_TRUE(prepare_log(1000));
        recording = true;
    }
    ~Logged() { end(); }
    Logged(const Logged&) = delete;
    Logged& operator=(const Logged&) = delete;

    CallLog end() {
        drop_pending();
        recording = false;
        return take_log();
    }
};

Call barrier_on(MPI_Comm comm) {
    return {.collective = Collective::barrier, .comm = comm};
}

void start_and_keep(MPI_Comm comm, MPI_Request request) {
    const auto now_ns = monotonic_ns();
    keep_started(barrier_on(comm), nullptr, request, now_ns, now_ns);
}

/* A request that is never started, for its handle. */
class Handle {
  public:
    Handle() { MPI_Recv_init(nullptr, 0, MPI_BYTE, MPI_PROC_NULL, 0, MPI_COMM_WORLD, &request_); }
    ~Handle() { MPI_Request_free(&request_); }
    Handle(const Handle&) = delete;
    Handle& operator=(const Handle&) = delete;
    MPI_Request get() const { return request_; }

  private:
    MPI_Request request_ = MPI_REQUEST_NULL;
};

void find_complete(MPI_Request request) {
    CompletionCall completion_call(1, [&](int) { return request; });
    completion_call.all_done();
}

TEST(CallLog, EndsTheCallThatWasWaitedForWhereAnotherHasItsHandleByThen) {
    const Duplicate comm;
    const Handle handle;
    Logged logged;
    start_and_keep(comm.get(), handle.get());
    std::int64_t reused_ns = 0;
    {
        CompletionCall completion_call(1, [&](int) { return handle.get(); });
        while (reused_ns == 0 || monotonic_ns() == reused_ns) reused_ns = monotonic_ns();
        start_and_keep(comm.get(), handle.get());
        completion_call.all_done();
    }
    const int pending = known_requests;

    find_complete(handle.get());
    const auto log = logged.end();

    EXPECT_EQ(pending, 1);
    EXPECT_EQ(log.unrecorded.nonblocking, 0U);
    ASSERT_THAT(log.calls, SizeIs(2));
    EXPECT_EQ(log.calls[0].call, 0U);
    EXPECT_LT(log.calls[0].entry_ns, reused_ns);
    EXPECT_EQ(log.calls[1].call, 1U);
    EXPECT_GT(log.calls[1].entry_ns, reused_ns);
}

TEST(CallLog, EndsEachOfSeveralCallsThatShareTheHandleOfWhatIsComplete) {
    const Duplicate comm;
    const Handle handle;
    Logged logged;
    for (int call = 0; call < 3; ++call) start_and_keep(comm.get(), handle.get());

    for (int call = 0; call < 3; ++call) find_complete(handle.get());
    const auto log = logged.end();

    EXPECT_THAT(log.calls, SizeIs(3));
    EXPECT_EQ(log.unrecorded.nonblocking, 0U);
}

/* A program tests so, and finds nothing. */
void find_pending(MPI_Request request) {
    const CompletionCall completion_call(1, [&](int) { return request; });
}

std::int64_t asking_ns(const LoggedCall& call) {
    return call.exit_ns - call.entry_ns - call.asked_after_ns - call.computing_ns;
}

TEST(CallLog, CountsAllThatAProgramWaitsWhichDoesNothingButTestAsTimeInCalls) {
    const Duplicate comm;
    const Handle handle;
    Logged logged;
    start_and_keep(comm.get(), handle.get());

    for (int test = 0; test < 1000; ++test) find_pending(handle.get());
    find_complete(handle.get());
    const auto log = logged.end();

    ASSERT_THAT(log.calls, SizeIs(1));
    EXPECT_EQ(log.in_calls_ns, asking_ns(log.calls[0]));
}

TEST(CallLog, CountsTimeInCallsOnceWhereAProgramTestsSeveralRequestsInTurn) {
    const Duplicate comm;
    const Handle first;
    const Handle second;
    Logged logged;
    for (const auto *handle : {&first, &second}) start_and_keep(comm.get(), handle->get());

    const auto begin_ns = monotonic_ns();
    for (int test = 0; test < 1000; ++test) {
        for (const auto *handle : {&first, &second}) find_pending(handle->get());
    }
    const auto elapsed_ns = monotonic_ns() - begin_ns;
    const auto log = logged.end();

    EXPECT_GT(log.in_calls_ns, 0);
    EXPECT_LE(log.in_calls_ns, elapsed_ns);
}

/* The time in calls is at most what passes while a program tests a request over and over and makes
   one more recorded call between two tests. */
template <typename Between>
void count_once(const Between& make_between) {
    const Duplicate comm;
    const Handle handle;
    Logged logged;
    start_and_keep(comm.get(), handle.get());
    const auto between = make_between(barrier_on(comm.get()));

    const auto begin_ns = monotonic_ns();
    for (int test = 0; test < 1000; ++test) {
        find_pending(handle.get());
        between();
    }
    const auto elapsed_ns = monotonic_ns() - begin_ns;
    const auto log = logged.end();

    EXPECT_GT(log.in_calls_ns, 0);
    EXPECT_LE(log.in_calls_ns, elapsed_ns);
}

/* A call of the MPI that takes a while, but less than the longest pause that counts as waiting. */
int call_for_a_while() {
    const auto begin_ns = monotonic_ns();
    while (monotonic_ns() < begin_ns + 400) {
    }
    return MPI_SUCCESS;
}

TEST(CallLog, CountsBlockingCallsBetweenTwoTestsOnce) {
    count_once(
        [](const Call& call) { return [call] { recorded(call, nullptr, call_for_a_while); }; });
}

TEST(CallLog, CountsStartsOfNonblockingCallsBetweenTwoTestsOnce) {
    count_once([](const Call& call) {
        return [call] {
            recorded_start(call, nullptr, call_for_a_while, [] { return MPI_REQUEST_NULL; });
        };
    });
}

TEST(CallLog, CountsStartsOfPersistentCallsBetweenTwoTestsOnce) {
    const Handle persistent;
    count_once([&](const Call& call) {
        keep_prepared(call, persistent.get());
        return [&] {
            const auto entry_ns = monotonic_ns();
            call_for_a_while();
            begin_persistent({persistent.get()}, nullptr, entry_ns, monotonic_ns());
        };
    });
}

/* Between the first rank and all others. */
class BetweenGroups {
  public:
    BetweenGroups() {
        const bool first = world_rank() == 0;
        MPI_Comm_split(MPI_COMM_WORLD, first ? 0 : 1, 0, &own_);
        MPI_Intercomm_create(own_, 0, MPI_COMM_WORLD, first ? 1 : 0, 0, &comm_);
    }
    ~BetweenGroups() {
        for (auto *comm : {&comm_, &own_}) MPI_Comm_free(comm);
    }
    BetweenGroups(const BetweenGroups&) = delete;
    BetweenGroups& operator=(const BetweenGroups&) = delete;
    MPI_Comm get() const { return comm_; }

  private:
    MPI_Comm own_ = MPI_COMM_NULL;
    MPI_Comm comm_ = MPI_COMM_NULL;
};

void wait_for_a_while(MPI_Request request) {
    CompletionCall completion_call(1, [&](int) { return request; });
    call_for_a_while();
    completion_call.all_done();
}

CallLog log_of_a_wait(MPI_Comm comm) {
    const Handle handle;
    Logged logged;
    start_and_keep(comm, handle.get());
    wait_for_a_while(handle.get());
    return logged.end();
}

TEST(CallLog, CountsWaitsForCallsThatAreNotAttributedAsTimeInCalls) {
    const BetweenGroups between_groups;
    const Duplicate alone(MPI_COMM_SELF);

    for (const auto& log : {log_of_a_wait(between_groups.get()), log_of_a_wait(alone.get())}) {
        EXPECT_GE(log.in_calls_ns, 400);
        EXPECT_THAT(log.calls, SizeIs(0));
        EXPECT_EQ(log.unrecorded.nonblocking, 0U);
    }
}

TEST(CallLog, CountsWaitsForPersistentCallsThatAreNotAttributedAsTimeInCalls) {
    const BetweenGroups between_groups;
    const Handle handle;
    Logged logged;
    keep_prepared(barrier_on(between_groups.get()), handle.get());
    const auto now_ns = monotonic_ns();
    begin_persistent({handle.get()}, nullptr, now_ns, now_ns);

    wait_for_a_while(handle.get());
    const auto log = logged.end();

    EXPECT_GE(log.in_calls_ns, 400);
    EXPECT_THAT(log.calls, SizeIs(0));
}

TEST(CallLog, GivesNoNumberToACallWithAWrongArgument) {
    const Duplicate comm;
    MPI_Comm_set_errhandler(comm.get(), MPI_ERRORS_RETURN);
    Logged logged;
    int value = 0;

    const int failed = MPI_Bcast(&value, -1, MPI_INT, 0, comm.get());
    MPI_Bcast(&value, 1, MPI_INT, 0, comm.get());
    const auto log = logged.end();

    EXPECT_NE(failed, MPI_SUCCESS);
    ASSERT_THAT(log.calls, SizeIs(1));
    EXPECT_EQ(log.calls[0].call, 0U);
    EXPECT_EQ(log.calls[0].bytes, sizeof value);
}

/* As the MPI does whose error handler throws. */
struct Thrown {};
int throw_error() {
    throw Thrown{};
}

TEST(CallLog, GoesOnAfterAnErrorHandlerThatThrows) {
    const Duplicate comm;
    const auto call = barrier_on(comm.get());
    Logged logged;

    EXPECT_THROW(recorded(call, nullptr, throw_error), Thrown);
    EXPECT_THROW(recorded_start(call, nullptr, throw_error, [] { return MPI_REQUEST_NULL; }),
                 Thrown);
    MPI_Barrier(comm.get());
    const auto log = logged.end();

    ASSERT_THAT(log.calls, SizeIs(1));
    EXPECT_EQ(log.calls[0].call, 0U);
}

/* What the ranks know each of these communicators by, for a log that they begin in any order. */
std::vector<std::uint64_t> ids_of(const std::vector<MPI_Comm>& comms, Logged& logged) {
    std::vector<std::size_t> numbers(comms.size());
    for (std::size_t i = 0; i < comms.size(); ++i) {
        const auto at = world_rank() % 2 == 0 ? i : comms.size() - 1 - i;
        numbers[at] = begin_call(barrier_on(comms[at]), nullptr, profile::Form::nonblocking)
                          .value()
                          .communicator;
    }
    const auto log = logged.end();
    std::vector<std::uint64_t> ids;
    for (const auto number : numbers) ids.push_back(log.communicators[number].id);
    return ids;
}

TEST(CallLog, KnowsCommunicatorsByTheSameNumbersOnAllRanksInWhateverOrderTheyCall) {
    int size = 0;
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    Logged logged;
    const Duplicate first;
    const Duplicate second;
    const Duplicate of_first(first.get());
    MPI_Comm line = MPI_COMM_NULL;
    const int open = 0;
    MPI_Cart_create(second.get(), 1, &size, &open, 0, &line);
    MPI_Comm grouped[2];
    MPI_Group group = MPI_GROUP_NULL;
    MPI_Comm_group(MPI_COMM_WORLD, &group);
    for (int tag = 0; tag < 2; ++tag) {
        MPI_Comm_create_group(MPI_COMM_WORLD, group, tag, &grouped[tag]);
    }
    MPI_Comm later = MPI_COMM_NULL;
    MPI_Request request = MPI_REQUEST_NULL;
    MPI_Comm_idup(first.get(), &later, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);

    const auto mine = ids_of(
        {first.get(), second.get(), of_first.get(), line, grouped[0], grouped[1], later}, logged);

    auto of_first_rank = mine;
    MPI_Bcast(of_first_rank.data(), static_cast<int>(mine.size()), MPI_UINT64_T, 0, MPI_COMM_WORLD);
    EXPECT_EQ(mine, of_first_rank);
    for (std::size_t i = 0; i < mine.size(); ++i) {
        for (std::size_t k = 0; k < i; ++k) EXPECT_NE(mine[i], mine[k]) << i << " and " << k;
    }
    MPI_Group_free(&group);
    for (auto *comm : {&line, &grouped[0], &grouped[1], &later}) MPI_Comm_free(comm);
}

TEST(CallLog, CountsCallsAsForgottenWhereThereAreMoreRequestsThanAreListed) {
    const Duplicate comm;
    Logged logged;
    auto prepared = prepare_call(barrier_on(comm.get()));
    for (std::size_t i = 0; i < communicators_max; ++i) {
        prepared = prepare_call(barrier_on(comm.get()));
    }
    ASSERT_TRUE(prepared.has_value());

    add_to_log(*prepared);
    MPI_Barrier(comm.get());
    const auto log = logged.end();

    EXPECT_EQ(log.unrecorded.forgotten, 1U);
    EXPECT_THAT(log.communicators, SizeIs(communicators_max));
    EXPECT_THAT(log.calls, SizeIs(1)) << "the communicator itself was listed in time";
}

TEST(CallLog, CountsCallsFromMorePlacesThanItTellsApartWhereItKeepsThem) {
    const std::vector<char> program(3000);
    const Duplicate comm;
    const auto call = barrier_on(comm.get());
    Logged logged;

    std::size_t told_apart = 0;
    for (const char& place : program) {
        log_call(call, &place, 0, 0);
        if (number_of_site(&place) != 0) ++told_apart;
    }
    begin_call(call, nullptr, profile::Form::nonblocking);
    const auto log = logged.end();

    const auto kept =
        std::ranges::count_if(log.calls, [&](const auto& one) { return one.call >= told_apart; });
    EXPECT_EQ(log.sites.size(), told_apart + 1) << "the first site is the unknown one";
    EXPECT_GT(kept, 0);
    EXPECT_EQ(count_unplaced(log), kept);
}

TEST(CallLog, TakesNoMoreRoomThanThereCanBe) {
    EXPECT_FALSE(prepare_log(~std::size_t{0}));
}

}  // namespace
}  // namespace lanewise::tuned
