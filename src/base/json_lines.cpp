// SPDX-License-Identifier: BSD-3-Clause

#include "base/json_lines.hpp"

#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "base/file.hpp"
#include "base/json.hpp"

namespace lanewise {
namespace {

Failure io_failure(const std::string& path, const std::string& what) {
    return {LW_ERR_IO, path + " " + what};
}

}  // namespace

Result<JsonLines> read_json_lines(const std::string& path) {
    const auto content = read_file(path);
    if (!content) return content.failure();
    const std::string& text = *content;
    JsonLines lines;
    for (std::size_t begin = 0; begin < text.size();) {
        const auto end = text.find('\n', begin);
        if (end == std::string::npos) {
            lines.truncated = true;
            break;
        }
        auto record = read_json(std::string_view(text).substr(begin, end - begin));
        if (!record || !record->is_object()) {
            const auto line = path + ":" + std::to_string(lines.records.size() + 1) + ": ";
            const auto what = record ? "is not a JSON object" : record.failure().sentence;
            return bad_argument(line + what + "; name a file that lanewise measure or tune wrote");
        }
        lines.records.push_back(std::move(*record));
        begin = end + 1;
        lines.ends.push_back(begin);
    }
    return lines;
}

Result<JsonLinesWriter> JsonLinesWriter::create(const std::string& path) {
    auto place = place_to_write(path);
    std::FILE *file = place.as_it_is ? place.open() : std::fopen(path.c_str(), "wxe");
    if (file && place.as_it_is) return JsonLinesWriter(path, file, std::nullopt);
    if (file) return JsonLinesWriter(path, file, 0);
    if (errno == EEXIST)
        return io_failure(path, "exists; add --resume to go on with it, or name another file");
    return io_failure(path, std::string("cannot be written: ") + std::strerror(errno));
}

Result<JsonLinesWriter> JsonLinesWriter::resume(const std::string& path, std::size_t whole_bytes) {
    if (::truncate(path.c_str(), static_cast<off_t>(whole_bytes)) != 0)
        return io_failure(path, std::string("cannot be resumed: ") + std::strerror(errno));
    std::FILE *file = std::fopen(path.c_str(), "ae");
    if (!file) return io_failure(path, std::string("cannot be written: ") + std::strerror(errno));
    return JsonLinesWriter(path, file, whole_bytes);
}

// Without a buffer, no part of a line that did not fit is written later.
JsonLinesWriter::JsonLinesWriter(std::string path, std::FILE *file,
                                 std::optional<std::size_t> whole_bytes)
    : path_(std::move(path)), file_(file), whole_bytes_(whole_bytes) {
    std::setvbuf(file, nullptr, _IONBF, 0);
}

Outcome JsonLinesWriter::write(const Json& record) {
    const std::string line = json_text(record) + '\n';
    if (std::fwrite(line.data(), 1, line.size(), file_.get()) == line.size()) {
        if (whole_bytes_) *whole_bytes_ += line.size();
        return Done{};
    }
    const int error = errno;
    const auto failure = io_failure(path_, std::string("could not take a point: ") +
                                               std::strerror(error) + free_space_there(error));
    if (!whole_bytes_) return failure;
    const bool removed = *whole_bytes_ == 0 && ::unlink(path_.c_str()) == 0;
    if (!removed && ::ftruncate(::fileno(file_.get()), static_cast<off_t>(*whole_bytes_)) != 0)
        return io_failure(path_, std::string("ends in part of a point: ") + std::strerror(errno));
    return failure;
}

bool has_lines_to_resume(const std::string& path) {
    return ::access(path.c_str(), F_OK) == 0 && !place_to_write(path).as_it_is;
}

}  // namespace lanewise
