// SPDX-License-Identifier: BSD-3-Clause

#include "verbs/faults/injector.hpp"

#include <gtest/gtest.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <thread>

namespace lanewise::verbs::faults {
namespace {

// A child that waits for a lock of its parent's threads ends by the alarm.
int status_of_child_that_asks() {
    const pid_t child = fork();
    if (child == 0) {
        alarm(10);
        planned_error("ibv_alloc_pd", "lanewise0");
        _exit(0);
    }
    int status = -1;
    waitpid(child, &status, 0);
    return status;
}

// Before others, since the injector is opened once in a process.
TEST(InjectorTest, AProgramWhoseFaultsCannotBeReadEnds) {
    setenv("LANEWISE_HCA_FAULTS", "seed=-1\nplace=call what=ENOMEM value=12\n", 1);

    const int status = status_of_child_that_asks();

    ASSERT_TRUE(WIFEXITED(status));
    EXPECT_EQ(WEXITSTATUS(status), 2);
}

TEST(InjectorTest, ALogThatReachesTheLimitOfFileSizesDoesNotEndTheProgram) {
    char log[] = "/tmp/lanewise-injector-test-XXXXXX";
    close(mkstemp(log));
    const pid_t child = fork();
    if (child == 0) {
        constexpr rlimit nothing{0, 0};
        setrlimit(RLIMIT_FSIZE, &nothing);
        setenv("LANEWISE_HCA_FAULTS", "seed=1\nplace=call what=ENOMEM value=12\n", 1);
        setenv("LANEWISE_HCA_FAULT_LOG", log, 1);
        setenv("LANEWISE_HCA_CENSUS", log, 1);
        const int error = planned_error("ibv_alloc_pd", "lanewise0");
        Injector::get()->write_census();
        _exit(error == 12 ? 0 : 1);
    }
    int status = -1;
    waitpid(child, &status, 0);
    unlink(log);
    EXPECT_EQ(status, 0);
}

// So that another `lanewise rdma run` does not empty it.
TEST(InjectorTest, ALogIsLockedWhileAProcessWritesToIt) {
    char log[] = "/tmp/lanewise-injector-test-XXXXXX";
    const int file = mkstemp(log);
    const pid_t child = fork();
    if (child == 0) {
        setenv("LANEWISE_HCA_FAULTS", "seed=1\nplace=call what=ENOMEM value=12\n", 1);
        setenv("LANEWISE_HCA_FAULT_LOG", log, 1);
        planned_error("ibv_alloc_pd", "lanewise0");
        const bool is_locked = flock(file, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK;
        _exit(is_locked && flock(file, LOCK_SH | LOCK_NB) == 0 ? 0 : 1);
    }
    int status = -1;
    waitpid(child, &status, 0);
    EXPECT_EQ(status, 0);
    EXPECT_EQ(flock(file, LOCK_EX | LOCK_NB), 0);
    close(file);
    unlink(log);
}

// Every call fails and is logged, so that the threads spend their time with the lock held.
TEST(InjectorTest, AChildMayMeetFaultsWhateverTheThreadsOfItsParentDo) {
    setenv("LANEWISE_HCA_FAULTS", "seed=1\nplace=call what=ENOMEM value=12\n", 1);
    setenv("LANEWISE_HCA_FAULT_LOG", "/dev/null", 1);
    ASSERT_EQ(planned_error("ibv_alloc_pd", "lanewise0"), 12);
    std::atomic<bool> goes_on = true;
    std::thread other([&] {
        while (goes_on) planned_error("ibv_alloc_pd", "lanewise0");
    });

    int status = 0;
    for (int forks = 0; forks < 200 && status == 0; ++forks) status = status_of_child_that_asks();

    goes_on = false;
    other.join();
    EXPECT_EQ(status, 0);
}

}  // namespace
}  // namespace lanewise::verbs::faults
