// SPDX-License-Identifier: BSD-3-Clause
#include "verbs/faults/injector.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace lanewise::verbs::faults {
namespace {

void complain(const std::string& sentence) {
    std::fprintf(stderr, "lanewise rdma run: %s\n", sentence.c_str());
}

constexpr const char *name_of(Place place) {
    switch (place) {
        case Place::call:
            return "call";
        case Place::completion:
            return "completion";
        case Place::packet:
            return "packet";
        default:
            return "connection";
    }
}

// What `lanewise rdma run --replay` needs to do the fault again (hca_replay.py), as a line of JSON.
std::string line_of(const Decision& decision, Place place, std::string_view name) {
    const Rule& fault = *decision.fault;
    const std::string delay =
        fault.what == "delay" ? fmt::format(", \"delay_us\": {}", fault.value) : std::string();
    return fmt::format(
        "{{\"fault\": {}, \"occurrence\": {}, \"{}\": \"{}\", \"what\": \"{}\"{}}}\n",
        decision.rule, decision.occurrence, name_of(place), name, fault.what, delay);
}

}  // namespace

std::unique_ptr<Injector> Injector::open() {
    const char *text = std::getenv("LANEWISE_HCA_FAULTS");
    if (!text || !*text) return nullptr;
    Result<Script> script = read_script(text);
    if (!script) {
        complain(script.failure().sentence);
        return nullptr;
    }
    port::Descriptor log;
    const char *file = std::getenv("LANEWISE_HCA_FAULT_LOG");
    if (file && *file) {
        log = port::Descriptor(::open(file, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644));
        if (!log) complain(fmt::format("{} cannot be written: {}", file, std::strerror(errno)));
    }
    return std::unique_ptr<Injector>(new Injector(std::move(*script), std::move(log)));
}

Injector *Injector::get() {
    static const std::unique_ptr<Injector> injector = open();
    return injector.get();
}

std::optional<Rule> Injector::decide(Place place, std::string_view name) {
    const std::lock_guard guard(lock_);
    const std::optional<Decision> decision = plan_.decide(place, name);
    if (!decision) return std::nullopt;
    if (log_) {
        // One write for each line, so that lines of several processes do not mix.
        const std::string line = line_of(*decision, place, name);
        if (write(log_.number(), line.data(), line.size()) < 0) {
            complain(fmt::format("the log of faults took no more lines: {}; it ends here",
                                 std::strerror(errno)));
            log_ = {};
        }
    }
    return *decision->fault;
}

}  // namespace lanewise::verbs::faults
