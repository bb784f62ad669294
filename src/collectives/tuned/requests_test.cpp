// SPDX-License-Identifier: BSD-3-Clause
//
// The nonblocking functions, linked into this program (see testing/prepared.hpp):
// results are those of the MPI's own, requests are waited for in every way that
// there is, and a rank that is busy in another call holds nobody up.

#include <gtest/gtest.h>
#include <mpi.h>
#if defined(OPEN_MPI) && !defined(LANEWISE_HAS_PERSISTENT)
#include <mpi-ext.h>
#endif

#include <numeric>
#include <random>
#include <thread>
#include <vector>

#include "collectives/execute/progress.hpp"
#include "collectives/execute/request.hpp"
#include "collectives/execute/testing/calls.hpp"
#include "collectives/tuned/intercept.hpp"
#include "collectives/tuned/testing/prepared.hpp"

namespace lanewise::tuned {
namespace {

using namespace collectives;
using lanewise::testing::begin_by_the_mpi;
using lanewise::testing::Trial;
using testing::first_of;
using testing::passed_by;
using testing::world_rank;
using testing::world_size;

Operation later(Collective collective) {
    return {collective, Calling::nonblocking};
}

bool is_served(Collective collective) {
    return first_of(later(collective)) != nullptr;
}

/* A communicator on which the ranks have agreed already, which takes a blocking call. */
class Met {
  public:
    Met() {
        MPI_Comm_dup(MPI_COMM_WORLD, &comm_);
        MPI_Barrier(comm_);
    }
    ~Met() {
        if (comm_ != MPI_COMM_NULL) MPI_Comm_free(&comm_);
    }
    Met(const Met&) = delete;
    Met& operator=(const Met&) = delete;
    MPI_Comm get() const { return comm_; }
    void free() { MPI_Comm_free(&comm_); }

