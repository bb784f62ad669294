// SPDX-License-Identifier: BSD-3-Clause
//
// What a tuning file may say, what it chooses, and that nothing else gets in.

#include "collectives/choose.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <random>

#include "base/json.hpp"

namespace lanewise::collectives {
namespace {

using ::testing::HasSubstr;

constexpr auto bytes_max = std::numeric_limits<std::uint64_t>::max();

Json rule(std::uint64_t from_bytes, std::uint64_t to_bytes, const char *algorithm = "binomial") {
    return {{"from_bytes", from_bytes}, {"to_bytes", to_bytes}, {"algorithm", algorithm}};
}

Json interval() {
    return {{"median_s", 1e-6}, {"low_s", 9e-7}, {"high_s", 1.1e-6}, {"repetitions", 200}};
}

/* A file with every key there is. */
Json whole_file() {
    Json candidate = interval();
    candidate.update({{"origin", "lanewise"},
                      {"algorithm", "binomial"},
                      {"segment_bytes", 0},
                      {"lanes", 1},
                      {"predicted_s", 1e-6},
                      {"pruned", false}});
    const Json point = {
        {"message_bytes", 8}, {"default", interval()}, {"candidates", Json::array({candidate})}};
    return {{"schema", "lanewise-tuning"},
            {"version", 1},
            {"lanewise", "0.1.0"},
            {"created", "2026-11-21T15:00:00Z"},
            {"mpi", {{"family", "openmpi"}, {"library", "Open MPI v4.1.4"}}},
            {"ranks", 4},
            {"layout", {2, 2}},
            {"margin", 0.03},
            {"confidence", 0.95},
            {"collectives",
             {{"scatter",
               {{"points", Json::array({point})},
                {"rules",
                 Json::array({rule(8, 1024), rule(4096, 4096, "linear"), rule(4097, bytes_max)})},
                {"mpi_rules", Json::array({rule(8, 64, "linear_nb")})}}}}}};
}

std::string fault_of(const Json& file) {
    const auto tuning = parse_tuning(file.dump(), "tuning.json");
    return tuning ? "" : tuning.failure().sentence;
}

TEST(Choose, AWholeFileIsRead) {
    const auto tuning = parse_tuning(whole_file().dump(), "tuning.json");

    ASSERT_TRUE(tuning) << tuning.failure().sentence;
    EXPECT_EQ(tuning->mpi_family, "openmpi");
    EXPECT_EQ(tuning->ranks, 4);
    EXPECT_EQ(tuning->layout, (std::vector<int>{2, 2}));
    EXPECT_EQ(tuning->rules_of(Collective::scatter).size(), 3U);
    EXPECT_TRUE(tuning->rules_of(Collective::gather).empty());
}

TEST(Choose, ARuleHoldsFromItsFirstToItsLastByte) {
    const auto tuning = parse_tuning(whole_file().dump(), "tuning.json");
    ASSERT_TRUE(tuning);
    const auto name_at = [&](std::uint64_t bytes) -> std::string {
        const Rule *found = find(*tuning, Collective::scatter, bytes);
        return found ? found->algorithm->name : "";
    };

    EXPECT_EQ(name_at(7), "");
    EXPECT_EQ(name_at(8), "binomial");
    EXPECT_EQ(name_at(1024), "binomial");
    EXPECT_EQ(name_at(1025), "");
    EXPECT_EQ(name_at(4095), "");
    EXPECT_EQ(name_at(4096), "linear");
    EXPECT_EQ(name_at(4097), "binomial");
    EXPECT_EQ(name_at(bytes_max), "binomial");
    EXPECT_EQ(find(*tuning, Collective::gather, 8), nullptr);
}

TEST(Choose, ANonblockingCollectiveHasRulesOfItsOwn) {
    auto file = whole_file();
    file["collectives"]["iscatter"] = {{"rules", Json::array({rule(0, 16, "linear_nb")})}};

    const auto tuning = parse_tuning(file.dump(), "tuning.json");

    ASSERT_TRUE(tuning) << tuning.failure().sentence;
    const Operation iscatter(Collective::scatter, Calling::nonblocking);
    EXPECT_STREQ(find(*tuning, iscatter, 8)->algorithm->name, "linear_nb");
    EXPECT_STREQ(find(*tuning, Collective::scatter, 8)->algorithm->name, "binomial");
    EXPECT_EQ(find(*tuning, iscatter, 17), nullptr);
}

TEST(Choose, OperationsAreNamedAsTheMpiNamesThem) {
    for (const auto calling : {Calling::blocking, Calling::nonblocking}) {
        for (int c = 0; c < collective_count; ++c) {
            const Operation operation(static_cast<Collective>(c), calling);
            EXPECT_EQ(operation_named(name_of(operation)), operation);
        }
    }
    EXPECT_EQ(name_of(Operation(Collective::bcast, Calling::nonblocking)), "ibcast");
    EXPECT_EQ(operation_named("iiscatter"), std::nullopt);
    EXPECT_EQ(operation_named("i"), std::nullopt);
}

struct Wrong {
    const char *pointer; /* what is replaced, or added */
    Json value;
    const char *named; /* in the sentence */
};

class Refused : public ::testing::TestWithParam<Wrong> {};

TEST_P(Refused, NamesThePlaceAndWhatIsWrong) {
    auto file = whole_file();
    file[Json::json_pointer(GetParam().pointer)] = GetParam().value;

    const auto sentence = fault_of(file);

    EXPECT_THAT(sentence, HasSubstr("tuning.json: "));
    EXPECT_THAT(sentence, HasSubstr(GetParam().named));
    EXPECT_EQ(sentence.find('\n'), std::string::npos);
}

const char *const rules = "/collectives/scatter/rules";

INSTANTIATE_TEST_SUITE_P(
    Choose, Refused,
    ::testing::Values(
        Wrong{"/rnaks", 4, "unknown key 'rnaks'"}, Wrong{"/schema", "lanewise-samples", "schema"},
        Wrong{"/version", 2, "version 2 is newer"}, Wrong{"/ranks", 0, "'ranks' is 0"},
        Wrong{"/ranks", -4, "'ranks' is -4"}, Wrong{"/ranks", 4.5, "'ranks' is 4.5"},
        Wrong{"/same_bits", "ranks", "must be order"},
        Wrong{"/layout", {2, 3}, "places 5 ranks of 4"},
        Wrong{"/layout", {4, 0}, "'layout[1]' is 0"},
        Wrong{"/layout", Json::array({Json::array({4})}), "layout"},
        Wrong{"/mpi", "openmpi", "'mpi' is \"openmpi\", not an object"},
        Wrong{"/mpi/vendor", "debian", "mpi: unknown key 'vendor'"},
        Wrong{"/collectives/scater", Json::object(), "unknown collective 'scater'"},
        Wrong{"/collectives/scatter/rule", 1, "collectives.scatter: unknown key 'rule'"},
        Wrong{"/collectives/scatter/points/0/default", Json::object(), "lacks 'median_s'"},
        Wrong{"/collectives/scatter/points/0/candidates/0/fast", true, "unknown key 'fast'"},
        Wrong{"/collectives/scatter/rules/0/algorithm", "binomal", "'binomal' of scatter"},
        Wrong{"/collectives/scatter/rules/0/from_bytes", 1025, "1025 is above to_bytes 1024"},
        Wrong{"/collectives/scatter/rules/0/to_bytes", 4096, "rules[1]: begins at 4096"},
        Wrong{"/collectives/scatter/rules/0/lanes", 0, "rules[0].lanes' is 0"},
        Wrong{"/collectives/scatter/rules/0/segment_bytes", bytes_max, "segment_bytes"},
        Wrong{"/collectives/scatter/mpi_rules/0/algoritm", "x", "mpi_rules[0]: unknown key"},
        Wrong{rules, Json::array({rule(64, 128), rule(8, 32)}), "rules[1]: begins at 8"},
        Wrong{rules, Json::array({rule(8, 64), rule(64, 128)}), "rules[1]: begins at 64"}));

TEST(Choose, AMissingKeyIsNamed) {
    const auto whole = whole_file();
    for (const auto& [name, value] : whole.items()) {
        auto file = whole;
        file.erase(name);

        EXPECT_THAT(fault_of(file), HasSubstr("lacks '" + name + "'"));
    }
}

TEST(Choose, AFileThatIsNotThereIsNamed) {
    const auto tuning = read_tuning("/nowhere/tuning.json");

    ASSERT_FALSE(tuning);
    EXPECT_THAT(tuning.failure().sentence, HasSubstr("/nowhere/tuning.json cannot be read"));
}

TEST(Choose, AFolderIsNoFile) {
    EXPECT_FALSE(read_tuning("/"));
}

TEST(Choose, EveryTruncationIsRefused) {
    const auto text = whole_file().dump();

    for (std::size_t length = 0; length < text.size(); ++length) {
        EXPECT_FALSE(parse_tuning(text.substr(0, length), "tuning.json"));
    }
}

TEST(Choose, WhatIsNestedDeeplyIsRefused) {
    const std::string depth(100'000, '[');
    const std::string closed = depth + std::string(depth.size(), ']');

    EXPECT_FALSE(parse_tuning(depth, "tuning.json"));
    EXPECT_FALSE(parse_tuning(closed, "tuning.json"));
    auto text = whole_file().dump();
    text.replace(text.find("[2,2]"), 5, closed);
    EXPECT_FALSE(parse_tuning(text, "tuning.json"));
}

/* Whatever was accepted keeps what the callers rely on. */
void expect_sound(const Tuning& tuning) {
    EXPECT_GE(tuning.ranks, 1);
    for (const auto& list : tuning.rules) {
        for (std::size_t i = 0; i < list.size(); ++i) {
            EXPECT_NE(list[i].algorithm, nullptr);
            EXPECT_LE(list[i].from_bytes, list[i].to_bytes);
            EXPECT_GE(list[i].lanes, 1);
            EXPECT_GE(list[i].segment_bytes, 0);
            if (i > 0) {
                EXPECT_LT(list[i - 1].to_bytes, list[i].from_bytes);
            }
        }
    }
}

TEST(Choose, DamagedFilesAreRefusedOrSoundAndNeverCrash) {
    const auto text = whole_file().dump();
    const std::string letters = R"({}[]",:0123456789.-eE truefalsn\u)"
                                "\x01\xff";
    std::mt19937 random(1);
    const auto pick = [&](std::size_t bound) { return random() % bound; };
    int accepted = 0;
    for (int round = 0; round < 20'000; ++round) {
        auto damaged = text;
        for (auto left = 1 + pick(4); left > 0; --left) {
            const auto at = pick(damaged.size());
            switch (pick(3)) {
                case 0:
                    damaged[at] = letters[pick(letters.size())];
                    break;
                case 1:
                    damaged.erase(at, 1 + pick(8));
                    break;
                default:
                    damaged.insert(at, text.substr(pick(text.size()), 1 + pick(16)));
            }
        }
        const auto tuning = parse_tuning(damaged, "tuning.json");
        if (!tuning) continue;
        expect_sound(*tuning);
        ++accepted;
    }
    // Most damage hits numbers of the evidence less often than structure, yet some does.
    EXPECT_GT(accepted, 100);
    EXPECT_LT(accepted, 15'000);
}

TEST(Choose, GarbageIsRefused) {
    std::mt19937 random(2);
    for (int round = 0; round < 2'000; ++round) {
        std::string garbage(random() % 200, ' ');
        for (auto& letter : garbage) letter = static_cast<char>(random());

        EXPECT_FALSE(parse_tuning(garbage, "tuning.json"));
    }
}

/* Every value of a sound file, replaced by each kind of value, one at a time. */
TEST(Choose, AValueOfAnotherKindIsRefusedOrSound) {
    const auto flat = whole_file().flatten();
    const Json others[] = {nullptr, true, -1, 0, 1.5, bytes_max, "", Json::array(), Json::object()};
    for (const auto& [pointer, value] : flat.items()) {
        for (const auto& other : others) {
            auto file = whole_file();
            file[Json::json_pointer(pointer)] = other;
            const auto tuning = parse_tuning(file.dump(), "tuning.json");
            if (tuning) expect_sound(*tuning);
        }
    }
}

}  // namespace
}  // namespace lanewise::collectives
