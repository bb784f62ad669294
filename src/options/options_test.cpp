// SPDX-License-Identifier: BSD-3-Clause
//
// Options declared once are read, refused, shown and described.

#include "options/options.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/json.hpp"

namespace lanewise {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

enum class Colour { red, green };

struct Named {
    Colour id;
    const char *name;
};

constexpr Named colours[] = {{Colour::red, "red"}, {Colour::green, "green"}};

struct Values {
    bool resume = false;
    std::string output;
    int root = 0;
    std::uint32_t warmup = 2;
    double tolerance = 0.5;
    std::vector<double> weights;
    std::uint64_t stride_bytes = 1024;
    std::vector<std::uint64_t> sizes_bytes;
    double limit_s = 10.0;
    double error = 0.025;
    double read_bytes_per_s = 0.0;
    std::uint32_t repetitions_min = 10;
    std::uint32_t repetitions_max = 1000;
    Colour colour = Colour::green;
    std::vector<std::string> operations;
};

class Declared : public ::testing::Test {
  protected:
    Declared() : options("lanewise-example", "Does nothing.") {
        options.texts("operations", "OPERATION", values.operations, "what to do");
        options.flag("--resume", values.resume, "go on with the output file");
        options.text("-o,--output", "FILE", values.output, "file to write");
        options.group("Numbers");
        options.number("--root", "RANK", values.root, "root rank");
        options.number("--warmup", "N", values.warmup, "executions before");
        options.number("--tolerance", "X", values.tolerance, "how far off");
        options.numbers("--weights", "A,B,...", values.weights, "shares").separated_by_commas();
        options.size("--stride", "BYTES", values.stride_bytes, "narrowest interval");
        options.sizes("--sizes", "1:4:x2", values.sizes_bytes, "message sizes");
        options.duration("--time-limit", values.limit_s, "time for each point");
        options.share("--error", values.error, "half-width of the interval");
        options.rate("--read-rate", RateOf::bytes, values.read_bytes_per_s, "rate of the disk");
        options.repetitions("--repetitions", values.repetitions_min, values.repetitions_max,
                            "how often");
        options.choice("--colour", colours, values.colour, "which colour");
    }

    Result<std::optional<Leave>> parse(std::vector<std::string> words) {
        words.insert(words.begin(), "lanewise-example");
        std::vector<char *> pointers;
        for (auto& word : words) pointers.push_back(word.data());
        pointers.push_back(nullptr);
        return options.parse(static_cast<int>(words.size()), pointers.data());
    }

    std::string refused(const std::vector<std::string>& words) {
        const auto parsed = parse(words);
        EXPECT_FALSE(parsed);
        return parsed ? "" : parsed.failure().sentence;
    }

    std::string text(const std::vector<std::string>& words) {
        const auto parsed = parse(words);
        EXPECT_TRUE(parsed);
        return parsed && *parsed ? (*parsed)->text : "";
    }

