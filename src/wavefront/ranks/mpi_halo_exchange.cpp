// SPDX-License-Identifier: BSD-3-Clause
//
// See mpi_frontiers.hpp.

#include "wavefront/ranks/mpi_halo_exchange.hpp"

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
// A log is kept for four passes: the one being written never takes the place of the last three.
// With one wave a pass a neighbour may be two passes behind, and wants what was before them.
constexpr int log_slots = 4;

std::size_t index(Side side) {
    return side == Side::upper ? 0 : 1;
}

// What every letter begins with.
struct Head {
    std::uint64_t epoch;
    std::uint64_t panel;
    std::uint64_t iteration;
};

}  // namespace

MpiFrontiers::MpiFrontiers(MPI_Comm comm, std::string folder, std::size_t row_bytes,
                           std::uint64_t iterations, Reading reading, Pace pace)
    : folder_(std::move(folder)),
      row_bytes_(row_bytes),
      iterations_(iterations),
      reading_(reading),
      pace_(pace),
      committed_(iterations) {
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

void MpiFrontiers::begin_together() {
    carrier_ = std::thread(&MpiFrontiers::carry, this);
}

Outcome MpiFrontiers::begin(const std::vector<std::byte>& first_rows,
                            const std::vector<std::byte>& last_rows) {
    const auto read = read_logs();
    if (!read) return read;
    carrier_ = std::thread(&MpiFrontiers::carry, this);
    if (has(Side::upper)) give(Side::upper, {iterations_}, first_rows);
    if (!has(Side::lower)) return Done{};
    give(Side::lower, {iterations_}, last_rows);
    for (auto n = first_wanted_by(Side::lower); n < iterations_; ++n) {
        const auto found = logged_.find(n);
        if (found == logged_.end())
            return Failure{LW_ERR_IO, folder_ + " lacks the frontier of iteration " +
                                          std::to_string(n) + ", which rank " +
                                          std::to_string(rank_ + 1) +
                                          " needs; restore all parts from copies"};
        post(rank_ + 1, tag_from_above, {n}, found->second);
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

// A neighbour that is a pass ahead has no use for what it had before.
std::uint64_t MpiFrontiers::first_wanted_by(Side side) const {
    const auto neighbour = side == Side::upper ? rank_ - 1 : rank_ + 1;
    const auto done = all_iterations_[static_cast<std::size_t>(neighbour)];
    const bool read_as_before = side == Side::upper || reading_ == Reading::previous;
    return read_as_before ? done : done + 1;
}

bool MpiFrontiers::ready(Side side, const Moment& moment) const {
    const std::lock_guard lock(mutex_);
    return come_[index(side)].count(key(moment)) > 0;
}

void MpiFrontiers::wait(Side side, const Moment& moment) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return come_[index(side)].count(key(moment)) > 0; });
}

std::vector<std::byte> MpiFrontiers::take(Side side, const Moment& moment) {
    const std::lock_guard lock(mutex_);
    auto& come = come_[index(side)];
    auto rows = std::move(come.at(key(moment)));
    come.erase(come.begin(), come.upper_bound(key(moment)));
    return rows;
}

void MpiFrontiers::give(Side side, const Moment& moment, const std::vector<std::byte>& rows) {
    if (pace_ == Pace::own) {
        const std::lock_guard lock(mutex_);
        given_[index(side)][moment.iteration] = rows;
    }
    if (moment.iteration < first_wanted_by(side)) return;
    if (side == Side::upper)
        post(rank_ - 1, tag_from_below, moment, rows);
    else
        post(rank_ + 1, tag_from_above, moment, rows);
}

void MpiFrontiers::call_on_arrival(std::function<void()> news) {
    const std::lock_guard lock(mutex_);
    news_ = std::move(news);
}

std::vector<double> MpiFrontiers::largest_changes(const std::vector<double>& changes) {
    std::unique_lock lock(mutex_);
    changes_ = changes;
    vote_ = Vote::cast;
    changed_.wait(lock, [&] { return vote_ == Vote::counted; });
    vote_ = Vote::none;
    return changes_;
}

// Every part has just told its changes, so none waits for what the thrown away pass would send.
void MpiFrontiers::begin_again() {
    Rows first;
    Rows last;
    {
        const std::lock_guard lock(mutex_);
        ++epoch_;
        first.swap(given_[index(Side::upper)]);
        last.swap(given_[index(Side::lower)]);
    }
    if (pace_ == Pace::together) return;
    if (has(Side::upper)) give(Side::upper, {committed_}, first.at(committed_));
    if (has(Side::lower)) give(Side::lower, {committed_}, last.at(committed_));
}

