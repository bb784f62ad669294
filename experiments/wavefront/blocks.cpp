// SPDX-License-Identifier: BSD-3-Clause
//
// lanewise-wavefront-blocks: one run of the paper's block wavefront (out-of-core wavefront 2008).
//
//     lanewise-wavefront-blocks FOLDER LAYOUT SIDE ROWS COLUMNS THREADS ITERATIONS CHAINING
//
// LAYOUT is row-major, block or frontier; blocks are ROWS x COLUMNS; CHAINING is chained or
// flushed. Writes six matrices of SIDE x SIDE into FOLDER, evicts them from the page cache, sweeps,
// and removes them. Prints one JSON object.

#include <fcntl.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <vector>

#include "base/json.hpp"
#include "experiments/wavefront/block_wavefront.hpp"
#include "wavefront/store/rows_io.hpp"

namespace {

using namespace lanewise;
using namespace lanewise::wavefront;

constexpr std::uint32_t matrix_count = 6;

void forget(const std::string& path) {
    const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
    if (file < 0) return;
    ::fsync(file);
    ::posix_fadvise(file, 0, 0, POSIX_FADV_DONTNEED);
    ::close(file);
}

Outcome write_matrices(const BlockRun& run) {
    std::vector<double> rows(run.data.rows * run.data.columns);
    for (std::uint32_t m = 0; m < matrix_count; ++m) {
        for (std::size_t i = 0; i < rows.size(); ++i) rows[i] = 0.25 * demo_value(1, m, i, 1, 0);
        const auto written = write_blocks(run, m, rows.data());
        if (!written) return written;
        forget(block_path(run, m));
    }
    return Done{};
}

Result<BlockRun> run_from(const std::vector<std::string>& words) {
    const auto refuse = [](const char *sentence) { return Failure{LW_ERR_ARGUMENT, sentence}; };
    if (words.size() != 8)
        return refuse("say FOLDER LAYOUT SIDE ROWS COLUMNS THREADS ITERATIONS CHAINING");
    const auto number = [&](std::size_t i) { return std::strtoull(words[i].c_str(), nullptr, 10); };
    BlockRun run{.folder = words[0],
                 .data = {.rows = number(2),
                          .columns = number(2),
                          .block_rows = number(3),
                          .block_columns = number(4)},
                 .iterations = number(6),
                 .threads = static_cast<std::uint32_t>(number(5))};
    if (words[1] == "row-major")
        run.data.layout = BlockLayout::row_major;
    else if (words[1] == "block")
        run.data.layout = BlockLayout::block;
    else if (words[1] == "frontier")
        run.data.layout = BlockLayout::frontier;
    else
        return refuse("LAYOUT is row-major, block or frontier");
    if (words[7] == "flushed")
        run.chaining = Chaining::flushed;
    else if (words[7] != "chained")
        return refuse("CHAINING is chained or flushed");
    return run;
}

Result<Json> measure(const std::vector<std::string>& words) {
    const auto run = run_from(words);
    if (!run) return run.failure();
    const auto sound = check_blocks(run->data);
    if (!sound) return sound.failure();
    const auto written = write_matrices(*run);
    const auto report = written ? run_blocks(*run) : Result<BlockReport>(written.failure());
    for (std::uint32_t m = 0; m < matrix_count; ++m) ::unlink(block_path(*run, m).c_str());
    if (!report) return report.failure();
    return Json{{"elapsed_s", report->elapsed_s}, {"transfers", report->transfers}};
}

}  // namespace

int main(int argc, char **argv) {
    const auto found = measure({argv + 1, argv + argc});
    if (found) {
        std::puts(found->dump().c_str());
        return 0;
    }
    std::fprintf(stderr, "lanewise-wavefront-blocks: %s\n", found.failure().sentence.c_str());
    return found.failure().status == LW_ERR_ARGUMENT ? 2 : 1;
}