    Values values;
    Options options;
};

TEST_F(Declared, AFlagIsRefusedWithAValue) {
    for (const auto *word : {"--resume=false", "--resume=1", "--resume=true", "--resume="}) {
        EXPECT_EQ(refused({"copy", word}), "--resume takes no value; --help lists the options");
    }
    for (const std::string flag : {"--describe", "--version", "--help"}) {
        for (const std::string value : {"=true", "=false"})
            EXPECT_EQ(refused({flag + value}), flag + " takes no value; --help lists the options");
    }
    EXPECT_FALSE(values.resume);

    ASSERT_TRUE(parse({"copy", "--output=--resume=true"}));
    EXPECT_EQ(values.output, "--resume=true");
    ASSERT_TRUE(parse({"copy", "--resume", "--resume"}));
    EXPECT_TRUE(values.resume);
}

TEST_F(Declared, KeepTheirDefaultsWhereNothingIsGiven) {
    EXPECT_EQ(text({}), "");

    EXPECT_EQ(values.limit_s, 10.0);
    EXPECT_EQ(values.colour, Colour::green);
    EXPECT_THAT(values.sizes_bytes, ElementsAre(1u, 2u, 4u));
}

TEST_F(Declared, ReadEachTypeInItsGrammar) {
    EXPECT_EQ(text({"scatter",     "gather", "--resume",      "-o",   "file",         "--root=3",
                    "--warmup",    "0",      "--tolerance",   "0.25", "--weights",    "1,0.5",
                    "--stride",    "4K",     "--sizes",       "8,64", "--time-limit", "500ms",
                    "--error",     "5%",     "--repetitions", "7:70", "--colour",     "red",
                    "--read-rate", "2GB/s"}),
              "");

    EXPECT_THAT(values.operations, ElementsAre("scatter", "gather"));
    EXPECT_TRUE(values.resume);
    EXPECT_EQ(values.output, "file");
    EXPECT_EQ(values.root, 3);
    EXPECT_EQ(values.warmup, 0u);
    EXPECT_EQ(values.tolerance, 0.25);
    EXPECT_THAT(values.weights, ElementsAre(1.0, 0.5));
    EXPECT_EQ(values.stride_bytes, 4096u);
    EXPECT_THAT(values.sizes_bytes, ElementsAre(8u, 64u));
    EXPECT_EQ(values.limit_s, 0.5);
    EXPECT_EQ(values.error, 0.05);
    EXPECT_EQ(values.read_bytes_per_s, 2e9);
    EXPECT_EQ(values.repetitions_min, 7u);
    EXPECT_EQ(values.repetitions_max, 70u);
    EXPECT_EQ(values.colour, Colour::red);
}

TEST_F(Declared, KnowWhichOfThemAreGivenByAnyOfTheirNames) {
    EXPECT_EQ(text({"-o", "file", "--warmup", "0"}), "");

    EXPECT_TRUE(options.given("--output"));
    EXPECT_TRUE(options.given("-o"));
    EXPECT_TRUE(options.given("--warmup"));
    EXPECT_FALSE(options.given("--root"));
}

TEST_F(Declared, RefuseWithTheNameAndTheRemedy) {
    EXPECT_EQ(refused({"--root", "first"}), "--root \"first\" is not a whole number");
    EXPECT_EQ(refused({"--warmup", "-1"}), "--warmup \"-1\" is not a whole number from 0 up");
    EXPECT_EQ(refused({"--colour", "blue"}), "unknown colour \"blue\"; use red or green");
    EXPECT_THAT(refused({"--time-limit", "soon"}), HasSubstr("write 10s, 500ms or 1us"));
    EXPECT_THAT(refused({"--stride", "wide"}), HasSubstr("\"wide\""));
    EXPECT_THAT(refused({"--read-rate", "fast"}), HasSubstr("--read-rate \"fast\" is not a rate"));
    EXPECT_EQ(refused({"--colours", "red"}), "unknown option --colours; did you mean --colour?");
    EXPECT_EQ(refused({"--colours=red"}), "unknown option --colours; did you mean --colour?");
    EXPECT_EQ(refused({"--nonsense"}), "unknown option --nonsense; --help lists the options");
}

TEST_F(Declared, AreShownWithTheirDefaultsAndGroups) {
    const auto help = text({"--help"});

    EXPECT_THAT(help, HasSubstr("Numbers:"));
    EXPECT_THAT(help, HasSubstr("time for each point (default: 10s)"));
    EXPECT_THAT(help, HasSubstr("red|green"));
}

TEST_F(Declared, AreDescribedAsJson) {
    const auto described = Json::parse(text({"--describe"}));

    EXPECT_EQ(described["schema"], "lanewise-options");
    EXPECT_EQ(described["name"], "lanewise-example");
    const auto find = [&](const std::string& name) {
        for (const auto& option : described["options"]) {
            if (option["names"].back() == name) return option;
        }
        return Json();
    };
    EXPECT_EQ(find("--output")["names"], Json({"-o", "--output"}));
    EXPECT_EQ(find("--output")["default"], nullptr);
    EXPECT_EQ(find("--error")["type"], "percentage");
    EXPECT_EQ(find("--read-rate")["type"], "rate");
    EXPECT_EQ(find("--error")["default"], "2.5%");
    EXPECT_EQ(find("--stride")["default"], "1K");
    EXPECT_EQ(find("--stride")["group"], "Numbers");
    EXPECT_EQ(find("--repetitions")["default"], "10:1000");
    EXPECT_EQ(find("--colour")["choices"], Json({"red", "green"}));
    EXPECT_EQ(find("--colour")["default"], "green");
    EXPECT_EQ(find("--resume")["type"], "flag");
    EXPECT_TRUE(find("operations")["repeatable"]);
    EXPECT_FALSE(find("--sizes")["repeatable"]);
}

TEST_F(Declared, AreGivenOrNot) {
    int threads = 0;
    auto& option = options.number("--threads", "N", threads, "(all processors)").without_default();

    EXPECT_EQ(text({"--threads", "4"}), "");
    EXPECT_TRUE(option.given());
    EXPECT_THAT(options.described(), HasSubstr("\"--threads\""));
    EXPECT_EQ(text({}), "");
    EXPECT_FALSE(option.given());
}

TEST(Subcommands, HaveOptionsOfTheirOwn) {
    std::string store;
    int iterations = 1;
    Options options("lanewise-example", "Does nothing.");
    auto& run = options.subcommand("run", "iterate");
    run.text("store", "STORE", store, "the store's folder").required();
    run.number("--iterations", "N", iterations, "how many");
    options.subcommand("info", "say what a store holds");
    std::vector<std::string> words = {"lanewise-example", "run", "demo", "--iterations", "7"};
    std::vector<char *> pointers;
    for (auto& word : words) pointers.push_back(word.data());

    const auto parsed = options.parse(static_cast<int>(pointers.size()), pointers.data());

    ASSERT_TRUE(parsed);
    EXPECT_EQ(options.chosen(), &run);
    EXPECT_EQ(store, "demo");
    EXPECT_EQ(iterations, 7);
    const auto described = Json::parse(options.described());
    EXPECT_EQ(described["subcommands"].size(), 2u);
    EXPECT_EQ(described["subcommands"][0]["name"], "run");
    EXPECT_TRUE(described["subcommands"][0]["options"][0]["required"]);
}

TEST(Subcommands, NameAnUnknownOptionRatherThanWhatIsMissing) {
    std::string store;
    Options options("lanewise-example", "Does nothing.");
    options.subcommand("run", "iterate").text("store", "STORE", store, "its folder").required();
    std::vector<std::string> words = {"lanewise-example", "run", "--nonsense"};
    std::vector<char *> pointers;
    for (auto& word : words) pointers.push_back(word.data());

    const auto parsed = options.parse(static_cast<int>(pointers.size()), pointers.data());

    ASSERT_FALSE(parsed);
    EXPECT_EQ(parsed.failure().sentence, "unknown option --nonsense; see run --help");
}

TEST(Subcommands, AreNamedWhereOneOfThemLacksAnArgument) {
    std::string store;
    Options options("lanewise-example", "Does nothing.");
    options.subcommand("run", "iterate").text("store", "STORE", store, "its folder").required();
    std::string words[] = {"lanewise-example", "run"};
    char *pointers[] = {words[0].data(), words[1].data(), nullptr};

    const auto parsed = options.parse(2, pointers);

    ASSERT_FALSE(parsed);
    EXPECT_EQ(parsed.failure().sentence, "store is required; see run --help");
}

/* Why a command whose subcommands have an option each refuses `words` after `run`. */
std::string refusal_of_run(std::vector<std::string> words) {
    int iterations = 1;
    int rows = 1;
    Options options("lanewise-example", "Does nothing.");
    options.subcommand("run", "iterate").number("--iterations", "N", iterations, "how many");
    options.subcommand("create", "make a store").number("--rows", "N", rows, "how many");
    words.insert(words.begin(), {"lanewise-example", "run"});
    std::vector<char *> pointers;
    for (auto& word : words) pointers.push_back(word.data());
    return options.parse(static_cast<int>(pointers.size()), pointers.data()).failure().sentence;
}

TEST(Subcommands, SuggestTheirOwnOptionsOnly) {
    EXPECT_EQ(refusal_of_run({"--iteration", "4"}),
              "unknown option --iteration; did you mean --iterations?");
    EXPECT_EQ(refusal_of_run({"--row", "4"}), "unknown option --row; see run --help");
}

TEST(Subcommands, TakeNoNumberForAnUnknownOption) {
    EXPECT_EQ(refusal_of_run({"-5"}),
              "The following argument was not expected: -5; see run --help");
}

TEST(Subcommands, TakeNoWordOfAProgramForAnUnknownOption) {
    EXPECT_EQ(refusal_of_run({"--", "-x"}),
              "The following argument was not expected: -x; see run --help");
}

TEST(Subcommands, MustBeNamed) {
    Options options("lanewise-example", "Does nothing.");
    options.subcommand("info", "say what a store holds");
    std::string word = "lanewise-example";
    char *pointers[] = {word.data(), nullptr};

    EXPECT_FALSE(options.parse(1, pointers));
}

}  // namespace
}  // namespace lanewise
