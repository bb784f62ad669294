// SPDX-License-Identifier: BSD-3-Clause
//
// The command line of both programs of an exchange.

#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>
#include <vector>

namespace lanewise::exchange {

// An interface that loses its carrier for a while.
struct Cut {
    // That of port 1 and that of port 2, of which the one in use is pulled; or just one.
    std::vector<std::string> interfaces;
    std::string host;  // the file of its network namespace; empty: this host
    double at_s = 0;
    double for_s = 0;
};

struct Settings {
    bool listens = false;
    std::string address;  // of the listener
    std::uint16_t tcp_port = 18600;
    std::string device;
    int port = 1;
    int gid_index = 0;
    int queue_pairs = 1;
    int window = 8;
    int message_bytes = 4096;
    bool mixed = false;  // also immediate data, writes and reads
    double seconds = 1;
    double resume_timeout_s = 0;  // goes on so much longer until a message has followed each cut
    double return_timeout_s = 0;  // and until all queue pairs have left their port and come back
    int timeout = 14;             // 4.096 us * 2^timeout
    std::vector<Cut> cuts;
    bool cuts_early = false;       // count from before the queue pairs exist, not from traffic
    std::vector<int> transitions;  // numbers of queue pairs to time; empty: traffic
    int rounds = 5;
};

inline std::int64_t nanoseconds(double seconds) {
    return static_cast<std::int64_t>(seconds * 1e9);
}

// Ends the program with one line and status 1.
struct Broken : std::runtime_error {
    using std::runtime_error::runtime_error;
};

inline void require(bool good, const std::string& what) {
    if (!good) throw Broken(what);
}

}  // namespace lanewise::exchange
