// SPDX-License-Identifier: BSD-3-Clause
//
// JSON Lines: one record per line, each handed to the kernel before the next one begins.
//
// A reader takes every whole line. What follows the last newline is the trace of an interruption:
// it is reported as `truncated`, never parsed.

#pragma once

#include <cstddef>
#include <cstdio>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/json.hpp"
#include "base/result.hpp"

namespace lanewise {

struct JsonLines {
    std::vector<Json> records;
    std::vector<std::size_t> ends; /* of each record, the offset just past its newline */
    bool truncated = false;

    std::size_t whole_bytes() const { return ends.empty() ? 0 : ends.back(); }
};

Result<JsonLines> read_json_lines(const std::string& path);

class JsonLinesWriter {
  public:
    /* Creates `path`; a file that exists is refused. What has no lines to keep, such as a pipe, a
     * device or /dev/stdout, is written to as it is. */
    static Result<JsonLinesWriter> create(const std::string& path);
    /* Opens `path` to go on after its first `whole_bytes` bytes; the rest is cut off. */
    static Result<JsonLinesWriter> resume(const std::string& path, std::size_t whole_bytes);

    /* Writes one line and hands it to the kernel. Where it does not fit, the file keeps its whole
     * lines, and one that has none is removed. */
    Outcome write(const Json& record);

  private:
    struct Close {
        void operator()(std::FILE *file) const { std::fclose(file); }
    };
    JsonLinesWriter(std::string path, std::FILE *file, std::optional<std::size_t> whole_bytes);

    std::string path_;
    std::unique_ptr<std::FILE, Close> file_;
    std::optional<std::size_t> whole_bytes_; /* none where nothing can be taken back */
};

/* Whether there is a file at `path` whose lines a writer can go on after. */
bool has_lines_to_resume(const std::string& path);

}  // namespace lanewise
