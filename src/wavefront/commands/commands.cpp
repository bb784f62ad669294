// SPDX-License-Identifier: BSD-3-Clause
//
// See commands.hpp.

#include "wavefront/commands/commands.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <memory>
#include <optional>
#include <utility>

#include "base/clock.hpp"
#include "base/file.hpp"
#include "base/json.hpp"
#include "base/quantities.hpp"
#include "wavefront/commands/npy.hpp"
#include "wavefront/plan/moving.hpp"
#include "wavefront/store/conversion.hpp"
#include "wavefront/store/folders.hpp"
#include "wavefront/store/parts.hpp"
#include "wavefront/store/rows_io.hpp"
#include "wavefront/store/vectors.hpp"

namespace lanewise::wavefront::commands {
namespace {

using namespace wavefront;

constexpr double progress_period_s = 0.25;
constexpr double mebibyte = 1 << 20;

void print(const Json& event) {
    std::puts(json_text(event).c_str());
    std::fflush(stdout);
}

std::vector<std::string> matrix_names(const WavefrontArguments& arguments) {
    if (!arguments.names.empty()) return arguments.names;
    const auto& shape = arguments.shape;
    const bool livermore =
        shape.coefficient_count == 5 && shape.data_count == 1 && shape.vector_count() == 0;
    if (livermore) return {"data", "zb", "zv", "zu", "zr", "zz"};
    std::vector<std::string> names;
    for (std::uint32_t m = 0; m < shape.data_count; ++m)
        names.push_back(shape.data_count == 1 ? "data" : "data" + std::to_string(m));
    for (std::uint32_t m = 0; m < shape.coefficient_count; ++m)
        names.push_back("coefficient" + std::to_string(m));
    add_vector_names(shape, names);
    return names;
}

/* Of stores with its coefficients, where none is named. */
constexpr const char *default_kernel = "livermore23";

/* The kernel that is named, else the one that the store was made for. */
Result<Kernel> kernel_for(const WavefrontArguments& arguments, const MatrixShape& shape,
                          const std::optional<KernelEntry>& of_store) {
    const bool livermore = shape.coefficient_count == 5 && shape.data_count == 1;
    auto name = arguments.kernel;
    if (name.empty() && of_store) name = of_store->name;
    if (name.empty() && livermore) name = default_kernel;
    if (name.empty())
        return Failure{LW_ERR_ARGUMENT,
                       "which kernel? add --kernel NAME; lanewise wavefront "
                       "kernels lists them"};
    const bool own = of_store && of_store->name == name && arguments.parameters.empty();
    return make_kernel_for(name, own ? of_store->parameters : arguments.parameters, shape);
}

/* A kernel that is named for a store has to be able to sweep it. */
Outcome check_named_kernel(const WavefrontArguments& arguments) {
    if (arguments.kernel.empty() && arguments.parameters.empty()) return Done{};
    const auto kernel = kernel_for(arguments, arguments.shape, std::nullopt);
    return kernel ? check_kernel(*kernel, arguments.shape) : Outcome(kernel.failure());
}

Outcome create(const WavefrontArguments& arguments) {
    const auto sound = check_shape(arguments.shape);
    if (!sound) return sound;
    const auto suits = check_named_kernel(arguments);
    if (!suits) return suits;
    auto folders = arguments.disks;
    folders.push_back(arguments.store);
    NewFolders made(folders);
    auto store =
        Store::create(arguments.store, arguments.shape, matrix_names(arguments), arguments.disks);
    if (!store) return store.failure();
    made.own();
    if (!arguments.kernel.empty() || !arguments.parameters.empty()) {
        auto manifest = store->manifest();
        manifest.kernel = KernelEntry{arguments.kernel.empty() ? default_kernel : arguments.kernel,
                                      arguments.parameters};
        const auto kept = store->commit(manifest);
        if (!kept) return kept;
    }
    const auto filled =
        arguments.empty ? Outcome(Done{}) : fill_with_demo_values(*store, arguments.seed);
    if (filled) made.keep();
    return filled;
}

Json plan_json(const Plan& plan) {
    return {{"event", "plan"},
            {"waves", plan.waves},
            {"passes", plan.passes},
            {"chain", plan.chain},
            {"threads", plan.threads},
            {"buffers", plan.buffers},
            {"held_strips", plan.held_strips},
            {"rows_per_block", plan.rows_per_block},
            {"wave_groups", plan.tiling.groups},
            {"rounds", plan.tiling.rounds},
            {"column_block_vectors", plan.tiling.column_block},
            {"memory_bytes", plan.memory_bytes},
            {"memory_bytes_min", plan.memory_bytes_min},
            {"parallelograms", plan.parallelograms},
            {"parallelogram_columns", plan.parallelogram_vectors},
            {"read_bytes", plan.read_bytes},
            {"written_bytes", plan.written_bytes},
            {"waves_to_hide_disk", plan.waves_to_hide_disk},
            {"time_s", plan.time_s},
            {"disk_bound", plan.disk_bound}};
}

void show_plan(const Plan& plan) {
    fmt::print("{} of {} on {}, {} in memory\n", counted(plan.passes, "pass"),
               counted(plan.waves, "wave"), counted(plan.threads, "thread"),
               counted(plan.buffers, "strip"));
    if (plan.held_strips)
        fmt::print(
            "borders  each iteration is a pass of its own, as it begins with the last rows "
            "of the one before; {} held until its end\n",
            counted(plan.held_strips, "strip"));
    else if (plan.chain)
        fmt::print("order    {} before the direction turns share a pass, at most\n",
                   counted(plan.chain, "iteration"));
    if (plan.parallelogram_vectors)
        fmt::print("rows     in {} parallelograms of {} columns\n", plan.parallelograms,
                   plan.parallelogram_vectors);
    fmt::print("memory   {:.0f} MiB (at least {:.0f})\n",
               static_cast<double>(plan.memory_bytes) / mebibyte,
               static_cast<double>(plan.memory_bytes_min) / mebibyte);
    fmt::print("disk     reads {:.0f} MiB, writes {:.0f} MiB\n",
               static_cast<double>(plan.read_bytes) / mebibyte,
               static_cast<double>(plan.written_bytes) / mebibyte);
    if (plan.waves_to_hide_disk == 0) return;
    fmt::print("time     {:.1f} s, limited by the {}; {} {} the disk\n", plan.time_s,
               plan.disk_bound ? "disk" : "kernel", counted(plan.waves_to_hide_disk, "wave"),
               plan.waves_to_hide_disk == 1 ? "hides" : "hide");
}

/* What is asked of a run over a store of `shape`. */
Result<RunOptions> options_for(const WavefrontArguments& arguments, const MatrixShape& shape) {
    auto options = arguments.options;
    if (arguments.borders.empty()) return options;
    const auto borders = parse_borders(arguments.borders, dimensions_of(shape));
    if (!borders) return borders.failure();
    options.borders = *borders;
    return options;
}

Outcome plan(const WavefrontArguments& arguments) {
    MatrixShape shape = arguments.shape;
    std::optional<KernelEntry> of_store;
    std::optional<PartEntry> part;
    if (!arguments.store.empty()) {
        const auto manifest = read_manifest(arguments.store);
        if (!manifest) return manifest.failure();
        shape = manifest->shape;
        of_store = manifest->kernel;
        part = manifest->part;
    }
    const auto kernel = kernel_for(arguments, shape, of_store);
    if (!kernel) return kernel.failure();
    const auto options = options_for(arguments, shape);
    if (!options) return options.failure();
    const bool of_several = part && part->ranks > 1;
    const auto parts = of_several ? check_options_of_parts(*options) : Outcome(Done{});
    if (!parts) return parts;
    const auto made = plan_run(shape, *kernel, *options);
    if (!made) return made.failure();
    if (arguments.json)
        print(plan_json(*made));
    else
        show_plan(*made);
    return Done{};
}

// Prints progress no more often than a person can read.
std::function<void(const RunProgress&)> progress_printer(const MatrixShape& shape) {
    return [shape, printed_s = -1.0](const RunProgress& progress) mutable {
        const bool whole = progress.pass.strips_done == progress.pass.strip_count;
        if (!whole && progress.elapsed_s - printed_s < progress_period_s) return;
        printed_s = progress.elapsed_s;
        const auto rows = std::min(progress.pass.strips_done * shape.strip_rows, shape.rows);
        print({{"event", "progress"},
               {"iterations_done", progress.iterations_done},
               {"iterations_wanted", progress.iterations_wanted},
               {"waves", progress.pass.waves},
               {"rows_done", rows},
               {"rows", shape.rows},
               {"columns", shape.columns},
               {"pass_read_bytes", progress.pass.read_bytes},
               {"pass_written_bytes", progress.pass.written_bytes},
               {"elapsed_s", progress.elapsed_s}});
    };
}

/* What updates the rows: vectors, or one cell after the other. */
const char *instructions(const Kernel& kernel, const Directions& directions,
                         const Borders& borders) {
    const bool at_once = is_plain(directions) || kernel.turned_at_once;
    const bool skewed = kernel.layout == &layouts::skewed && at_once && are_fixed(borders);
    return skewed ? skewed_instructions() : "scalar";
}

void show_report(const RunReport& report, const Store& store, const char *simd, bool json) {
    const auto& shape = store.shape();
    const double cells = static_cast<double>(shape.rows) * static_cast<double>(shape.columns) *
                         static_cast<double>(report.iterations);
    const double cells_per_s = report.elapsed_s > 0 ? cells / report.elapsed_s : 0.0;
    const auto note = io_note(report, store);
    if (!note.empty()) std::fprintf(stderr, "%s\n", note.c_str());
    if (json) {
        print({{"event", "end"},
               {"iterations", report.iterations},
               {"iterations_total", store.manifest().iterations},
               {"converged", report.converged},
               {"last_change", report.last_change},
               {"waves", report.waves},
               {"passes", report.passes},
               {"threads", report.threads},
               {"read_bytes", report.read_bytes},
               {"written_bytes", report.written_bytes},
               {"planned_memory_bytes", report.planned_memory_bytes},
               {"peak_memory_bytes", report.peak_memory_bytes},
               {"elapsed_s", report.elapsed_s},
               {"cells_per_s", cells_per_s},
               {"io", io_text(report)},
               {"simd", simd}});
        return;
    }
    fmt::print("{} in {:.2f} s: {:.0f} Mcells/s, {} of {}, {:.0f} MiB of memory{}\n",
               counted(report.iterations, "iteration"), report.elapsed_s, cells_per_s / 1e6,
               counted(report.passes, "pass"), counted(report.waves, "wave"),
               static_cast<double>(report.peak_memory_bytes) / mebibyte,
               report.converged ? ", converged" : "");
}

// Writes `beside`, which becomes `path` when it is complete, and outlives a power cut then.
Outcome write_npy(const Store& store, std::uint32_t matrix, const std::string& beside,
                  const std::string& path) {
    const std::unique_ptr<std::FILE, int (*)(std::FILE *)> file(std::fopen(beside.c_str(), "wb"),
                                                                &std::fclose);
    const auto cannot = [&] { return system_failure("write", path); };
    if (!file) return cannot();
    const auto& shape = store.shape();
    const auto header = npy_header(shape);
    if (std::fwrite(header.data(), 1, header.size(), file.get()) != header.size()) return cannot();
    const auto row_bytes = shape.columns * element_bytes(shape.element);
    const auto read = read_matrix(
        store, matrix,
        [&](std::uint64_t /*first*/, std::uint64_t count, const std::byte *rows) -> Outcome {
            if (std::fwrite(rows, row_bytes, count, file.get()) != count) return cannot();
            return Done{};
        },
        {.tiles_read = 2});
    if (!read) return read;
    if (std::fflush(file.get()) != 0 || ::fsync(::fileno(file.get())) != 0) return cannot();
    if (std::rename(beside.c_str(), path.c_str()) != 0) return cannot();
    return sync_folder(std::filesystem::absolute(path).parent_path().string());
}

// A new file for each snapshot: one that is there is complete.
Outcome write_snapshot(const Store& store, std::uint32_t matrix, const std::string& folder,
                       std::uint64_t iterations) {
    const auto& name = store.manifest().matrices[matrix].name;
    const auto path = fmt::format("{}/{}.{:06}.npy", folder, name, iterations);
    const auto beside = path + ".part";
    const auto written = write_npy(store, matrix, beside, path);
    if (!written) std::remove(beside.c_str());
    return written;
}

// Before a run that may take long until the first. The run is resumed from anywhere.
Result<std::string> snapshots_folder(const std::string& folder) {
    std::error_code unknown;
    if (folder.empty()) return folder;
    const auto whole = std::filesystem::absolute(folder, unknown).string();
    if (!is_text(whole))
        return bad_argument(folder + " is not UTF-8; name another folder by --snapshots");
    if (unknown || !std::filesystem::is_directory(whole, unknown))
        return bad_argument(folder +
                            " is not a folder for snapshots; make it, or name another by "
                            "--snapshots");
    return whole;
}

RunOptions with_events(RunOptions options, const WavefrontArguments& arguments,
                       const Store& store) {
    if (arguments.json) options.progress = progress_printer(store.shape());
    options.paused = [&arguments, &store,
                      snapshots = options.snapshots](const Pause& pause) -> Outcome {
        if (arguments.json && pause.measured)
            print({{"event", "measure"},
                   {"iterations", pause.iterations},
                   {"measure", measure_name(pause.measure)},
                   {"value", *pause.measured}});
        if (snapshots.empty()) return Done{};
        for (std::uint32_t m = 0; m < store.shape().data_count; ++m) {
            const auto written = write_snapshot(store, m, snapshots, store.manifest().iterations);
            if (!written) return written;
        }
        return Done{};
    };
    return options;
}

Outcome run_command(const WavefrontArguments& arguments) {
    const auto snapshots = snapshots_folder(arguments.snapshots);
    if (!snapshots) return snapshots.failure();
    auto store = Store::open(arguments.store, Access::changing);
    if (!store) return store.failure();
    const auto kernel = kernel_for(arguments, store->shape(), store->manifest().kernel);
    if (!kernel) return kernel.failure();
    auto options = options_for(arguments, store->shape());
    if (!options) return options.failure();
    options->snapshots = *snapshots;
    const auto planned = plan_run(*store, *kernel, *options);
    if (!planned) return planned.failure();
    if (arguments.json) print(plan_json(*planned));
    const auto report = run(*store, *kernel, with_events(*options, arguments, *store));
    if (!report) return report.failure();
    show_report(*report, *store, instructions(*kernel, options->directions, options->borders),
                arguments.json);
    return Done{};
}

Outcome resume_command(const WavefrontArguments& arguments) {
    auto store = Store::open(arguments.store, Access::changing);
    if (!store) return store.failure();
    const auto& run = store->manifest().run;
    const bool as_before =
        arguments.snapshots.empty() && is_unfinished(store->manifest()) && run->pause;
    const auto snapshots =
        snapshots_folder(as_before ? run->pause->snapshots : arguments.snapshots);
    if (!snapshots) return snapshots.failure();
    auto options = arguments.options;
    options.snapshots = *snapshots;
    const auto report = resume(*store, with_events(options, arguments, *store));
    if (!report) return report.failure();
    const auto entry = *store->manifest().run;
    const auto kernel = make_kernel_for(entry.kernel, entry.parameters, store->shape());
    const auto directions = entry.course ? entry.course->directions : Directions{Direction{}};
    show_report(*report, *store, kernel ? instructions(*kernel, directions, entry.borders) : "",
                arguments.json);
    return Done{};
}

std::vector<std::string> empty_names(const Manifest& manifest) {
    std::vector<std::string> names;
    for (const auto& matrix : manifest.matrices)
        if (matrix.sums.empty()) names.push_back(matrix.name);
    for (const auto& vector : manifest.vectors)
        if (vector.sum.empty()) names.push_back(vector.name);
    return names;
}

Outcome verify_command(const WavefrontArguments& arguments) {
    const auto store = Store::open(arguments.store, Access::reading);
    if (!store) return store.failure();
    const auto damaged = verify(*store);
    if (!damaged) return damaged.failure();
    if (arguments.json) print({{"event", "verify"}, {"damaged", *damaged}});
    if (!damaged->empty()) {
        for (const auto& name : *damaged) std::fprintf(stderr, "%s\n", name.c_str());
        return damage(damaged->size());
    }
    if (arguments.json) return Done{};
    const auto empty = empty_names(store->manifest());
    fmt::print("every strip of {} is sound{}\n", arguments.store,
               empty.empty() ? "" : fmt::format("; {} not filled", fmt::join(empty, ", ")));
    return Done{};
}

Outcome info(const WavefrontArguments& arguments) {
    const auto manifest = read_manifest(arguments.store);
    if (!manifest) return manifest.failure();
    if (arguments.json) {
        print(to_json(*manifest));
        return Done{};
    }
    const auto& shape = manifest->shape;
    fmt::print("{} {}, {}, strips of {}{}, {} done\n", fmt::join(shape.sides(), " x "),
               element_name(shape.element), shape.layout->name,
               counted(shape.strip_rows, shape.line_columns ? "plane" : "row"),
               shape.tile_columns ? fmt::format(" in tiles of {} columns", shape.tile_columns) : "",
               counted(manifest->iterations, "iteration"));
    for (std::size_t m = 0; m < manifest->matrices.size(); ++m) {
        const auto& entry = manifest->matrices[m];
        fmt::print("  {:<14} {:<12} {}\n", entry.name,
                   m < shape.data_count ? "data" : "coefficient",
                   entry.sums.empty() ? "empty" : "filled");
    }
    for (std::size_t v = 0; v < manifest->vectors.size(); ++v) {
        const auto& entry = manifest->vectors[v];
        fmt::print("  {:<14} {:<12} {}\n", entry.name,
                   v < shape.row_coefficient_count ? "by row" : "by column",
                   entry.sum.empty() ? "empty" : "filled");
    }
    if (manifest->kernel) fmt::print("  made for kernel {}\n", manifest->kernel->name);
    if (manifest->run && manifest->iterations < manifest->run->iterations_wanted)
        fmt::print("unfinished: {} up to iteration {}; lanewise wavefront resume continues\n",
                   manifest->run->kernel, manifest->run->iterations_wanted);
    return Done{};
}

std::uint64_t matrix_bytes(const MatrixShape& shape) {
    return shape.rows * shape.columns * element_bytes(shape.element);
}

/* Prints how much has been moved, no more often than a person can read. */
class MovingPrinter {
  public:
    void show(std::uint64_t done_bytes, std::uint64_t wanted_bytes) {
        const double now_s = elapsed_s();
        if (now_s - printed_s_ < progress_period_s) return;
        printed_s_ = now_s;
        print({{"event", "progress"},
               {"bytes_done", done_bytes},
               {"bytes_wanted", wanted_bytes},
               {"elapsed_s", now_s}});
    }
    double elapsed_s() const { return monotonic_s() - began_s_; }

