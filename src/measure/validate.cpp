// SPDX-License-Identifier: BSD-3-Clause
//
// See validate.hpp.

#include "measure/validate.hpp"

#include <algorithm>
#include <cstring>
#include <functional>
#include <map>

#include "base/sizes.hpp"
#include "measure/benchmarks/benchmark.hpp"

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

std::vector<int> ranks_from(int first, int end) {
    std::vector<int> ranks;
    for (int r = first; r < end; ++r) ranks.push_back(r);
    return ranks;
}

Origins from_each(const Standpoint& s, int block) {
    Origins all;
    for (int r = 0; r < s.size; ++r) all.push_back({{r}, block});
    return all;
}

Origins at_root(const Standpoint& s, const Origins& all) {
    return s.me == s.root ? all : Origins{};
}

Origins at_partner(const Standpoint& s, const Origins& all) {
    return s.me == partner(s) ? all : Origins{};
}

Origins from_partner(const Standpoint& s) {
    if (s.me == s.root) return {{{partner(s)}}};
    return at_partner(s, {{{s.root}}});
}

// What the window held before is that of its owner, and goes to whoever fetches.
Origins fetched(const Standpoint& s) {
    if (s.me == s.root) return {{{partner(s)}}};
    return at_partner(s, {{{s.root, partner(s)}}});
}

Origins streamed_in_pairs(const Standpoint& s) {
    const int pairs = s.size / 2;
    const bool receives = s.me >= pairs && s.me < 2 * pairs;
    return receives ? repeated(s.window, {{s.me - pairs}}) : Origins{};
}

Origins streamed_by_all(const Standpoint& s) {
    Origins all;
    for (int step = 1; step < s.size; ++step) {
        const auto part = repeated(std::max(1, s.window / (s.size - 1)), {{at(s, -step)}});
        all.insert(all.end(), part.begin(), part.end());
    }
    return all;
}

Origins times(int count, const Origins& one) {
    return one.empty() ? one : repeated(count, one.front());
}

enum class Ways { one, both };
Origins streamed_at_random(const Standpoint& s, Ways ways) {
    const auto order = shuffled_ranks(s.size, 0);
    for (std::size_t first = 0; first + 1 < order.size(); first += 2) {
        if (order[first + 1] == s.me) return repeated(s.window, {{order[first]}});
        if (order[first] == s.me && ways == Ways::both)
            return repeated(s.window, {{order[first + 1]}});
    }
    return {};
}

Origins fanned_in(const Standpoint& s) {
    const int share = std::max(1, s.window / (s.size - 1));
    Origins all;
    for (int step = 1; step < s.size; ++step) {
        const auto part = repeated(share, {{at(s, step)}});
        all.insert(all.end(), part.begin(), part.end());
    }
    return at_root(s, all);
}

Origins fanned_out(const Standpoint& s) {
    const int share = std::max(1, s.window / (s.size - 1));
    return s.me == s.root ? Origins{} : repeated(share, {{s.root}});
}

// One block of each other rank, in the order of its distance.
Origins from_others(const Standpoint& s, int sign) {
    Origins all;
    for (int step = 1; step < s.size; ++step) all.push_back({{at(s, sign * step)}});
    return all;
}

Origins graph_gathered(const Standpoint& s) { return {{{at(s, -1)}}, {{at(s, -2)}}}; }

// The rank before sent its first block here, the one before that its second. A rank that is both
// may send either first.
Origins graph_exchanged(const Standpoint& s) {
    if (s.size == 1) return {{{0}, 0, {1}}, {{0}, 1, {0}}};
    return {{{at(s, -1)}, 0}, {{at(s, -2)}, 1}};
}

/* The neighbours of a rank on a grid of neighbourhood.cpp, in the order of MPI: before and after
   along the first dimension, then along the next. */
std::vector<int> neighbours(int rank, int size, std::size_t dimensions) {
    std::vector<int> dims(dimensions, 0);
    MPI_Dims_create(size, static_cast<int>(dimensions), dims.data());
    std::vector<int> found;
    int stride = size; /* between ranks that are neighbours along the dimension */
    for (const int length : dims) {
        stride /= length;
        const int place = rank / stride % length;
        for (const int step : {length - 1, 1}) {
            found.push_back(rank + ((place + step) % length - place) * stride);
        }
    }
    return found;
}

