// SPDX-License-Identifier: BSD-3-Clause
//
// See validate.hpp.

#include "measure/validate.hpp"

#include <algorithm>
#include <cstring>
#include <optional>
#include <utility>

#include "base/sizes.hpp"

namespace lanewise::measure {
namespace {

// A persistent, nonblocking or overlapped form delivers what the blocking one does.
std::string plain(std::string name) {
    for (const std::string form : {"persistent_", "overlapped_"}) {
        if (name.starts_with(form)) name = name.substr(form.size());
    }
    if (name.starts_with("igrid_")) name = name.substr(1);
    return name;
}

// What nothing delivers: as a byte above all elements, as a float not a number.
constexpr auto poison = std::byte{0xFF};

// From 1 to 127: fits a byte, is exact in sums of floats, and is not what untouched memory holds.
// 127 ranks in a row differ at each place, and 127 places in a row of each rank. Ranks that are
// further apart agree at one of 127 places at most; places are mixed, so that none is shifted.
int element(int rank, std::uint64_t place) {
    constexpr std::uint64_t values = 127; /* a prime number */
    const auto from = static_cast<std::uint64_t>(rank);
    const auto slope = 1 + (10 + from / values) % (values - 1);
    auto mixed = (place / values << 24 ^ from / values) * 0x9E3779B97F4A7C15u;
    mixed = (mixed ^ mixed >> 32) * 0xD6E8FEB86659FD93u;
    return 1 + static_cast<int>((37 * (from % values) + slope * (place % values) + (mixed >> 32)) %
                                values);
}

double sum_of(const Origin& origin, std::uint64_t place) {
    double sum = 0.0;
    for (const int rank : origin.ranks) sum += element(rank, place);
    return sum;
}

std::uint64_t element_bytes(Element kind) {
    return kind == Element::real ? 4 : 1;
}

void put(std::byte *bytes, Element kind, std::uint64_t i, int value) {
    const auto real = static_cast<float>(value);
    if (kind == Element::real) {
        std::memcpy(bytes + 4 * i, &real, 4);
    } else {
        bytes[i] = static_cast<std::byte>(value);
    }
}

double get(const std::byte *bytes, Element kind, std::uint64_t i) {
    if (kind == Element::byte) return std::to_integer<int>(bytes[i]);
    float real = 0.0F;
    std::memcpy(&real, bytes + 4 * i, 4);
    return real;
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

// A window of messages is sent from one block.
std::uint64_t sent_blocks(const Entry& entry, int size) {
    if (entry.shape.send_root == Blocks::none)
        return entry.shape.send_others == Blocks::none ? 0 : 1;
    return block_count(entry.shape.send_root, size, 1);
}

// Where only the root sends, the others have no room for its blocks.
bool sends(const Entry& entry, const Exchange& e) {
    const auto blocks = e.rank == e.root ? entry.shape.send_root : entry.shape.send_others;
    return blocks != Blocks::none;
}

// Marks what the next execution sends, and spoils what it is to receive.
void fill(Running& running, Exchange& e, const lw_operation& operation) {
    const auto kind = operation.entry->element;
    const auto one = e.message_bytes / element_bytes(kind);
    const auto [sent, received] = running.next_buffers();
    const bool adds = operation.entry->adds;
    if (!adds) std::fill(received.begin(), received.end(), poison);
    for (std::uint64_t i = 0; adds && i < one; ++i) {
        put(e.receive, kind, i, e.rank == e.root ? 0 : element(e.rank, i));
    }
    if (plain(operation.name).ends_with("bcast") && e.rank != e.root)
        return std::fill(sent.begin(), sent.end(), poison);
    if (!sends(*operation.entry, e)) return;
    const auto count = sent_blocks(*operation.entry, e.size) * one;
    for (std::uint64_t i = 0; i < count; ++i) put(e.send, kind, i, element(e.rank, i));
}

// The first rank that received something wrong, and where; the same on every rank.
std::optional<std::pair<int, long long>> agree_on_first(const Harness& harness, double wrong) {
    const bool here = wrong >= 0.0;
    double lowest = here ? -harness.rank() : -harness.size();
    harness.maximum({&lowest, 1});
    const int rank = static_cast<int>(-lowest);
    if (rank == harness.size()) return std::nullopt;
    double element = rank == harness.rank() ? wrong : -1.0;
    harness.maximum({&element, 1});
    return std::pair{rank, static_cast<long long>(element)};
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

Outcome validate(const Harness& harness, const lw_operation& operation, int root,
                 std::uint64_t message_bytes, const lw_buffers& layout) {
    if (!operation.entry || !operation.weights.empty()) return Done{};
    const std::string what = operation.name + " of " + format_size(message_bytes) + " bytes ";
    auto running = Running::create(operation, harness.comm(), root, message_bytes, layout);
    if (harness.any(!running)) return Failure{LW_ERR_MEMORY, what + "could not be set up"};
    if (harness.any(running->prepare() != 0))
        return Failure{LW_ERR_MPI, what + "could not be set up by this MPI"};
    const auto delivers = operation.entry->delivers;
    for (auto& e : running->exchanges()) {
        fill(*running, e, operation);
        harness.barrier();
        if (harness.any(running->execute() != 0))
            return Failure{LW_ERR_OPERATION, what + "returned an error"};
        const auto parts = delivers ? delivers({e.rank, e.size, root, e.window}) : Origins{};
        const auto first = agree_on_first(harness, first_wrong(e, operation, parts));
        if (!first) continue;
        return Failure{LW_ERR_OPERATION, what + "delivered wrong data on rank " +
                                             std::to_string(first->first) + ", first at element " +
                                             std::to_string(first->second)};
    }
    return Done{};
}

}  // namespace lanewise::measure
