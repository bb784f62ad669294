// SPDX-License-Identifier: BSD-3-Clause
//
// See validate.hpp.

#include "measure/validate.hpp"

#include <algorithm>
#include <cstring>
#include <functional>
#include <map>

#include "base/sizes.hpp"

namespace lanewise::measure {
namespace {

using Origins = std::vector<Origin>;
using Rule = std::function<Origins(const Standpoint&)>;

int partner(const Standpoint& s) { return (s.root + 1) % s.size; }
int at(const Standpoint& s, int distance) {
    return ((s.me + distance) % s.size + s.size) % s.size;
}

Origins repeated(int times, const Origin& origin) {
    return Origins(static_cast<std::size_t>(times), origin);
}

Origins from_each(const Standpoint& s, int block) {
    Origins all;
    for (int r = 0; r < s.size; ++r) all.push_back({r, block});
    return all;
}

Origins at_root(const Standpoint& s, const Origins& all) {
    return s.me == s.root ? all : Origins{};
}

Origins from_partner(const Standpoint& s) {
    if (s.me == s.root) return {{partner(s), 0}};
    return s.me == partner(s) ? Origins{{s.root, 0}} : Origins{};
}

Origins at_partner(const Standpoint& s) {
    return s.me == partner(s) ? Origins{{s.root, 0}} : Origins{};
}

Origins streamed_in_pairs(const Standpoint& s) {
    const int pairs = s.size / 2;
    const bool receives = s.me >= pairs && s.me < 2 * pairs;
    return receives ? repeated(s.window, {s.me - pairs, 0}) : Origins{};
}

Origins streamed_by_all(const Standpoint& s) {
    Origins all;
    for (int step = 1; step < s.size; ++step) {
        const auto part = repeated(std::max(1, s.window / (s.size - 1)), {at(s, -step), 0});
        all.insert(all.end(), part.begin(), part.end());
    }
    return all;
}

Origins streamed_both_ways(const Standpoint& s) {
    const auto one = from_partner(s);
    return one.empty() ? one : repeated(s.window, one.front());
}

// Between two ranks MPI leaves open which of two blocks is which.
Origins graph_exchanged(const Standpoint& s) {
    if (s.size < 3) return {};
    return {{at(s, -1), 0}, {at(s, -2), 1}};
}

std::map<std::string, Rule> single_calls() {
    return {
        {"scatter", [](const Standpoint& s) { return Origins{{s.root, s.me}}; }},
        {"scatterv", [](const Standpoint& s) { return Origins{{s.root, s.me}}; }},
        {"gather", [](const Standpoint& s) { return at_root(s, from_each(s, 0)); }},
        {"gatherv", [](const Standpoint& s) { return at_root(s, from_each(s, 0)); }},
        {"bcast", [](const Standpoint& s) { return Origins{{s.root, 0}}; }},
        {"reduce", [](const Standpoint& s) { return at_root(s, {{0, 0, s.size - 1}}); }},
        {"allreduce", [](const Standpoint& s) { return Origins{{0, 0, s.size - 1}}; }},
        {"allgather", [](const Standpoint& s) { return from_each(s, 0); }},
        {"allgatherv", [](const Standpoint& s) { return from_each(s, 0); }},
        {"alltoall", [](const Standpoint& s) { return from_each(s, s.me); }},
        {"alltoallv", [](const Standpoint& s) { return from_each(s, s.me); }},
        {"reduce_scatter", [](const Standpoint& s) { return Origins{{0, s.me, s.size - 1}}; }},
        {"reduce_scatter_block",
         [](const Standpoint& s) { return Origins{{0, s.me, s.size - 1}}; }},
        {"scan", [](const Standpoint& s) { return Origins{{0, 0, s.me}}; }},
        {"exscan",
         [](const Standpoint& s) { return s.me ? Origins{{0, 0, s.me - 1}} : Origins{}; }},
    };
}

std::map<std::string, Rule> patterns() {
    std::map<std::string, Rule> rules = {
        {"pingpong", from_partner},
        {"pingping", from_partner},
        {"thread_pairs", from_partner},
        {"partitioned", at_partner},
        {"sendrecv", [](const Standpoint& s) { return Origins{{at(s, -1), 0}}; }},
        {"exchange", [](const Standpoint& s) { return Origins{{at(s, -1), 0}, {at(s, 1), 0}}; }},
        {"streaming",
         [](const Standpoint& s) {
             return s.me == partner(s) ? repeated(s.window, {s.root, 0}) : Origins{};
         }},
        {"bidirectional", streamed_both_ways},
        {"pairs_rate", streamed_in_pairs},
        {"peers_rate", streamed_by_all},
        {"graph_allgather", [](const Standpoint& s) { return Origins{{at(s, -1)}, {at(s, -2)}}; }},
        {"graph_allgatherv", [](const Standpoint& s) { return Origins{{at(s, -1)}, {at(s, -2)}}; }},
        {"graph_alltoall", graph_exchanged},
        {"graph_alltoallv", graph_exchanged},
    };
    for (const std::string how : {"_fence", "_pscw", "_lock", "_flush"}) {
        for (const std::string what : {"put", "accumulate", "fetch_op"}) {
            rules[what + how] = at_partner;
        }
        rules["get" + how] = [](const Standpoint& s) { return at_root(s, {{partner(s), 0}}); };
    }
    return rules;
}

// A persistent, nonblocking or overlapped form delivers what the blocking one does.
std::string plain(std::string name) {
    for (const std::string form : {"persistent_", "overlapped_"}) {
        if (name.starts_with(form)) name = name.substr(form.size());
    }
    return name;
}

// Fits a byte, and is exact in sums of floats.
int element(int rank, std::uint64_t place) {
    const auto sender = static_cast<std::uint64_t>(rank);
    return static_cast<int>((37 * sender + 11 * place + place / 251) % 113);
}

int expected(const Origin& origin, std::uint64_t count, std::uint64_t i) {
    const auto place = static_cast<std::uint64_t>(origin.block) * count + i;
    int sum = 0;
    for (int r = origin.rank; r <= std::max(origin.rank, origin.last_rank); ++r) {
        sum += element(r, place);
    }
    return sum;
}

void put(std::byte *bytes, Element kind, std::uint64_t i, int value) {
    const auto real = static_cast<float>(value);
    if (kind == Element::real) {
        std::memcpy(bytes + 4 * i, &real, 4);
    } else {
        bytes[i] = static_cast<std::byte>(value);
    }
}

int get(const std::byte *bytes, Element kind, std::uint64_t i) {
    if (kind == Element::byte) return std::to_integer<int>(bytes[i]);
    float real = 0.0F;
    std::memcpy(&real, bytes + 4 * i, 4);
    return static_cast<int>(real);
}

// The first element that is not what it should be; -1 where all are.
double first_wrong(Running& running, const lw_operation& operation, const Origins& parts) {
    const auto& e = running.exchange();
    const auto kind = operation.entry->element;
    const auto count = e.message_bytes / (kind == Element::real ? 4 : 1);
    const bool in_place = plain(operation.name).ends_with("bcast");
    const auto *arrived = in_place ? e.send : e.receive;
    for (std::size_t part = 0; part < parts.size(); ++part) {
        for (std::uint64_t i = 0; i < count; ++i) {
            if (get(arrived, kind, part * count + i) != expected(parts[part], count, i))
                return static_cast<double>(part * count + i);
        }
    }
    return -1.0;
}

std::uint64_t sent_blocks(const Entry& entry, int size) {
    switch (entry.shape.send_root) {
        case Blocks::none: return entry.shape.send_others == Blocks::none ? 0 : 1;
        case Blocks::two: return 2;
        case Blocks::four: return 4;
        case Blocks::each_rank: return static_cast<std::uint64_t>(size);
        default: return 1;
    }
}

// Where only the root sends, the others have no room for its blocks.
bool sends(const Entry& entry, const Exchange& e) {
    const auto blocks = e.rank == e.root ? entry.shape.send_root : entry.shape.send_others;
    return blocks != Blocks::none;
}

void fill(Running& running, const lw_operation& operation) {
    auto& e = running.exchange();
    const auto kind = operation.entry->element;
    const bool receives_in_place = plain(operation.name).ends_with("bcast") && e.rank != e.root;
    if (!sends(*operation.entry, e)) return;
    const auto count = sent_blocks(*operation.entry, e.size) * e.message_bytes /
                       (kind == Element::real ? 4 : 1);
    for (std::uint64_t i = 0; i < count; ++i) {
        put(e.send, kind, i, receives_in_place ? 0 : element(e.rank, i));
    }
}

}  // namespace

std::vector<Origin> origins(const std::string& operation, const Standpoint& here) {
    static const auto calls = single_calls();
    static const auto kernels = patterns();
    const auto name = plain(operation);
    if (const auto found = kernels.find(name); found != kernels.end()) return found->second(here);
    auto found = calls.find(name);
    if (found == calls.end() && name.starts_with("i")) found = calls.find(name.substr(1));
    return found == calls.end() ? Origins{} : found->second(here);
}

Outcome validate(const Harness& harness, const lw_operation& operation, int root,
                 std::uint64_t message_bytes) {
    if (!operation.entry || !operation.weights.empty()) return Done{};
    const std::string what = operation.name + " of " + format_size(message_bytes) + " bytes ";
    auto running = Running::create(operation, harness.comm(), root, message_bytes);
    if (harness.any(!running)) return Failure{LW_ERR_MEMORY, what + "could not be set up"};
    if (harness.any(running->prepare() != 0))
        return Failure{LW_ERR_MPI, what + "could not be set up by this MPI"};
    fill(*running, operation);
    harness.barrier();
    if (harness.any(running->execute() != 0))
        return Failure{LW_ERR_OPERATION, what + "returned an error"};
    const auto& e = running->exchange();
    double wrong[2] = {
        first_wrong(*running, operation, origins(operation.name, {e.rank, e.size, root, e.window})),
        0.0};
    wrong[1] = wrong[0] >= 0.0 ? e.rank : -1.0;
    harness.maximum(wrong);
    if (wrong[0] < 0.0) return Done{};
    return Failure{LW_ERR_OPERATION, what + "delivered wrong data on rank " +
                                         std::to_string(static_cast<int>(wrong[1])) +
                                         ", first at element " +
                                         std::to_string(static_cast<long long>(wrong[0]))};
}

}  // namespace lanewise::measure