/* What comes from the one before was sent to the one after. Of the blocks that one rank sends to
   another, any may come first. */
enum class Sent { to_all, to_each };
Origins on_grid(const Standpoint& s, Sent sent, std::size_t dimensions) {
    Origins all;
    for (const int there : neighbours(s.me, s.size, dimensions)) {
        Origin origin{{there}};
        const auto receivers = neighbours(there, s.size, dimensions);
        for (std::size_t i = 0; sent == Sent::to_each && i < receivers.size(); ++i) {
            if (receivers[i] == s.me) origin.or_blocks.push_back(static_cast<int>(i));
        }
        if (sent == Sent::to_each) origin.block = static_cast<int>(all.size()) ^ 1;
        all.push_back(origin);
    }
    return all;
}

std::map<std::string, Rule> single_calls() {
    const auto all = [](const Standpoint& s) { return ranks_from(0, s.size); };
    return {
        {"scatter", [](const Standpoint& s) { return Origins{{{s.root}, s.me}}; }},
        {"scatterv", [](const Standpoint& s) { return Origins{{{s.root}, s.me}}; }},
        {"gather", [](const Standpoint& s) { return at_root(s, from_each(s, 0)); }},
        {"gatherv", [](const Standpoint& s) { return at_root(s, from_each(s, 0)); }},
        {"bcast", [](const Standpoint& s) { return Origins{{{s.root}}}; }},
        {"reduce", [all](const Standpoint& s) { return at_root(s, {{all(s)}}); }},
        {"allreduce", [all](const Standpoint& s) { return Origins{{all(s)}}; }},
        {"allgather", [](const Standpoint& s) { return from_each(s, 0); }},
        {"allgatherv", [](const Standpoint& s) { return from_each(s, 0); }},
        {"alltoall", [](const Standpoint& s) { return from_each(s, s.me); }},
        {"alltoallv", [](const Standpoint& s) { return from_each(s, s.me); }},
        {"alltoallw", [](const Standpoint& s) { return from_each(s, s.me); }},
        {"reduce_scatter", [all](const Standpoint& s) { return Origins{{all(s), s.me}}; }},
        {"reduce_scatter_block", [all](const Standpoint& s) { return Origins{{all(s), s.me}}; }},
        {"scan", [](const Standpoint& s) { return Origins{{ranks_from(0, s.me + 1)}}; }},
        {"exscan",
         [](const Standpoint& s) {
             return s.me ? Origins{{ranks_from(0, s.me)}} : Origins{};
         }},
    };
}

