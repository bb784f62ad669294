// SPDX-License-Identifier: BSD-3-Clause

#include "base/use_mark.hpp"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <string>

namespace lanewise {
namespace {

constexpr const char *variable = "LANEWISE_USE_MARK_TEST";

struct UseMarks : ::testing::Test {
    int file = memfd_create("lanewise-rdma", 0);

    void SetUp() override {
        setenv(variable, (std::to_string(getpid()) + ":" + std::to_string(file)).c_str(), 1);
    }
    void TearDown() override {
        unsetenv(variable);
        close(file);
    }
};

TEST_F(UseMarks, OfAProcessThatWasStartedReachTheFirst) {
    const UseMark mark(variable);
    EXPECT_TRUE(mark.is_first());
    EXPECT_FALSE(mark.is_set(1));
    const pid_t child = fork();
    if (child == 0) {
        close(file);  // as many programs do before they start another
        const UseMark own(variable);
        own.set(1);
        _exit(own.is_first() ? 1 : 0);
    }
    int status = 0;
    waitpid(child, &status, 0);
    EXPECT_EQ(status, 0);
    EXPECT_TRUE(mark.is_set(1));
    EXPECT_FALSE(mark.is_set(0));
}

TEST_F(UseMarks, AreNotWrittenToAnotherFileOfTheProgram) {
    const int other = memfd_create("other", 0);
    setenv(variable, (std::to_string(getpid()) + ":" + std::to_string(other)).c_str(), 1);
    const UseMark mark(variable);
    mark.set(0);
    EXPECT_EQ(lseek(other, 0, SEEK_END), 0);
    EXPECT_TRUE(mark.is_set(0));  // it cannot be known
    close(other);
}

TEST(UseMark, WithoutTheVariableIsOfNoProcess) {
    const UseMark mark("LANEWISE_USE_MARK_TEST_UNSET");
    EXPECT_FALSE(mark.is_first());
    mark.set(0);
    EXPECT_TRUE(mark.is_set(0));
}

}  // namespace
}  // namespace lanewise
