// SPDX-License-Identifier: BSD-3-Clause
//
// lanewise-exchange: two programs that exchange checked messages over verbs. They know nothing of
// paths: under `lanewise rdma protect` the traffic survives the cuts that they are asked to make.
// With --transitions they call the modules of lanewise/paths.h themselves and time them. Each ends
// with one line of JSON.

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <optional>
#include <string>
#include <vector>

#include "experiments/migration/exchange/traffic.hpp"
#include "experiments/migration/exchange/transitions.hpp"

namespace {

using namespace lanewise::exchange;

std::vector<std::string> split(const std::string& text, char at) {
    std::vector<std::string> made;
    std::size_t from = 0;
    for (std::size_t to = text.find(at); to != std::string::npos; to = text.find(at, from)) {
        made.push_back(text.substr(from, to - from));
        from = to + 1;
    }
    made.push_back(text.substr(from));
    return made;
}

Cut read_cut(const std::string& text) {
    Cut made;
    const std::size_t first = text.find(':');
    const std::size_t second = text.find(':', first + 1);
    if (second == std::string::npos) {
        throw CLI::ValidationError("--cut " + text, "say [HOST@]INTERFACE[/INTERFACE]:AT_S:FOR_S");
    }
    const std::string where = text.substr(0, first);
    const std::size_t host = where.find('@');
    made.host = host == std::string::npos ? "" : where.substr(0, host);
    made.interfaces = split(host == std::string::npos ? where : where.substr(host + 1), '/');
    made.at_s = std::stod(text.substr(first + 1));
    made.for_s = std::stod(text.substr(second + 1));
    return made;
}

// Words without quotes or backslashes, as an array of JSON.
std::string quoted(const std::vector<std::string>& words) {
    std::string made;
    for (const std::string& word : words) {
        made += fmt::format("{}\"{}\"", made.empty() ? "" : ", ", word);
    }
    return fmt::format("[{}]", made);
}

std::string shown(const std::vector<Pulled>& pulled) {
    std::string made;
    for (const Pulled& one : pulled) {
        made += fmt::format(
            R"({}{{"from_ns": {}, "done_ns": {}, "interface": "{}", "port_in_use": {}}})",
            made.empty() ? "" : ", ", one.from_ns, one.done_ns, one.interface, one.port_in_use);
    }
    return fmt::format("[{}]", made);
}

void print(const Found& found, const std::vector<Pulled>& pulled) {
    fmt::print(R"({{"sent": {}, "received": {}, "lost": {}, "duplicated": {}, "twice": {}, )"
               R"("corrupted": {}, )"
               R"("atomics": {}, "atomics_wrong": {}, "writes": {}, "longest_gap_ns": {}, )"
               R"("resumed_ns": [{}], "cuts": {}}})"
               "\n",
               found.sent, found.received, found.lost, found.duplicated, quoted(found.twice),
               found.corrupted, found.atomics, found.atomics_wrong, found.writes,
               found.longest_gap_ns, fmt::join(found.resumed_ns, ", "), shown(pulled));
}

void print(const Transition& one) {
    fmt::print(R"({{"queue_pairs": {}, "armed_s": {}, "migrated_s": {}, "usual_latency_s": {}, )"
               R"("arming_latency_s": {}, "migrating_latency_s": {}}})"
               "\n",
               one.queue_pairs, one.armed_s, one.migrated_s, one.usual_latency_s,
               one.arming_latency_s, one.migrating_latency_s);
}

// Lets the cuts ask for the port of the first queue pair while there is one.
class Asking {
  public:
    Asking(Cuts& cuts, const Endpoint& endpoint) : cuts_(cuts) {
        cuts_.ask_port_with([queue_pair = endpoint.queue_pairs().front().get()] {
            ibv_qp_attr attributes{};
            ibv_qp_init_attr unused{};
            const bool told = ibv_query_qp(queue_pair, &attributes, IBV_QP_AV, &unused) == 0;
            return told ? attributes.ah_attr.port_num : 0;
        });
    }
    ~Asking() { cuts_.ask_port_with(nullptr); }
    Asking(const Asking&) = delete;
    Asking& operator=(const Asking&) = delete;

  private:
    Cuts& cuts_;
};

void run(Settings settings) {
    Rendezvous rendezvous(settings);
    if (settings.transitions.empty()) {
        Cuts cuts(settings.cuts);
        if (settings.cuts_early) cuts.start();
        Endpoint endpoint(settings, rendezvous, traffic_memory_bytes(settings));
        const Asking asking(cuts, endpoint);
        const Found found = exchange(settings, rendezvous, endpoint, cuts);
        print(found, cuts.finish());
        return;
    }
    for (const int count : settings.transitions) {
        settings.queue_pairs = count;
        Endpoint endpoint(settings, rendezvous, static_cast<std::size_t>(settings.message_bytes));
        const Transition found = time_transitions(settings, rendezvous, endpoint);
        rendezvous.swap({4});
        if (!settings.listens) print(found);
        std::fflush(stdout);
    }
}

}  // namespace

int main(int argc, char **argv) {
    Settings settings;
    std::string role;
    std::vector<std::string> cuts;
    CLI::App app{"Exchange checked messages over verbs"};
    app.add_option("role", role)->required()->check(CLI::IsMember({"listen", "call"}));
    app.add_option("address", settings.address, "of the listener")->required();
    app.add_option("--tcp-port", settings.tcp_port);
    app.add_option("--device", settings.device);
    app.add_option("--port", settings.port);
    app.add_option("--gid-index", settings.gid_index);
    app.add_option("--queue-pairs", settings.queue_pairs)->check(CLI::Range(1, 4096));
    app.add_option("--window", settings.window)->check(CLI::Range(1, 1024));
    app.add_option("--message-bytes", settings.message_bytes)->check(CLI::Range(32, 1 << 20));
    app.add_flag("--mixed", settings.mixed, "Exchange immediate data, writes and reads as well");
    app.add_option("--seconds", settings.seconds);
    app.add_option("--resume-timeout-s", settings.resume_timeout_s,
                   "How much longer to go on until a message has followed each cut");
    app.add_option("--return-timeout-s", settings.return_timeout_s,
                   "How much longer to go on until all queue pairs have left --port and come back");
    app.add_option("--timeout", settings.timeout)->check(CLI::Range(0, 31));
    app.add_option(
           "--cut", cuts,
           "[HOST@]INTERFACE[/INTERFACE]:AT_S:FOR_S; HOST is the file of a network namespace, "
           "and of two interfaces, those of ports 1 and 2, the one in use is pulled")
        ->expected(-1);
    app.add_flag("--early", settings.cuts_early, "Count the cuts from before the connection");
    app.add_option("--transitions", settings.transitions, "Time N queue pairs")->delimiter(',');
    app.add_option("--rounds", settings.rounds);
    try {
        app.parse(argc, argv);
        for (const std::string& cut : cuts) settings.cuts.push_back(read_cut(cut));
        settings.listens = role == "listen";
        run(settings);
    } catch (const CLI::ParseError& error) {
        return app.exit(error) == 0 ? 0 : 2;
    } catch (const Broken& broken) {
        std::fprintf(stderr, "lanewise-exchange: %s\n", broken.what());
        return 1;
    }
    return 0;
}