std::map<std::string, Rule> patterns() {
    const auto gathered = [](const Standpoint& s) { return on_grid(s, Sent::to_all, 2); };
    const auto exchanged = [](const Standpoint& s) { return on_grid(s, Sent::to_each, 2); };
    const auto from_neighbours = [](const Standpoint& s) {
        return Origins{{{at(s, -1)}}, {{at(s, 1)}}};
    };
    const auto streamed = [](const Standpoint& s) {
        return at_partner(s, repeated(s.window, {{s.root}}));
    };
    const auto streamed_both = [](const Standpoint& s) { return times(s.window, from_partner(s)); };
    std::map<std::string, Rule> rules = {
        {"pingpong", from_partner},
        {"pingping", from_partner},
        {"thread_pairs", [](const Standpoint& s) { return times(2, from_partner(s)); }},
        {"partitioned", [](const Standpoint& s) { return at_partner(s, {{{s.root}}}); }},
        {"pingpong_any_source", from_partner},
        {"pingping_any_source", from_partner},
        {"sendrecv", [](const Standpoint& s) { return Origins{{{at(s, -1)}}}; }},
        {"sendrecv_replace", [](const Standpoint& s) { return Origins{{{at(s, -1)}}}; }},
        {"exchange", from_neighbours},
        {"streaming", streamed},
        {"bidirectional", streamed_both},
        {"unirandom_rate", [](const Standpoint& s) { return streamed_at_random(s, Ways::one); }},
        {"birandom_rate", [](const Standpoint& s) { return streamed_at_random(s, Ways::both); }},
        {"fan_in_rate", fanned_in},
        {"fan_out_rate", fanned_out},
        {"bidirectional_put", from_partner},
        {"bidirectional_get", from_partner},
        {"exchange_put", from_neighbours},
        {"exchange_get", from_neighbours},
        {"one_put_all",
         [](const Standpoint& s) { return s.me == s.root ? Origins{} : Origins{{{s.root}}}; }},
        {"one_get_all", [](const Standpoint& s) { return at_root(s, from_others(s, 1)); }},
        {"all_put_all", [](const Standpoint& s) { return from_others(s, -1); }},
        {"all_get_all", [](const Standpoint& s) { return from_others(s, 1); }},
        {"put_streaming", streamed},
        {"get_streaming",
         [](const Standpoint& s) { return at_root(s, repeated(s.window, {{partner(s)}})); }},
        {"put_streaming_both", streamed_both},
        {"passive_put", [](const Standpoint& s) { return at_partner(s, {{{s.root}}}); }},
        {"grid3_alltoall", [](const Standpoint& s) { return on_grid(s, Sent::to_each, 3); }},
        {"grid_alltoallw", exchanged},
        {"pairs_rate", streamed_in_pairs},
        {"preposted_rate", streamed_in_pairs},
        {"peers_rate", streamed_by_all},
        {"graph_allgather", graph_gathered},
        {"graph_allgatherv", graph_gathered},
        {"graph_alltoall", graph_exchanged},
        {"graph_alltoallv", graph_exchanged},
        {"grid_allgather", gathered},
        {"grid_allgatherv", gathered},
        {"grid_alltoall", exchanged},
        {"grid_alltoallv", exchanged},
    };
    for (const std::string how : {"_fence", "_pscw", "_lock", "_flush"}) {
        rules["put" + how] = [](const Standpoint& s) { return at_partner(s, {{{s.root}}}); };
        rules["get" + how] = [](const Standpoint& s) { return at_root(s, {{{partner(s)}}}); };
        rules["accumulate" + how] = [](const Standpoint& s) {
            return at_partner(s, {{{s.root, partner(s)}}});
        };
        rules["fetch_op" + how] = fetched;
        rules["compare_swap" + how] = [](const Standpoint& s) {
            return at_root(s, {{{partner(s)}}});
        };
    }
    return rules;
}

// A persistent, nonblocking or overlapped form delivers what the blocking one does.
std::string plain(std::string name) {
    for (const std::string form : {"persistent_", "overlapped_"}) {
        if (name.starts_with(form)) name = name.substr(form.size());
    }
    if (name.starts_with("igrid_")) name = name.substr(1);
    return name;
}

// Fits a byte, and is exact in sums of floats.
int element(int rank, std::uint64_t place) {
    const auto sender = static_cast<std::uint64_t>(rank);
    return static_cast<int>((37 * sender + 11 * place + place / 251) % 113);
}

int sum_of(const Origin& origin, std::uint64_t place) {
    int sum = 0;
    for (const int rank : origin.ranks) sum += element(rank, place);
    return sum;
}

std::uint64_t element_bytes(Element kind) { return kind == Element::real ? 4 : 1; }

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

// The first of `count` elements from `begin` on that is not that of the block; -1 where all are.
double first_other(const std::byte *begin, Element kind, std::uint64_t count, const Origin& origin,
                   int block) {
    const auto first = static_cast<std::uint64_t>(block) * count;
    for (std::uint64_t i = 0; i < count; ++i) {
        if (get(begin, kind, i) != sum_of(origin, first + i)) return static_cast<double>(i);
    }
    return -1.0;
}

