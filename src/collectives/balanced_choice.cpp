// SPDX-License-Identifier: BSD-3-Clause
//
// Short vectors: what takes the fewest messages one after the other. Long ones: what moves the
// fewest bytes, in halves where the number of ranks is a power of two, else directly.

#include "collectives/balanced_choice.hpp"

#include <bit>

namespace lanewise::collectives {
namespace {

constexpr std::uint64_t short_message_bytes = 16 * 1024;

const char *name_of_choice(Operation operation, int ranks, std::uint64_t message_bytes) {
    if (is_scan(operation.collective)) return "direct";
    // Also where it takes more messages: it is the one that a nonblocking call can begin anywhere.
    if (operation.collective == Collective::reduce_scatter) return "direct";
    if (message_bytes <= short_message_bytes) {
        return operation.collective == Collective::reduce ? "binomial" : "recursive_doubling";
    }
    return std::has_single_bit(static_cast<unsigned>(ranks)) ? "rabenseifner" : "direct";
}

}  // namespace

const Algorithm *balanced_choice(Operation operation, int ranks, std::uint64_t message_bytes) {
    const auto *found =
        find_algorithm(operation.collective, name_of_choice(operation, ranks, message_bytes));
    return found && found->bracketing == Bracketing::balanced ? found : nullptr;
}

}  // namespace lanewise::collectives