  private:
    double began_s_ = monotonic_s();
    double printed_s_ = 0.0;
};

/* Shows how much of a matrix has been moved, where JSON is asked for. */
std::function<void(std::uint64_t)> moved_of(const WavefrontArguments& arguments,
                                            const MatrixShape& shape) {
    if (!arguments.json) return {};
    return [printer = MovingPrinter(), done_bytes = std::uint64_t{0},
            wanted_bytes = matrix_bytes(shape)](std::uint64_t bytes) mutable {
        done_bytes += bytes;
        printer.show(done_bytes, wanted_bytes);
    };
}

Outcome convert(const WavefrontArguments& arguments) {
    const auto from = Store::open(arguments.store, Access::reading);
    if (!from) return from.failure();
    MovingPrinter printer;
    const auto converted = convert_store(
        *from, arguments.target,
        {.layout = arguments.shape.layout,
         .strip_rows = arguments.shape.strip_rows,
         .tile_columns = arguments.shape.tile_columns,
         .disks = arguments.disks,
         .memory_bytes = arguments.options.memory_bytes,
         .watch = {.moved = [&](std::uint64_t done_bytes, std::uint64_t wanted_bytes) {
             if (arguments.json) printer.show(done_bytes, wanted_bytes);
         }}});
    if (!converted) return converted.failure();
    const auto& [shape, bytes] = *converted;
    const double elapsed_s = printer.elapsed_s();
    if (arguments.json)
        print({{"event", "convert"},
               {"from", from->shape().layout->name},
               {"to", shape.layout->name},
               {"bytes", bytes},
               {"stored_bytes", shape.matrix_count() * shape.tile_count() * tile_bytes(shape)},
               {"elapsed_s", elapsed_s}});
    else
        fmt::print("{} to {}: {:.0f} MiB in {:.2f} s, {:.0f} MiB/s\n", from->shape().layout->name,
                   shape.layout->name, static_cast<double>(bytes) / mebibyte, elapsed_s,
                   static_cast<double>(bytes) / mebibyte / elapsed_s);
    return Done{};
}

// Most kernels look one row up and down; one that looks further is named, or its stencil radius.
Outcome split(const WavefrontArguments& arguments) {
    const auto whole = Store::open(arguments.store, Access::reading);
    if (!whole) return whole.failure();
    if (arguments.radius > 0) return split_store(*whole, arguments.radius, arguments.parts);
    if (arguments.kernel.empty()) {
        const auto usual = usual_radius(*whole);
        return usual ? split_store(*whole, *usual, arguments.parts) : Outcome(usual.failure());
    }
    const auto info = kernel_info(arguments.kernel);
    if (!info) return info.failure();
    return split_store(*whole, info->radius, arguments.parts);
}

bool is_npy(const std::string& path) {
    return path.size() > 4 && path.compare(path.size() - 4, 4, ".npy") == 0;
}

struct CloseFile {
    void operator()(std::FILE *file) const {
        if (file != stdin && file != stdout) std::fclose(file);
    }
};
using File = std::unique_ptr<std::FILE, CloseFile>;

/* Removes a file that was not renamed; an empty name is no file. */
class NewFile {
  public:
    explicit NewFile(std::string path) : path_(std::move(path)) {}
    NewFile(const NewFile&) = delete;
    NewFile& operator=(const NewFile&) = delete;
    ~NewFile() {
        if (!path_.empty()) std::remove(path_.c_str());
    }

