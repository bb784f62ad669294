// SPDX-License-Identifier: BSD-3-Clause
//
// Output of lanewise-measure on rank 0: the file, and either the table in the
// form of the OSU benchmarks or JSON events. Other ranks have none.

#pragma once

#include <map>
#include <optional>
#include <string>

#include "base/json_lines.hpp"
#include "measure/session/arguments.hpp"

namespace lanewise::measure::session {

class Output {
  public:
    explicit Output(bool events) : events_(events) {}

    /* Points go to `writer` too from now on. */
    void keep_in(JsonLinesWriter writer) { file_ = std::move(writer); }

    void begin(std::size_t points, const Json& context, const std::string& path);
    /* Takes a record; point number `index` of the run is printed after all before it. */
    Outcome point(std::size_t index, const Json& record);
    /* A record that is no point; `event` is what progress calls it. */
    Outcome other(const Json& record, const char *event);
    void warning(const std::string& sentence);
    Outcome end(std::size_t points, double elapsed_s);

  private:
    void print_row(const Json& record);

    bool events_;
    std::optional<JsonLinesWriter> file_;
    std::map<std::size_t, Json> waiting_;
    std::size_t next_ = 0;
    std::size_t finished_ = 0;
    std::size_t planned_ = 0;
    std::string operation_;
};

}  // namespace lanewise::measure::session
