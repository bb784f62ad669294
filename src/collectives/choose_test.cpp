// SPDX-License-Identifier: BSD-3-Clause
//
// What a tuning file may say, what it chooses, and that nothing else gets in.

#include "collectives/choose.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <random>

#include "base/json.hpp"
#include "testing/cases.hpp"

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
    const Json judged = {{"origin", "lanewise"}, {"algorithm", "binomial"},
                         {"segment_bytes", 0},   {"lanes", 1},
                         {"times_s", {1e-6}},    {"ratio", 0.9},
                         {"low", 0.8},           {"high", 0.95},
                         {"p_value", 0.01},      {"faster", true}};
    const Json point = {
        {"message_bytes", 8},
        {"default", interval()},
        {"candidates", Json::array({candidate})},
        {"judgement",
         {{"roots", {1}}, {"default_s", {1.1e-6}}, {"candidates", Json::array({judged})}}}};
    const Json layout = {{"lanewise", "0.1.0"},
                         {"created", "2026-11-21T15:00:00Z"},
                         {"hosts", {0, 0, 1, 1}},
                         {"launches", 7},
                         {"margin", 0.03},
                         {"confidence", 0.95},
                         {"collectives",
                          {{"scatter",
                            {{"points", Json::array({point})},
                             {"unmeasured_bytes", {1U << 20U}},
                             {"rules", Json::array({rule(8, 1024), rule(4096, 4096, "linear"),
                                                    rule(4097, bytes_max)})},
                             {"mpi_rules", Json::array({rule(8, 64, "linear_nb")})}}}}}};
    return {{"schema", "lanewise-tuning"},
            {"version", 2},
            {"mpi", {{"family", "openmpi"}, {"library", "Open MPI v4.1.4"}}},
            {"layouts", Json::array({layout})}};
}

/* The same as version 1 has it. */
Json file_of_version_1() {
    auto file = whole_file();
    const Json layout = file["layouts"][0];
    file.erase("layouts");
    for (const auto *key : {"lanewise", "created", "margin", "confidence", "collectives"}) {
        file[key] = layout[key];
    }
    file["version"] = 1;
    file["ranks"] = 4;
    file["layout"] = {2, 2};
    return file;
}

std::string fault_of(const Json& file) {
    const auto tuning = parse_tuning(file.dump(), "tuning.json");
    return tuning ? "" : tuning.failure().sentence;
}

TEST(TuningFile, IsReadAsAWhole) {
    const auto tuning = parse_tuning(whole_file().dump(), "tuning.json");

    ASSERT_TRUE(tuning) << tuning.failure().sentence;
    EXPECT_EQ(tuning->mpi_family, "openmpi");
    ASSERT_EQ(tuning->layouts.size(), 1U);
    const auto& only = tuning->layouts.front();
    EXPECT_EQ(only.ranks(), 4);
    EXPECT_EQ(only.hosts, (Hosts{0, 0, 1, 1}));
    EXPECT_FALSE(only.in_any_order);
    EXPECT_FALSE(only.for_every_call);
    EXPECT_EQ(only.rules_of(Collective::scatter).size(), 3U);
    EXPECT_TRUE(only.rules_of(Collective::gather).empty());
}

TEST(TuningFile, HasItsMeasurementsCheckedWhereThatIsWanted) {
    auto file = whole_file();
    file["layouts"][0]["collectives"]["scatter"]["points"] = "none";

    EXPECT_FALSE(parse_tuning(file.dump(), "tuning.json", Measurements::checked));
    const auto tuning = parse_tuning(file.dump(), "tuning.json", Measurements::skipped);

    ASSERT_TRUE(tuning) << tuning.failure().sentence;
    EXPECT_EQ(tuning->layouts.front().rules_of(Collective::scatter).size(), 3U);
}

