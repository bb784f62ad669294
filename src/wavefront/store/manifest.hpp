// SPDX-License-Identifier: BSD-3-Clause
//
// Manifest: what a store holds, and which of its files are committed.
//
// Each matrix has two generations, `a` and `b`, of which the manifest names one. A pass
// writes the other; then one rename of manifest.json commits it. Whatever happens
// before that rename has no effect.

#pragma once

#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "base/json_fwd.hpp"
#include "base/result.hpp"
#include "wavefront/layout/borders.hpp"
#include "wavefront/layout/shape.hpp"

namespace lanewise::wavefront {

struct MatrixEntry {
    std::string name;
    char generation = 'a';
    std::string sums; /* XXH3 of the file that holds the strips' checksums; empty: not filled yet */
};

/* A coefficient that is one value for each row or column. */
struct VectorEntry {
    std::string name;
    std::string sum; /* XXH3 of its file; empty: not filled yet */
};

/* The kernel that the store was made for. */
struct KernelEntry {
    std::string name;
    std::vector<double> parameters; /* empty: none were given */
};

/* A run ends once no cell changes by more than its tolerance; by anything, where that is 0. */
inline constexpr double no_tolerance = -std::numeric_limits<double>::infinity();
inline bool has_tolerance(double tolerance) {
    return tolerance >= 0.0;
}

/* Where a run is in its cycle of directions. */
struct CourseEntry {
    Directions directions{Direction{}};
    std::uint64_t first_iteration = 0; /* iterations of the data before the run */
    std::uint64_t still_iterations =
        0; /* of the last ones, in which no cell changed by more than the tolerance */
};

/* What a run asks between its iterations. */
struct PauseEntry {
    std::string until; /* the condition that ends it; empty: none */
    std::uint64_t every = 1;
    std::optional<double> first{}; /* the measure before its first iteration, where it matters */
    bool pending = false;          /* the last iteration has been followed by none yet */
    std::string snapshots{};       /* the folder that it writes the data to; empty: none */
};

/* The run that `resume` continues. */
struct RunEntry {
    std::string kernel;
    std::vector<double> parameters;
    std::uint64_t iterations_wanted = 0;
    double tolerance = no_tolerance;
    std::optional<CourseEntry> course{}; /* none of parts whose iterations are all alike */
    std::optional<PauseEntry> pause{};
    Borders borders{};
};

/* Which rows of a whole store this one holds, with some of its neighbours'. */
struct PartEntry {
    std::uint64_t rank = 0;
    std::uint64_t ranks = 1;
    std::uint64_t halo_rows = 1; /* of each neighbour */
    std::uint64_t waves = 0;     /* of a pass of the run under way; the same on all ranks */
};

struct Manifest {
    MatrixShape shape;
    std::vector<MatrixEntry> matrices; /* data first, then coefficients */
    std::vector<VectorEntry> vectors;  /* by row first, then by column */
    std::vector<std::string> disks;    /* folders, strips round robin; "." is the store */
    std::string id{};             /* that the folders on further disks have too; may be empty */
    std::uint64_t iterations = 0; /* that the data have gone through */
    std::optional<KernelEntry> kernel; /* that `run` uses where none is named */
    std::optional<RunEntry> run;
    std::optional<PartEntry> part;
};

inline constexpr const char *manifest_name = "manifest.json";
/* The state that a part of a store in tiles goes back to where others are a pass behind. */
inline constexpr const char *former_manifest_name = "manifest.former.json";

/* Of the matrices, then of the vectors. */
std::vector<std::string> names_of(const Manifest& manifest);
/* Names are parts of names of files: of letters, digits, _ and -, and each stands once. */
Outcome check_names(const MatrixShape& shape, const std::vector<std::string>& names);

/* What all parts of a store have in common, as "a, b: 1 with data, 300 columns of f64". */
std::string description_of(const Manifest& manifest);

/* What all parts of a store note alike of a run. A part has no top or no bottom border of the
 * whole, and one in which a run came to rest wants no more iterations. */
std::string description_of(const RunEntry& run, Dimensions dimensions);

/* Whether the run has iterations, or what follows its last one, still to do. */
bool is_unfinished(const Manifest& manifest);

Json to_json(const Manifest& manifest);
/* Refuses a newer version, a missing key and an unknown one by name. */
Result<Manifest> manifest_from(const Json& json, const std::string& path);

Result<Manifest> read_manifest(const std::string& folder, const char *name = manifest_name);
/* Writes a new file, syncs it, renames it, syncs the folder. */
Outcome write_manifest(const std::string& folder, const Manifest& manifest,
                       const char *name = manifest_name);

/* "cannot sync /a/folder: No space left on device", of errno. */
Failure system_failure(const std::string& doing, const std::string& path);

/* Makes the names in a folder outlive a power cut. */
Outcome sync_folder(const std::string& path);

/* Writes `bytes` to `path` so that a crash leaves the former file or this one. */
Outcome replace_file(const std::string& path, const void *bytes, std::size_t size);

}  // namespace lanewise::wavefront
