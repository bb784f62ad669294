// SPDX-License-Identifier: BSD-3-Clause

#include "collectives/tuned/roll_call.hpp"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <mutex>
#include <numeric>
#include <string>
#include <vector>

#include "base/launcher.hpp"
#include "collectives/tuned/environment.hpp"

namespace lanewise::tuned {
namespace {

constexpr int connect_timeout_ms = 3000;
constexpr int answer_timeout_ms = 60'000;

/* A connection to `lanewise run`; all functions tell whether they succeeded. */
class Connection {
  public:
    Connection() = default;
    ~Connection() { close(); }
    Connection(const Connection&) = delete;
    Connection& operator=(const Connection&) = delete;

    bool open(const std::string& address, std::uint16_t port) {
        close();
        sockaddr_in to{};
        to.sin_family = AF_INET;
        to.sin_port = htons(port);
        if (inet_pton(AF_INET, address.c_str(), &to.sin_addr) != 1) return false;
        socket_ = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
        if (socket_ < 0) return false;
        const int code = connect(socket_, reinterpret_cast<const sockaddr *>(&to), sizeof(to));
        if (code == 0) return true;
        if (errno != EINPROGRESS || !is_ready(POLLOUT, connect_timeout_ms)) return false;
        int error = 0;
        socklen_t size = sizeof(error);
        getsockopt(socket_, SOL_SOCKET, SO_ERROR, &error, &size);
        return error == 0;
    }

    bool is_open() const { return socket_ >= 0; }

    void close() {
        if (socket_ >= 0) ::close(socket_);
        socket_ = -1;
    }

    bool write_line(const std::string& line) {
        const std::string text = line + "\n";
        return send(socket_, text.data(), text.size(), MSG_NOSIGNAL) ==
               static_cast<ssize_t>(text.size());
    }

    std::string read_line(int timeout_ms) {
        std::string line;
        char letter = 0;
        while (line.size() < 64 && is_ready(POLLIN, timeout_ms)) {
            if (recv(socket_, &letter, 1, 0) != 1) return "";
            if (letter == '\n') return line;
            line += letter;
        }
        return "";
    }

  private:
    bool is_ready(short what, int timeout_ms) const {
        pollfd wanted{socket_, what, 0};
        int ready = 0;
        do ready = poll(&wanted, 1, timeout_ms);
        while (ready < 0 && errno == EINTR);
        return ready == 1;
    }

