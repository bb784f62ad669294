// SPDX-License-Identifier: BSD-3-Clause
//
// See validate.hpp.

#include "measure/validate.hpp"

#include <algorithm>
#include <cstring>

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

void fill(Exchange& e, const lw_operation& operation) {
    const auto kind = operation.entry->element;
    const bool receives_in_place = plain(operation.name).ends_with("bcast") && e.rank != e.root;
    const auto one = e.message_bytes / element_bytes(kind);
    for (std::uint64_t i = 0; operation.entry->adds && i < one; ++i) {
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

Outcome validate(const Harness& harness, const lw_operation& operation, int root,
                 std::uint64_t message_bytes, const lw_buffers& layout) {
    if (!operation.entry || !operation.weights.empty()) return Done{};
    const std::string what = operation.name + " of " + format_size(message_bytes) + " bytes ";
    auto running = Running::create(operation, harness.comm(), root, message_bytes, layout);
    if (harness.any(!running)) return Failure{LW_ERR_MEMORY, what + "could not be set up"};
    if (harness.any(running->prepare() != 0))
        return Failure{LW_ERR_MPI, what + "could not be set up by this MPI"};
    const auto delivers = operation.entry->delivers;
    for (auto& e : running->exchanges()) fill(e, operation);
    for (auto& e : running->exchanges()) {
        harness.barrier();
        if (harness.any(running->execute() != 0))
            return Failure{LW_ERR_OPERATION, what + "returned an error"};
        const auto parts = delivers ? delivers({e.rank, e.size, root, e.window}) : Origins{};
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
