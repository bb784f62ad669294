// SPDX-License-Identifier: BSD-3-Clause

#include "paths/preload/report.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <span>

#include "base/file.hpp"

namespace lanewise::paths::preload {
namespace {

std::string counted(std::uint64_t count, const char *noun) {
    return fmt::format("{} {}{}", count, noun, count == 1 ? "" : "s");
}

const char *word_of(NoticeKind kind) {
    switch (kind) {
        case NoticeKind::migrated: return "migrated";
        case NoticeKind::port_down: return "port_down";
        case NoticeKind::port_up: return "port_up";
        case NoticeKind::error: return "error";
        default: return "other";
    }
}

const char *word_of(MigrationCause cause) {
    switch (cause) {
        case MigrationCause::command: return "command";
        case MigrationCause::carrier: return "carrier";
        case MigrationCause::retries: return "retries";
        case MigrationCause::silence: return "silence";
        case MigrationCause::peer: return "peer";
        default: return nullptr;
    }
}

std::string event_of(const Notice& notice) {
    const char *cause = word_of(notice.cause);
    return fmt::format(R"({{"event": "{}", "port": {}, "at_ns": {}{}}})", word_of(notice.kind),
                       notice.port, notice.at,
                       cause ? fmt::format(R"(, "cause": "{}")", cause) : std::string());
}

}  // namespace

bool is_empty(const ProcessReport& report) {
    return report.loaded_count + report.doubled_count + report.unprotected_count +
               report.pathless_count ==
           0;
}

std::string sentence_of(const ProcessReport& report) {
    const std::size_t sound = report.armed_count + report.doubled_count;
    std::string made = counted(sound, "queue pair") + " protected";
    if (report.doubled_count) made += fmt::format(" ({} over both ports)", report.doubled_count);
    if (const std::size_t idle = report.loaded_count - report.armed_count) {
        made += fmt::format(", {} loaded and never armed", idle);
    }
    const std::size_t unprotected = report.unprotected_count + report.pathless_count;
    if (unprotected) made += fmt::format(", {} unprotected", unprotected);
    made += ", " + counted(report.counters.migrations, "migration");
    if (report.counters.returns) made += fmt::format(" ({} of them back)", report.counters.returns);
    if (report.counters.errors) made += ", " + counted(report.counters.errors, "migration error");
    return made;
}

std::string line_of(const ProcessReport& report) {
    const PathCounters& all = report.counters;
    std::string events;
    for (const Notice& notice : report.notices) {
        events += (events.empty() ? "" : ", ") + event_of(notice);
    }
    return fmt::format(
        R"({{"schema": "lanewise-protect", "version": 1, "process": {}, "protected": {}, )"
        R"("doubled": {}, "unarmed": {}, "unprotected": {}, "pathless": {}, )"
        R"("loads": {}, "loads_refused": {}, "armed": {}, )"
        R"("migrations": {}, "commanded": {}, "returns": {}, "errors": {}, "events": [{}]}})"
        "\n",
        getpid(), report.armed_count + report.doubled_count, report.doubled_count,
        report.loaded_count - report.armed_count, report.unprotected_count, report.pathless_count,
        all.loads, all.loads_refused, all.armed, all.migrations, all.commanded, all.returns,
        all.errors, events);
}

void append(const std::string& file, const std::string& line) {
    const int out = open(file.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
    const bool written = out >= 0 && append_whole(out, std::as_bytes(std::span(line)));
    if (!written) warn(file + " cannot be written: " + std::strerror(errno));
    if (out >= 0) close(out);
}

void warn(const std::string& sentence) {
    std::fprintf(stderr, "lanewise rdma protect: %s\n", sentence.c_str());
}

}  // namespace lanewise::paths::preload
