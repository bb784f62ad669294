// SPDX-License-Identifier: BSD-3-Clause
//
// The C interface of the models: what it predicts is what the parts below it predict, and what it
// cannot use it refuses in a sentence, without an output touched.

#include <lanewise/model.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <limits>
#include <stdexcept>

#include "base/json.hpp"
#include "collectives/predict.hpp"
#include "model/fit/fit.hpp"

namespace lanewise::collectives {
namespace {

using ::testing::HasSubstr;

constexpr double untouched_s = -1.0;
constexpr int measured_ranks = 3;

struct Heard {
    std::vector<std::string> sentences;

    static void hear(void *context, lw_status status, const char *sentence) {
        static_cast<Heard *>(context)->sentences.push_back(std::string(lw_status_text(status)) +
                                                           ": " + sentence);
    }
    lw_model_options options() {
        lw_model_options chosen = LW_MODEL_OPTIONS;
        chosen.report = hear;
        chosen.report_context = this;
        return chosen;
    }
    std::string last() const { return sentences.empty() ? "" : sentences.back(); }
};

class Folder {
  public:
    Folder() { std::filesystem::create_directories(path_); }
    ~Folder() { std::filesystem::remove_all(path_); }
    std::string write(const char *name, const std::string& text) const {
        std::ofstream(path_ / name) << text;
        return at(name);
    }
    std::string at(const char *name) const { return (path_ / name).string(); }

  private:
    std::filesystem::path path_ = std::filesystem::temp_directory_path() /
                                  ("lanewise-model-api-" + std::to_string(::getpid()));
};

/* A round trip of M bytes both ways takes 20 us and 2 M ns, between any two of three ranks. */
std::string pair_samples() {
    Json placement = Json::array();
    for (int rank = 0; rank < measured_ranks; ++rank)
        placement.push_back({{"rank", rank}, {"host", "here"}, {"cpus", "0"}});
    std::string text =
        Json{{"record", "context"},   {"schema", "lanewise-samples"},
             {"version", 2},          {"mpi", {{"family", "openmpi"}, {"library", "by hand"}}},
             {"launcher", "openmpi"}, {"ranks", measured_ranks},
             {"placement", placement}}
            .dump() +
        "\n";
    for (int i = 0; i < measured_ranks; ++i) {
        for (int j = i + 1; j < measured_ranks; ++j) {
            for (const int bytes : {0, 1, 1024, 4096, 65536, 1 << 20}) {
                const double time_s = 2e-5 + 2e-9 * bytes;
                text += Json{{"record", "point"},
                             {"operation", "pairs"},
                             {"root", i},
                             {"peer", j},
                             {"message_bytes", bytes},
                             {"reply_bytes", bytes},
                             {"samples_s", {0.99 * time_s, time_s, 1.01 * time_s}}}
                            .dump() +
                        "\n";
            }
        }
    }
    return text;
}

class ModelApi : public ::testing::Test {
  protected:
    void SetUp() override {
        const auto samples = folder.write("pairs.jsonl", pair_samples());
        const char *files[] = {samples.c_str()};
        options.redraws = 5;
        ASSERT_EQ(lw_model_fit(files, 1, &options, &platform), LW_OK) << heard.last();
    }
    void TearDown() override { lw_model_free(platform); }

    lw_model_call scatter(const char *algorithm) const {
        lw_model_call call = LW_MODEL_CALL;
        call.collective = "scatter";
        call.algorithm = algorithm;
        call.message_bytes = 1000;
        return call;
    }
    std::string refusal_of(const lw_model_call& call, lw_status expected) {
        double time_s = untouched_s;
        EXPECT_EQ(lw_model_predict(platform, &call, &options, &time_s), expected) << heard.last();
        EXPECT_EQ(time_s, untouched_s);
        return heard.last();
    }

