// SPDX-License-Identifier: BSD-3-Clause

#include "base/control_groups.hpp"

#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <limits>
#include <map>
#include <string>

namespace lanewise {
namespace {

namespace fs = std::filesystem;

constexpr double unlimited = std::numeric_limits<double>::infinity();

using Files = std::map<std::string, std::string>;

// A machine on which this process is in `groups`, with these files below sys/fs/cgroup.
class Machine {
  public:
    Machine(const std::string& groups, const Files& files) {
        char name[] = "/tmp/lanewise-control-groups-XXXXXX";
        if (!mkdtemp(name)) throw fs::filesystem_error("no folder", std::error_code());
        root_ = name;
        put("proc/self/cgroup", groups);
        for (const auto& [file, text] : files) put("sys/fs/cgroup/" + file, text);
    }
    Machine(const Machine&) = delete;
    Machine& operator=(const Machine&) = delete;
    ~Machine() { fs::remove_all(root_); }
    const fs::path& root() const { return root_; }

  private:
    void put(const fs::path& file, const std::string& text) {
        fs::create_directories((root_ / file).parent_path());
        std::ofstream(root_ / file) << text << '\n';
    }
    fs::path root_;
};

double quota(const std::string& groups, const Files& files) {
    return least_of(cpu_quotas(Machine(groups, files).root()));
}

double memory(const std::string& groups, const Files& files) {
    return least_of(memory_left(Machine(groups, files).root()));
}

TEST(CpuQuota, IsTheLeastOfAllGroupsAbove) {
    EXPECT_EQ(quota("0::/job/step",
                    {{"job/cpu.max", "100000 50000"}, {"job/step/cpu.max", "max 100000"}}),
              2.0);
    EXPECT_EQ(quota("0::/job", {{"cpu.max", "50000 100000"}, {"job/cpu.max", "400000 100000"}}),
              0.5);
}

TEST(CpuQuota, IsTheSameGroupsForProcessesThatShareIt) {
    const Files files{{"job/cpu.max", "200000 100000"},
                      {"job/task0/cpu.max", "100000 100000"},
                      {"job/task1/cpu.max", "100000 100000"}};
    const Machine machine("0::/job/task0", files);
    const auto first = cpu_quotas(machine.root());
    std::ofstream(machine.root() / "proc/self/cgroup") << "0::/job/task1\n";
    const auto second = cpu_quotas(machine.root());

    ASSERT_EQ(first.size(), 2u);
    ASSERT_EQ(second.size(), 2u);
    EXPECT_EQ(first[0].amount, 2.0);
    EXPECT_EQ(first[0].group, second[0].group);
    EXPECT_NE(first[1].group, second[1].group);
}

TEST(CpuQuota, IsReadFromGroupsOfVersion1) {
    EXPECT_EQ(quota("5:cpu,cpuacct:/docker/1\n0::/",
                    {{"cpu/cpu.cfs_quota_us", "150000"}, {"cpu/cpu.cfs_period_us", "100000"}}),
              1.5);
    EXPECT_EQ(quota("5:cpu:/job",
                    {{"cpu/job/cpu.cfs_quota_us", "-1"}, {"cpu/job/cpu.cfs_period_us", "100000"}}),
              unlimited);
}

TEST(CpuQuota, IsNoneWhereFilesSayNothing) {
    EXPECT_EQ(quota("0::/", {}), unlimited);
    EXPECT_EQ(quota("garbage", {{"cpu.max", "100000 100000"}}), unlimited);
    EXPECT_EQ(quota("0::/", {{"cpu.max", "garbage 1"}}), unlimited);
    EXPECT_EQ(quota("0::/", {{"cpu.max", "100000"}}), unlimited);
    EXPECT_EQ(quota("0::/", {{"cpu.max", "100000 0"}}), unlimited);
    EXPECT_EQ(quota("4:memory:/job", {{"memory/job/cpu.max", "100000 100000"}}), unlimited);
    EXPECT_EQ(least_of(cpu_quotas("/nowhere")), unlimited);
}

TEST(MemoryLeft, IsTheLeastOfAllGroupsAbove) {
    EXPECT_EQ(memory("0::/job/step", {{"job/memory.max", "4096"},
                                      {"job/memory.current", "1024"},
                                      {"job/step/memory.max", "max"},
                                      {"job/step/memory.current", "1024"}}),
              3072.0);
    EXPECT_EQ(memory("0::/job", {{"job/memory.max", "1024"}, {"job/memory.current", "4096"}}), 0.0);
}

TEST(MemoryLeft, CountsCachedFilesAsRoom) {
    EXPECT_EQ(memory("0::/job",
                     {{"job/memory.max", "8192"},
                      {"job/memory.current", "8192"},
                      {"job/memory.stat", "anon 7\nfile 9\ninactive_file 4096\nactive_file 1024"}}),
              5120.0);
    EXPECT_EQ(
        memory("9:memory:/", {{"memory/memory.limit_in_bytes", "8192"},
                              {"memory/memory.usage_in_bytes", "8192"},
                              {"memory/memory.stat", "inactive_file 1\ntotal_inactive_file 4096"}}),
        4096.0);
}

TEST(MemoryLeft, IsUnlimitedWhereFilesSayNothing) {
    EXPECT_EQ(memory("0::/", {}), unlimited);
    EXPECT_EQ(memory("0::/", {{"memory.max", "4096"}}), unlimited);
    EXPECT_EQ(memory("0::/", {{"memory.max", "max"}, {"memory.current", "1"}}), unlimited);
}

}  // namespace
}  // namespace lanewise
