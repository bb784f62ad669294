// SPDX-License-Identifier: BSD-3-Clause

#include "base/launcher.hpp"

#include <gtest/gtest.h>

#include <cstdlib>
#include <map>
#include <string>

namespace lanewise {
namespace {

/* The variables of a launcher, and none of another that started the tests. */
class Launched : public ::testing::Test {
  protected:
    void SetUp() override {
        for (const auto *prefix : {"OMPI_COMM_WORLD", "MV2_COMM_WORLD", "PMI", "PMIX"}) {
            for (const auto *what : {"_RANK", "_SIZE"}) {
                unsetenv((std::string(prefix) + what).c_str());
            }
        }
        for (const auto *name : {"PALS_RANKID", "PALS_NRANKS", "FLUX_TASK_RANK", "FLUX_JOB_SIZE",
                                 "SLURM_PROCID", "SLURM_STEP_NUM_TASKS"}) {
            unsetenv(name);
        }
    }
    static void set(const std::map<std::string, std::string>& variables) {
        for (const auto& [name, value] : variables) setenv(name.c_str(), value.c_str(), 1);
    }
    void TearDown() override { SetUp(); }
};

TEST_F(Launched, ByHandIsTheFirstProcess) {
    EXPECT_FALSE(launched_as());
    EXPECT_TRUE(is_first_process());
}

TEST_F(Launched, ByEachLauncherHasItsRank) {
    for (const auto *name : {"OMPI_COMM_WORLD_RANK", "MV2_COMM_WORLD_RANK", "PMI_RANK", "PMIX_RANK",
                             "PALS_RANKID", "FLUX_TASK_RANK", "SLURM_PROCID"}) {
        SetUp();
        set({{name, "3"}});
        ASSERT_TRUE(launched_as()) << name;
        EXPECT_EQ(launched_as()->rank, 3) << name;
        EXPECT_FALSE(is_first_process()) << name;
        set({{name, "0"}});
        EXPECT_TRUE(is_first_process()) << name;
    }
}

TEST_F(Launched, ByMpirunInsideAnAllocationTrustsMpirun) {
    set({{"SLURM_PROCID", "1"}, {"SLURM_STEP_NUM_TASKS", "2"}});
    set({{"OMPI_COMM_WORLD_RANK", "0"}, {"OMPI_COMM_WORLD_SIZE", "8"}});

    EXPECT_EQ(launched_as()->rank, 0);
    EXPECT_EQ(launched_as()->ranks, 8);
    EXPECT_STREQ(launched_as()->ranks_variable, "OMPI_COMM_WORLD_SIZE");
}

TEST_F(Launched, TakesTheNumberOfRanksFromTheNextThatSaysIt) {
    set({{"PMIX_RANK", "2"}, {"SLURM_PROCID", "2"}, {"SLURM_STEP_NUM_TASKS", "4"}});

    EXPECT_EQ(launched_as()->rank, 2);
    EXPECT_EQ(launched_as()->ranks, 4);
}

}  // namespace
}  // namespace lanewise
