// SPDX-License-Identifier: BSD-3-Clause
//
// See guidelines.hpp.

#include "tune/guidelines.hpp"

#include "tune/collectives_named.hpp"

namespace lanewise::tune {
namespace {

using collectives::Collective;

/* How much a part of a mock-up moves, given the size of the collective that it stands for. */
enum class Size {
    same,
    vector_of_blocks, /* a vector as long as the blocks of all ranks */
    block_of_vector,  /* a block such that those of all ranks hold the vector */
};

struct PartOf {
    Collective collective;
    Size size;
};

struct MockUp {
    Collective collective;
    std::vector<PartOf> parts;
};

const std::vector<MockUp>& mock_ups() {
    using enum Collective;
    using enum Size;
    static const std::vector<MockUp> all = {
        {bcast, {{scatter, block_of_vector}, {allgather, block_of_vector}}},
        {scatter, {{bcast, vector_of_blocks}}},
        {scatter, {{scatterv, same}}},
        {gather, {{allgather, same}}},
        {gather, {{gatherv, same}}},
        {allgather, {{gather, same}, {bcast, vector_of_blocks}}},
        {allgather, {{alltoall, same}}},
        {allgather, {{allgatherv, same}}},
        {reduce, {{allreduce, same}}},
        {reduce, {{reduce_scatter, block_of_vector}, {gather, block_of_vector}}},
        {allreduce, {{reduce, same}, {bcast, same}}},
        {allreduce, {{reduce_scatter, block_of_vector}, {allgather, block_of_vector}}},
        {reduce_scatter, {{reduce, vector_of_blocks}, {scatter, same}}},
    };
    return all;
}

std::uint64_t size_of(Size size, std::uint64_t message_bytes, int ranks) {
    const auto n = static_cast<std::uint64_t>(ranks);
    switch (size) {
        case Size::same: return message_bytes;
        case Size::vector_of_blocks: return message_bytes * n;
        // Whole floats, and never less than the vector.
        case Size::block_of_vector: return (message_bytes + 4 * n - 1) / (4 * n) * 4;
    }
    return message_bytes;
}

Guideline mocked_up(const MockUp& mock_up, std::uint64_t message_bytes, int ranks) {
    Guideline guideline{.kind = "mock-up",
                        .text = std::string(name_of(mock_up.collective)) + " <=",
                        .collective = mock_up.collective,
                        .message_bytes = message_bytes,
                        .parts = {}};
    for (const auto& part : mock_up.parts) {
        const std::string name = name_of(part.collective);
        guideline.text += (guideline.parts.empty() ? " " : " + ") + name;
        guideline.parts.push_back({name, size_of(part.size, message_bytes, ranks)});
    }
    return guideline;
}

}  // namespace

std::vector<Guideline> guidelines(const std::vector<Collective>& collectives,
                                  const std::vector<std::uint64_t>& sizes_bytes, int ranks) {
    std::vector<Guideline> found;
    for (const auto collective : collectives) {
        const std::string name = name_of(collective);
        const auto sizes = sizes_for(collective, sizes_bytes);
        if (collective == Collective::barrier) continue;
        for (const auto& mock_up : mock_ups()) {
            if (mock_up.collective != collective) continue;
            for (const auto bytes : sizes) found.push_back(mocked_up(mock_up, bytes, ranks));
        }
        for (std::size_t i = 0; i + 1 < sizes.size(); ++i) {
            found.push_back({"monotony",
                             name + " <= " + name + " of the next size",
                             collective,
                             sizes[i],
                             {{name, sizes[i + 1]}}});
        }
        const std::uint64_t unit_bytes = is_reduction(collective) ? 4 : 1;
        for (const auto bytes : sizes) {
            if (bytes < 2 * unit_bytes || bytes % (2 * unit_bytes) != 0) continue;
            found.push_back({"split",
                             name + " <= 2 " + name + " of half the size",
                             collective,
                             bytes,
                             {{name, bytes / 2}, {name, bytes / 2}}});
        }
    }
    return found;
}

}  // namespace lanewise::tune