// The first element that is not what it should be; -1 where all are.
double first_wrong(const Exchange& e, const lw_operation& operation, const Origins& parts) {
    const auto kind = operation.entry->element;
    const auto count = e.message_bytes / element_bytes(kind);
    const auto name = plain(operation.name);
    const bool in_place = name.ends_with("bcast") || name == "sendrecv_replace";
    const auto *arrived = in_place ? e.send : e.receive;
    for (std::size_t part = 0; part < parts.size(); ++part) {
        const auto& origin = parts[part];
        const auto *begin = arrived + part * e.message_bytes;
        const double wrong = first_other(begin, kind, count, origin, origin.block);
        if (wrong < 0.0) continue;
        const auto is_this = [&](int block) {
            return first_other(begin, kind, count, origin, block) < 0.0;
        };
        if (std::any_of(origin.or_blocks.begin(), origin.or_blocks.end(), is_this)) continue;
        return static_cast<double>(part * count) + wrong;
    }
    return -1.0;
}

std::uint64_t sent_blocks(const Entry& entry, int size) {
    switch (entry.shape.send_root) {
        case Blocks::none: return entry.shape.send_others == Blocks::none ? 0 : 1;
        case Blocks::two: return 2;
        case Blocks::four: return 4;
        case Blocks::six: return 6;
        case Blocks::each_rank: return static_cast<std::uint64_t>(size);
        default: return 1;
    }
}

// Where only the root sends, the others have no room for its blocks.
bool sends(const Entry& entry, const Exchange& e) {
    const auto blocks = e.rank == e.root ? entry.shape.send_root : entry.shape.send_others;
    return blocks != Blocks::none;
}

// Whether the window of a one-sided operation holds something that counts.
bool holds(const std::string& name) {
    return name.starts_with("accumulate_") || name.starts_with("fetch_op_") ||
           name.starts_with("compare_swap_");
}

void fill(Exchange& e, const lw_operation& operation) {
    const auto kind = operation.entry->element;
    const bool receives_in_place = plain(operation.name).ends_with("bcast") && e.rank != e.root;
    const auto one = e.message_bytes / element_bytes(kind);
    for (std::uint64_t i = 0; holds(operation.name) && i < one; ++i) {
        put(e.receive, kind, i, e.rank == e.root ? 0 : element(e.rank, i));
    }
    if (!sends(*operation.entry, e)) return;
    const auto count = sent_blocks(*operation.entry, e.size) * one;
    for (std::uint64_t i = 0; i < count; ++i) {
        put(e.send, kind, i, receives_in_place ? 0 : element(e.rank, i));
    }
}

}  // namespace

void mark(std::span<std::byte> bytes, int rank) {
    for (std::size_t i = 0; i < bytes.size(); ++i) {
        put(bytes.data(), Element::byte, i, element(rank, i));
    }
}

bool is_marked(std::span<const std::byte> bytes, int rank) {
    for (std::size_t i = 0; i < bytes.size(); ++i) {
        if (get(bytes.data(), Element::byte, i) != element(rank, i)) return false;
    }
    return true;
}

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
                 std::uint64_t message_bytes, const lw_buffers& layout) {
    if (!operation.entry || !operation.weights.empty()) return Done{};
    const std::string what = operation.name + " of " + format_size(message_bytes) + " bytes ";
    auto running = Running::create(operation, harness.comm(), root, message_bytes, layout);
    if (harness.any(!running)) return Failure{LW_ERR_MEMORY, what + "could not be set up"};
    if (harness.any(running->prepare() != 0))
        return Failure{LW_ERR_MPI, what + "could not be set up by this MPI"};
    for (auto& e : running->exchanges()) fill(e, operation);
    for (auto& e : running->exchanges()) {
        harness.barrier();
        if (harness.any(running->execute() != 0))
            return Failure{LW_ERR_OPERATION, what + "returned an error"};
        const auto parts = origins(operation.name, {e.rank, e.size, root, e.window});
        double wrong[2] = {first_wrong(e, operation, parts), -1.0};
        if (wrong[0] >= 0.0) wrong[1] = e.rank;
        harness.maximum(wrong);
        if (wrong[0] < 0.0) continue;
        return Failure{LW_ERR_OPERATION, what + "delivered wrong data on rank " +
                                             std::to_string(static_cast<int>(wrong[1])) +
                                             ", first at element " +
                                             std::to_string(static_cast<long long>(wrong[0]))};
    }
    return Done{};
}

}  // namespace lanewise::measure
