// SPDX-License-Identifier: BSD-3-Clause
//
// The command line read: what each word means, and what a wrong one is told.

#include "measure/session/arguments.hpp"
#include "measure/round_trips.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

namespace lanewise::measure::session {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

using Words = std::vector<std::string>;

Result<std::variant<Arguments, Leave>> parse(Words words) {
    words.insert(words.begin(), "lanewise-measure");
    std::vector<char *> pointers;
    for (auto& word : words) pointers.push_back(word.data());
    pointers.push_back(nullptr);
    return parse_arguments(static_cast<int>(words.size()), pointers.data());
}

Arguments accepted(const Words& words) {
    const auto parsed = parse(words);
    EXPECT_TRUE(parsed) << (parsed ? "" : parsed.failure().sentence);
    if (!parsed || !std::holds_alternative<Arguments>(*parsed)) return {};
    return std::get<Arguments>(*parsed);
}

std::string refused(const Words& words) {
    const auto parsed = parse(words);
    EXPECT_FALSE(parsed);
    return parsed ? "" : parsed.failure().sentence;
}

std::string output_refused(const Words& words) {
    const auto usable = check_output(accepted(words));
    EXPECT_FALSE(usable);
    return usable ? "" : usable.failure().sentence;
}

/* A folder of its own for each test, gone afterwards. */
class Folder : public ::testing::Test {
  protected:
    Folder() {
        char name[] = "/tmp/lanewise-arguments-XXXXXX";
        path_ = mkdtemp(name);
    }
    ~Folder() override { std::filesystem::remove_all(path_); }
    std::string file(const std::string& name) const { return path_ + "/" + name; }
    std::string existing(const std::string& name) const {
        std::ofstream(file(name)) << "{}\n";
        return file(name);
    }
    std::string path_;
};

TEST(Arguments, HaveTheDocumentedDefaults) {
    const auto arguments = accepted({"scatter"});

    EXPECT_THAT(arguments.operations, ElementsAre("scatter"));
    EXPECT_EQ(arguments.sizes_bytes.size(), 21u);
    EXPECT_EQ(arguments.sizes_bytes.front(), 1u);
    EXPECT_EQ(arguments.sizes_bytes.back(), 1u << 20);
    EXPECT_EQ(arguments.options.timing, LW_TIMING_MAX);
    EXPECT_EQ(arguments.options.start, LW_START_BARRIER);
    EXPECT_EQ(arguments.options.repetitions_min, 10u);
    EXPECT_EQ(arguments.options.repetitions_max, 1000u);
    EXPECT_EQ(arguments.options.confidence, 0.95);
    EXPECT_EQ(arguments.options.error, 0.025);
    EXPECT_EQ(arguments.root, 0);
}

TEST(Arguments, ReadEveryChoice) {
    const auto arguments =
        accepted({"gather", "bcast", "--method", "global", "--start", "round-time", "--clock",
                  "wtime", "--rule", "student", "--root", "3", "--repetitions", "7:70"});

    EXPECT_THAT(arguments.operations, ElementsAre("gather", "bcast"));
    EXPECT_EQ(arguments.options.timing, LW_TIMING_GLOBAL);
    EXPECT_EQ(arguments.options.start, LW_START_ROUND_TIME);
    EXPECT_EQ(arguments.options.clock, LW_CLOCK_WTIME);
    EXPECT_EQ(arguments.options.rule, LW_RULE_STUDENT);
    EXPECT_EQ(arguments.root, 3);
    EXPECT_EQ(arguments.options.repetitions_min, 7u);
    EXPECT_EQ(arguments.options.repetitions_max, 70u);
}

TEST(Arguments, TakeOneNumberOfRepetitionsAsFixed) {
    const auto arguments = accepted({"bcast", "--repetitions", "25"});

    EXPECT_EQ(arguments.options.repetitions_min, 25u);
    EXPECT_EQ(arguments.options.repetitions_max, 25u);
}

TEST(Arguments, SplitWeightsAtCommas) {
    EXPECT_THAT(accepted({"scatterv", "--weights", "1,0.5,2"}).weights, ElementsAre(1.0, 0.5, 2.0));
}

TEST(Arguments, KnowSubjectsBesideOperations) {
    for (const auto *name : {"pairs", "triplets", "trains", "sends", "receives"}) {
        const auto arguments = accepted({name, "--sizes", "8"});
        EXPECT_EQ(arguments.subject, Subject::pair_rounds);
        EXPECT_STREQ(arguments.round_trip->name, name);
    }
    EXPECT_EQ(accepted({"clock"}).subject, Subject::clock);
    EXPECT_EQ(accepted({"polling"}).subject, Subject::polling);
    EXPECT_EQ(accepted({"post-work-wait"}).subject, Subject::post_work_wait);
    EXPECT_EQ(accepted({"pairs", "--order", "sequential"}).order, LW_ORDER_SEQUENTIAL);
}

TEST(Arguments, KnowTheIntervalsOfPolling) {
    const auto arguments = accepted({"polling", "--intervals", "1e-5:1e-3:4"});

    EXPECT_EQ(arguments.interval_first_s, 1e-5);
    EXPECT_EQ(arguments.interval_last_s, 1e-3);
    EXPECT_EQ(arguments.interval_count, 4u);
}

TEST(Arguments, HavePlainBuffersUnlessToldOtherwise) {
    EXPECT_TRUE(measure::are_plain(accepted({"bcast"}).options.buffers));
    EXPECT_TRUE(measure::are_plain(
        accepted({"bcast", "--buffers", "warm,aligned,one,small"}).options.buffers));
}

TEST(Arguments, ReadBuffersAsWords) {
    const auto all =
        accepted({"bcast", "--buffers", "cold,unaligned=3,rotating=5,huge"}).options.buffers;
    EXPECT_EQ(all.caches, LW_CACHES_COLD);
    EXPECT_EQ(all.offset_bytes, 3u);
    EXPECT_EQ(all.rotating_sets, 5u);
    EXPECT_EQ(all.pages, LW_PAGES_HUGE);

    const auto some = accepted({"polling", "--buffers", "rotating,unaligned"}).options.buffers;
    EXPECT_EQ(some.rotating_sets, 8u);
    EXPECT_EQ(some.offset_bytes, 4u);
    EXPECT_EQ(some.caches, LW_CACHES_WARM);
}

TEST(Arguments, KeepTheWordsAsTyped) {
    EXPECT_THAT(accepted({"bcast", "--sizes", "1:8"}).words,
                ElementsAre("bcast", "--sizes", "1:8"));
}

TEST(Arguments, LeaveWithHelpAndVersion) {
    for (const auto& [word, expected] :
         {std::pair{"--help", "--sizes"}, std::pair{"--version", "lanewise-measure "}}) {
        const auto parsed = parse({word});

        ASSERT_TRUE(parsed);
        ASSERT_TRUE(std::holds_alternative<Leave>(*parsed));
        EXPECT_THAT(std::get<Leave>(*parsed).text, HasSubstr(expected));
    }
}

struct Slip {
    Words words;
    const char *told;
};
void PrintTo(const Slip& slip, std::ostream *out) {
    for (const auto& word : slip.words) *out << word << ' ';
}

class Slips : public ::testing::TestWithParam<Slip> {};

TEST_P(Slips, NameTheValueAndTheRemedy) {
    EXPECT_THAT(refused(GetParam().words), HasSubstr(GetParam().told));
}

INSTANTIATE_TEST_SUITE_P(
    Of, Slips,
    ::testing::Values(
        Slip{{"scater"}, "did you mean scatter?"}, Slip{{"xyzzy"}, "--list names them"},
        Slip{{}, "no operation"}, Slip{{"bcast", "bcast"}, "twice"},
        Slip{{"pairs", "scatter"}, "cannot be combined with others"},
        Slip{{"clock", "clock"}, "cannot be combined with others"},
        Slip{{"bcast", "--sizes", "abc"}, "\"abc\""}, Slip{{"bcast", "--sizes", ""}, "digits"},
        Slip{{"bcast", "--sizes", "8:4"}, "backwards"},
        Slip{{"bcast", "--sizes", "1:8,4"}, "names 4 twice"},
        Slip{{"bcast", "--sizes=-4"}, "digits"}, Slip{{"bcast", "--stride", "1Q"}, "unit"},
        Slip{{"bcast", "--method", "best"}, "use max, root, global or tasks"},
        Slip{{"bcast", "--method", "golbal"}, "did you mean global?"},
        Slip{{"bcast", "--start", "windows"}, "did you mean window?"},
        Slip{{"bcast", "--start", "now"}, "use barrier, double-barrier, window or round-time"},
        Slip{{"bcast", "--clock", "sun"}, "auto, monotonic, wtime or skewed"},
        Slip{{"bcast", "--rule", "mean"}, "median or student"},
        Slip{{"pairs", "--order", "random"}, "parallel or sequential"}));

INSTANTIATE_TEST_SUITE_P(
    OfNumbers, Slips,
    ::testing::Values(
        Slip{{"bcast", "--confidence", "95"}, "95 % is 0.95"},
        Slip{{"bcast", "--confidence", "0"}, "outside (0, 1)"},
        Slip{{"bcast", "--confidence", "nan"}, "outside (0, 1)"},
        Slip{{"bcast", "--confidence", "high"}, "confidence"},
        Slip{{"bcast", "--error", "0"}, "2.5 % is 0.025"},
        Slip{{"bcast", "--repetitions", "100:10"}, "100 repetitions is above the maximum of 10"},
        Slip{{"bcast", "--repetitions", "0"}, "at least 1"},
        Slip{{"bcast", "--repetitions", "ten"}, "\"ten\""},
        Slip{{"bcast", "--repetitions", "1:2:3"}, "\"1:2:3\""},
        Slip{{"bcast", "--repetitions", "99999999999"}, "99999999999"},
        Slip{{"bcast", "--repetitions=-5"}, "-5"}, Slip{{"bcast", "--root=-1"}, "root"},
        Slip{{"bcast", "--pipeline", "0"}, "pipeline of 0"},
        Slip{{"bcast", "--time-limit=-1"}, "0 is none"}, Slip{{"clock", "--wait=-1"}, "--wait"},
        Slip{{"clock", "--wait", "10000000000"}, "is not a time from 0 to 1e9 s"},
        Slip{{"bcast", "--adaptive=-0.1"}, "10 % is 0.1"},
        Slip{{"bcast", "--adaptive=nan"}, "10 % is 0.1"},
        Slip{{"pairs", "--reply", "some"}, "\"some\""},
        Slip{{"bcast", "--method", "tasks", "--pipeline", "4"}, "pipeline"},
        Slip{{"streaming", "--window", "0"}, "holds no message"},
        Slip{{"bcast", "--buffers", "lukewarm"}, "\"lukewarm\" is none of warm, cold"},
        Slip{{"bcast", "--buffers", "cold,warm"}, "\"warm\" says once more"},
        Slip{{"bcast", "--buffers", "rotating=0"}, "rotating=8"},
        Slip{{"bcast", "--buffers", "huge=2"}, "no such number"},
        Slip{{"bcast", "--buffers", "unaligned=70000"}, "less than a page"},
        Slip{{"bcast", "--buffers", "cold", "--pipeline", "4"}, "isolate them"},
        Slip{{"pairs", "--buffers", "cold"},
             "\"pairs\" uses buffers of the harness; leave out --buffers"},
        Slip{{"polling", "--intervals", "1:2"}, "\"1:2\""},
        Slip{{"polling", "--intervals", "2:1:3"}, "FIRST:LAST:COUNT"},
        Slip{{"polling", "--work", "0"}, "try 0.02"},
        Slip{{"polling", "bcast"}, "cannot be combined with others"},
        Slip{{"bcast", "--reply", "8"}, "--reply changes nothing without pairs or triplets; leave"},
        Slip{{"bcast", "--order", "parallel"}, "--order changes nothing without pairs"},
        Slip{{"bcast", "--wait", "2"}, "--wait changes nothing without clock"},
        Slip{{"clock", "--work", "2"}, "--work changes nothing without polling"},
        Slip{{"pairs", "--intervals", "1us:1ms:3"}, "--intervals changes nothing without polling"},
        Slip{{"bcast", "--stride", "8"}, "--stride changes nothing without --adaptive"},
        Slip{{"bcast", "--skew-drift", "1e-6"}, "--skew-drift changes nothing without --clock"},
        Slip{{"bcast", "--skew-offset", "1"}, "--skew-offset changes nothing without --clock"},
        Slip{{"bcast", "--speed", "9"}, "--speed"}, Slip{{"bcast", "--resume"}, "-o FILE"}));

INSTANTIATE_TEST_SUITE_P(
    OfChecks, Slips,
    ::testing::Values(Slip{{"pairs", "--validate"},
                           "--validate cannot check \"pairs\"; leave --validate out"},
                      Slip{{"clock", "--validate"}, "--validate cannot check \"clock\""},
                      Slip{{"--operation", "mine.so:halo", "--validate"},
                           "cannot check an operation of your own"},
                      Slip{{"scatterv", "--weights", "1,2", "--validate"},
                           "cannot check the blocks of --weights"}));

TEST(Arguments, ValidateOperationsOfTheRegistryAndMessagesThatAvailabilityIsMeasuredBy) {
    EXPECT_TRUE(accepted({"scatterv", "bcast", "--validate"}).validate);
    EXPECT_TRUE(accepted({"scatterv", "--adaptive", "0.1", "--validate"}).validate);
    EXPECT_TRUE(accepted({"polling", "--validate"}).validate);
    EXPECT_TRUE(accepted({"post-work-wait", "--validate"}).validate);
}

TEST_F(Folder, TakesAnOutputThatIsNotThereYet) {
    const auto arguments = accepted({"bcast", "-o", file("a.jsonl")});

    EXPECT_EQ(arguments.output, file("a.jsonl"));
    EXPECT_TRUE(check_output(arguments));
    EXPECT_FALSE(std::filesystem::exists(file("a.jsonl")));
}

TEST_F(Folder, RefusesToOverwriteAFile) {
    const auto path = existing("a.jsonl");

    EXPECT_THAT(output_refused({"bcast", "-o", path}), HasSubstr(path + " exists; add --resume"));
}

TEST(Arguments, TakeAnOutputThatIsNoRegularFile) {
    EXPECT_TRUE(check_output(accepted({"bcast", "-o", "/dev/null"})));
    EXPECT_TRUE(check_output(accepted({"bcast", "-o", "/dev/null", "--resume"})));
}

TEST_F(Folder, GoesOnWithAFileWhereAsked) {
    EXPECT_TRUE(check_output(accepted({"bcast", "-o", existing("a.jsonl"), "--resume"})));
}

TEST_F(Folder, RefusesAFolderAsOutput) {
    EXPECT_THAT(output_refused({"bcast", "-o", path_}), HasSubstr("is a folder"));
}

TEST_F(Folder, RefusesAnOutputInAFolderThatIsNotThere) {
    EXPECT_THAT(output_refused({"bcast", "-o", file("none/a.jsonl")}), HasSubstr("make it first"));
}

// Only rank 0 writes: the hosts of the others need no such folder.
TEST_F(Folder, TakesAnOutputThatThisHostCannotHaveUntilItIsToWriteIt) {
    EXPECT_EQ(accepted({"bcast", "-o", file("none/a.jsonl")}).output, file("none/a.jsonl"));
}

// What somebody is told who is not root, for root may write anywhere.
std::string refused_without_rights(const Words& words) {
    constexpr uid_t nobody = 65534;
    const uid_t me = getuid();
    if (me == 0) {
        EXPECT_EQ(setreuid(nobody, static_cast<uid_t>(-1)), 0);
    }
    const auto told = output_refused(words);
    if (me == 0) {
        EXPECT_EQ(setreuid(0, static_cast<uid_t>(-1)), 0);
    }
    return told;
}

TEST_F(Folder, RefusesAnOutputThatCannotBeWritten) {
    using std::filesystem::perms;
    std::filesystem::permissions(path_, perms::owner_read | perms::owner_exec);

    const auto told = refused_without_rights({"bcast", "-o", file("a.jsonl")});

    std::filesystem::permissions(path_, perms::owner_all);
    EXPECT_THAT(told, HasSubstr("cannot be written"));
}

TEST_F(Folder, RefusesToGoOnWithAFileThatCannotBeWritten) {
    using std::filesystem::perms;
    const auto path = existing("a.jsonl");
    std::filesystem::permissions(path_, perms::owner_all | perms::group_exec | perms::others_exec);
    std::filesystem::permissions(path, perms::owner_read | perms::group_read | perms::others_read);

    const auto told = refused_without_rights({"bcast", "-o", path, "--resume"});

    EXPECT_THAT(told, HasSubstr(path + " cannot be written; change its permissions"));
}

// The sizes of a curve depend on the times before, which are not read back.
TEST_F(Folder, RefusesToResumeAdaptiveSizes) {
    EXPECT_THAT(refused({"bcast", "--adaptive", "0.1", "-o", existing("a.jsonl"), "--resume"}),
                HasSubstr("--adaptive"));
}

TEST(SizesOf, AnOperationOnBytesAreAllThatWereAsked) {
    const auto arguments = accepted({"bcast", "--sizes", "1,2,4,7"});
    std::string note;

    EXPECT_THAT(sizes_of(arguments, "bcast", 2, note), ElementsAre(1, 2, 4, 7));
    EXPECT_THAT(note, IsEmpty());
}

TEST(SizesOf, AReductionAreTheMultiplesOfFourAndANoteNamesTheRest) {
    const auto arguments = accepted({"allreduce", "--sizes", "0,1,2,4,7,1K"});
    std::string note;

    EXPECT_THAT(sizes_of(arguments, "allreduce", 2, note), ElementsAre(0, 4, 1024));
    EXPECT_THAT(note, HasSubstr("1, 2, 7"));
}

TEST(SizesOf, AreBlocksWhereTheOtherToolCountsTheVectorOfAllRanks) {
    const auto osu = accepted({"reduce_scatter", "--as", "osu", "--sizes", "8,12,32"});
    const auto imb = accepted({"reduce_scatter", "--as", "imb", "--sizes", "8,12,32"});
    std::string note;

    EXPECT_EQ(sizes_of(osu, "reduce_scatter", 4, note), (std::vector<std::uint64_t>{8}));
    EXPECT_EQ(note,
              "reduce_scatter adds floats; left out the sizes that are not multiples of 16: "
              "8, 12");
    EXPECT_EQ(sizes_of(imb, "reduce_scatter", 4, note), (std::vector<std::uint64_t>{8, 12, 32}));
}

TEST(Definition, BringsItsOwnWindowUnlessOneIsGiven) {
    EXPECT_EQ(accepted({"streaming", "--as", "osu"}).window, 64);
    EXPECT_EQ(accepted({"streaming", "--as", "imb"}).window, 256);
    EXPECT_EQ(accepted({"streaming", "--as", "osu", "--window", "8"}).window, 8);
}

TEST(Definition, IsRefusedForWhatItsLoopsAreNotOf) {
    EXPECT_THAT(refused({"scan", "--as", "osu"}),
                HasSubstr("OSU 7.4 has no benchmark of \"scan\"; leave it out"));
    EXPECT_THAT(refused({"pairs", "--as", "osu"}), HasSubstr("--as osu is for operations"));
    EXPECT_THAT(refused({"bcast", "--as", "osu", "--pipeline", "10"}),
                HasSubstr("leave them out with --as osu"));
}

TEST(LauncherArguments, MayBeEscapedAsInAURL) {
    const auto recorded = [](const std::string& text) {
        return accepted({"bcast", "--launcher-args=" + text}).launcher_args;
    };
    EXPECT_EQ(recorded("--bind-to%20none"), "--bind-to none");
    EXPECT_EQ(recorded("--tag%3d%C3%A9%25%2041"), "--tag=\u00e9% 41");
    EXPECT_EQ(recorded("100% %2 %zz %"), "100% %2 %zz %");
}

TEST(SizesOf, ABarrierAreNone) {
    const auto arguments = accepted({"barrier"});
    std::string note;

    EXPECT_THAT(sizes_of(arguments, "barrier", 2, note), ElementsAre(0));
    EXPECT_THAT(sizes_of(arguments, "ibarrier", 2, note), ElementsAre(0));
}

TEST(SizesOf, AUserOperationAreAllThatWereAsked) {
    const auto arguments = accepted({"bcast", "--sizes", "1,3"});
    std::string note;

    EXPECT_THAT(sizes_of(arguments, "mine", 2, note), ElementsAre(1, 3));
}

}  // namespace
}  // namespace lanewise::measure::session
