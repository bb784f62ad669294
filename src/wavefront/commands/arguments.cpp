// SPDX-License-Identifier: BSD-3-Clause
//
// See arguments.hpp.

#include "wavefront/commands/arguments.hpp"

#include <CLI/CLI.hpp>
#include <array>

#include "base/sizes.hpp"

namespace lanewise::tools {
namespace {

namespace layouts = wavefront::layouts;

struct Texts {
    std::string element = "f64";
    std::string layout;
    std::string kernel;
    std::uint64_t strip_rows = 0;
    std::uint64_t tile_columns = 0;
    std::int64_t data = -1;
    std::int64_t coefficients = -1;
    std::string memory = "1G";
    std::string io = "auto";
    bool check_finite = false;
};

Failure usage(const std::string& sentence) {
    return {LW_ERR_ARGUMENT, sentence};
}

void declare_shape(CLI::App *command, Texts& texts, WavefrontArguments& arguments) {
    command->add_option("--rows", arguments.shape.rows, "rows of each matrix");
    command->add_option("--cols,--columns", arguments.shape.columns, "columns of each matrix");
    command->add_option("--element", texts.element, "f32, f64, c64 or c128 (f64)");
    command->add_option("--layout", texts.layout, wavefront::store_layout_names() + " (chosen)");
    command->add_option("--strip-rows", texts.strip_rows,
                        "rows that move together (1 MiB of them)");
    command->add_option("--tile-columns", texts.tile_columns,
                        "cut long rows into tiles of so many columns (0: no)");
    command->add_option("--data", texts.data, "data matrices (as the kernel has)");
    command->add_option("--coefficients", texts.coefficients,
                        "coefficient matrices (as the kernel has)");
}

void declare_kernel(CLI::App *command, Texts& texts, WavefrontArguments& arguments) {
    command->add_option("--kernel", texts.kernel, "a name from lanewise-wavefront kernels");
    command->add_option("--parameter", arguments.parameters, "of the kernel, such as SOR's omega");
}

void declare_memory(CLI::App *command, Texts& texts) {
    command->add_option("--memory", texts.memory, "budget, such as 512MiB (1GiB)");
}

void declare_run(CLI::App *command, Texts& texts, WavefrontArguments& arguments) {
    auto& options = arguments.options;
    declare_memory(command, texts);
    command->add_option("--threads", options.threads, "compute threads (all processors)");
    command->add_option("--waves", options.waves, "iterations per pass (chosen)");
    command->add_option("--read-rate", options.rates.read_bytes_per_s, "of the disk, bytes/s");
    command->add_option("--write-rate", options.rates.write_bytes_per_s, "of the disk, bytes/s");
    command->add_option("--cell-rate", options.rates.cells_per_s, "of the kernel, cells/s");
    command->add_option("--io", texts.io, "auto, io_uring or threads (auto)");
    command->add_flag("--check-finite", texts.check_finite,
                      "stop at the first value that is not finite, and name it");
}

void declare_iterations(CLI::App *command, WavefrontArguments& arguments) {
    command->add_option("--iterations", arguments.options.iterations, "at most")->required();
    command->add_option("--tolerance", arguments.options.tolerance,
                        "stop when no cell changes by more (0: never)");
}

CLI::App *declare_store(CLI::App *command, WavefrontArguments& arguments) {
    command->add_option("store", arguments.store, "the store's folder")->required();
    return command;
}

void declare(CLI::App& app, Texts& texts, WavefrontArguments& arguments) {
    const auto command = [&](const char *name, const char *meaning, Command id) {
        auto *sub = app.add_subcommand(name, meaning);
        sub->add_flag("--json", arguments.json, "JSON, one event a line");
        sub->parse_complete_callback([&arguments, id] { arguments.command = id; });
        return sub;
    };
    auto *create = declare_store(command("create", "make a store", Command::create), arguments);
    declare_shape(create, texts, arguments);
    declare_kernel(create, texts, arguments);
    create->add_option("--name", arguments.names, "of each matrix, data first");
    create->add_option("--disk", arguments.disks, "another folder for strips, round robin");
    create->add_option("--seed", arguments.seed, "of the contents (1)");
    create->add_flag("--empty", arguments.empty, "no contents; import them");

    for (const auto& [name, meaning, id] :
         {std::tuple{"import", "fill a matrix from .npy, .raw or - (raw)", Command::import},
          std::tuple{"export", "write a matrix to .npy, .raw or - (raw)", Command::export_}}) {
        auto *sub = declare_store(command(name, meaning, id), arguments);
        sub->add_option("matrix", arguments.matrix, "its name")->required();
        sub->add_option("file", arguments.file, ".npy, else raw; - is a pipe")->required();
        declare_memory(sub, texts);
    }
    auto *run = declare_store(command("run", "iterate", Command::run), arguments);
    declare_kernel(run, texts, arguments);
    declare_run(run, texts, arguments);
    declare_iterations(run, arguments);
    auto *resume = declare_store(command("resume", "go on with a run", Command::resume), arguments);
    declare_run(resume, texts, arguments);
    declare_store(command("verify", "check every strip", Command::verify), arguments);
    declare_store(command("info", "say what a store holds", Command::info), arguments);
    auto *convert =
        declare_store(command("convert", "copy into another layout", Command::convert), arguments);
    convert->add_option("target", arguments.target, "the new store's folder")->required();
    convert->add_option("--layout", texts.layout, wavefront::store_layout_names())->required();
    convert->add_option("--strip-rows", arguments.shape.strip_rows, "as in the old store");
    convert->add_option("--tile-columns", arguments.shape.tile_columns,
                        "cut long rows into tiles of so many columns (0: no)");
    convert->add_option("--disk", arguments.disks, "another folder for strips, round robin");
    declare_memory(convert, texts);
    auto *split =
        declare_store(command("split", "cut into parts for ranks", Command::split), arguments);
    split->add_option("parts", arguments.parts, "new folders, one a rank")->required();
    split->add_option("--kernel", texts.kernel,
                      "that will run on the parts, if its stencil radius is above 1");
    auto *join = command("join", "put parts together again", Command::join);
    join->add_option("target", arguments.target, "the new store's folder")->required();
    join->add_option("parts", arguments.parts, "folders of the parts, in order")->required();
    command("kernels", "list the built-in kernels", Command::kernels);

    auto *plan = command("plan", "predict a run", Command::plan);
    plan->add_option("store", arguments.store, "a store, or give --rows and --cols");
    declare_shape(plan, texts, arguments);
    declare_kernel(plan, texts, arguments);
    declare_run(plan, texts, arguments);
    declare_iterations(plan, arguments);
    app.require_subcommand(1);
}

Outcome read_shape(const Texts& texts, WavefrontArguments& arguments) {
    auto& shape = arguments.shape;
    const auto element = wavefront::element_named(texts.element);
    if (!element) return element.failure();
    shape.element = *element;
    const bool own_counts = texts.data >= 0 || texts.coefficients >= 0;
    const auto info = wavefront::kernel_info(texts.kernel.empty() ? "livermore23" : texts.kernel);
    if (!info) return info.failure();
    shape.data_count = texts.data >= 0 ? static_cast<std::uint32_t>(texts.data) : 1;
    shape.coefficient_count = texts.coefficients >= 0
                                  ? static_cast<std::uint32_t>(texts.coefficients)
                              : own_counts ? 0
                                           : info->coefficient_count;
    const bool real =
        shape.element == wavefront::Element::f32 || shape.element == wavefront::Element::f64;
    shape.layout = info->skew > 0 && real && !own_counts ? &layouts::skewed : &layouts::row_major;
    if (!texts.layout.empty()) {
        const auto layout = wavefront::layout_named(texts.layout);
        if (!layout) return layout.failure();
        shape.layout = *layout;
    }
    shape.tile_columns = texts.tile_columns;
    shape.strip_rows = texts.strip_rows ? texts.strip_rows : wavefront::default_strip_rows(shape);
    return wavefront::check_shape(shape);
}

Outcome read_run(const Texts& texts, WavefrontArguments& arguments) {
    auto& options = arguments.options;
    const auto memory = parse_size(texts.memory);
    if (!memory) return memory.failure();
    options.memory_bytes = *memory;
    if (texts.check_finite) options.finite = wavefront::Finite::checked;
    using wavefront::QueueKind;
    static const std::array<std::pair<const char *, QueueKind>, 3> kinds = {
        {{"auto", QueueKind::automatic},
         {"io_uring", QueueKind::io_uring},
         {"threads", QueueKind::threads}}};
    for (const auto& [name, kind] : kinds) {
        if (texts.io != name) continue;
        options.queue = kind;
        return Done{};
    }
    return usage("unknown --io \"" + texts.io + "\"; use auto, io_uring or threads");
}

}  // namespace

Result<std::variant<WavefrontArguments, WavefrontLeave>> parse_wavefront(int argc, char **argv) {
    WavefrontArguments arguments;
    Texts texts;
    CLI::App app(
        "Sweeps over matrices larger than memory:\n"
        "  lanewise-wavefront create demo --rows 8192 --cols 8192\n"
        "  lanewise-wavefront run demo --iterations 64 --memory 512MiB\n",
        "lanewise-wavefront");
    app.set_version_flag("--version", std::string("lanewise-wavefront ") + lw_version());
    declare(app, texts, arguments);
    try {
        app.parse(argc, argv);
    } catch (const CLI::CallForHelp&) {
        return {WavefrontLeave{app.help("", CLI::AppFormatMode::Normal)}};
    } catch (const CLI::CallForVersion& version) {
        return {WavefrontLeave{std::string(version.what()) + "\n"}};
    } catch (const CLI::ParseError& error) {
        return usage(std::string(error.what()) + "; --help lists the options");
    }
    arguments.kernel = texts.kernel;
    const bool needs_shape = arguments.command == Command::create ||
                             (arguments.command == Command::plan && arguments.store.empty());
    if (needs_shape) {
        const auto shaped = read_shape(texts, arguments);
        if (!shaped) return shaped.failure();
    }
    if (arguments.command == Command::convert) {
        const auto layout = wavefront::layout_named(texts.layout);
        if (!layout) return layout.failure();
        arguments.shape.layout = *layout;
    }
    const auto ran = read_run(texts, arguments);
    if (!ran) return ran.failure();
    return {std::move(arguments)};
}

}  // namespace lanewise::tools
