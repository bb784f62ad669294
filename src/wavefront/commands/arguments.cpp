// SPDX-License-Identifier: BSD-3-Clause
//
// See arguments.hpp.

#include "wavefront/commands/arguments.hpp"

#include <utility>
#include <vector>

#include "options/options.hpp"

namespace lanewise::wavefront::commands {
namespace {

struct Texts {
    std::string element = "f64";
    std::string layout;
    std::string kernel;
    std::uint64_t strip_rows = 0;
    std::uint64_t tile_columns = 0;
    std::int64_t data = -1;
    std::int64_t coefficients = -1;
    bool check_finite = false;
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
                   "cut long rows into tiles of so many columns; 0: do not");
}

void declare_disks(Options& command, WavefrontArguments& arguments) {
    command.texts("--disk", "FOLDER", arguments.disks, "another folder for strips, round robin");
}

void declare_shape(Options& command, Texts& texts, WavefrontArguments& arguments) {
    command.group("Shape");
    command.number("--rows", "N", arguments.shape.rows, "rows of each matrix").without_default();
    command.number("--cols,--columns", "N", arguments.shape.columns, "columns of each matrix")
        .without_default();
    command.text("--element", "f32|f64|c64|c128", texts.element, "type of each element");
    declare_layout(command, texts, "layout of the store; chosen for the kernel");
    command.number("--strip-rows", "N", texts.strip_rows,
                   "rows that are read and written together; 0: 1 MiB of them");
    declare_tiles(command, texts.tile_columns);
    command.number("--data", "N", texts.data, "data matrices; as many as the kernel has")
        .without_default();
    command
        .number("--coefficients", "N", texts.coefficients,
                "coefficient matrices; as many as the kernel has")
        .without_default();
}

void declare_kernel(Options& command, Texts& texts, WavefrontArguments& arguments) {
    command.group("Kernel");
    command.text("--kernel", "NAME", texts.kernel, "a name from lanewise-wavefront kernels");
    command.numbers("--parameter", "X", arguments.parameters,
                    "parameter of the kernel, such as SOR's omega");
}

void declare_memory(Options& command, WavefrontArguments& arguments) {
    command.size("--memory", "SIZE", arguments.options.memory_bytes, "budget, such as 512MiB");
}

void declare_run(Options& command, Texts& texts, WavefrontArguments& arguments) {
    auto& options = arguments.options;
    command.group("Run");
    declare_memory(command, arguments);
    command.number("--threads", "N", options.threads, "compute threads; 0: all processors");
    command.number("--waves", "K", options.waves, "iterations per pass; 0: chosen");
    command
        .number("--read-rate", "X", options.rates.read_bytes_per_s, "of the disk, bytes per second")
        .without_default();
    command
        .number("--write-rate", "X", options.rates.write_bytes_per_s,
                "of the disk, bytes per second")
        .without_default();
    command.number("--cell-rate", "X", options.rates.cells_per_s, "of the kernel, cells per second")
        .without_default();
    command.choice("--io", queues, options.queue, "how strips are read and written");
    command.flag("--check-finite", texts.check_finite,
                 "stop at the first value that is not finite, and name it");
}

void declare_iterations(Options& command, WavefrontArguments& arguments) {
    command.number("--iterations", "N", arguments.options.iterations, "number of iterations")
        .required();
    command.number("--tolerance", "X", arguments.options.tolerance,
                   "stop when no cell changes by more; 0: never");
}

Options& declare_store(Options& command, WavefrontArguments& arguments) {
    command.text("store", "STORE", arguments.store, "the store's folder").required();
    return command;
}

using Commands = std::vector<std::pair<const Options *, Command>>;

Commands declare(Options& options, Texts& texts, WavefrontArguments& arguments) {
    Commands commands;
    const auto command = [&](const char *name, const char *summary, Command id) -> Options& {
        auto& one = options.subcommand(name, summary);
        one.flag("--json", arguments.json, "JSON, one event per line");
        commands.emplace_back(&one, id);
        return one;
    };
    auto& create = declare_store(command("create", "make a store", Command::create), arguments);
    declare_shape(create, texts, arguments);
    declare_kernel(create, texts, arguments);
    create.group("Contents");
    create.texts("--name", "NAME", arguments.names, "name of each matrix, data first");
    declare_disks(create, arguments);
    create.number("--seed", "N", arguments.seed, "seed of the contents");
    create.flag("--empty", arguments.empty, "no contents; import them");

    for (const auto& [name, summary, id] :
         {std::tuple{"import", "fill a matrix from .npy, .raw or - (raw)", Command::import},
          std::tuple{"export", "write a matrix to .npy, .raw or - (raw)", Command::export_}}) {
        auto& one = declare_store(command(name, summary, id), arguments);
        one.text("matrix", "MATRIX", arguments.matrix, "its name").required();
        one.text("file", "FILE", arguments.file, ".npy, else raw; - is a pipe").required();
        declare_memory(one, arguments);
    }
    auto& run = declare_store(command("run", "iterate", Command::run), arguments);
    declare_kernel(run, texts, arguments);
    declare_run(run, texts, arguments);
    declare_iterations(run, arguments);
    auto& resume = declare_store(command("resume", "continue a run", Command::resume), arguments);
    declare_run(resume, texts, arguments);
    declare_store(command("verify", "check every strip", Command::verify), arguments);
    declare_store(command("info", "say what a store holds", Command::info), arguments);
    auto& convert =
        declare_store(command("convert", "copy into another layout", Command::convert), arguments);
    convert.text("target", "TARGET", arguments.target, "the new store's folder").required();
    declare_layout(convert, texts, "layout of the new store").required();
    convert
        .number("--strip-rows", "N", arguments.shape.strip_rows,
                "rows that are read and written together; as in the old store")
        .without_default();
    declare_tiles(convert, arguments.shape.tile_columns);
    declare_disks(convert, arguments);
    declare_memory(convert, arguments);
    auto& split =
        declare_store(command("split", "cut into parts for ranks", Command::split), arguments);
    split.texts("parts", "PART", arguments.parts, "new folders, one per rank").required();
    split.text("--kernel", "NAME", texts.kernel,
               "that will run on the parts, if its stencil radius is above 1");
    auto& join = command("join", "put parts together again", Command::join);
    join.text("target", "TARGET", arguments.target, "the new store's folder").required();
    join.texts("parts", "PART", arguments.parts, "folders of the parts, in order").required();
    command("kernels", "list the built-in kernels", Command::kernels);

    auto& plan = command("plan", "predict a run", Command::plan);
    plan.text("store", "STORE", arguments.store, "a store, or give --rows and --cols");
    declare_shape(plan, texts, arguments);
    declare_kernel(plan, texts, arguments);
    declare_run(plan, texts, arguments);
    declare_iterations(plan, arguments);
    return commands;
}

Outcome read_shape(const Texts& texts, WavefrontArguments& arguments) {
    auto& shape = arguments.shape;
    const auto element = element_named(texts.element);
    if (!element) return element.failure();
    shape.element = *element;
    const bool own_counts = texts.data >= 0 || texts.coefficients >= 0;
    const auto info = kernel_info(texts.kernel.empty() ? "livermore23" : texts.kernel);
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

Result<std::variant<WavefrontArguments, WavefrontLeave>> parse_wavefront(int argc, char **argv) {
    WavefrontArguments arguments;
    Texts texts;
    Options options("lanewise-wavefront",
                    "Sweeps over matrices larger than memory:\n"
                    "  lanewise-wavefront create demo --rows 8192 --cols 8192\n"
                    "  lanewise-wavefront run demo --iterations 64 --memory 512MiB\n");
    const auto commands = declare(options, texts, arguments);
    const auto parsed = options.parse(argc, argv);
    if (!parsed) return parsed.failure();
    if (*parsed) return {WavefrontLeave{**parsed}};
    for (const auto& [command, id] : commands) {
        if (command == options.chosen()) arguments.command = id;
    }
    arguments.kernel = texts.kernel;
    if (texts.check_finite) arguments.options.finite = Finite::checked;
    const bool needs_shape = arguments.command == Command::create ||
                             (arguments.command == Command::plan && arguments.store.empty());
    if (needs_shape) {
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
