// SPDX-License-Identifier: BSD-3-Clause
//
// Short vectors: what takes the fewest messages one after the other. Long ones: what moves the
// fewest bytes, in halves where the number of ranks is a power of two, else directly.
//
// Two ranks: to send the whole vector both ways at once takes no longer than to send half of it
// twice, so only the arithmetic is in favour of halves. Where one becomes faster than the other
// was measured on one host with Open MPI 4.1 and MPICH 4.0 (docs/same-bits.md).

#include "collectives/balanced_choice.hpp"

#include <bit>

namespace lanewise::collectives {
namespace {

constexpr std::uint64_t short_message_bytes = std::uint64_t{16} * 1024;
constexpr std::uint64_t short_message_bytes_of_two = std::uint64_t{256} * 1024;
// Longer ones go in pieces that stay in a cache.
constexpr std::uint64_t whole_message_bytes_of_two = std::uint64_t{1024} * 1024;

const char *name_for_two(Collective collective, std::uint64_t message_bytes) {
    const bool to_all = collective == Collective::allreduce;
    if (message_bytes <= short_message_bytes_of_two) {
        return to_all ? "recursive_doubling" : "binomial";
    }
    return to_all && message_bytes <= whole_message_bytes_of_two ? "rabenseifner" : "direct";
}

const char *name_of_choice(Operation operation, int ranks, std::uint64_t message_bytes) {
    const auto collective = operation.collective;
    if (is_scan(collective)) return "direct";
    // Also where it takes more messages: it is the one that a nonblocking call can begin anywhere.
    if (collective == Collective::reduce_scatter) return "direct";
    if (ranks == 2) return name_for_two(collective, message_bytes);
    if (message_bytes <= short_message_bytes) {
        return collective == Collective::reduce ? "binomial" : "recursive_doubling";
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