TEST(TuningFile, HasRulesFromTheirFirstToTheirLastByte) {
    const auto tuning = parse_tuning(whole_file().dump(), "tuning.json");
    ASSERT_TRUE(tuning);
    const auto name_at = [&](std::uint64_t bytes) -> std::string {
        const Rule *found = find(tuning->layouts.front(), Collective::scatter, bytes);
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
    EXPECT_EQ(find(tuning->layouts.front(), Collective::gather, 8), nullptr);
}

TEST(TuningFile, MayNameATreeOfAnyRadixFromTwoToSixtyFour) {
    for (const auto collective :
         {Collective::bcast, Collective::scatter, Collective::gather, Collective::reduce}) {
        for (int radix = 0; radix <= 100; ++radix) {
            const auto name = "knomial:" + std::to_string(radix);
            auto file = whole_file();
            file["layouts"][0]["collectives"] = {
                {name_of(collective), {{"rules", Json::array({rule(8, 1024, name.c_str())})}}}};

            const auto tuning = parse_tuning(file.dump(), "tuning.json");

            ASSERT_EQ(static_cast<bool>(tuning), radix >= 2 && radix <= 64) << name;
            if (!tuning) continue;
            const auto *found = find(tuning->layouts.front(), collective, 8)->algorithm;
            EXPECT_EQ(found->name, name);
            EXPECT_EQ(found->radix, radix);
            EXPECT_EQ(found->collective, collective);
        }
    }
}

TEST(ListedTrees, AreAFewAndTheOnesThatAreFound) {
    std::vector<std::string> listed;
    for (const auto *algorithm : algorithms()) {
        if (algorithm->collective != Collective::reduce) continue;
        EXPECT_EQ(find_algorithm(Collective::reduce, algorithm->name), algorithm);
        if (std::string(algorithm->name).starts_with("knomial")) listed.push_back(algorithm->name);
    }

    EXPECT_EQ(listed, (std::vector<std::string>{"knomial:3", "knomial:4", "knomial:8"}));
    for (const auto *name : {"knomial:", "knomial:03", "knomial:3 ", "knomial:-3", "knomial"}) {
        EXPECT_EQ(find_algorithm(Collective::reduce, name), nullptr) << name;
    }
    EXPECT_EQ(find_algorithm(Collective::allgather, "knomial:3"), nullptr);
}

TEST(TuningFile, HasRulesOfTheirOwnForNonblockingCollectives) {
    auto file = whole_file();
    file["layouts"][0]["collectives"]["iscatter"] = {
        {"rules", Json::array({rule(0, 16, "linear_nb")})}};

    const auto tuning = parse_tuning(file.dump(), "tuning.json");

    ASSERT_TRUE(tuning) << tuning.failure().sentence;
    const Operation iscatter(Collective::scatter, Calling::nonblocking);
    EXPECT_STREQ(find(tuning->layouts.front(), iscatter, 8)->algorithm->name, "linear_nb");
    EXPECT_STREQ(find(tuning->layouts.front(), Collective::scatter, 8)->algorithm->name,
                 "binomial");
    EXPECT_EQ(find(tuning->layouts.front(), iscatter, 17), nullptr);
}

TEST(TuningFile, NamesOperationsAsTheMpiDoes) {
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

TEST(TuningFile, OfVersion1IsReadAsItWasMeant) {
    const auto tuning = parse_tuning(file_of_version_1().dump(), "tuning.json");

    ASSERT_TRUE(tuning) << tuning.failure().sentence;
    const auto& only = tuning->layouts.front();
    EXPECT_EQ(ranks_on_hosts(only.hosts), (std::vector<int>{2, 2}));
    EXPECT_TRUE(only.in_any_order);
    EXPECT_TRUE(only.for_every_call);
    EXPECT_EQ(only.rules_of(Collective::scatter).size(), 3U);
    EXPECT_EQ(nearest(*tuning, {0, 1, 0, 1}), &only);
    EXPECT_EQ(nearest(*tuning, {0, 0, 0, 1}), nullptr);
    EXPECT_EQ(nearest(*tuning, {0, 0, 0, 0, 1, 1, 1, 1}), nullptr);
}

TEST(TuningFile, OfVersion1PlacesAsManyRanksAsItHas) {
    auto file = file_of_version_1();
    file["layout"] = {2, 3};

    EXPECT_THAT(fault_of(file), HasSubstr("places 5 ranks of 4"));
}

TEST(TuningFile, OfVersion1WithRanksBeyondAllMachinesIsRefused) {
    auto file = file_of_version_1();
    file["ranks"] = 2'000'000'000;
    file["layout"] = {2'000'000'000};

    EXPECT_THAT(fault_of(file), HasSubstr("'ranks' is 2000000000, more than 16777216"));
}

TEST(Order, IsOfHostsWithAsManyRanksEach) {
    EXPECT_EQ(order_of({0}), HostOrder::one_host);
    EXPECT_EQ(order_of({0, 0, 0}), HostOrder::one_host);
    EXPECT_EQ(order_of({0, 1, 2}), HostOrder::one_each);
    EXPECT_EQ(order_of({0, 0, 1, 1}), HostOrder::block);
    EXPECT_EQ(order_of({0, 1, 0, 1}), HostOrder::cyclic);
    EXPECT_EQ(order_of({0, 1, 1, 0}), HostOrder::other);
    EXPECT_EQ(order_of({0, 0, 1}), HostOrder::other);
    EXPECT_EQ(order_of({0, 0, 0, 1}), HostOrder::other);
}

Hosts block(int hosts, int each) {
    Hosts made;
    for (int host = 0; host < hosts; ++host)
        made.insert(made.end(), static_cast<std::size_t>(each), host);
    return made;
}

Hosts cyclic(int hosts, int each) {
    Hosts made;
    for (int rank = 0; rank < hosts * each; ++rank) made.push_back(rank % hosts);
    return made;
}

/* Which of `measured` ranks on `hosts` follow; -1: none. */
int followed(const std::vector<Hosts>& measured, const Hosts& hosts) {
    Tuning tuning;
    for (const auto& one : measured) tuning.layouts.push_back({.hosts = one, .rules = {}});
    const auto *found = nearest(tuning, hosts);
    return found ? static_cast<int>(found - tuning.layouts.data()) : -1;
}

TEST(Nearest, IsWhatWasMeasuredForTheSameHostsIfThereIsSuch) {
    const std::vector<Hosts> measured = {block(1, 4), block(2, 2), cyclic(2, 2), {0, 1, 1, 0}};
    for (int i = 0; i < 4; ++i)
        EXPECT_EQ(followed(measured, measured[static_cast<std::size_t>(i)]), i);
}

TEST(Nearest, TellsBlocksFromCycles) {
    EXPECT_EQ(followed({block(2, 4)}, cyclic(2, 4)), -1);
    EXPECT_EQ(followed({block(2, 4), cyclic(2, 2)}, cyclic(2, 4)), 1);
}

TEST(Nearest, IsAtMostTwiceAsFar) {
    EXPECT_EQ(followed({block(1, 4)}, block(1, 8)), 0);
    EXPECT_EQ(followed({block(1, 4)}, block(1, 2)), 0);
    EXPECT_EQ(followed({block(1, 4)}, block(1, 9)), -1);
    EXPECT_EQ(followed({block(2, 4)}, block(4, 4)), 0);
    EXPECT_EQ(followed({block(2, 4)}, block(5, 2)), -1);
    EXPECT_EQ(followed({block(4, 1)}, block(8, 1)), 0);
}

TEST(Nearest, IsTheNearerOfTwoAndThenThatOfFewerRanks) {
    EXPECT_EQ(followed({block(1, 4), block(1, 12)}, block(1, 6)), 0);
    EXPECT_EQ(followed({block(1, 4), block(1, 12)}, block(1, 8)), 1);
    EXPECT_EQ(followed({block(1, 16), block(1, 4)}, block(1, 8)), 1);
    EXPECT_EQ(followed({block(2, 4), block(4, 2)}, block(4, 4)), 1);
}

TEST(Nearest, OfTwoThatAreEquallyNearIsAlwaysThatOfFewerRanks) {
    int pairs = 0;
    for (int ranks = 2; ranks <= 64; ++ranks) {
        for (int fewer = (ranks + 1) / 2; fewer < ranks; ++fewer) {
            const int more = ranks * ranks / fewer;
            if (fewer * more != ranks * ranks) continue;
            ++pairs;
            EXPECT_EQ(followed({block(1, more), block(1, fewer)}, block(1, ranks)), 1);
            EXPECT_EQ(followed({block(1, fewer), block(1, more)}, block(1, ranks)), 0);
        }
    }
    EXPECT_GT(pairs, 24);
}

TEST(Nearest, OfHostsInNoOrderIsNone) {
    EXPECT_EQ(followed({{0, 0, 1}, {0, 0, 1, 0}}, {0, 0, 1, 1, 1}), -1);
}

class Refused : public ::testing::TestWithParam<Wrong> {};

TEST_P(Refused, NamesThePlaceAndWhatIsWrong) {
    auto file = whole_file();
    file[Json::json_pointer(GetParam().pointer)] = GetParam().value;

    const auto sentence = fault_of(file);

    EXPECT_THAT(sentence, HasSubstr("tuning.json: "));
    EXPECT_THAT(sentence, HasSubstr(GetParam().named));
    EXPECT_EQ(sentence.find('\n'), std::string::npos);
}

const char *const rules = "/layouts/0/collectives/scatter/rules";

INSTANTIATE_TEST_SUITE_P(
    TuningFile, Refused,
    ::testing::Values(
        Wrong{"/rnaks", 4, "unknown key 'rnaks'"}, Wrong{"/schema", "lanewise-samples", "schema"},
        Wrong{"/layouts/0/same_bits", "ranks", "must be order"},
        Wrong{"/layouts/0/collectives/scatter/unmeasured_bytes", {-1}, "-1"},
        Wrong{"/version", 3, "version 3 is newer"},
        Wrong{"/layouts/0/hosts", Json::array(), "'layouts[0].hosts'"},
        Wrong{"/layouts/0/hosts", {1, 0}, "does not number hosts by their first ranks"},
        Wrong{"/layouts/0/hosts", {0, 2, 1}, "does not number hosts by their first ranks"},
        Wrong{"/layouts/0/hosts", {0, -1}, "-1"},
        Wrong{"/layouts/0/hosts", Json::array({Json::array({4})}), "hosts"},
        Wrong{"/layouts/0/ranks", 4, "unknown key 'ranks'"},
        Wrong{"/layouts", Json::array(), "is empty"},
        Wrong{"/layouts", {whole_file()["layouts"][0], whole_file()["layouts"][0]}, "twice"},
        Wrong{"/mpi", "openmpi", "'mpi' is \"openmpi\", not an object"},
        Wrong{"/mpi/vendor", "debian", "mpi: unknown key 'vendor'"},
        Wrong{"/layouts/0/collectives/scater", Json::object(), "unknown collective 'scater'"},
        Wrong{"/layouts/0/collectives/scatter/rule", 1, "collectives.scatter: unknown key 'rule'"},
        Wrong{"/layouts/0/collectives/scatter/points/0/default", Json::object(),
              "lacks 'median_s'"},
        Wrong{"/layouts/0/collectives/scatter/points/0/candidates/0/fast", true,
              "unknown key 'fast'"},
        Wrong{"/layouts/0/collectives/scatter/rules/0/algorithm", "binomal",
              "'binomal' of scatter"},
        Wrong{"/layouts/0/collectives/scatter/rules/0/from_bytes", 1025,
              "1025 is above to_bytes 1024"},
        Wrong{"/layouts/0/collectives/scatter/rules/0/to_bytes", 4096, "rules[1]: begins at 4096"},
        Wrong{"/layouts/0/collectives/scatter/rules/0/lanes", 0, "rules[0].lanes' is 0"},
        Wrong{"/layouts/0/collectives/scatter/rules/0/segment_bytes", bytes_max, "segment_bytes"},
        Wrong{"/layouts/0/collectives/scatter/rules/0/segment_bytes", 4096,
              "rules[0].segment_bytes' changes nothing in"},
        Wrong{"/layouts/0/collectives/scatter/rules/0/lanes", 2,
              "rules[0].lanes' changes nothing in"},
        Wrong{"/layouts/0/margin", 2, "margin' is 2.0, not between 0"},
        Wrong{"/layouts/0/confidence", -1, "confidence' is -1.0, not between 0"},
        Wrong{"/layouts/0/collectives/scatter/mpi_rules/0/algoritm", "x",
              "mpi_rules[0]: unknown key"},
        Wrong{rules, Json::array({rule(64, 128), rule(8, 32)}), "rules[1]: begins at 8"},
        Wrong{rules, Json::array({rule(8, 64), rule(64, 128)}), "rules[1]: begins at 64"}));

TEST(TuningFile, ThatLacksAKeyIsRefusedByTheNameOfTheKey) {
    const auto whole = whole_file();
    for (const auto& [name, value] : whole.items()) {
        auto file = whole;
        file.erase(name);

        EXPECT_THAT(fault_of(file), HasSubstr("lacks '" + name + "'"));
    }
}

TEST(TuningFile, ThatIsNotThereIsNamed) {
    const auto tuning = read_tuning("/nowhere/tuning.json");

    ASSERT_FALSE(tuning);
    EXPECT_THAT(tuning.failure().sentence, HasSubstr("/nowhere/tuning.json cannot be read"));
}

TEST(TuningFile, IsNoFolder) {
    EXPECT_FALSE(read_tuning("/"));
}

TEST(TuningFile, ThatIsTruncatedAnywhereIsRefused) {
    const auto text = whole_file().dump();

    for (std::size_t length = 0; length < text.size(); ++length) {
        EXPECT_FALSE(parse_tuning(text.substr(0, length), "tuning.json"));
    }
}

TEST(TuningFile, ThatIsNestedDeeplyIsRefused) {
    const std::string depth(100'000, '[');
    const std::string closed = depth + std::string(depth.size(), ']');

    EXPECT_FALSE(parse_tuning(depth, "tuning.json"));
    EXPECT_FALSE(parse_tuning(closed, "tuning.json"));
    auto text = whole_file().dump();
    text.replace(text.find("[0,0,1,1]"), 9, closed);
    EXPECT_FALSE(parse_tuning(text, "tuning.json"));
}

/* Whatever was accepted keeps what the callers rely on. */
void expect_sound(const std::vector<Rule>& list) {
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

void expect_sound(const Tuning& tuning) {
    EXPECT_FALSE(tuning.layouts.empty());
    for (const auto& layout : tuning.layouts) {
        EXPECT_GE(layout.ranks(), 1);
        EXPECT_NE(nearest(tuning, layout.hosts), nullptr);
        for (const auto& list : layout.rules) expect_sound(list);
    }
}

TEST(TuningFile, ThatIsDamagedIsRefusedOrSoundAndNeverCrashes) {
    const auto text = whole_file().dump();
    const std::string letters = R"({}[]",:0123456789.-eE truefalsn\u)"
                                "\x01\xff";
    std::mt19937 random(1);
    const auto pick = [&](std::size_t bound) { return random() % bound; };
    const int rounds = lanewise::testing::cases(20'000, 4'000);
    int accepted = 0;
    for (int round = 0; round < rounds; ++round) {
        auto damaged = text;
        for (auto left = 1 + pick(4); left > 0; --left) {
            const auto at = pick(damaged.size());
            switch (pick(3)) {
                case 0: damaged[at] = letters[pick(letters.size())]; break;
                case 1: damaged.erase(at, 1 + pick(8)); break;
                default: damaged.insert(at, text.substr(pick(text.size()), 1 + pick(16)));
            }
        }
        const auto tuning = parse_tuning(damaged, "tuning.json");
        if (!tuning) continue;
        expect_sound(*tuning);
        ++accepted;
    }
    // Most damage hits numbers of the evidence less often than structure, yet some does.
    EXPECT_GT(accepted, rounds / 200);
    EXPECT_LT(accepted, rounds * 3 / 4);
}

TEST(TuningFile, OfGarbageIsRefused) {
    std::mt19937 random(2);
    for (int round = 0; round < 2'000; ++round) {
        std::string garbage(random() % 200, ' ');
        for (auto& letter : garbage) letter = static_cast<char>(random());

        EXPECT_FALSE(parse_tuning(garbage, "tuning.json"));
    }
}

/* Every value of a sound file, replaced by each kind of value, one at a time. */
TEST(TuningFile, WithAValueOfAnotherKindIsRefusedOrSound) {
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
