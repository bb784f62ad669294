// SPDX-License-Identifier: BSD-3-Clause
//
// See mpi_algorithms.hpp. MPICH tells the names of an algorithm variable's values in its
// description only, "auto - ...", "binomial - Force ...", in the order of the
// values and, in 4.0, with nothing between one line and the next. So each
// "- Force" is a value, and its name the longest known one that ends there.

#include <algorithm>
#include <array>
#include <bit>
#include <cctype>
#include <string_view>

#include "tune/control_variable.hpp"
#include "tune/mpi_algorithms.hpp"

namespace lanewise::tune {
namespace {

using collectives::Collective;

constexpr std::array known_names = {
    "nb",
    "smp",
    "binomial",
    "linear",
    "ring",
    "brucks",
    "k_brucks",
    "recursive_doubling",
    "recursive_doubling_multinomial",
    "recursive_halving",
    "pairwise",
    "pairwise_sendrecv_replace",
    "scattered",
    "dissemination",
    "k_dissemination",
    "recexch",
    "recexch_doubling",
    "recexch_halving",
    "noncommutative",
    "reduce_scatter_gather",
    "reduce_scatter_allgather",
    "k_reduce_scatter_allgather",
    "tree",
    "pipelined_tree",
    "scatter_recursive_doubling_allgather",
    "scatter_ring_allgather",
    "ccl",
    "circ_graph",
    "circ_graph_rsb",
};

std::string variable(Collective collective) {
    std::string name = name_of(collective);
    std::transform(name.begin(), name.end(), name.begin(),
                   [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
    return "MPIR_CVAR_" + name + "_INTRA_ALGORITHM";
}

/* MPICH 4.0 ends the program where this one is forced on another number of ranks. */
bool serves(std::string_view name, int ranks) {
    return name != "noncommutative" || std::has_single_bit(static_cast<unsigned>(ranks));
}

std::string_view name_ending(std::string_view text) {
    while (!text.empty() && text.back() == ' ') text.remove_suffix(1);
    std::string_view longest;
    for (const std::string_view name : known_names) {
        if (name.size() > longest.size() && text.ends_with(name)) longest = name;
    }
    return longest;
}

// Puts a variable back when the measurement is over.
struct Forced {
    explicit Forced(const std::string& name) : control(name), before(control.read()) {}
    ~Forced() { control.write(before); }
    Forced(const Forced&) = delete;
    Forced& operator=(const Forced&) = delete;

    ControlVariable control;
    int before;
};

}  // namespace

void MpiAlgorithms::announce() {}

MpiAlgorithms::MpiAlgorithms() = default;
MpiAlgorithms::~MpiAlgorithms() = default;

std::vector<MpiAlgorithm> MpiAlgorithms::of(Collective collective, int ranks) const {
    const ControlVariable control(variable(collective));
    std::vector<MpiAlgorithm> found;
    if (!control.usable()) return found;
    const std::string_view text = control.description();
    constexpr std::string_view mark = "- Force";
    int number = 0;
    for (auto at = text.find(mark); at != text.npos; at = text.find(mark, at + mark.size())) {
        ++number;
        const auto name = name_ending(text.substr(0, at));
        if (name.empty() || !serves(name, ranks)) continue;
        found.push_back({std::string(name), number, false});
    }
    return found;
}

int MpiAlgorithms::forced(Collective collective) const {
    return ControlVariable(variable(collective)).read();
}

Implementation MpiAlgorithms::implementation(const SharedCalls& calls, Collective collective,
                                             const MpiAlgorithm& algorithm, int) {
    return [calls, collective, algorithm](MPI_Comm comm, int root,
                                          std::uint64_t) -> Result<Execution> {
        auto forced = std::make_shared<Forced>(variable(collective));
        if (!forced->control.write(algorithm.number))
            return Failure{LW_ERR_UNSUPPORTED, algorithm.name + " could not be forced"};
        auto execution = call_on(calls, comm, root);
        if (!execution) return execution.failure();
        return Execution([forced, call = execution->call] { return call(); }, execution->between);
    };
}

}  // namespace lanewise::tune
