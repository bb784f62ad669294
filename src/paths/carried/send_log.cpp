// SPDX-License-Identifier: BSD-3-Clause

#include "paths/carried/send_log.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

namespace lanewise::paths::carried {

std::uint32_t SendLog::messages_of(const Request& request) const {
    if (request.operation == Operation::announced_write) return 2;
    if (request.operation != Operation::send || request.length_bytes == 0) return 1;
    return (request.length_bytes - 1) / payload_bytes_ + 1;
}

bool SendLog::has_ended(const Entry& entry) {
    return entry.done == entry.messages &&
           (entry.has_result || !is_atomic(entry.request.operation));
}

void SendLog::add(Request request) {
    Entry entry;
    entry.messages = messages_of(request);
    if (request.operation != Operation::read) {
        entry.first_number = last_number_ + 1;
        last_number_ += entry.messages;
    }
    const Operation operation = request.operation;
    entry.request = std::move(request);
    if (is_atomic(operation)) ++unanswered_;
    if (operation == Operation::result) {
        ++results_;
        insert_result(std::move(entry));
    } else {
        entries_.push_back(std::move(entry));
    }
}

// Before all that has not begun: what waits for a result itself would hold this one back, and the
// peer may wait for it in the same way.
void SendLog::insert_result(Entry result) {
    auto place = entries_.end();
    while (place != entries_.begin()) {
        const Entry& before = *std::prev(place);
        if (before.posted > 0 || before.request.operation == Operation::result) break;
        --place;
    }
    for (auto later = entries_.end(); later != place;) {
        --later;
        if (later->first_number == 0) continue;
        result.first_number = later->first_number;
        ++later->first_number;
    }
    entries_.insert(place, std::move(result));
}

// A fenced request starts when all reads and atomics before it have ended (ibv_post_send(3)). A
// read starts when all atomics have, since the hardware does not wait for the peer's processor,
// which executes them.
bool SendLog::may_start(std::uint64_t ordinal) const {
    const Entry& entry = at(ordinal);
    const bool is_fenced = entry.request.fenced;
    const bool waits = is_fenced || (entry.request.operation == Operation::read && unanswered_ > 0);
    if (!waits || entry.posted > 0) return true;
    for (std::uint64_t earlier = taken_; earlier < ordinal; ++earlier) {
        const Operation operation = at(earlier).request.operation;
        const bool counts = is_atomic(operation) || (is_fenced && operation == Operation::read);
        if (counts && !has_ended(at(earlier))) return false;
    }
    return true;
}

std::optional<Message> SendLog::next() const {
    if (cursor_ == taken_ + entries_.size() || !may_start(cursor_)) return std::nullopt;
    const Entry& entry = at(cursor_);
    const Request& request = entry.request;
    Message made;
    made.request = &request;
    made.is_last = entry.posted + 1 == entry.messages;
    if (request.operation == Operation::read) {
        made.kind = Message::Kind::read;
        made.length_bytes = request.length_bytes;
        return made;
    }
    made.number = entry.first_number + entry.posted;
    const bool writes =
        request.operation == Operation::write || request.operation == Operation::announced_write;
    if (writes && entry.posted == 0) {
        made.kind = Message::Kind::write;
        made.length_bytes = request.length_bytes;
    } else if (request.operation == Operation::send) {
        made.offset_bytes = entry.posted * payload_bytes_;
        made.length_bytes = std::min(payload_bytes_, request.length_bytes - made.offset_bytes);
    }
    return made;
}

void SendLog::on_posted() {
    Entry& entry = at(cursor_);
    ++entry.posted;
    in_flight_.push_back(cursor_);
    while (cursor_ < taken_ + entries_.size() && at(cursor_).posted == at(cursor_).messages) {
        ++cursor_;
    }
}

void SendLog::on_done() {
    if (in_flight_.empty()) return;
    ++at(in_flight_.front()).done;
    in_flight_.pop_front();
}

const Request *SendLog::awaiting_result() const {
    for (const Entry& entry : entries_) {
        if (is_atomic(entry.request.operation) && !entry.has_result) return &entry.request;
    }
    return nullptr;
}

std::uint64_t SendLog::place_awaiting_result() const {
    const auto waits = [](const Entry& entry) {
        return is_atomic(entry.request.operation) && !entry.has_result;
    };
    const auto found = std::find_if(entries_.begin(), entries_.end(), waits);
    return taken_ + static_cast<std::uint64_t>(found - entries_.begin());
}

void SendLog::on_result() {
    for (Entry& entry : entries_) {
        if (!is_atomic(entry.request.operation) || entry.has_result) continue;
        entry.has_result = true;
        --unanswered_;
        return;
    }
}

Request SendLog::take_first() {
    const Entry& first = entries_.front();
    if (is_atomic(first.request.operation) && !first.has_result) --unanswered_;
    Request request = std::move(entries_.front().request);
    entries_.pop_front();
    ++taken_;
    cursor_ = std::max(cursor_, taken_);
    if (request.operation == Operation::result) --results_;
    return request;
}

std::optional<Request> SendLog::take_ended() {
    if (entries_.empty() || !has_ended(entries_.front())) return std::nullopt;
    return take_first();
}

std::optional<Request> SendLog::take_failed() {
    if (entries_.empty()) return std::nullopt;
    in_flight_.clear();
    return take_first();
}

bool SendLog::restart(std::uint64_t received) {
    in_flight_.clear();
    if (received > last_number_) return false;
    for (Entry& entry : entries_) {
        if (entry.first_number > 0 && received >= entry.first_number) {
            const std::uint64_t executed = received - entry.first_number + 1;
            entry.done =
                static_cast<std::uint32_t>(std::min<std::uint64_t>(executed, entry.messages));
        } else if (entry.first_number > 0 && entry.done > 0) {
            return false;  // the hardware said that the peer had it
        }
        entry.posted = entry.done;
    }
    cursor_ = taken_;
    while (cursor_ < taken_ + entries_.size() && at(cursor_).posted == at(cursor_).messages) {
        ++cursor_;
    }
    return true;
}

}  // namespace lanewise::paths::carried
