// SPDX-License-Identifier: BSD-3-Clause
//
// Making operations through the C API, right and wrong. Nothing is executed,
// so no MPI is started.

#include <lanewise/operation.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <new>
#include <set>
#include <string>
#include <vector>

#include "measure/harness/operation.hpp"
#include "testing/measuring.hpp"

namespace {

bool has_memory = true;

}  // namespace

void *operator new(std::size_t bytes) {
    void *found = has_memory ? std::malloc(bytes > 0 ? bytes : 1) : nullptr;
    if (!found) throw std::bad_alloc();
    return found;
}

void operator delete(void *memory) noexcept {
    std::free(memory);
}

void operator delete(void *memory, std::size_t) noexcept {
    std::free(memory);
}

namespace lanewise::measure {
namespace {

using ::testing::HasSubstr;
using testing::Operation;

// An output that no refused call may change.
lw_operation *const untouched = reinterpret_cast<lw_operation *>(&lw_operation_free);

struct Loaded {
    lw_status status;
    lw_operation *output;
    std::string text;
};

Loaded load(const std::string& library_and_symbol) {
    char text[256] = "";
    lw_operation *output = untouched;
    const auto status = lw_operation_load(library_and_symbol.c_str(), text, sizeof text, &output);
    return {status, output, text};
}

std::string library_with(const char *symbol) {
    return std::string(LANEWISE_USER_OPERATIONS) + ":" + symbol;
}

TEST(NamedOperations, AreAllKnownByTheNameTheyAreListedUnder) {
    std::set<std::string> seen;
    std::size_t count = 0;
    for (; lw_operation_name(count); ++count) {
        lw_operation *made = nullptr;
        const auto status = lw_operation_named(lw_operation_name(count), &made);
        const auto *entry = find_entry(lw_operation_name(count));
        ASSERT_NE(entry, nullptr);
        ASSERT_EQ(status, entry->lacks ? LW_ERR_UNSUPPORTED : LW_OK);
        if (entry->lacks) continue;
        const Operation operation(made);
        EXPECT_EQ(operation->name, lw_operation_name(count));
        EXPECT_TRUE(seen.insert(lw_operation_name(count)).second);
    }
    EXPECT_GE(count, 32u);
    EXPECT_EQ(lw_operation_name(count + 1000), nullptr);
}

TEST(NamedOperations, HaveANonblockingFormForEveryCollective) {
    for (const char *name :
         {"scatter", "scatterv", "gather", "gatherv", "bcast", "reduce", "allreduce", "allgather",
          "allgatherv", "alltoall", "alltoallv", "alltoallw", "reduce_scatter",
          "reduce_scatter_block", "scan", "exscan", "barrier"}) {
        EXPECT_NE(find_entry(name), nullptr) << name;
        EXPECT_NE(find_entry(std::string("i") + name), nullptr) << name;
    }
    EXPECT_NE(find_entry("pingpong"), nullptr);
}

TEST(NamedOperations, OfNoSuchNameAreNotFound) {
    lw_operation *output = untouched;

    EXPECT_EQ(lw_operation_named("scater", &output), LW_ERR_NOT_FOUND);
    EXPECT_EQ(lw_operation_named("", &output), LW_ERR_NOT_FOUND);
    EXPECT_EQ(lw_operation_named(nullptr, &output), LW_ERR_ARGUMENT);
    EXPECT_EQ(lw_operation_named("scatter", nullptr), LW_ERR_ARGUMENT);
    EXPECT_EQ(output, untouched);
}

TEST(Suggestions, AreTheClosestName) {
    EXPECT_EQ(suggest_operation("scater"), "scatter");
    EXPECT_EQ(suggest_operation("broadcast"), "bcast");
    EXPECT_EQ(suggest_operation("bcats"), "bcast");
    EXPECT_EQ(suggest_operation("all_reduce"), "allreduce");
    EXPECT_EQ(suggest_operation("reducescatter"), "reduce_scatter");
    EXPECT_EQ(suggest_operation("ping-pong"), "pingpong");
}

TEST(Suggestions, AreNoneForANameLikeNoOther) {
    EXPECT_EQ(suggest_operation("xyzzy"), "");
    EXPECT_EQ(suggest_operation(""), "");
}

TEST(Suggestions, AreMadeForAnyOneSlipInANameOfSixLettersOrMore) {
    for (const auto& entry : registry()) {
        const std::string name = entry.name;
        if (name.size() < 6) continue;
        for (std::size_t at = 0; at < name.size(); ++at) {
            auto slip = name;
            slip[at] = '#';
            EXPECT_NE(suggest_operation(slip), "") << slip;
        }
    }
}

TEST(UserOperations, NeedANameAnExecuteAndTheRightSize) {
    const auto execute = [](void *) { return 0; };
    const lw_operation_callbacks good = {sizeof good, "good", nullptr, execute, nullptr, nullptr};
    auto nameless = good;
    nameless.name = nullptr;
    auto idle = good;
    idle.execute = nullptr;
    auto foreign = good;
    foreign.struct_size = 12;
    lw_operation *output = untouched;

    for (const auto *bad : {&nameless, &idle, &foreign}) {
        EXPECT_EQ(lw_operation_user(bad, &output), LW_ERR_ARGUMENT);
    }
    EXPECT_EQ(lw_operation_user(nullptr, &output), LW_ERR_ARGUMENT);
    EXPECT_EQ(lw_operation_user(&good, nullptr), LW_ERR_ARGUMENT);
    EXPECT_EQ(output, untouched);
    ASSERT_EQ(lw_operation_user(&good, &output), LW_OK);
    const Operation operation(output);
    EXPECT_EQ(operation->name, "good");
}

TEST(LoadedOperations, ComeFromASharedObject) {
    const auto loaded = load(library_with("well_formed"));

    ASSERT_EQ(loaded.status, LW_OK) << loaded.text;
    const Operation operation(loaded.output);
    EXPECT_EQ(operation->name, "well_formed");
    EXPECT_EQ(operation->callbacks.execute(nullptr), 0);
}

TEST(LoadedOperations, NameAMissingLibrary) {
    const auto loaded = load("libnone.so:execute");

    EXPECT_EQ(loaded.status, LW_ERR_NOT_FOUND);
    EXPECT_THAT(loaded.text, HasSubstr("libnone.so"));
    EXPECT_EQ(loaded.output, untouched);
}

TEST(LoadedOperations, NameAMissingSymbol) {
    const auto loaded = load(library_with("nobody"));

    EXPECT_EQ(loaded.status, LW_ERR_NOT_FOUND);
    EXPECT_THAT(loaded.text, HasSubstr("no symbol \"nobody\""));
    EXPECT_EQ(loaded.output, untouched);
}

TEST(LoadedOperations, SayWhatIsWrongWithTheSymbol) {
    for (const char *symbol : {"without_execute", "of_another_version"}) {
        const auto loaded = load(library_with(symbol));

        EXPECT_EQ(loaded.status, LW_ERR_ARGUMENT);
        EXPECT_THAT(loaded.text, HasSubstr(symbol));
        EXPECT_EQ(loaded.output, untouched);
    }
}

TEST(LoadedOperations, TellHowTheyAreWritten) {
    for (const char *wrong : {"libmine.so", ":symbol", "libmine.so:", ""}) {
        const auto loaded = load(wrong);

        EXPECT_EQ(loaded.status, LW_ERR_NOT_FOUND) << wrong;
        EXPECT_THAT(loaded.text, HasSubstr("LIBRARY.so:SYMBOL")) << wrong;
    }
}

TEST(LoadedOperations, NeedNoTextToFail) {
    lw_operation *output = untouched;

    EXPECT_EQ(lw_operation_load("libnone.so:execute", nullptr, 0, &output), LW_ERR_NOT_FOUND);
    EXPECT_EQ(lw_operation_load(nullptr, nullptr, 0, &output), LW_ERR_ARGUMENT);
}

TEST(LoadedOperations, CutTheReasonToTheRoomThereIs) {
    char text[8] = "#######";
    lw_operation *output = untouched;

    lw_operation_load("libnone.so:execute", text, 4, &output);

    EXPECT_EQ(text[3], '\0');
    EXPECT_EQ(text[4], '#');
}

TEST(Weights, AreForOperationsThatTakeThem) {
    const double weights[] = {1.0, 2.0};
    const auto varying = testing::operation_named("scatterv");
    const auto equal = testing::operation_named("scatter");

    EXPECT_EQ(lw_operation_weights(varying.get(), weights, 2), LW_OK);
    EXPECT_EQ(lw_operation_weights(equal.get(), weights, 2), LW_ERR_UNSUPPORTED);
}

TEST(Weights, AreFiniteAndNotNegative) {
    const auto operation = testing::operation_named("gatherv");
    for (const double bad : {-1.0, std::nan(""), HUGE_VAL}) {
        const double weights[] = {1.0, bad};
        EXPECT_EQ(lw_operation_weights(operation.get(), weights, 2), LW_ERR_ARGUMENT) << bad;
    }
    const double weight = 1.0;
    EXPECT_EQ(lw_operation_weights(operation.get(), &weight, 0), LW_ERR_ARGUMENT);
    EXPECT_EQ(lw_operation_weights(operation.get(), nullptr, 1), LW_ERR_ARGUMENT);
    EXPECT_EQ(lw_operation_weights(nullptr, &weight, 1), LW_ERR_ARGUMENT);
}

TEST(Operations, MayFillTheAddressSpaceAndNotAByteMore) {
    const auto operation = testing::operation_named("alltoall");
    for (const std::uint64_t ranks : {2U, 3U, 4U}) {
        const auto most = static_cast<std::uint64_t>(PTRDIFF_MAX) / ranks;

        EXPECT_TRUE(admit(*operation, static_cast<int>(ranks), 0, most));
        EXPECT_FALSE(admit(*operation, static_cast<int>(ranks), 0, most + 1));
    }
}

// While one lives, there is no memory.
class NoMemory {
  public:
    NoMemory() { has_memory = false; }
    ~NoMemory() { has_memory = true; }
    NoMemory(const NoMemory&) = delete;
    NoMemory& operator=(const NoMemory&) = delete;
};

template <typename Call>
auto without_memory(const Call& call) {
    const NoMemory none;
    return call();
}

TEST(Operations, ThatFindNoMemoryAreNotMade) {
    const auto execute = [](void *) { return 0; };
    const char *long_name = "a name that is too long to be kept within a string itself";
    const lw_operation_callbacks user = {sizeof user, long_name, nullptr,
                                         execute,     nullptr,   nullptr};
    const std::string library = library_with("well_formed");
    lw_operation *output = untouched;

    EXPECT_EQ(without_memory([&] { return lw_operation_user(&user, &output); }), LW_ERR_MEMORY);
    EXPECT_EQ(without_memory([&] { return lw_operation_named("scatter", &output); }),
              LW_ERR_MEMORY);
    EXPECT_EQ(
        without_memory([&] { return lw_operation_load(library.c_str(), nullptr, 0, &output); }),
        LW_ERR_MEMORY);
    EXPECT_EQ(output, untouched);
    EXPECT_EQ(without_memory([] { return lw_operation_bcast(nullptr); }), nullptr);
}

TEST(Weights, KeepTheFormerOnesWhereThereIsNoMemory) {
    const auto operation = testing::operation_named("scatterv");
    const std::vector<double> weights(64, 2.0);
    ASSERT_EQ(lw_operation_weights(operation.get(), weights.data(), 1), LW_OK);

    const auto status = without_memory(
        [&] { return lw_operation_weights(operation.get(), weights.data(), weights.size()); });

    EXPECT_EQ(status, LW_ERR_MEMORY);
    EXPECT_EQ(operation->weights.size(), 1U);
}

TEST(Operations, OfNullAreFreed) {
    lw_operation_free(nullptr);
}

}  // namespace
}  // namespace lanewise::measure
