// SPDX-License-Identifier: BSD-3-Clause
//
// Bruck's alltoall: block i of a rank goes i ranks ahead, by the bits of i: the
// round of distance d sends all blocks whose i has that bit, packed in one
// message. Good for short blocks.
// Cost: ceil(log2(n)) (a + n/2 bM).

#include "collectives/algorithm.hpp"
#include "collectives/scratch_bound.hpp"

namespace lanewise::collectives {
namespace {

using model::Place;
using model::Slice;
using model::StepId;

// Copies those of the blocks of `tmp` that have the bit to or from a packed row.
template <typename Copy>
std::int64_t each_run_with_bit(int ranks, int bit, std::int64_t block, Copy copy) {
    std::int64_t packed = 0;
    for (int first = bit; first < ranks; first += 2 * bit) {
        const auto count = block * (std::min(first + bit, ranks) - first);
        copy(block * first, packed, count);
        packed += count;
    }
    return packed;
}

struct Rotation {
    Slice tmp;
    StepId ready = model::no_step;
};

// Block i of `tmp` is the one for the rank i ahead.
Rotation rotate(model::Builder& steps, const CallShape& shape) {
    const auto block = shape.count;
    const auto tmp = steps.scratch(block * shape.ranks);
    const auto ahead = block * (shape.ranks - shape.rank);
    const auto first = steps.copy({Place::send, block * shape.rank}, tmp, ahead);
    const auto second = steps.copy({Place::send, 0}, tmp.at(ahead), block * shape.rank, {first});
    return {tmp, second == model::no_step ? first : second};
}

model::Schedule build(const CallShape& shape) {
    model::Builder steps;
    const int n = shape.ranks;
    const int me = shape.rank;
    const auto block = shape.count;
    const auto rotation = rotate(steps, shape);
    const auto tmp = rotation.tmp;
    auto ready = rotation.ready;
    const auto outgoing = steps.scratch(block * (n / 2));
    const auto incoming = steps.scratch(block * (n / 2));
    auto sent = model::no_step;
    for (int bit = 1; bit < n; bit *= 2) {
        auto packed = model::no_step;
        const auto count = each_run_with_bit(n, bit, block, [&](auto from, auto to, auto units) {
            packed = steps.copy(tmp.at(from), outgoing.at(to), units, {ready, sent, packed});
        });
        const auto received = steps.receive((me - bit + n) % n, incoming, count, {ready});
        sent = steps.send((me + bit) % n, outgoing, count, {packed});
        ready = received;
        each_run_with_bit(n, bit, block, [&](auto to, auto from, auto units) {
            ready = steps.copy(incoming.at(from), tmp.at(to), units, {ready});
        });
    }
    // What came i ranks far stands at i.
    for (int i = 0; i < n; ++i) {
        const int from = (me - i + n) % n;
        steps.copy(tmp.at(block * i), {Place::receive, shape.offset_of(from)}, block, {ready});
    }
    return steps.finish();
}

}  // namespace

extern const Algorithm alltoall_bruck{
    .collective = Collective::alltoall,
    .name = "bruck",
    .source = "Bruck, Ho, Kipnis, Upfal and Weathersby, TPDS 8(11), 1997",
    .cost = "ceil(log2(n))(a + n/2 bM)",
    .needs = {},
    .build = build,
    .scratch_units_max = all_blocks_times<2>,
};

}  // namespace lanewise::collectives
