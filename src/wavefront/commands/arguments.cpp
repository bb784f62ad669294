// SPDX-License-Identifier: BSD-3-Clause
//
// See arguments.hpp.

#include "wavefront/commands/arguments.hpp"

#include <charconv>
#include <utility>
#include <vector>

#include "options/options.hpp"

namespace lanewise::wavefront::commands {
namespace {

constexpr std::uint64_t side_max = std::uint64_t{1} << 40;
constexpr std::uint64_t radius_max = 8;
constexpr std::int64_t matrices_max = 64;
constexpr const char *every_snapshot =
    "after every --every iterations to FOLDER/NAME.ITERATION.npy, such as data.000050.npy";

struct Texts {
    std::string element = "f64";
    std::string layout;
    std::string kernel;
    std::uint64_t strip_rows = 0;
    std::uint64_t tile_columns = 0;
    std::string sides;
    std::int64_t data = -1;
    std::int64_t coefficients = -1;
    std::int64_t row_coefficients = -1;
    std::int64_t column_coefficients = -1;
    bool check_finite = false;
    std::vector<std::string> directions;
    std::vector<std::string> borders;
    std::string until;
    double rtol = 0.0;
    double atol = 0.0;
    std::uint64_t every = asked_every;
};

struct Queue {
    QueueKind id;
    const char *name;
};

constexpr Queue queues[] = {{QueueKind::automatic, "auto"},
                            {QueueKind::io_uring, "io_uring"},
                            {QueueKind::threads, "threads"}};

Option& declare_layout(Options& command, Texts& texts, const std::string& help) {
    std::vector<std::string> names;
    for (const auto *layout : store_layouts()) names.emplace_back(layout->name);
    auto& option = command.choice(
        "--layout", names, 0, [names, &texts](std::size_t i) { texts.layout = names[i]; }, help);
    return option.without_default();
}

void declare_tiles(Options& command, std::uint64_t& columns) {
    command.number("--tile-columns", "N", columns,
                   "Cut rows into tiles of this many columns; 0 means whole rows");
}

void declare_disks(Options& command, WavefrontArguments& arguments) {
    command.texts("--disk", "FOLDER", arguments.disks,
                  "Another folder, on another disk, over which strips are distributed; repeatable");
}

void declare_shape(Options& command, Texts& texts, WavefrontArguments& arguments) {
    command.group("Shape");
    command.number("--rows", "N", arguments.shape.rows, "Number of rows of each matrix")
        .without_default();
    command
        .number("--cols,--columns", "N", arguments.shape.columns,
                "Number of columns of each matrix")
        .without_default();
    command
        .text("--shape", "N,...", texts.sides,
              "Sides of each matrix, such as 512,512,512: rows and columns, or planes, lines and "
              "columns; instead of --rows and --cols")
        .without_default();
    command.choice(
        "--element", element_names(), 1,
        [&texts](std::size_t i) { texts.element = element_names()[i]; }, "Type of the elements");
    declare_layout(command, texts, "Layout of the store (default: the one that suits the kernel)");
    command.number("--strip-rows", "N", texts.strip_rows,
                   "Number of rows that are read and written together; 0 means 1 MiB of rows");
    declare_tiles(command, texts.tile_columns);
    command
        .number("--data", "N", texts.data, "Number of data matrices (default: as the kernel has)")
        .without_default();
    command
        .number("--coefficients", "N", texts.coefficients,
                "Number of coefficient matrices (default: as the kernel has)")
        .without_default();
    command
        .number("--row-coefficients", "N", texts.row_coefficients,
                "Number of coefficients with one value for each row, for kernels of your own")
        .without_default();
    command
        .number("--column-coefficients", "N", texts.column_coefficients,
                "Number of coefficients with one value for each column, for kernels of your own")
        .without_default();
}

void declare_kernel(Options& command, Texts& texts, WavefrontArguments& arguments,
                    const std::string& otherwise) {
    command.group("Kernel");
    command.text(
        "--kernel", "NAME", texts.kernel,
        "Kernel, by the name that lanewise wavefront kernels prints (default: " + otherwise + ")");
    command.numbers("--parameter", "X", arguments.parameters,
                    "Parameter of the kernel, such as omega of SOR");
}

void declare_memory(Options& command, WavefrontArguments& arguments) {
    command.size("--memory", "SIZE", arguments.options.memory_bytes,
                 "Memory budget, such as 512MiB");
}

void declare_run(Options& command, Texts& texts, WavefrontArguments& arguments,
                 const std::string& snapshots) {
    auto& options = arguments.options;
    command.group("Run");
    declare_memory(command, arguments);
    command.number("--threads", "N", options.threads,
                   "Number of compute threads; 0 means one per processor, but no more than a "
                   "quota of CPU time allows");
    command.number("--waves", "K", options.waves, "Iterations per pass; 0 lets Lanewise choose");
    command
        .rate("--read-rate", RateOf::bytes, options.rates.read_bytes_per_s,
              "Read rate of the disk, such as 1.5GB/s (default: unknown)")
        .without_default();
    command
        .rate("--write-rate", RateOf::bytes, options.rates.write_bytes_per_s,
              "Write rate of the disk, such as 1.5GB/s (default: unknown)")
        .without_default();
    command
        .rate("--cell-rate", RateOf::cells, options.rates.cells_per_s,
              "Rate of the kernel, such as 500Mcells/s (default: unknown)")
        .without_default();
    command.choice("--io", queues, options.queue, "How strips are read and written");
    command.text("--snapshots", "FOLDER", arguments.snapshots, "Write the data " + snapshots)
        .without_default();
    command.flag("--check-finite", texts.check_finite,
                 "Stop at the first value that is not finite and print where it is");
}

void declare_iterations(Options& command, Texts& texts, WavefrontArguments& arguments) {
    command.number("--iterations", "N", arguments.options.iterations, "Number of iterations")
        .required();
    command
        .number("--tolerance", "X", arguments.options.tolerance,
                "Stop when no cell changes by more than this; without it, never")
        .without_default();
    command
        .texts(
            "--directions", "NAME", texts.directions,
            "Direction of each iteration in turn: down-right, down-left, up-left, up-right, "
            "symmetric (down-right,up-left) or fast-sweeping (all four); in three dimensions also "
            "down-back-right and so on, symmetric-3d and fast-sweeping-3d (default: down-right)")
        .separated_by_commas();
    command
        .texts("--borders", "KIND", texts.borders,
               "What the border cells are: fixed, neumann or periodic, on all sides or per side "
               "such as left=neumann,rows=periodic; sides are top, bottom, left, right, rows (top "
               "and bottom) and columns (left and right), in three dimensions also front, back and "
               "lines (both of these) (default: fixed)")
        .separated_by_commas();
    command
        .text("--until", "CONDITION", texts.until,
              "Stop once a measure of the data is below a value, such as residual<1e-8 or "
              "residual<1e-8*first; measures are residual, norm, sum, max and min")
        .without_default();
    command
        .number("--rtol", "X", texts.rtol,
                "Stop once the 2-norm of the residual is at most this share of the first residual")
        .without_default();
    command
        .number("--atol", "X", texts.atol,
                "Stop once the 2-norm of the residual is at most this; with --rtol, the larger of "
                "the two")
        .without_default();
    command.number("--every", "N", texts.every,
                   "Iterations between two snapshots, or two evaluations of --until, --rtol and "
                   "--atol");
}

Options& declare_store(Options& command, WavefrontArguments& arguments) {
    command.text("store", "STORE", arguments.store, "Folder of the store").required();
    return command;
}

using Commands = std::vector<std::pair<const Options *, Command>>;

Commands declare(Options& options, Texts& texts, WavefrontArguments& arguments) {
    Commands commands;
    const auto command = [&](const char *name, const char *summary, Command id) -> Options& {
        auto& one = options.subcommand(name, summary);
        one.flag("--json", arguments.json, "Print JSON, one object per line");
        commands.emplace_back(&one, id);
        return one;
    };
    auto& create = declare_store(command("create", "Create a store", Command::create), arguments);
    declare_shape(create, texts, arguments);
    declare_kernel(create, texts, arguments, "livermore23");
    create.group("Contents");
    create.texts("--name", "NAME", arguments.names, "Name of each matrix, data matrices first");
    declare_disks(create, arguments);
    create.number("--seed", "N", arguments.seed, "Seed of the random contents");
    create.flag("--empty", arguments.empty, "Create the store without contents, for import");

    for (const auto& [name, summary, id] :
         {std::tuple{"import", "Fill a matrix from .npy, .raw or - (raw)", Command::import},
          std::tuple{"export", "Write a matrix to .npy, .raw or - (raw)", Command::export_}}) {
        auto& one = declare_store(command(name, summary, id), arguments);
        one.text("matrix", "MATRIX", arguments.matrix, "Name of the matrix").required();
        one.text("file", "FILE", arguments.file,
                 "File: .npy, or raw for any other name; - for a pipe")
            .required();
        declare_memory(one, arguments);
    }
    auto& run =
        declare_store(command("run", "Run a number of iterations", Command::run), arguments);
    declare_kernel(run, texts, arguments, "the one that the store was made for");
    declare_run(run, texts, arguments, every_snapshot);
    declare_iterations(run, texts, arguments);
    auto& resume = declare_store(
        command("resume", "Continue a run that was interrupted", Command::resume), arguments);
    declare_run(resume, texts, arguments,
                "as often as the run does to FOLDER/NAME.ITERATION.npy, such as data.000050.npy "
                "(default: the folder of the run)");
    declare_store(command("verify", "Check the checksum of every strip", Command::verify),
                  arguments);
    declare_store(command("info", "Print what a store holds", Command::info), arguments);
    auto& convert = declare_store(
        command("convert", "Copy a store into another layout", Command::convert), arguments);
    convert.text("target", "TARGET", arguments.target, "Folder of the new store").required();
    declare_layout(convert, texts, "Layout of the new store").required();
    convert
        .number("--strip-rows", "N", arguments.shape.strip_rows,
                "Number of rows that are read and written together (default: as in the old store)")
        .without_default();
    declare_tiles(convert, arguments.shape.tile_columns);
    declare_disks(convert, arguments);
    declare_memory(convert, arguments);
    auto& split = declare_store(
        command("split", "Cut a store into parts, one per rank", Command::split), arguments);
    split.texts("parts", "PART", arguments.parts, "New folders, one per rank").required();
    split.text("--kernel", "NAME", texts.kernel,
               "Kernel that will run on the parts (default: the one that the store was made for)");
    split
        .number("--radius", "N", arguments.radius,
                "Stencil radius of a kernel of your own that will run on the parts")
        .without_default();
    auto& join = command("join", "Put parts together again", Command::join);
    join.text("target", "TARGET", arguments.target, "Folder of the new store").required();
    join.texts("parts", "PART", arguments.parts, "Folders of the parts, in order").required();
    command("kernels", "List the built-in kernels", Command::kernels);

    auto& plan = command("plan", "Predict the disk traffic, the memory and the time of a run",
                         Command::plan);
    plan.text("store", "STORE", arguments.store,
              "Folder of a store; without one, give --rows and --cols");
    declare_shape(plan, texts, arguments);
    declare_kernel(plan, texts, arguments, "the one that the store was made for");
    declare_run(plan, texts, arguments, every_snapshot);
    declare_iterations(plan, texts, arguments);
    return commands;
}

std::string joined(const std::vector<std::string>& words) {
    std::string text;
    for (const auto& word : words) text += (text.empty() ? "" : ",") + word;
    return text;
}

Outcome read_sides(std::string_view sides, MatrixShape& shape) {
    std::vector<std::uint64_t> counts;
    for (std::size_t begin = 0; begin <= sides.size();) {
        const auto side = sides.substr(begin, sides.find(',', begin) - begin);
        begin += side.size() + 1;
        std::uint64_t count = 0;
        const auto *const end = side.data() + side.size();
        const auto [read, error] = std::from_chars(side.data(), end, count);
        if (error != std::errc{} || read != end || count < 1 || count > side_max)
            return bad_argument("--shape: \"" + std::string(side) +
                                "\" is not a number from 1 to 2^40");
        counts.push_back(count);
    }
    if (counts.size() < 2 || counts.size() > 3)
        return bad_argument("--shape has " + counted(counts.size(), "side") +
                            "; give rows and columns, or planes, lines and columns");
    if (shape.rows || shape.columns)
        return bad_argument("--shape already gives the sides; leave out --rows and --cols");
    shape.rows = counts[0];
    shape.columns = counts[1];
    if (counts.size() == 2) return Done{};
    if (counts[1] > side_max / counts[2])
        return bad_argument("--shape: a plane has at most 2^40 cells");
    shape.columns = counts[1] * counts[2];
    shape.line_columns = counts[2];
    return Done{};
}

// Of those that were given.
Outcome check_counts(const Texts& texts, const Options& command) {
    for (const auto& [option, count] :
         {std::pair{"--data", texts.data}, std::pair{"--coefficients", texts.coefficients},
          std::pair{"--row-coefficients", texts.row_coefficients},
          std::pair{"--column-coefficients", texts.column_coefficients}}) {
        if (command.given(option) && (count < 0 || count > matrices_max))
            return bad_argument(std::string(option) + " " + std::to_string(count) +
                                " is not within 0 to " + std::to_string(matrices_max));
    }
    return Done{};
}

Outcome read_shape(const Texts& texts, WavefrontArguments& arguments) {
    auto& shape = arguments.shape;
    const auto element = element_named(texts.element);
    if (!element) return element.failure();
    shape.element = *element;
    const auto count_of = [](std::int64_t given) {
        return given >= 0 ? static_cast<std::uint32_t>(given) : std::uint32_t{0};
    };
    shape.row_coefficient_count = count_of(texts.row_coefficients);
    shape.column_coefficient_count = count_of(texts.column_coefficients);
    const bool own_counts = texts.data >= 0 || texts.coefficients >= 0 || shape.vector_count() > 0;
    const auto *const usual = shape.line_columns ? "sor-3d" : "livermore23";
    const auto info = kernel_info(texts.kernel.empty() ? usual : texts.kernel);
    if (!info) return info.failure();
    shape.data_count = texts.data >= 0 ? static_cast<std::uint32_t>(texts.data) : 1;
    shape.coefficient_count = texts.coefficients >= 0
                                  ? static_cast<std::uint32_t>(texts.coefficients)
                              : own_counts ? 0
                                           : info->coefficient_count;
    const bool real = shape.element == Element::f32 || shape.element == Element::f64;
    shape.layout = info->skew > 0 && real && !own_counts ? &layouts::skewed : &layouts::row_major;
    if (!texts.layout.empty()) {
        const auto layout = layout_named(texts.layout);
        if (!layout) return layout.failure();
        shape.layout = *layout;
    }
    shape.tile_columns = texts.tile_columns;
    shape.strip_rows = texts.strip_rows ? texts.strip_rows : default_strip_rows(shape);
    return check_shape(shape);
}

}  // namespace

Result<std::variant<WavefrontArguments, Leave>> parse_wavefront(int argc, char **argv) {
    WavefrontArguments arguments;
    Texts texts;
    Options options("lanewise-wavefront",
                    "Sweeps over matrices larger than memory:\n"
                    "  lanewise-wavefront create demo --rows 8192 --cols 8192\n"
                    "  lanewise-wavefront run demo --iterations 64 --memory 512MiB\n");
    const auto commands = declare(options, texts, arguments);
    const auto parsed = options.parse(argc, argv);
    if (!parsed) return parsed.failure();
    if (*parsed) return {**parsed};
    for (const auto& [command, id] : commands) {
        if (command == options.chosen()) arguments.command = id;
    }
    arguments.kernel = texts.kernel;
    if (texts.check_finite) arguments.options.finite = Finite::checked;
    if (!texts.until.empty()) {
        const auto until = parse_until(texts.until);
        if (!until) return until.failure();
        arguments.options.until = *until;
    }
    if (texts.rtol != 0.0 || texts.atol != 0.0) {
        if (arguments.options.until)
            return bad_argument("--until and --rtol or --atol end a run; give one of them");
        const auto within = until_within(texts.rtol, texts.atol);
        if (!within) return within.failure();
        arguments.options.until = *within;
    }
    if (texts.every < 1) return bad_argument("--every 0 is too small; give 1 or more");
    if (arguments.options.until || !arguments.snapshots.empty())
        arguments.options.pause_every = texts.every;
    else if (options.chosen()->given("--every"))
        return bad_argument(
            "--every changes nothing without --snapshots, --until, --rtol or --atol; leave it out");
    arguments.borders = joined(texts.borders);
    if (!texts.directions.empty()) {
        const auto directions = parse_directions(joined(texts.directions));
        if (!directions) return directions.failure();
        arguments.options.directions = *directions;
    }
    const bool needs_shape = arguments.command == Command::create ||
                             (arguments.command == Command::plan && arguments.store.empty());
    if (needs_shape && !texts.sides.empty()) {
        const auto sides = read_sides(texts.sides, arguments.shape);
        if (!sides) return sides.failure();
    }
    const auto rows = arguments.shape.rows;
    const auto columns = arguments.shape.columns;
    if (needs_shape && rows == 0 && columns == 0)
        return Failure{LW_ERR_ARGUMENT,
                       "--rows and --cols, each from 1 to 2^40, are required; such as --rows 8192 "
                       "--cols 8192"};
    if (needs_shape && (rows == 0 || columns == 0))
        return Failure{LW_ERR_ARGUMENT, "a matrix of " + std::to_string(rows) + " x " +
                                            std::to_string(columns) +
                                            " has no elements; give --rows and --cols from 1 up"};
    if (arguments.radius > radius_max)
        return bad_argument("--radius " + std::to_string(arguments.radius) +
                            " is not within 1 to " + std::to_string(radius_max));
    if (arguments.radius > 0 && !arguments.kernel.empty())
        return bad_argument("--radius is for kernels of your own; leave --kernel out");
    if (needs_shape) {
        const auto possible = check_counts(texts, *options.chosen());
        if (!possible) return possible.failure();
        const auto shaped = read_shape(texts, arguments);
        if (!shaped) return shaped.failure();
    }
    if (arguments.command == Command::convert) {
        const auto layout = layout_named(texts.layout);
        if (!layout) return layout.failure();
        arguments.shape.layout = *layout;
    }
    return {std::move(arguments)};
}

}  // namespace lanewise::wavefront::commands