  private:
    std::string path_;
};

Outcome import_command(const WavefrontArguments& arguments) {
    auto store = Store::open(arguments.store, Access::changing);
    if (!store) return store.failure();
    const auto matrix = store->matrix_named(arguments.matrix);
    if (!matrix) return matrix.failure();
    const auto tiles = plan_moving(std::array{store->shape()}, arguments.options.memory_bytes);
    if (!tiles) return tiles.failure();
    const bool pipe = arguments.file == "-";
    std::error_code error;
    if (!pipe && std::filesystem::is_directory(arguments.file, error))
        return Failure{LW_ERR_ARGUMENT, arguments.file + " is a folder; name a file"};
    const File file(pipe ? stdin : std::fopen(arguments.file.c_str(), "rb"));
    if (!file)
        return Failure{LW_ERR_ARGUMENT,
                       "cannot read " + arguments.file + ": " + std::strerror(errno)};
    const auto shape = shape_of(store->shape(), *matrix);
    if (!pipe && is_npy(arguments.file)) {
        const auto header = read_npy_header(file.get(), arguments.file, shape);
        if (!header) return header.failure();
    }
    const auto row_bytes = shape.columns * element_bytes(shape.element);
    const auto ends_wrongly = [&](const char *how) {
        return Failure{LW_ERR_ARGUMENT, arguments.file + " holds " + how + " than " +
                                            std::to_string(shape.rows) + " rows of " +
                                            std::to_string(row_bytes) + " bytes"};
    };
    return write_matrix(*store, *matrix,
                        [&](std::uint64_t first, std::uint64_t count, std::byte *rows) -> Outcome {
                            if (std::fread(rows, row_bytes, count, file.get()) != count) {
                                if (std::ferror(file.get()))
                                    return system_failure("read", arguments.file);
                                return ends_wrongly("less");
                            }
                            const bool last = first + count == shape.rows;
                            if (last && std::fgetc(file.get()) != EOF) return ends_wrongly("more");
                            return Done{};
                        },
                        {.tiles_written = tiles->front(), .moved = moved_of(arguments, shape)});
}

Outcome export_command(const WavefrontArguments& arguments) {
    const auto store = Store::open(arguments.store, Access::reading);
    if (!store) return store.failure();
    const auto matrix = store->matrix_named(arguments.matrix);
    if (!matrix) return matrix.failure();
    const auto tiles = plan_moving(std::array{store->shape()}, arguments.options.memory_bytes);
    if (!tiles) return tiles.failure();
    const bool pipe = arguments.file == "-";
    // Written beside the target and renamed, so that nobody finds half a matrix.
    auto place = place_to_write(arguments.file);
    if (!pipe && store->has_file(place.target))
        return Failure{LW_ERR_ARGUMENT,
                       arguments.file + " is a file of the store itself; name another"};
    File file(pipe ? stdout : place.open());
    const NewFile unfinished(place.beside);
    if (!file)
        return Failure{LW_ERR_ARGUMENT,
                       "cannot write " + arguments.file + ": " + std::strerror(errno)};
    const auto shape = shape_of(store->shape(), *matrix);
    const auto row_bytes = shape.columns * element_bytes(shape.element);
    const auto cannot = [&] { return system_failure("write", arguments.file); };
    const auto header = !pipe && is_npy(arguments.file) ? npy_header(shape) : "";
    if (std::fwrite(header.data(), 1, header.size(), file.get()) != header.size()) return cannot();
    const auto read = read_matrix(
        *store, *matrix,
        [&](std::uint64_t /*first*/, std::uint64_t count, const std::byte *rows) -> Outcome {
            if (std::fwrite(rows, row_bytes, count, file.get()) != count) return cannot();
            return Done{};
        },
        {.tiles_read = tiles->front(), .moved = pipe ? nullptr : moved_of(arguments, shape)});
    if (!read) return read;
    if (std::fflush(file.get()) != 0) return cannot();
    if (pipe) return Done{};
    // A disk may find only now that it has no room, and must have all before the former file goes.
    if (!place.as_it_is && ::fsync(::fileno(file.get())) != 0) return cannot();
    if (std::fclose(file.release()) != 0) return cannot();
    if (place.as_it_is) return Done{};
    if (std::rename(place.beside.c_str(), place.target.c_str()) != 0) return cannot();
    std::error_code unknown;
    const auto folder = std::filesystem::absolute(place.target, unknown).parent_path();
    // The file is there; where the folder may be written but not read, it is as durable as it gets.
    if (unknown || ::access(folder.c_str(), R_OK) != 0) return Done{};
    return sync_folder(folder);
}

/* A row of at most 80 columns; parameters that do not fit stand below the meaning. */
std::string kernel_row(const KernelInfo& info) {
    constexpr std::size_t columns = 80;
    constexpr std::size_t name_columns = 18;
    const auto row = fmt::format("{:<{}}{}", info.name, name_columns, info.meaning);
    const std::string parameters = info.parameters;
    if (parameters.empty()) return row;
    const bool fits = row.size() + 1 + parameters.size() <= columns;
    return row + (fits ? std::string(" ") : '\n' + std::string(name_columns, ' ')) + parameters;
}

Outcome kernels(const WavefrontArguments& arguments) {
    for (const auto& info : kernel_infos()) {
        if (arguments.json)
            print({{"event", "kernel"},
                   {"name", info.name},
                   {"meaning", info.meaning},
                   {"parameters", info.parameters},
                   {"coefficients", info.coefficient_count},
                   {"skewed", info.skew > 0}});
        else
            fmt::print("{}\n", kernel_row(info));
    }
    return Done{};
}

}  // namespace

Outcome carry_out(const WavefrontArguments& arguments) {
    switch (arguments.command) {
        case Command::create: return create(arguments);
        case Command::import: return import_command(arguments);
        case Command::run: return run_command(arguments);
        case Command::resume: return resume_command(arguments);
        case Command::verify: return verify_command(arguments);
        case Command::export_: return export_command(arguments);
        case Command::info: return info(arguments);
        case Command::plan: return plan(arguments);
        case Command::convert: return convert(arguments);
        case Command::split: return split(arguments);
        case Command::join: return join_stores(arguments.parts, arguments.target);
        case Command::kernels: return kernels(arguments);
    }
    return Done{};
}

}  // namespace lanewise::wavefront::commands
