// SPDX-License-Identifier: BSD-3-Clause
//
// Every benchmark moves what its head says. As in operation_test.cpp, buffers tell
// rank and place, and an oracle that knows the benchmarks by name says what must
// have arrived after one execution; a benchmark that it does not know fails.

#include "measure/benchmarks/benchmark.hpp"

#include <gtest/gtest.h>
#include <mpi.h>

#include <climits>
#include <cstring>
#include <functional>
#include <map>

#include "measure/testing/runnable.hpp"
#include "testing/measuring.hpp"

#ifndef LANEWISE_SIMULATED
namespace {

/* Where blocks arrive and how long they are, by a call that is noted and not made. */
struct Arrivals {
    std::vector<MPI_Count> places_bytes;
    std::vector<MPI_Count> lengths_bytes;
};
Arrivals *noted = nullptr;

}  // namespace

// Stands before the MPI's own.
extern "C" int MPI_Neighbor_alltoallv(const void *send, const int send_counts[],
                                      const int send_places[], MPI_Datatype send_type,
                                      void *receive, const int counts[], const int places[],
                                      MPI_Datatype type, MPI_Comm comm) {
    if (!noted)
        return PMPI_Neighbor_alltoallv(send, send_counts, send_places, send_type, receive, counts,
                                       places, type, comm);
    MPI_Count length_bytes = 0;
    MPI_Type_size_x(type, &length_bytes);
    for (int i = 0; i < 4; ++i) {
        noted->places_bytes.push_back(places[i] * length_bytes);
        noted->lengths_bytes.push_back(counts[i] * length_bytes);
    }
    return MPI_SUCCESS;
}
#endif

namespace lanewise::measure {
namespace {

using testing::operation_named;
using testing::runs_here;
using testing::size_of;

using Elements = std::vector<int>;
constexpr int window = 5;

int element(int rank, int place) {
    return (37 * rank + 11 * place + place / 251) % 113;
}

Elements sent_by(int rank, int first, int count) {
    Elements elements;
    for (int i = 0; i < count; ++i) elements.push_back(element(rank, first + i));
    return elements;
}

struct Scene {
    int me = 0;
    int size = 1;
    int root = 0;
    int count = 0;

