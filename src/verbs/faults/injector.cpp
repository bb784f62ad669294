// SPDX-License-Identifier: BSD-3-Clause

#include "verbs/faults/injector.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <pthread.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <span>
#include <thread>

#include "base/file.hpp"

namespace lanewise::verbs::faults {
namespace {

constexpr int status_of_bad_request = 2;

// Of the injector.
std::mutex the_lock;

// So that a child finds it free. Before all that is held over fork as well and may want it, which
// is then taken before it: even before what is registered as the library is loaded (device.cpp).
[[gnu::constructor(101)]] void hold_lock_over_fork() {
    pthread_atfork([] { the_lock.lock(); }, [] { the_lock.unlock(); }, [] { the_lock.unlock(); });
}

void complain(const std::string& sentence) {
    std::fprintf(stderr, "lanewise rdma run: %s\n", sentence.c_str());
}

// So that no other `lanewise rdma run` empties the file meanwhile, which takes it a moment. Whoever
// holds it for longer, as `flock` does around a command, lets nobody wait; false with errno.
bool lock_shared(const Descriptor& file) {
    constexpr int attempts = 10;
    constexpr std::chrono::milliseconds pause(1);
    for (int attempt = 0; attempt < attempts; ++attempt) {
        if (flock(file.number(), LOCK_SH | LOCK_NB) == 0) return true;
        if (errno != EWOULDBLOCK && errno != EINTR) return false;
        std::this_thread::sleep_for(pause);
    }
    errno = EWOULDBLOCK;
    return false;
}

// A file that the environment names, to which lines are added; none where it names none.
Descriptor opened(const char *variable) {
    const char *file = std::getenv(variable);
    if (!file || !*file) return {};
    constexpr int flags = O_CREAT | O_APPEND | O_CLOEXEC;
    Descriptor found(::open(file, flags | O_WRONLY, 0644));
    if (!found) complain(fmt::format("{} cannot be written: {}", file, std::strerror(errno)));
    if (!found || lock_shared(found) || errno != EBADF) return found;
    // Some file systems lock for sharing only what can be read.
    Descriptor readable(::open(file, flags | O_RDWR, 0644));
    if (!readable) return found;
    lock_shared(readable);
    return readable;
}

bool append(const Descriptor& file, std::string_view line) {
    return append_whole(file.number(), std::as_bytes(std::span(line)));
}

// What `lanewise rdma run --replay` needs to do the fault again, as a line of JSON.
std::string line_of(const Decision& decision, Place place, std::string_view name) {
    const Rule& fault = *decision.fault;
    std::string delay;
    if (fault.what == "delay") delay = fmt::format(", \"delay_us\": {}", fault.value);
    if (fault.what == "port_down") delay = fmt::format(", \"for_us\": {}", fault.value);
    std::string which;
    if (!fault.device.empty()) which += fmt::format(", \"device\": \"{}\"", fault.device);
    if (fault.queue_pair > 0) which += fmt::format(", \"queue_pair\": {}", fault.queue_pair);
    if (!fault.peer.empty()) which += fmt::format(", \"peer\": \"{}\"", fault.peer);
    if (fault.bytes_min > 0) which += fmt::format(", \"bytes_min\": {}", fault.bytes_min);
    return fmt::format(
        "{{\"fault\": {}, \"occurrence\": {}, \"{}\": \"{}\", \"what\": \"{}\"{}{}}}\n",
        decision.rule, decision.occurrence, name_of(place), name, fault.what, delay, which);
}

}  // namespace

Injector *Injector::open() {
    const char *text = std::getenv("LANEWISE_HCA_FAULTS");
    Descriptor census = opened("LANEWISE_HCA_CENSUS");
    if ((!text || !*text) && !census) return nullptr;
    Result<Script> script = read_script(text ? text : "");
    if (!script) {
        complain(script.failure().sentence);
        // A test that went on would be one without faults. Exit handlers may ask for the injector.
        _exit(status_of_bad_request);
    }
    return new Injector(std::move(*script), opened("LANEWISE_HCA_FAULT_LOG"), std::move(census));
}

Injector *Injector::get() {
    // Never destroyed: threads and destructors may come to it until the very end.
    static Injector *const injector = open();
    return injector;
}

void Injector::left(std::string_view kind, std::uint64_t count) {
    const std::lock_guard guard(the_lock);
    if (count > 0) census_.left(kind, count);
}

void Injector::write_census() {
    const std::lock_guard guard(the_lock);
    if (!census_file_ || getpid() != process_) return;
    if (!append(census_file_, census_.line())) {
        complain(fmt::format("the census was not written: {}", std::strerror(errno)));
    }
    census_file_ = {};
}

std::optional<Rule> Injector::decide(Occurrence one) {
    constexpr std::int64_t microsecond_ns = 1'000;
    const std::lock_guard guard(the_lock);
    if (census_file_) census_.saw(one.place, one.name);
    one.time_us = static_cast<std::uint64_t>((monotonic_ns() - begun_ns_) / microsecond_ns);
    const std::optional<Decision> decision = plan_.decide(one);
    if (!decision) return std::nullopt;
    // One write for each line, so that lines of several processes do not mix.
    if (log_ && !append(log_, line_of(*decision, one.place, one.name))) {
        complain(fmt::format("the log of faults took no more lines: {}; it ends here",
                             std::strerror(errno)));
        log_ = {};
    }
    return *decision->fault;
}

}  // namespace lanewise::verbs::faults