    int socket_ = -1;
};

Connection& connection() {
    static Connection instance;
    return instance;
}

/* Processes that were spawned are numbered from 0 again, so ranks are told with their job. */
std::string job_name() {
    const auto name_space = variable("PMIX_NAMESPACE");
    if (!name_space.empty()) return name_space;
    return variable("PMI_SPAWNED").empty() ? "first" : "spawned";
}

bool is_wanted() {
    return !environment().profile_path.empty() || environment().same_bits != SameBits::unasked ||
           (!environment().tuning_path.empty() && rules().usable);
}

bool is_vouched_for() {
    const auto vouched = variable("LANEWISE_EVERY_RANK");
    return !vouched.empty() && vouched != "0";
}

struct Answer {
    bool given = false;
    bool everybody = false;
};
Answer answer;
// Sessions may be initialised by several threads at once; the later ones wait for the answer.
std::mutex asking;
MPI_Group together = MPI_GROUP_NULL;

void say_missing(const std::string& reason) {
    const bool changed =
        !environment().tuning_path.empty() || environment().same_bits != SameBits::unasked;
    say(reason + "; " +
        (changed ? "the MPI's own algorithms are used" : "nothing is recorded for the profile"));
}

bool everybody_according_to_run(int ranks) {
    if (variable("LANEWISE_ROLL_CALL").empty()) {
        if (is_first_process()) {
            say_missing(
                "nothing tells whether every rank has loaded liblanewise_tuned.so: start the "
                "program by lanewise run, or set LANEWISE_EVERY_RANK=1 if all have");
        }
        return false;
    }
    auto& to_run = connection();
    if (!to_run.is_open()) {
        if (is_first_process()) {
            say_missing("lanewise run is not reached at " + variable("LANEWISE_ROLL_CALL") +
                        ": let ranks connect to it, or set LANEWISE_EVERY_RANK=1 if every rank "
                        "has liblanewise_tuned.so");
        }
        return false;
    }
    std::string said;
    if (to_run.write_line("all " + std::to_string(ranks))) {
        said = to_run.read_line(answer_timeout_ms);
    }
    to_run.close();
    if (said == "yes") return true;
    if (const auto teller = said.find(" tell"); teller != std::string::npos) {
        say_missing("only " + said.substr(3, teller - 3) + " of " + std::to_string(ranks) +
                    " ranks have loaded liblanewise_tuned.so: put it where every host finds it");
    }
    return false;
}

void answer_once(MPI_Group world) {
    if (answer.given) return;
    answer.given = true;
    together = world;
    int ranks = 0;
    PMPI_Group_size(world, &ranks);
    answer.everybody =
        ranks == 1 || is_vouched_for() || (is_wanted() && everybody_according_to_run(ranks));
}

}  // namespace

void report_presence() {
    const std::lock_guard guard(asking);
    if (answer.given || is_vouched_for() || !is_wanted() || connection().is_open()) return;
    const auto text = variable("LANEWISE_ROLL_CALL");
    const auto launched = launched_as();
    const auto at = text.find('@');
    if (at == std::string::npos || !launched) return;
    const auto greeting =
        text.substr(0, at) + " " + job_name() + " " + std::to_string(launched->rank);
    for (auto begin = at + 1; begin < text.size();) {
        const auto end = std::min(text.find('/', begin), text.size());
        const auto place = text.substr(begin, end - begin);
        begin = end + 1;
        const auto colon = place.find(':');
        if (colon == std::string::npos) continue;
        const auto port = static_cast<std::uint16_t>(std::atoi(place.c_str() + colon + 1));
        auto& to_run = connection();
        if (to_run.open(place.substr(0, colon), port) && to_run.write_line(greeting) &&
            to_run.read_line(connect_timeout_ms) == "here") {
            return;
        }
        to_run.close();
    }
}

void answer_for_all(MPI_Group world) {
    const std::lock_guard guard(asking);
    answer_once(world);
}

void answer_for_world() {
    const std::lock_guard guard(asking);
    if (answer.given) return;
    if (is_spawned()) {
        answer.given = true;
        connection().close();
        return;
    }
    MPI_Group world = MPI_GROUP_NULL;
    PMPI_Comm_group(MPI_COMM_WORLD, &world);
    answer_once(world);
}

bool is_everybody_here() {
    return answer.everybody;
}

bool is_spawned() {
    MPI_Comm parent = MPI_COMM_NULL;
    PMPI_Comm_get_parent(&parent);
    return parent != MPI_COMM_NULL;
}

int rank_among_all() {
    int rank = MPI_UNDEFINED;
    if (together != MPI_GROUP_NULL) PMPI_Group_rank(together, &rank);
    return rank;
}

bool started_together(MPI_Comm comm) {
    if (together == MPI_GROUP_NULL) return false;
    MPI_Group group = MPI_GROUP_NULL;
    int size = 0;
    PMPI_Comm_group(comm, &group);
    PMPI_Group_size(group, &size);
    std::vector<int> ranks(static_cast<std::size_t>(size));
    std::vector<int> there(ranks.size(), MPI_UNDEFINED);
    std::iota(ranks.begin(), ranks.end(), 0);
    PMPI_Group_translate_ranks(group, size, ranks.data(), together, there.data());
    PMPI_Group_free(&group);
    return std::ranges::find(there, MPI_UNDEFINED) == there.end();
}

}  // namespace lanewise::tuned