    int partner() const { return (root + 1) % size; }
    int at(int distance) const { return ((me + distance) % size + size) % size; }
    Elements times(int messages, int from) const {
        Elements all;
        for (int i = 0; i < messages; ++i) {
            const auto one = sent_by(from, 0, count);
            all.insert(all.end(), one.begin(), one.end());
        }
        return all;
    }
};

Elements joined(const std::vector<Elements>& parts) {
    Elements all;
    for (const auto& part : parts) all.insert(all.end(), part.begin(), part.end());
    return all;
}

using Oracle = std::function<Elements(const Scene&)>;

Elements from_partner(const Scene& s) {
    if (s.me == s.root) return sent_by(s.partner(), 0, s.count);
    return s.me == s.partner() ? sent_by(s.root, 0, s.count) : Elements{};
}

Elements at_partner(const Scene& s) {
    return s.me == s.partner() ? sent_by(s.root, 0, s.count) : Elements{};
}

Elements at_root(const Scene& s) {
    return s.me == s.root ? sent_by(s.partner(), 0, s.count) : Elements{};
}

Elements sums(const Scene& s) {
    Elements sum(static_cast<std::size_t>(s.count), 0);
    for (int r = 0; r < s.size; ++r) {
        for (int i = 0; i < s.count; ++i) sum[static_cast<std::size_t>(i)] += element(r, i);
    }
    return sum;
}

Elements from_everyone(const Scene& s) {
    std::vector<Elements> parts;
    for (int r = 0; r < s.size; ++r) parts.push_back(sent_by(r, s.me * s.count, s.count));
    return joined(parts);
}

Elements gathered(const Scene& s) {
    std::vector<Elements> parts;
    for (int r = 0; r < s.size; ++r) parts.push_back(sent_by(r, 0, s.count));
    return joined(parts);
}

// The sum over the ranks before `end` of their elements from `first` on.
Elements sums_until(const Scene& s, int end, int first) {
    Elements sum(static_cast<std::size_t>(s.count), 0);
    for (int r = 0; r < end; ++r) {
        for (int i = 0; i < s.count; ++i) sum[static_cast<std::size_t>(i)] += element(r, first + i);
    }
    return end > 0 ? sum : Elements{};
}

Elements scattered(const Scene& s) {
    return sent_by(s.root, s.me * s.count, s.count);
}

Elements only_at_root(const Scene& s, const Elements& elements) {
    return s.me == s.root ? elements : Elements{};
}

Elements from_left(const Scene& s) {
    return sent_by(s.at(-1), 0, s.count);
}
Elements nothing(const Scene&) {
    return {};
}

Elements streamed(const Scene& s) {
    return s.me == s.partner() ? s.times(window, s.root) : Elements{};
}

Elements streamed_both_ways(const Scene& s) {
    if (s.me == s.root) return s.times(window, s.partner());
    return s.me == s.partner() ? s.times(window, s.root) : Elements{};
}

Elements streamed_in_pairs(const Scene& s) {
    const int pairs = s.size / 2;
    return s.me >= pairs && s.me < 2 * pairs ? s.times(window, s.me - pairs) : Elements{};
}

Elements from_the_other_half(const Scene& s) {
    const int half = s.size / 2;
    if (s.me == 2 * half) return {}; /* the odd one out */
    return sent_by(s.me < half ? s.me + half : s.me - half, 0, s.count);
}

Elements streamed_by_all(const Scene& s) {
    std::vector<Elements> parts;
    const int each = std::max(1, window / (s.size - 1));
    for (int step = 1; step < s.size; ++step) parts.push_back(s.times(each, s.at(-step)));
    return joined(parts);
}

Elements from_others(const Scene& s, int sign) {
    std::vector<Elements> parts;
    for (int step = 1; step < s.size; ++step) {
        parts.push_back(sent_by(s.at(sign * step), 0, s.count));
    }
    return joined(parts);
}

Elements from_both_sides(const Scene& s) {
    return joined({sent_by(s.at(-1), 0, s.count), sent_by(s.at(1), 0, s.count)});
}

Elements fanned_in(const Scene& s) {
    std::vector<Elements> parts;
    const int each = std::max(1, window / (s.size - 1));
    for (int step = 1; step < s.size; ++step) parts.push_back(s.times(each, s.at(step)));
    return only_at_root(s, joined(parts));
}

Elements fanned_out(const Scene& s) {
    return s.me == s.root ? Elements{} : s.times(std::max(1, window / (s.size - 1)), s.root);
}

// Who is paired with this rank when the ranks are paired for the first time.
Elements streamed_at_random(const Scene& s) {
    const auto order = shuffled_ranks(s.size, 0);
    for (std::size_t i = 0; i < order.size(); ++i) {
        if (order[i] == s.me && (i ^ 1) < order.size()) return s.times(window, order[i ^ 1]);
    }
    return {};
}

Elements streamed_to_the_second(const Scene& s) {
    const auto order = shuffled_ranks(s.size, 0);
    const auto place = std::find(order.begin(), order.end(), s.me) - order.begin();
    return place % 2 == 1 ? streamed_at_random(s) : Elements{};
}

Elements graph_gathered(const Scene& s) {
    return joined({sent_by(s.at(-1), 0, s.count), sent_by(s.at(-2), 0, s.count)});
}

// The rank before sent its first block here, the one before that its second.
Elements graph_exchanged(const Scene& s) {
    if (s.size < 3) return {}; /* one neighbour twice: MPI does not say which block is which */
    return joined({sent_by(s.at(-1), 0, s.count), sent_by(s.at(-2), s.count, s.count)});
}

// Neighbours in the order of MPI: before and after along the first dimension, then the second.
Elements grid_gathered(const Scene& s) {
    int dims[2] = {0, 0};
    MPI_Dims_create(s.size, 2, dims);
    const int row = s.me / dims[1];
    const int column = s.me % dims[1];
    const auto rank = [&](int r, int c) {
        return (r + dims[0]) % dims[0] * dims[1] + (c + dims[1]) % dims[1];
    };
    return joined(
        {sent_by(rank(row - 1, column), 0, s.count), sent_by(rank(row + 1, column), 0, s.count),
         sent_by(rank(row, column - 1), 0, s.count), sent_by(rank(row, column + 1), 0, s.count)});
}

using Oracles = std::map<std::string, Oracle>;

Oracles of_messages() {
    return {
        {"pingpong", from_partner},
        {"pingping", from_partner},
        {"thread_pairs",
         [](const Scene& s) {
             return joined({from_partner(s), from_partner(s)});
         }},
        {"partitioned", at_partner},
        {"pingpong_any_source", from_partner},
        {"pingping_any_source", from_partner},
        {"pairs_pingpong", from_the_other_half},
        {"sendrecv", from_left},
        {"shared_memory_ring", [](const Scene& s) { return sent_by(s.me, 0, s.count); }},
        {"sendrecv_replace", nothing}, /* in its send buffer */
        {"persistent_sendrecv", from_left},
        {"persistent_pingpong", from_partner},
        {"persistent_streaming", streamed},
        {"persistent_bidirectional", streamed_both_ways},
        {"exchange", from_both_sides},
        {"streaming", streamed},
        {"bidirectional", streamed_both_ways},
        {"unirandom_rate", streamed_to_the_second},
        {"birandom_rate", streamed_at_random},
        {"fan_in_rate", fanned_in},
        {"fan_out_rate", fanned_out},
        {"pairs_rate", streamed_in_pairs},
        {"preposted_rate", streamed_in_pairs},
        {"peers_rate", streamed_by_all},
        {"graph_allgather", graph_gathered},
        {"graph_allgatherv", graph_gathered},
        {"graph_alltoall", graph_exchanged},
        {"graph_alltoallv", graph_exchanged},
        {"grid_allgather", grid_gathered},
        {"grid_allgatherv", grid_gathered},
        {"grid_alltoall", nothing},
        {"grid_alltoallv", nothing},
        {"grid_alltoallw", nothing},
        {"igrid_allgather", grid_gathered},
        {"igrid_allgatherv", grid_gathered},
        {"igrid_alltoall", nothing},
        {"igrid_alltoallv", nothing},
        {"igrid_alltoallw", nothing},
        {"grid3_alltoall", nothing},
    };
}

Oracles of_one_sided() {
    Oracles all = {
        {"bidirectional_put", from_partner},
        {"bidirectional_get", from_partner},
        {"exchange_put", from_both_sides},
        {"exchange_get", from_both_sides},
        {"one_put_all",
         [](const Scene& s) { return s.me == s.root ? Elements{} : sent_by(s.root, 0, s.count); }},
        {"one_get_all", [](const Scene& s) { return only_at_root(s, from_others(s, 1)); }},
        {"all_put_all", [](const Scene& s) { return from_others(s, -1); }},
        {"all_get_all", [](const Scene& s) { return from_others(s, 1); }},
        {"put_streaming", streamed},
        {"get_streaming",
         [](const Scene& s) { return only_at_root(s, s.times(window, s.partner())); }},
        {"put_streaming_both", streamed_both_ways},
        {"put_streaming_both_pscw", streamed_both_ways},
        {"passive_put", at_partner},
    };
    for (const std::string how : {"_fence", "_pscw", "_lock", "_flush"}) {
        all["put" + how] = at_partner;
        all["get" + how] = at_root;
        all["accumulate" + how] = at_partner;
        all["get_accumulate" + how] = at_partner;
        all["fetch_op" + how] = at_partner;
        all["compare_swap" + how] = at_partner;
    }
    return all;
}

Oracles of_collectives() {
    return {
        {"scatter", scattered},
        {"scatterv", scattered},
        {"gather", [](const Scene& s) { return only_at_root(s, gathered(s)); }},
        {"gatherv", [](const Scene& s) { return only_at_root(s, gathered(s)); }},
        {"bcast", nothing},
        {"reduce", [](const Scene& s) { return only_at_root(s, sums(s)); }},
        {"allreduce", sums},
        {"allgather", gathered},
        {"allgatherv", gathered},
        {"alltoall", from_everyone},
        {"alltoallv", from_everyone},
        {"alltoallw", from_everyone},
        {"reduce_scatter", [](const Scene& s) { return sums_until(s, s.size, s.me * s.count); }},
        {"reduce_scatter_block",
         [](const Scene& s) { return sums_until(s, s.size, s.me * s.count); }},
        {"scan", [](const Scene& s) { return sums_until(s, s.me + 1, 0); }},
        {"exscan", [](const Scene& s) { return sums_until(s, s.me, 0); }},
        {"barrier", nothing},
    };
}

const Oracles& oracles() {
    static const Oracles known = [] {
        Oracles all = of_messages();
        all.merge(of_one_sided());
        for (const auto& [name, oracle] : of_collectives()) {
            all["overlapped_i" + name] = oracle;
            all["persistent_" + name] = oracle;
        }
        return all;
    }();
    return known;
}

void write(std::byte *bytes, const Entry& entry, const Elements& elements) {
    for (std::size_t i = 0; i < elements.size(); ++i) {
        const auto real = static_cast<float>(elements[i]);
        if (entry.element == Element::real) {
            std::memcpy(bytes + 4 * i, &real, 4);
        } else {
            bytes[i] = static_cast<std::byte>(elements[i]);
        }
    }
}

Elements read(const std::byte *bytes, const Entry& entry, std::size_t count) {
    Elements elements;
    for (std::size_t i = 0; i < count; ++i) {
        float real = 0.0F;
        if (entry.element == Element::real) std::memcpy(&real, bytes + 4 * i, 4);
        elements.push_back(entry.element == Element::real ? static_cast<int>(real)
                                                          : std::to_integer<int>(bytes[i]));
    }
    return elements;
}

int sent_blocks(const Entry& entry, const Exchange& e) {
    switch (e.rank == e.root ? entry.shape.send_root : entry.shape.send_others) {
        case Blocks::none: return 0;
        case Blocks::two: return 2;
        case Blocks::four: return 4;
        case Blocks::six: return 6;
        case Blocks::each_rank: return e.size;
        default: return 1;
    }
}

void expect_delivery(const Entry& entry, int root, std::uint64_t bytes) {
    SCOPED_TRACE(std::string(entry.name) + " of " + std::to_string(bytes) + " bytes from root " +
                 std::to_string(root));
    const auto operation = operation_named(entry.name);
    if (entry.messages) {
        ASSERT_EQ(lw_operation_window(operation.get(), window), LW_OK);
    }
    auto running = Running::create(*operation, MPI_COMM_WORLD, root, bytes);
    ASSERT_TRUE(running);
    ASSERT_EQ(running->prepare(), 0);
    auto& e = running->exchange();
    write(e.send, entry, sent_by(e.rank, 0, sent_blocks(entry, e) * e.count));
    MPI_Barrier(MPI_COMM_WORLD);

    ASSERT_EQ(running->execute(), 0);
    MPI_Barrier(MPI_COMM_WORLD);

    const auto expected = oracles().at(entry.name)({e.rank, e.size, root, e.count});
    EXPECT_EQ(read(e.receive, entry, expected.size()), expected);
}

TEST(Benchmarks, AllHaveAnOracle) {
    for (const auto& entry : benchmarks()) {
        EXPECT_TRUE(oracles().contains(entry.name)) << entry.name;
    }
}

TEST(Benchmarks, DeliverWhatTheyPromiseFromEveryRoot) {
    const int last = size_of(MPI_COMM_WORLD) - 1;
    for (const auto& entry : benchmarks()) {
        if (!runs_here(entry)) continue;
        for (const std::uint64_t bytes : {4u, 4000u, 20'000u}) {
            expect_delivery(entry, 0, bytes);
            if (last > 0) expect_delivery(entry, last, bytes);
        }
    }
}

TEST(Benchmarks, DeliverAgainWhenExecutedAgain) {
    for (const auto& entry : benchmarks()) {
        if (!runs_here(entry)) continue;
        const auto operation = operation_named(entry.name);
        auto running = Running::create(*operation, MPI_COMM_WORLD, 0, 64);
        ASSERT_TRUE(running);
        ASSERT_EQ(running->prepare(), 0);
        for (int i = 0; i < 3; ++i) EXPECT_EQ(running->execute(), 0) << entry.name;
    }
}

// Each rank decides by what is left of a time whether there are enough repetitions.
TEST(Benchmarks, TakeTheSameWorkOffOnAllRanks) {
    for (const auto& entry : benchmarks()) {
        if (!entry.beside_s || !runs_here(entry)) continue;
        const auto operation = operation_named(entry.name);
        auto running = Running::create(*operation, MPI_COMM_WORLD, 0, 64);
        ASSERT_TRUE(running);
        ASSERT_EQ(running->prepare(), 0);
        const double here_s = running->beside_s();
        double least_s = 0.0;

        MPI_Allreduce(&here_s, &least_s, 1, MPI_DOUBLE, MPI_MIN, MPI_COMM_WORLD);

        EXPECT_EQ(here_s, least_s) << entry.name;
    }
}

TEST(Benchmarks, ThatTheMpiLacksAreUnsupported) {
    for (const auto& entry : benchmarks()) {
        lw_operation *operation = nullptr;
        const auto status = lw_operation_named(entry.name, &operation);
        EXPECT_EQ(status, entry.lacks ? LW_ERR_UNSUPPORTED : LW_OK) << entry.name;
        lw_operation_free(operation);
    }
}

#ifndef LANEWISE_SIMULATED
// Four blocks of which each fits an int, and the place of the last does not.
TEST(Neighbourhoods, PlaceBlocksFurtherApartThanAnIntCanSay) {
    constexpr MPI_Count block_bytes = INT_MAX - 4;
    const auto *entry = find_entry("grid_alltoallv");
    Exchange e;
    e.comm = MPI_COMM_WORLD;
    e.size = size_of(MPI_COMM_WORLD);
    e.message_bytes = block_bytes;
    e.count = static_cast<int>(block_bytes);
    Arrivals arrivals;
    noted = &arrivals;

    EXPECT_EQ(entry->prepare(e), MPI_SUCCESS);
    EXPECT_EQ(entry->call(e), MPI_SUCCESS);
    noted = nullptr;

    EXPECT_EQ(arrivals.lengths_bytes, std::vector<MPI_Count>(4, block_bytes));
    EXPECT_EQ(arrivals.places_bytes,
              (std::vector<MPI_Count>{0, block_bytes, 2 * block_bytes, 3 * block_bytes}));
}
#endif

TEST(Windows, CountInTheBuffersAndInTheTimeOfAMessage) {
    if (size_of(MPI_COMM_WORLD) < 2) GTEST_SKIP() << "needs two ranks";
    const auto operation = operation_named("streaming");
    ASSERT_EQ(lw_operation_window(operation.get(), 8), LW_OK);

    EXPECT_EQ(buffer_bytes(*operation, 0, 2, 0, 1000), 9000.0);
    auto running = Running::create(*operation, MPI_COMM_WORLD, 0, 1000);
    ASSERT_TRUE(running);
    EXPECT_EQ(running->scale(), 0.125);
}

TEST(Windows, AreOfOperationsThatStream) {
    const auto operation = operation_named("bcast");

    EXPECT_EQ(lw_operation_window(operation.get(), 8), LW_ERR_UNSUPPORTED);
    EXPECT_EQ(lw_operation_window(operation.get(), 0), LW_ERR_ARGUMENT);
}

}  // namespace
}  // namespace lanewise::measure
