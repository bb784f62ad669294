// SPDX-License-Identifier: BSD-3-Clause
//
// Ranks that read different rules. A program reads its rules once, so this is one by itself.

#include <gtest/gtest.h>
#include <mpi.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "base/json.hpp"
#include "collectives/tuned/agreement.hpp"
#include "collectives/tuned/environment.hpp"
#include "testing/measuring.hpp"

namespace lanewise::tuned {
namespace {

/* What the launcher says of this rank: MPI is not initialized yet. */
int told(const char *by_openmpi, const char *by_mpich) {
    const char *text = std::getenv(by_openmpi);
    if (!text) text = std::getenv(by_mpich);
    return text ? std::atoi(text) : -1;
}

/* A tuning file of this rank's own for all ranks on one host, named in the environment and gone
   afterwards. */
class TuningFile {
  public:
    TuningFile()
        : path_(std::filesystem::temp_directory_path() /
                ("lanewise-rules-" + std::to_string(getpid()) + ".json")) {
        const int ranks = told("OMPI_COMM_WORLD_SIZE", "PMI_SIZE");
        const bool first = told("OMPI_COMM_WORLD_RANK", "PMI_RANK") == 0;
        const Json rule = {{"from_bytes", 0},
                           {"to_bytes", 1024},
                           {"algorithm", "pipeline"},
                           {"segment_bytes", first ? 1024 : 2048}};
        std::ofstream(path_) << Json{{"schema", "lanewise-tuning"},
                                     {"version", 1},
                                     {"lanewise", "0.1.0"},
                                     {"created", "2026-11-24T03:00:00Z"},
                                     {"mpi", {{"family", LANEWISE_MPI_FAMILY}, {"library", ""}}},
                                     {"ranks", ranks},
                                     {"layout", {ranks}},
                                     {"margin", 0.03},
                                     {"confidence", 0.95},
                                     {"collectives", {{"bcast", {{"rules", {rule}}}}}}}
                                    .dump();
        setenv("LANEWISE_TUNING", path_.c_str(), 1);
    }
    ~TuningFile() { std::filesystem::remove(path_); }
    TuningFile(const TuningFile&) = delete;
    TuningFile& operator=(const TuningFile&) = delete;

  private:
    std::filesystem::path path_;
};

// There before the library looks at the environment, which it does when it is loaded.
[[gnu::init_priority(101)]] const TuningFile file;

TEST(Rules, ThatDifferFromRankToRankAreFollowedByNone) {
    ASSERT_TRUE(rules().usable) << rules().complaint;
    collectives::CommunicatorState state;
    state.rank = testing::rank_of(MPI_COMM_WORLD);
    state.ranks = testing::size_of(MPI_COMM_WORLD);

    compare_rules(state, MPI_COMM_WORLD);

    EXPECT_TRUE(state.interception.compared);
    EXPECT_FALSE(state.interception.follows_rules);
    EXPECT_FALSE(world_agrees());
}

}  // namespace
}  // namespace lanewise::tuned
