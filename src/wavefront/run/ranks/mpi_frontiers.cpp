// SPDX-License-Identifier: BSD-3-Clause
//
// See mpi_frontiers.hpp.

#include "wavefront/run/ranks/mpi_frontiers.hpp"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <fstream>
#include <iterator>

#include "wavefront/store/checksum.hpp"
#include "wavefront/store/manifest.hpp"

namespace lanewise::wavefront {
namespace {

constexpr int tag_from_above = 1;
constexpr int tag_from_below = 2;
constexpr int tag_committed = 3;
// Between two looks at MPI where nothing moves: a frontier is due every few hundred microseconds.
constexpr auto rest = std::chrono::microseconds(50);
// A log is kept for three passes: the one being written never takes the place of the last two.
constexpr int log_slots = 3;

std::size_t index(Side side) {
    return side == Side::upper ? 0 : 1;
}

}  // namespace

MpiFrontiers::MpiFrontiers(MPI_Comm comm, std::string folder, std::size_t row_bytes,
                           std::uint64_t iterations)
    : folder_(std::move(folder)), row_bytes_(row_bytes), iterations_(iterations) {
    MPI_Comm_dup(comm, &comm_);
    MPI_Comm_rank(comm_, &rank_);
    MPI_Comm_size(comm_, &ranks_);
    all_iterations_.resize(static_cast<std::size_t>(ranks_));
    MPI_Allgather(&iterations_, 1, MPI_UINT64_T, all_iterations_.data(), 1, MPI_UINT64_T, comm_);
    if (rank_ > 0) upper_committed_ = all_iterations_[static_cast<std::size_t>(rank_ - 1)];
}

MpiFrontiers::~MpiFrontiers() {
    if (!carrier_.joinable()) {
        MPI_Comm_free(&comm_);
        return;
    }
    // The run failed here: who waits for the others would wait for ever.
    {
        const std::lock_guard lock(mutex_);
        abandoned_ = true;
    }
    carrier_.join();
}

Outcome MpiFrontiers::begin(const std::byte *first_rows) {
    const auto read = read_logs();
    if (!read) return read;
    carrier_ = std::thread(&MpiFrontiers::carry, this);
    if (has(Side::upper)) give(Side::upper, iterations_, first_rows);
    if (!has(Side::lower)) return Done{};
    const auto below = all_iterations_[static_cast<std::size_t>(rank_ + 1)];
    for (auto n = below + 1; n <= iterations_; ++n) {
        const auto found = logged_.find(n);
        if (found == logged_.end())
            return Failure{LW_ERR_IO, folder_ + " lacks the frontier of iteration " +
                                          std::to_string(n) + ", which rank " +
                                          std::to_string(rank_ + 1) +
                                          " needs; restore all parts from copies"};
        post(rank_ + 1, tag_from_above, n, found->second.data());
    }
    return Done{};
}

void MpiFrontiers::finish() {
    if (!carrier_.joinable()) return;
    {
        const std::lock_guard lock(mutex_);
        closing_ = true;
    }
    carrier_.join();
}

bool MpiFrontiers::has(Side side) const {
    return side == Side::upper ? rank_ > 0 : rank_ + 1 < ranks_;
}

bool MpiFrontiers::ready(Side side, std::uint64_t iteration) const {
    const std::lock_guard lock(mutex_);
    return come_[index(side)].count(iteration) > 0;
}

void MpiFrontiers::take(Side side, std::uint64_t iteration, std::byte *rows) {
    const std::lock_guard lock(mutex_);
    auto& come = come_[index(side)];
    std::memcpy(rows, come.at(iteration).data(), row_bytes_);
    come.erase(come.begin(), come.upper_bound(iteration));
}

// A neighbour that is a pass ahead has no use for what it had before.
void MpiFrontiers::give(Side side, std::uint64_t iteration, const std::byte *rows) {
    const auto neighbour = side == Side::upper ? rank_ - 1 : rank_ + 1;
    const auto done = all_iterations_[static_cast<std::size_t>(neighbour)];
    if (side == Side::upper) {
        if (iteration >= done) post(neighbour, tag_from_below, iteration, rows);
        return;
    }
    {
        const std::lock_guard lock(mutex_);
        sent_down_[iteration].assign(rows, rows + row_bytes_);
    }
    if (iteration > done) post(neighbour, tag_from_above, iteration, rows);
}

void MpiFrontiers::call_on_arrival(std::function<void()> news) {
    const std::lock_guard lock(mutex_);
    news_ = std::move(news);
}

Outcome MpiFrontiers::before_commit(std::uint64_t iterations) {
    std::unique_lock lock(mutex_);
    if (rank_ > 0) changed_.wait(lock, [&] { return upper_committed_ >= iterations; });
    if (!has(Side::lower)) return Done{};
    std::vector<std::byte> text;
    const auto append = [&](const void *bytes, std::size_t size) {
        const auto *from = static_cast<const std::byte *>(bytes);
        text.insert(text.end(), from, from + size);
    };
    for (const auto& [n, rows] : sent_down_) {
        append(&n, sizeof n);
        append(rows.data(), rows.size());
    }
    const auto sum = checksum(text.data(), text.size());
    append(&sum, sizeof sum);
    sent_down_.clear();
    lock.unlock();
    // The slot of the oldest pass: slots hold passes that end at different iterations.
    int oldest = 0;
    std::uint64_t least = ~std::uint64_t{0};
    for (int slot = 0; slot < log_slots; ++slot) {
        std::uint64_t first = 0;
        std::ifstream file(log_path(slot), std::ios::binary);
        file.read(reinterpret_cast<char *>(&first), sizeof first);
        if (!file) first = 0;
        if (first < least) {
            least = first;
            oldest = slot;
        }
    }
    return replace_file(log_path(oldest), text.data(), text.size());
}

void MpiFrontiers::after_commit(std::uint64_t iterations) {
    if (has(Side::lower)) post(rank_ + 1, tag_committed, iterations, nullptr);
}

std::string MpiFrontiers::log_path(int slot) const {
    return folder_ + "/frontiers." + std::to_string(slot);
}

// What is torn or of another width is as good as absent: begin() says what is missed.
Outcome MpiFrontiers::read_logs() {
    for (int slot = 0; slot < log_slots; ++slot) {
        std::ifstream file(log_path(slot), std::ios::binary);
        const std::string text{std::istreambuf_iterator<char>(file), {}};
        constexpr std::size_t number = sizeof(std::uint64_t);
        if (text.size() < number || (text.size() - number) % (number + row_bytes_) != 0) continue;
        std::uint64_t sum = 0;
        std::memcpy(&sum, text.data() + text.size() - number, number);
        if (sum != checksum(text.data(), text.size() - number)) continue;
        for (std::size_t at = 0; at + number < text.size(); at += number + row_bytes_) {
            std::uint64_t n = 0;
            std::memcpy(&n, text.data() + at, number);
            const auto *rows = reinterpret_cast<const std::byte *>(text.data() + at + number);
            // A pass that was logged and not committed will be logged again.
            if (n <= iterations_) logged_[n].assign(rows, rows + row_bytes_);
        }
    }
    return Done{};
}

void MpiFrontiers::post(int to, int tag, std::uint64_t iteration, const std::byte *rows) {
    Letter letter{to, tag, std::vector<std::byte>(sizeof iteration), MPI_REQUEST_NULL};
    std::memcpy(letter.bytes.data(), &iteration, sizeof iteration);
    if (rows) letter.bytes.insert(letter.bytes.end(), rows, rows + row_bytes_);
    const std::lock_guard lock(mutex_);
    outbox_.push_back(std::move(letter));
}

void MpiFrontiers::carry() {
    std::deque<Letter> under_way;
    // Who has sent everything goes on receiving until all have: nobody sends to one who left.
    MPI_Request all_done = MPI_REQUEST_NULL;
    bool leaving = false;
    for (;;) {
        {
            const std::lock_guard lock(mutex_);
            if (abandoned_) return;
        }
        const bool sent = send_waiting(under_way);
        const bool received = receive_one();
        if (!leaving) {
            const std::lock_guard lock(mutex_);
            leaving = closing_ && outbox_.empty() && under_way.empty();
            if (leaving) MPI_Ibarrier(comm_, &all_done);
        } else {
            int left = 0;
            MPI_Test(&all_done, &left, MPI_STATUS_IGNORE);
            if (left) return;
        }
        if (!sent && !received) std::this_thread::sleep_for(rest);
    }
}

bool MpiFrontiers::send_waiting(std::deque<Letter>& under_way) {
    bool moved = false;
    for (;;) {
        Letter letter;
        {
            const std::lock_guard lock(mutex_);
            if (outbox_.empty()) break;
            letter = std::move(outbox_.front());
            outbox_.pop_front();
        }
        under_way.push_back(std::move(letter));
        auto& kept = under_way.back();
        MPI_Isend(kept.bytes.data(), static_cast<int>(kept.bytes.size()), MPI_BYTE, kept.to,
                  kept.tag, comm_, &kept.request);
        moved = true;
    }
    while (!under_way.empty()) {
        int done = 0;
        MPI_Test(&under_way.front().request, &done, MPI_STATUS_IGNORE);
        if (!done) break;
        under_way.pop_front();
        moved = true;
    }
    return moved;
}

bool MpiFrontiers::receive_one() {
    int there = 0;
    MPI_Message message;
    MPI_Status status;
    MPI_Improbe(MPI_ANY_SOURCE, MPI_ANY_TAG, comm_, &there, &message, &status);
    if (!there) return false;
    int size = 0;
    MPI_Get_count(&status, MPI_BYTE, &size);
    std::vector<std::byte> bytes(static_cast<std::size_t>(size));
    MPI_Mrecv(bytes.data(), size, MPI_BYTE, &message, MPI_STATUS_IGNORE);
    std::uint64_t iteration = 0;
    std::memcpy(&iteration, bytes.data(), sizeof iteration);
    bytes.erase(bytes.begin(), bytes.begin() + sizeof iteration);
    std::function<void()> news;
    {
        const std::lock_guard lock(mutex_);
        if (status.MPI_TAG == tag_committed)
            upper_committed_ = std::max(upper_committed_, iteration);
        else
            come_[index(status.MPI_TAG == tag_from_above ? Side::upper : Side::lower)][iteration] =
                std::move(bytes);
        if (news_) news_();
    }
    changed_.notify_all();
    return true;
}

}  // namespace lanewise::wavefront