  private:
    MPI_Comm comm_ = MPI_COMM_NULL;
};

class EveryCollective : public ::testing::TestWithParam<int> {};

TEST_P(EveryCollective, FollowsItsRuleAndGivesWhatTheMpiGives) {
    const auto collective = static_cast<Collective>(GetParam());
    const auto *algorithm = first_of(later(collective));
    const Met met;
    for (unsigned seed = 0; seed < 20; ++seed) {
        Trial trial(collective, seed, met.get());
        active = false;
        const auto expected = trial.by_the_mpi();
        active = true;
        std::vector<int> given;

        const int passed = passed_by([&] {
            given = trial.by([](const Call& call) {
                MPI_Request request = MPI_REQUEST_NULL;
                const int code = begin_by_the_mpi(call, &request);
                return code == MPI_SUCCESS ? MPI_Wait(&request, MPI_STATUS_IGNORE) : code;
            });
        });

        // Open MPI gives blocks of a neighbor that is there twice in another order than its
        // blocking function.
        const bool served = algorithm && refusal(*algorithm, trial.traits()).empty();
        const bool is_open = !served && trial.traits().repeated_edges;
        if (!is_open) {
            ASSERT_EQ(given, expected) << trial.describe();
        }
        if (collective == Collective::reduce_scatter) continue;
        EXPECT_EQ(passed, served ? 0 : 1) << trial.describe();
    }
}

std::string name(const ::testing::TestParamInfo<int>& info) {
    return name_of(later(static_cast<Collective>(info.param)));
}

INSTANTIATE_TEST_SUITE_P(, EveryCollective, ::testing::Range(0, collective_count), name);

TEST(Requests, ARankInAnotherCallDoesNotHoldUpTheOthers) {
    const Met met;
    const int last = world_size() - 1;
    for (int root = 0; root < world_size(); ++root) {
        int value = world_rank() == root ? 100 + root : -1;
        int word = -1;
        MPI_Request request = MPI_REQUEST_NULL;

        MPI_Ibcast(&value, 1, MPI_INT, root, met.get(), &request);
        // All but the last rank wait for what the last one sends when it has its part.
        if (world_rank() < last) {
            MPI_Recv(&word, 1, MPI_INT, last, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            MPI_Wait(&request, MPI_STATUS_IGNORE);
        } else {
            MPI_Wait(&request, MPI_STATUS_IGNORE);
            for (int r = 0; r < last; ++r) MPI_Send(&root, 1, MPI_INT, r, 7, MPI_COMM_WORLD);
        }

        EXPECT_EQ(value, 100 + root);
    }
}

TEST(Requests, ACallDoesNotWaitForRanksThatHaveNotMadeItYet) {
    const Met met;
    const int first = 0;
    const int last = world_size() - 1;
    std::vector<int> vector(1 << 16, world_rank());
    std::vector<int> sum(vector.size());
    int word = 0;
    MPI_Request request = MPI_REQUEST_NULL;

    if (world_rank() == last) {
        MPI_Recv(&word, 1, MPI_INT, first, 8, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
    MPI_Iallreduce(vector.data(), sum.data(), static_cast<int>(sum.size()), MPI_INT, MPI_SUM,
                   met.get(), &request);
    if (world_rank() == first) MPI_Send(&word, 1, MPI_INT, last, 8, MPI_COMM_WORLD);
    MPI_Wait(&request, MPI_STATUS_IGNORE);

    EXPECT_EQ(sum.back(), last * (last + 1) / 2);
}

/* Many calls on one communicator, of several collectives, each with memory of its own. */
class Many {
  public:
    static constexpr int rounds = 60;

    explicit Many(MPI_Comm comm) {
        for (int i = 0; i < rounds; ++i) {
            auto& one = all_[static_cast<std::size_t>(i)];
            one.sent.assign(static_cast<std::size_t>(world_size()), 10 * i + world_rank());
            one.received.assign(one.sent.size(), -1);
            auto *request = &requests[static_cast<std::size_t>(i)];
            if (i % 3 == 0) {
                MPI_Ibcast(one.sent.data(), world_size(), MPI_INT, i % world_size(), comm, request);
            } else if (i % 3 == 1) {
                MPI_Iallgather(one.sent.data(), 1, MPI_INT, one.received.data(), 1, MPI_INT, comm,
                               request);
            } else {
                MPI_Ialltoall(one.sent.data(), 1, MPI_INT, one.received.data(), 1, MPI_INT, comm,
                              request);
            }
        }
    }

    void expect_right() const {
        for (int i = 0; i < rounds; ++i) {
            const auto& one = all_[static_cast<std::size_t>(i)];
            if (i % 3 == 0) {
                EXPECT_EQ(one.sent.back(), 10 * i + i % world_size()) << i;
            } else {
                for (int r = 0; r < world_size(); ++r) {
                    EXPECT_EQ(one.received[static_cast<std::size_t>(r)], 10 * i + r) << i;
                }
            }
        }
    }

    MPI_Request requests[rounds];

  private:
    struct One {
        std::vector<int> sent;
        std::vector<int> received;
    };
    One all_[rounds];
};

TEST(Requests, ManyAreInFlightAtOnceAndAllAreWaitedForTogether) {
    const Met met;
    Many many(met.get());

    MPI_Waitall(Many::rounds, many.requests, MPI_STATUSES_IGNORE);

    many.expect_right();
    for (const auto request : many.requests) EXPECT_EQ(request, MPI_REQUEST_NULL);
}

TEST(Requests, TheyAreWaitedForOneByOneAsTheyCome) {
    const Met met;
    Many many(met.get());
    int waited = 0;

    for (int index = 0; index != MPI_UNDEFINED; ++waited) {
        MPI_Waitany(Many::rounds, many.requests, &index, MPI_STATUS_IGNORE);
    }

    EXPECT_EQ(waited, Many::rounds + 1);
    many.expect_right();
}

TEST(Requests, TheyAreWaitedForSomeAtATimeWithStatuses) {
    const Met met;
    Many many(met.get());
    int indices[Many::rounds];
    MPI_Status statuses[Many::rounds];
    int waited = 0;

    for (int count = 0; count != MPI_UNDEFINED;) {
        MPI_Waitsome(Many::rounds, many.requests, &count, indices, statuses);
        if (count != MPI_UNDEFINED) waited += count;
    }

    EXPECT_EQ(waited, Many::rounds);
    many.expect_right();
}

TEST(Requests, TheyAreTestedInEveryWayUntilTheyAreComplete) {
    const Met met;
    Many many(met.get());
    Many more(met.get());
    Many most(met.get());
    int done = 0;

    for (auto& request : many.requests) {
        for (done = 0; done == 0;) MPI_Test(&request, &done, MPI_STATUS_IGNORE);
    }
    for (done = 0; done == 0;) MPI_Testall(Many::rounds, more.requests, &done, MPI_STATUSES_IGNORE);
    for (int index = 0, left = Many::rounds; left > 0; left -= done) {
        MPI_Testany(Many::rounds, most.requests, &index, &done, MPI_STATUS_IGNORE);
    }

    many.expect_right();
    more.expect_right();
    most.expect_right();
}

TEST(Requests, RanksWaitForThemInDifferentOrders) {
    const Met met;
    Many many(met.get());

    for (int i = 0; i < Many::rounds; ++i) {
        const int at = world_rank() % 2 == 0 ? i : Many::rounds - 1 - i;
        MPI_Wait(&many.requests[at], MPI_STATUS_IGNORE);
    }

    many.expect_right();
}

TEST(Requests, BlockingCallsComeBetweenThem) {
    const Met met;
    int early = world_rank() == 0 ? 1 : 0;
    const int mine = world_rank();
    int sum = 0;
    MPI_Request request = MPI_REQUEST_NULL;

    MPI_Ibcast(&early, 1, MPI_INT, 0, met.get(), &request);
    MPI_Allreduce(&mine, &sum, 1, MPI_INT, MPI_SUM, met.get());
    MPI_Wait(&request, MPI_STATUS_IGNORE);

    EXPECT_EQ(early, 1);
    EXPECT_EQ(sum, world_size() * (world_size() - 1) / 2);
}

/* Received counts, which off the root mean nothing, with which gathers of one number lie in that
   set of this thread's table where all nonblocking gathers have their common entry. */
std::vector<int> crowding_counts(Calling calling, MPI_Comm comm, std::size_t wanted) {
    const auto *crowded = set_of(comm, later(Collective::gather), 0);
    std::vector<int> counts;
    for (int count = 1; counts.size() < wanted; ++count) {
        const Call call{.send_count = 1, .receive_count = count};
        const auto arguments = mixed_arguments(call, nullptr);
        if (set_of(comm, {Collective::gather, calling}, arguments) == crowded) {
            counts.push_back(count);
        }
    }
    return counts;
}

TEST(Requests, CallsComeAgainWhenOthersHaveCrowdedThemOutOfTheTable) {
    if (!is_served(Collective::gather)) GTEST_SKIP() << "the MPI's own";
    const Met met;
    const int mine = 10 + world_rank();
    std::vector<int> gathered(static_cast<std::size_t>(world_size()));
    const auto gather = [&](int received, Calling calling) {
        const int count = world_rank() == 0 ? 1 : received;
        if (calling == Calling::blocking) {
            MPI_Gather(&mine, 1, MPI_INT, gathered.data(), count, MPI_INT, 0, met.get());
            return;
        }
        MPI_Request request = MPI_REQUEST_NULL;
        MPI_Igather(&mine, 1, MPI_INT, gathered.data(), count, MPI_INT, 0, met.get(), &request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
    };
    gather(1, Calling::blocking);
    std::mt19937 random(7);

    for (int round = 0; round < 400; ++round) {
        const auto calling = random() % 2 == 0 ? Calling::blocking : Calling::nonblocking;
        const auto counts = crowding_counts(calling, met.get(), cached_call_ways);
        const int count = counts[random() % counts.size()];
        gathered.assign(gathered.size(), -1);

        ASSERT_EQ(passed_by([&] { gather(count, calling); }), 0) << round;
        for (int r = 0; world_rank() == 0 && r < world_size(); ++r) {
            ASSERT_EQ(gathered[static_cast<std::size_t>(r)], 10 + r) << round;
        }
    }
}

TEST(Requests, CommunicatorAndDatatypeMayBeFreedWhileTheyAreInUse) {
    for (int round = 0; round < 50; ++round) {
        Met met;
        MPI_Datatype spread = MPI_DATATYPE_NULL;
        MPI_Type_create_resized(MPI_INT, 0, 3 * sizeof(int), &spread);
        MPI_Type_commit(&spread);
        std::vector<int> received(3 * static_cast<std::size_t>(world_size()), -1);
        int mine = round + world_rank();
        MPI_Request request = MPI_REQUEST_NULL;

        MPI_Iallgather(&mine, 1, MPI_INT, received.data(), 1, spread, met.get(), &request);
        MPI_Type_free(&spread);
        met.free();
        MPI_Wait(&request, MPI_STATUS_IGNORE);

        for (int r = 0; r < world_size(); ++r) {
            EXPECT_EQ(received[3 * static_cast<std::size_t>(r)], round + r);
        }
        EXPECT_EQ(received[1], -1);
    }
}

TEST(Requests, TheFirstCallOnACommunicatorWaitsForNobodyAndPasses) {
    MPI_Comm comm = MPI_COMM_NULL;
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    int value = world_rank();
    const auto broadcast = [&] {
        MPI_Request request = MPI_REQUEST_NULL;
        MPI_Ibcast(&value, 1, MPI_INT, 0, comm, &request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
    };

    EXPECT_EQ(passed_by(broadcast), 1);
    MPI_Barrier(comm);
    EXPECT_EQ(passed_by(broadcast), is_served(Collective::bcast) ? 0 : 1);
    EXPECT_EQ(value, 0);
    MPI_Comm_free(&comm);
}

TEST(Requests, OneThatIsFreedUnwaitedForEndsAllTheSame) {
    if (!is_served(Collective::bcast)) GTEST_SKIP() << "the MPI's own";
    if (progress_here() != Progress::in_any_call) GTEST_SKIP() << "nobody asks after it";
    const Met met;
    static volatile int value = 0;
    value = world_rank() == 0 ? 9 : 0;
    MPI_Request request = MPI_REQUEST_NULL;

    // MPI forbids it; a program that does it all the same shall not be the worse for us.
    MPI_Ibcast(const_cast<int *>(&value), 1, MPI_INT, 0, met.get(), &request);
    MPI_Request_free(&request);
    int found = 0;
    while (value != 9) {
        MPI_Iprobe(MPI_ANY_SOURCE, 99, MPI_COMM_WORLD, &found, MPI_STATUS_IGNORE);
    }

    EXPECT_EQ(request, MPI_REQUEST_NULL);
    MPI_Barrier(met.get());
}

TEST(Requests, OneThatIsCompleteTellsSoWithoutBeingFreed) {
    const Met met;
    int value = world_rank() == 0 ? 9 : 0;
    int done = 0;
    MPI_Request request = MPI_REQUEST_NULL;

    MPI_Ibcast(&value, 1, MPI_INT, 0, met.get(), &request);
    while (done == 0) MPI_Request_get_status(request, &done, MPI_STATUS_IGNORE);
    MPI_Wait(&request, MPI_STATUS_IGNORE);

    EXPECT_EQ(value, 9);
}

int class_of(int code) {
    int error_class = MPI_SUCCESS;
    MPI_Error_class(code, &error_class);
    return error_class;
}

TEST(Requests, TheMpiItselfComplainsOfWrongArguments) {
    const Met met;
    MPI_Comm_set_errhandler(met.get(), MPI_ERRORS_RETURN);
    int value = 0;
    MPI_Request request = MPI_REQUEST_NULL;

    EXPECT_EQ(class_of(MPI_Ibcast(&value, 1, MPI_INT, 99, met.get(), &request)), MPI_ERR_ROOT);
    EXPECT_EQ(class_of(MPI_Ibcast(&value, -1, MPI_INT, 0, met.get(), &request)), MPI_ERR_COUNT);
}

TEST(Requests, AMessageThatIsTooLongIsAnErrorOfTheWait) {
    if (!is_served(Collective::scatter)) GTEST_SKIP() << "the MPI's own";
    MPI_Comm comm = MPI_COMM_NULL;
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Barrier(comm);
    std::vector<int> blocks(8 * static_cast<std::size_t>(world_size()), 1);
    int mine[8] = {};
    const bool last = world_rank() == world_size() - 1;
    MPI_Request request = MPI_REQUEST_NULL;

    // The last rank has room for less than the root sends, which is wrong.
    int code =
        MPI_Iscatter(blocks.data(), 8, MPI_INT, mine, last ? 2 : 8, MPI_INT, 0, comm, &request);
    if (code == MPI_SUCCESS) code = MPI_Wait(&request, MPI_STATUS_IGNORE);

    EXPECT_EQ(class_of(code), last ? MPI_ERR_TRUNCATE : MPI_SUCCESS);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
    MPI_Comm_free(&comm);
}

TEST(Requests, ThreadsHaveThemInFlightAtOnce) {
    int provided = MPI_THREAD_SINGLE;
    MPI_Query_thread(&provided);
    if (provided < MPI_THREAD_MULTIPLE) GTEST_SKIP() << "this MPI has no MPI_THREAD_MULTIPLE";
    constexpr std::size_t threads = 3;
    const Met met[threads];
    std::atomic<int> wrong{0};
    std::vector<std::thread> running;
    for (std::size_t t = 0; t < threads; ++t) {
        running.emplace_back([&, t] {
            for (int round = 0; round < 100; ++round) {
                const int own = round + static_cast<int>(t);
                int values[2] = {world_rank() == 0 ? own : -1, world_rank() == 1 ? own : -1};
                MPI_Request requests[2] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL};
                MPI_Ibcast(&values[0], 1, MPI_INT, 0, met[t].get(), &requests[0]);
                MPI_Ibcast(&values[1], 1, MPI_INT, 1, met[t].get(), &requests[1]);
                MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
                if (values[0] != own || values[1] != own) ++wrong;
            }
        });
    }
    for (auto& thread : running) thread.join();

    EXPECT_EQ(wrong, 0);
}

#if defined(LANEWISE_HAS_PERSISTENT) || defined(OMPI_HAVE_MPI_EXT_PCOLLREQ)
#ifdef LANEWISE_HAS_PERSISTENT
const auto prepare_bcast = &MPI_Bcast_init;
#else
const auto prepare_bcast = &MPIX_Bcast_init;
#endif

TEST(Requests, ThreadsStartWhatWasPreparedOnOneCommunicator) {
    int provided = MPI_THREAD_SINGLE;
    MPI_Query_thread(&provided);
    if (provided < MPI_THREAD_MULTIPLE) GTEST_SKIP() << "this MPI has no MPI_THREAD_MULTIPLE";
    if (!is_served(Collective::bcast)) GTEST_SKIP() << "the MPI's own";
    constexpr std::size_t threads = 3;
    const Met met;
    int values[threads] = {};
    MPI_Request requests[threads] = {};
    for (std::size_t t = 0; t < threads; ++t) {
        prepare_bcast(&values[t], 1, MPI_INT, 0, met.get(), MPI_INFO_NULL, &requests[t]);
    }
    std::atomic<int> wrong{0};
    std::vector<std::thread> running;
    for (std::size_t t = 0; t < threads; ++t) {
        running.emplace_back([&, t] {
            for (int round = 0; round < 100; ++round) {
                values[t] = world_rank() == 0 ? round : -1;
                MPI_Start(&requests[t]);
                MPI_Wait(&requests[t], MPI_STATUS_IGNORE);
                if (values[t] != round) ++wrong;
            }
        });
    }
    for (auto& thread : running) thread.join();
    for (auto& request : requests) MPI_Request_free(&request);

    EXPECT_EQ(wrong, 0);
}

TEST(Requests, AMessageThatIsTooLongIsAnErrorOfEachStartOfWhatWasPrepared) {
    if (!is_served(Collective::bcast)) GTEST_SKIP() << "the MPI's own";
    const Met met;
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    const bool last = world_rank() == world_size() - 1;
    int values[8] = {};
    MPI_Request request = MPI_REQUEST_NULL;

    // The last rank has room for less than the root sends, which is wrong.
    prepare_bcast(values, last ? 2 : 8, MPI_INT, 0, met.get(), MPI_INFO_NULL, &request);
    for (int round = 0; round < 3; ++round) {
        values[0] = world_rank() == 0 ? round : -1;
        ASSERT_EQ(MPI_Start(&request), MPI_SUCCESS);
        const int code = MPI_Wait(&request, MPI_STATUS_IGNORE);
        EXPECT_EQ(class_of(code), last ? MPI_ERR_TRUNCATE : MPI_SUCCESS);
        EXPECT_NE(request, MPI_REQUEST_NULL);
        EXPECT_TRUE(last || values[0] == round);
        PMPI_Barrier(MPI_COMM_WORLD);
    }
    MPI_Request_free(&request);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
}
#endif

#ifdef LANEWISE_HAS_LARGE_COUNTS
TEST(Requests, FunctionsWithLargeCountsFollowToo) {
    const Met met;
    int value = world_rank() == 0 ? 5 : 0;

    const int passed = passed_by([&] {
        MPI_Request request = MPI_REQUEST_NULL;
        MPI_Ibcast_c(&value, 1, MPI_INT, 0, met.get(), &request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
    });

    EXPECT_EQ(value, 5);
    EXPECT_EQ(passed, is_served(Collective::bcast) ? 0 : 1);
}
#endif

}  // namespace
}  // namespace lanewise::tuned
