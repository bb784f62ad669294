// SPDX-License-Identifier: BSD-3-Clause
//
// See harness.hpp. One tag suffices: messages between two ranks keep their order.

#include "measure/harness/harness.hpp"

#include <unistd.h>

#include <algorithm>
#include <climits>
#include <cstring>
#include <string>

namespace lanewise::measure {
namespace {

constexpr int tag = 0x4c57;  // "LW"

// The largest piece of one MPI message; longer spans take several.
constexpr std::size_t piece_bytes = std::size_t{1} << 30;

std::string describe(int code) {
    char text[MPI_MAX_ERROR_STRING] = "";
    int length = 0;
    if (MPI_Error_string(code, text, &length) != MPI_SUCCESS) return "unknown MPI error";
    return {text, static_cast<std::size_t>(length)};
}

// How long a rank sleeps between two probes for a message that is not urgent.
constexpr unsigned doze_us = 200;

}  // namespace

MpiFailure::MpiFailure(int code) : std::runtime_error(describe(code)) {}

void check(int code) {
    if (code != MPI_SUCCESS) throw MpiFailure(code);
}

Harness::Harness(MPI_Comm comm) {
    check(MPI_Comm_dup(comm, &comm_));
    check(MPI_Comm_set_errhandler(comm_, MPI_ERRORS_RETURN));
    check(MPI_Comm_rank(comm_, &rank_));
    check(MPI_Comm_size(comm_, &size_));
}

Harness::~Harness() {
    MPI_Comm_free(&comm_);
}

void Harness::send(std::span<const std::byte> bytes, int peer) const {
    do {
        const auto piece = std::min(bytes.size(), piece_bytes);
        check(MPI_Send(bytes.data(), static_cast<int>(piece), MPI_BYTE, peer, tag, comm_));
        bytes = bytes.subspan(piece);
    } while (!bytes.empty());
}

void Harness::receive(std::span<std::byte> bytes, int peer) const {
    do {
        const auto piece = std::min(bytes.size(), piece_bytes);
        check(MPI_Recv(bytes.data(), static_cast<int>(piece), MPI_BYTE, peer, tag, comm_,
                       MPI_STATUS_IGNORE));
        bytes = bytes.subspan(piece);
    } while (!bytes.empty());
}

void Harness::barrier() const {
    any(false);
}

bool Harness::any(bool flag) const {
    unsigned char mine = flag ? 1 : 0;
    for (int distance = 1; distance < size_; distance *= 2) {
        const int to = (rank_ + distance) % size_;
        const int from = (rank_ - distance + size_) % size_;
        unsigned char theirs = 0;
        check(MPI_Sendrecv(&mine, 1, MPI_BYTE, to, tag, &theirs, 1, MPI_BYTE, from, tag, comm_,
                           MPI_STATUS_IGNORE));
        mine = mine | theirs;
    }
    return mine != 0;
}

void Harness::sleeping_barrier() const {
    const auto sleep_until_message = [&](int peer) {
        for (int here = 0; !here;) {
            check(MPI_Iprobe(peer, tag, comm_, &here, MPI_STATUS_IGNORE));
            if (!here) usleep(doze_us);
        }
        receive_value<char>(peer);
    };
    for (int r = 1; rank_ == 0 && r < size_; ++r) sleep_until_message(r);
    for (int r = 1; rank_ == 0 && r < size_; ++r) send_value('.', r);
    if (rank_ == 0) return;
    send_value('.', 0);
    sleep_until_message(0);
}

void Harness::broadcast(std::span<std::byte> bytes) const {
    int mask = 1;
    while (mask < size_ && (rank_ & mask) == 0) mask *= 2;
    if (rank_ != 0) receive(bytes, rank_ - mask);
    for (mask /= 2; mask > 0; mask /= 2) {
        if (rank_ + mask < size_) send(bytes, rank_ + mask);
    }
}

void Harness::maximum(std::span<double> values) const {
    std::vector<double> theirs(values.size());
    for (int mask = 1; mask < size_; mask *= 2) {
        if ((rank_ & mask) != 0) {
            send(std::as_bytes(values), rank_ - mask);
            break;
        }
        if (rank_ + mask >= size_) continue;
        receive(std::as_writable_bytes(std::span(theirs)), rank_ + mask);
        std::transform(values.begin(), values.end(), theirs.begin(), values.begin(),
                       [](double a, double b) { return std::max(a, b); });
    }
    broadcast(std::as_writable_bytes(values));
}

std::vector<std::vector<double>> Harness::collect(std::span<const double> values) const {
    std::vector<std::vector<double>> all(static_cast<std::size_t>(size_));
    all[static_cast<std::size_t>(rank_)].assign(values.begin(), values.end());
    for (int r = 0; r < size_; ++r) {
        auto& row = all[static_cast<std::size_t>(r)];
        std::size_t length = row.size();
        if (r != 0 && rank_ == r) send_value(length, 0);
        if (r != 0 && rank_ == 0) length = receive_value<std::size_t>(r);
        broadcast_value(length);
        row.resize(length);
        if (r != 0 && rank_ == r) send(std::as_bytes(std::span(row)), 0);
        if (r != 0 && rank_ == 0) receive(std::as_writable_bytes(std::span(row)), r);
        broadcast(std::as_writable_bytes(std::span(row)));
    }
    return all;
}

}  // namespace lanewise::measure