    Folder folder;
    Heard heard;
    lw_model_options options = heard.options();
    lw_platform *platform = nullptr;
};

TEST_F(ModelApi, PredictsAScatterByTheFormulaOfHockney) {
    auto call = scatter("linear");
    double time_s = untouched_s;

    ASSERT_EQ(lw_model_predict(platform, &call, nullptr, &time_s), LW_OK);
    EXPECT_NEAR(time_s, 2 * (1e-5 + 1e-9 * 1000), 1e-12);
    call.algorithm = "binomial";
    call.ranks = 4096;
    ASSERT_EQ(lw_model_predict(platform, &call, nullptr, &time_s), LW_OK);
    EXPECT_NEAR(time_s, 12 * 1e-5 + 4095 * 1e-9 * 1000, 1e-9);
}

TEST_F(ModelApi, RefusesADescriptionOfAnotherSize) {
    lw_model_description model = LW_MODEL_DESCRIPTION;
    model.struct_size = 8;

    EXPECT_EQ(lw_model_describe(platform, 0, &model), LW_ERR_ARGUMENT);
    EXPECT_EQ(model.name, nullptr);
}

TEST_F(ModelApi, DescribesEachModelAndSaysWhatTheOthersLack) {
    lw_model_description model = LW_MODEL_DESCRIPTION;

    EXPECT_EQ(lw_model_ranks(platform), measured_ranks);
    ASSERT_EQ(lw_model_count(platform), 2u);
    ASSERT_EQ(lw_model_describe(platform, 0, &model), LW_OK);
    EXPECT_STREQ(model.name, "hockney");
    EXPECT_GT(model.held_out_points, 0u);
    EXPECT_LT(model.held_out_error, 1e-6);
    ASSERT_EQ(lw_model_describe(platform, 1, &model), LW_OK);
    EXPECT_STREQ(model.name, "piecewise");
    EXPECT_EQ(lw_model_describe(platform, 2, &model), LW_ERR_NOT_FOUND);
    EXPECT_THAT(heard.sentences, ::testing::Contains(HasSubstr("not fitted: lmo: no triplets")));
}

TEST_F(ModelApi, WritesAFileThatReadsAsTheSamePlatform) {
    const auto file = folder.at("platform.json");
    lw_platform *again = nullptr;
    double first_s = 0.0;
    double second_s = 0.0;
    const auto call = scatter("binomial");

    ASSERT_EQ(lw_model_write(platform, file.c_str(), &options), LW_OK) << heard.last();
    ASSERT_EQ(lw_model_read(file.c_str(), &options, &again), LW_OK) << heard.last();
    ASSERT_EQ(lw_model_predict(platform, &call, &options, &first_s), LW_OK);
    ASSERT_EQ(lw_model_predict(again, &call, &options, &second_s), LW_OK);

    EXPECT_EQ(first_s, second_s);
    lw_model_free(again);
}

/* `algorithm`'s schedule of every rank, step by step through the interface. */
lw_schedule *copied(const Algorithm& algorithm, CallShape shape) {
    lw_schedule *schedule = nullptr;
    EXPECT_EQ(lw_schedule_create(shape.ranks, nullptr, nullptr, &schedule), LW_OK);
    for (shape.rank = 0; shape.rank < shape.ranks; ++shape.rank) {
        const auto own = algorithm.build(shape);
        for (const auto& step : own.steps) {
            const auto waits = own.after_of(step);
            const std::vector<std::size_t> after(waits.begin(), waits.end());
            lw_step added = LW_STEP;
            added.kind = static_cast<lw_step_kind>(step.kind);
            added.peer = step.peer;
            added.bytes = static_cast<std::uint64_t>(step.count);
            added.after = after.data();
            added.after_count = after.size();
            EXPECT_EQ(lw_schedule_add(schedule, shape.rank, &added, nullptr), LW_OK);
        }
    }
    return schedule;
}

TEST_F(ModelApi, PricesTheScheduleOfAnAlgorithmAsItsPrediction) {
    for (const char *name : {"bruck", "ring", "recursive_doubling"}) {
        const auto *algorithm = find_algorithm(Collective::allgather, name);
        ASSERT_TRUE(algorithm) << name;
        auto call = scatter(name);
        call.collective = "allgather";
        call.ranks = 8;
        CallShape shape;
        shape.ranks = call.ranks;
        shape.count = static_cast<std::int64_t>(call.message_bytes);
        auto *schedule = copied(*algorithm, shape);
        std::vector<double> rank_s(8, untouched_s);
        double priced_s = 0.0;
        double predicted_s = 1.0;

        ASSERT_EQ(lw_model_price(platform, schedule, &options, &priced_s, rank_s.data()), LW_OK);
        ASSERT_EQ(lw_model_predict(platform, &call, &options, &predicted_s), LW_OK);

        EXPECT_EQ(priced_s, predicted_s) << name;
        EXPECT_EQ(*std::max_element(rank_s.begin(), rank_s.end()), priced_s);
        lw_schedule_free(schedule);
    }
}

TEST_F(ModelApi, CountsCopiesAndReductionsAtTheCallersRate) {
    lw_schedule *schedule = nullptr;
    ASSERT_EQ(lw_schedule_create(1, nullptr, nullptr, &schedule), LW_OK);
    lw_step step = LW_STEP;
    std::size_t copy = 7;
    step.kind = LW_STEP_COPY;
    step.bytes = 1000;
    ASSERT_EQ(lw_schedule_add(schedule, 0, &step, &copy), LW_OK);
    EXPECT_EQ(copy, 0u);
    step.kind = LW_STEP_REDUCE;
    step.after = &copy;
    step.after_count = 1;
    ASSERT_EQ(lw_schedule_add(schedule, 0, &step, nullptr), LW_OK);
    double time_s = untouched_s;

    ASSERT_EQ(lw_model_price(platform, schedule, &options, &time_s, nullptr), LW_OK);
    EXPECT_EQ(time_s, 0.0);
    options.copy_s_per_byte = 1e-9;
    options.reduce_s_per_byte = 3e-9;
    ASSERT_EQ(lw_model_price(platform, schedule, &options, &time_s, nullptr), LW_OK);
    EXPECT_NEAR(time_s, 4e-6, 1e-15);
    lw_schedule_free(schedule);
}

TEST_F(ModelApi, RefusesACallThatCannotBePredicted) {
    auto call = scatter("nonsense");
    EXPECT_THAT(refusal_of(call, LW_ERR_NOT_FOUND), HasSubstr("use binomial, knomial:3"));
    call = scatter("linear");
    call.collective = "spread";
    EXPECT_THAT(refusal_of(call, LW_ERR_NOT_FOUND), HasSubstr("no collective \"spread\""));
    call.collective = nullptr;
    EXPECT_THAT(refusal_of(call, LW_ERR_ARGUMENT), HasSubstr("names no collective"));
    call = scatter("linear");
    call.root = 3;
    EXPECT_THAT(refusal_of(call, LW_ERR_ARGUMENT), HasSubstr("root 3 of 3 ranks"));
    call = scatter("linear");
    call.ranks = -1;
    EXPECT_THAT(refusal_of(call, LW_ERR_ARGUMENT), HasSubstr("-1 ranks"));
    call.ranks = std::numeric_limits<int>::max();
    EXPECT_THAT(refusal_of(call, LW_ERR_LIMIT), HasSubstr("million ranks"));
    call = scatter("linear");
    call.message_bytes = std::numeric_limits<std::uint64_t>::max();
    EXPECT_THAT(refusal_of(call, LW_ERR_LIMIT), HasSubstr("more than can be counted"));
    call = scatter("pipeline");
    call.collective = "bcast";
    call.message_bytes = 1ULL << 40;
    call.segment_bytes = 1;
    EXPECT_THAT(refusal_of(call, LW_ERR_LIMIT), HasSubstr("larger segments"));
    call = scatter("multilane");
    EXPECT_THAT(refusal_of(call, LW_ERR_UNSUPPORTED), HasSubstr("site"));
    call = scatter("linear");
    call.lanes = 0;
    EXPECT_THAT(refusal_of(call, LW_ERR_ARGUMENT), HasSubstr("lanes count from 1"));
    call = scatter("linear");
    call.struct_size = 1;
    EXPECT_THAT(refusal_of(call, LW_ERR_ARGUMENT), HasSubstr("LW_MODEL_CALL"));
    options.model = "lmo";
    EXPECT_THAT(refusal_of(scatter("linear"), LW_ERR_NOT_FOUND),
                HasSubstr("it has hockney, piecewise"));
    options.model = nullptr;
    for (const double s_per_byte : {std::nan(""), -1.0, HUGE_VAL}) {
        options.copy_s_per_byte = s_per_byte;
        EXPECT_THAT(refusal_of(scatter("linear"), LW_ERR_ARGUMENT), HasSubstr("above it"));
        std::swap(options.copy_s_per_byte, options.reduce_s_per_byte);
        EXPECT_THAT(refusal_of(scatter("linear"), LW_ERR_ARGUMENT), HasSubstr("above it"));
        options.reduce_s_per_byte = 0.0;
    }
}

TEST_F(ModelApi, CallsAReportOnceThatThrows) {
    const auto call = scatter("nonsense");
    double time_s = untouched_s;
    int calls = 0;
    options.report_context = &calls;
    options.report = [](void *context, lw_status /*status*/, const char * /*sentence*/) {
        ++*static_cast<int *>(context);
        throw std::runtime_error("nobody listens");
    };

    EXPECT_THROW(lw_model_predict(platform, &call, &options, &time_s), std::runtime_error);
    EXPECT_EQ(calls, 1);
}

TEST_F(ModelApi, RefusesOptionsOfAnotherSizeWithoutReadingThem) {
    const auto call = scatter("linear");
    double time_s = untouched_s;
    options.struct_size = 4;

    EXPECT_EQ(lw_model_predict(platform, &call, &options, &time_s), LW_ERR_ARGUMENT);
    EXPECT_EQ(time_s, untouched_s);
}

TEST_F(ModelApi, RefusesFilesThatAreNotThereOrNotItsOwn) {
    auto *const none = reinterpret_cast<lw_platform *>(&heard);
    auto *read = none;
    const auto text = folder.write("text.json", "no platform");
    const auto missing = folder.at("missing.json");
    const char *files[] = {text.c_str(), nullptr};

    EXPECT_EQ(lw_model_read(missing.c_str(), &options, &read), LW_ERR_NOT_FOUND);
    EXPECT_THAT(heard.last(), HasSubstr("missing.json"));
    EXPECT_EQ(lw_model_read(text.c_str(), &options, &read), LW_ERR_ARGUMENT);
    EXPECT_THAT(heard.last(), HasSubstr("text.json"));
    EXPECT_NE(lw_model_fit(files, 1, &options, &read), LW_OK);
    EXPECT_THAT(heard.last(), HasSubstr("text.json"));
    EXPECT_EQ(lw_model_fit(files, 2, &options, &read), LW_ERR_ARGUMENT);
    EXPECT_EQ(lw_model_fit(files, 0, &options, &read), LW_ERR_ARGUMENT);
    EXPECT_EQ(lw_model_read(nullptr, &options, &read), LW_ERR_ARGUMENT);
    EXPECT_EQ(lw_model_write(platform, "/nowhere/at/all.json", &options), LW_ERR_IO);
    EXPECT_EQ(lw_model_read(text.c_str(), &options, nullptr), LW_ERR_ARGUMENT);
    EXPECT_EQ(read, none);
}

TEST_F(ModelApi, RefusesStepsThatNameWhatIsNotThere) {
    lw_schedule *schedule = nullptr;
    EXPECT_EQ(lw_schedule_create(0, Heard::hear, &heard, &schedule), LW_ERR_ARGUMENT);
    EXPECT_EQ(schedule, nullptr);
    ASSERT_EQ(lw_schedule_create(2, Heard::hear, &heard, &schedule), LW_OK);
    const auto refusal = [&](int rank, const lw_step& step) {
        std::size_t index = 99;
        EXPECT_NE(lw_schedule_add(schedule, rank, &step, &index), LW_OK);
        EXPECT_EQ(index, 99u);
        return heard.last();
    };
    lw_step step = LW_STEP;
    const std::size_t itself = 0;

    EXPECT_THAT(refusal(0, step), HasSubstr("between rank 0 and rank -1"));
    step.peer = 0;
    EXPECT_THAT(refusal(0, step), HasSubstr("the peer is another"));
    step.peer = 1;
    EXPECT_THAT(refusal(2, step), HasSubstr("rank 2 is none of the 2"));
    step.after = &itself;
    step.after_count = 1;
    EXPECT_THAT(refusal(0, step), HasSubstr("waits for step 0, which is not before it"));
    step.after = nullptr;
    EXPECT_THAT(refusal(0, step), HasSubstr("after is NULL"));
    step = LW_STEP;
    const int unknown = 9;
    std::memcpy(&step.kind, &unknown, sizeof unknown);
    EXPECT_THAT(refusal(0, step), HasSubstr("kind 9"));
    step.struct_size = 0;
    EXPECT_THAT(refusal(0, step), HasSubstr("LW_STEP"));
    lw_schedule_free(schedule);
}

// With the memory of all steps before it copied by each, these would take minutes.
TEST_F(ModelApi, TakesAMillionStepsThatWaitForOneAnother) {
    constexpr std::size_t steps = 1'000'000;
    lw_schedule *schedule = nullptr;
    ASSERT_EQ(lw_schedule_create(1, Heard::hear, &heard, &schedule), LW_OK);
    lw_step step = LW_STEP;
    step.kind = LW_STEP_COPY;
    std::size_t last = 0;
    for (std::size_t i = 0; i < steps; ++i) {
        step.after = &last;
        step.after_count = i > 0 ? 1 : 0;
        ASSERT_EQ(lw_schedule_add(schedule, 0, &step, &last), LW_OK);
    }
    EXPECT_EQ(last, steps - 1);
    lw_schedule_free(schedule);
}

TEST_F(ModelApi, SaysWhoWaitsWhereAScheduleCannotFinish) {
    lw_schedule *schedule = nullptr;
    ASSERT_EQ(lw_schedule_create(2, nullptr, nullptr, &schedule), LW_OK);
    lw_step step = LW_STEP;
    step.kind = LW_STEP_RECEIVE;
    step.peer = 1;
    ASSERT_EQ(lw_schedule_add(schedule, 0, &step, nullptr), LW_OK);
    double time_s = untouched_s;

    EXPECT_EQ(lw_model_price(platform, schedule, &options, &time_s, nullptr), LW_ERR_ARGUMENT);
    EXPECT_EQ(time_s, untouched_s);
    EXPECT_THAT(heard.last(), HasSubstr("rank 0 waits for rank 1, which does not send"));
    lw_schedule_free(schedule);
}

TEST(ModelApiWithoutAPlatform, IsEmptyAndFreesNothing) {
    lw_model_description model = LW_MODEL_DESCRIPTION;

    EXPECT_EQ(lw_model_count(nullptr), 0u);
    EXPECT_EQ(lw_model_ranks(nullptr), 0);
    EXPECT_EQ(lw_model_describe(nullptr, 0, &model), LW_ERR_ARGUMENT);
    lw_model_free(nullptr);
    lw_schedule_free(nullptr);
    EXPECT_EQ(lw_schedule_add(nullptr, 0, nullptr, nullptr), LW_ERR_ARGUMENT);
}

}  // namespace
}  // namespace lanewise::collectives