void MpiFrontiers::wait_for_all() {
    largest_changes({0.0});
}

Outcome MpiFrontiers::before_commit(std::uint64_t iterations) {
    if (pace_ == Pace::together) {
        wait_for_all();
        return Done{};
    }
    std::unique_lock lock(mutex_);
    if (rank_ > 0) changed_.wait(lock, [&] { return upper_committed_ >= iterations; });
    if (!has(Side::lower)) return Done{};
    std::vector<std::byte> text;
    const auto append = [&](const void *bytes, std::size_t size) {
        const auto *from = static_cast<const std::byte *>(bytes);
        text.insert(text.end(), from, from + size);
    };
    const auto& sent_down = given_[index(Side::lower)];
    for (const auto& [n, rows] : sent_down) {
        append(&n, sizeof n);
        append(rows.data(), rows.size());
    }
    const auto sum = checksum(text.data(), text.size());
    append(&sum, sizeof sum);
    const auto first = sent_down.begin()->first;
    lock.unlock();
    return replace_file(log_path(next_slot(first)), text.data(), text.size());
}

// That of the same pass, logged before a kill and not committed; else that of the oldest.
int MpiFrontiers::next_slot(std::uint64_t first) const {
    int oldest = 0;
    std::uint64_t least = ~std::uint64_t{0};
    for (int slot = 0; slot < log_slots; ++slot) {
        std::uint64_t begins = 0;
        std::ifstream file(log_path(slot), std::ios::binary);
        const bool there = bool(file.read(reinterpret_cast<char *>(&begins), sizeof begins));
        if (there && begins == first) return slot;
        if (there && begins >= least) continue;
        least = there ? begins : 0;
        oldest = slot;
    }
    return oldest;
}

void MpiFrontiers::after_commit(std::uint64_t iterations) {
    // The next pass overwrites what others would have to go back to.
    if (pace_ == Pace::together) return wait_for_all();
    {
        const std::lock_guard lock(mutex_);
        committed_ = iterations;
        for (auto& given : given_) given.erase(given.begin(), given.lower_bound(iterations));
    }
    if (has(Side::lower)) post(rank_ + 1, tag_committed, {iterations}, {});
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

void MpiFrontiers::post(int to, int tag, const Moment& moment, const std::vector<std::byte>& rows) {
    Letter letter{to, tag, std::vector<std::byte>(sizeof(Head)), MPI_REQUEST_NULL};
    letter.bytes.insert(letter.bytes.end(), rows.begin(), rows.end());
    const std::lock_guard lock(mutex_);
    const Head head{epoch_, moment.panel, moment.iteration};
    std::memcpy(letter.bytes.data(), &head, sizeof head);
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
        const bool counted = count_votes();
        if (!leaving) {
            const std::lock_guard lock(mutex_);
            leaving = closing_ && outbox_.empty() && under_way.empty();
            if (leaving) MPI_Ibarrier(comm_, &all_done);
        } else {
            int left = 0;
            MPI_Test(&all_done, &left, MPI_STATUS_IGNORE);
            if (left) return;
        }
        if (!sent && !received && !counted) std::this_thread::sleep_for(rest);
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

bool MpiFrontiers::count_votes() {
    {
        const std::lock_guard lock(mutex_);
        if (vote_ == Vote::cast) {
            MPI_Iallreduce(MPI_IN_PLACE, changes_.data(), static_cast<int>(changes_.size()),
                           MPI_DOUBLE, MPI_MAX, comm_, &counting_);
            vote_ = Vote::under_way;
        }
        if (vote_ != Vote::under_way) return false;
        int done = 0;
        MPI_Test(&counting_, &done, MPI_STATUS_IGNORE);
        if (!done) return false;
        vote_ = Vote::counted;
    }
    changed_.notify_all();
    return true;
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
    Head head{};
    std::memcpy(&head, bytes.data(), sizeof head);
    bytes.erase(bytes.begin(), bytes.begin() + sizeof head);
    {
        const std::lock_guard lock(mutex_);
        if (status.MPI_TAG == tag_committed)
            upper_committed_ = std::max(upper_committed_, head.iteration);
        else
            come_[index(status.MPI_TAG == tag_from_above ? Side::upper : Side::lower)]
                 [{head.epoch, head.panel, head.iteration}] = std::move(bytes);
        if (news_) news_();
    }
    changed_.notify_all();
    return true;
}

}  // namespace lanewise::wavefront
