// SPDX-License-Identifier: BSD-3-Clause
//
// The queue pairs of one device under protection, and the asynchronous thread (Vishnu et al. 2007,
// section 3.2 and figure 4): it sleeps until an event or a deadline of a machine, and then does
// what the machines say. It is the only reader of the device's asynchronous events; those that are
// not about paths it hands on. The lock is for control; nothing here is on the way of data.

#pragma once

#include <atomic>
#include <condition_variable>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <thread>
#include <utility>
#include <vector>

#include "base/migration_cause.hpp"
#include "paths/alternate.hpp"
#include "paths/device.hpp"
#include "paths/directory.hpp"
#include "paths/path_machine.hpp"

namespace lanewise::paths {

enum class NoticeKind : std::uint8_t {
    loaded,
    armed,
    migrated,
    refused,
    error,
    port_down,
    port_up,
};

struct Notice {
    NoticeKind kind = NoticeKind::loaded;
    ibv_qp *queue_pair = nullptr;    // null for notices of ports
    std::uint8_t port = 0;           // where it is now, or the port itself
    Nanoseconds at = 0;              // CLOCK_MONOTONIC
    std::optional<Failure> failure;  // why the thread was refused; a call returns it instead
    MigrationCause cause = MigrationCause::unknown;  // where the device tells
};

struct ProtectionOptions {
    MigrationRules rules;
    std::optional<Directory> directory;
    // Both without the lock; may be empty. By the thread, and by look().
    std::function<void(const Notice&)> notice;
    int shown_events = -1;  // the descriptor of events that the program sees; -1: the device's own
    // By the thread. False: acknowledge it at once.
    std::function<bool(const ibv_async_event&)> forward;
};

struct Snapshot {
    Communication communication = Communication::reset;
    PathState path = PathState::migrated;
    std::uint8_t port = 0;
    std::uint8_t alternate_port = 0;
    std::uint8_t home_port = 0;
    Nanoseconds since = 0;
    PathCounters counters;
};

class Protection {
  public:
    // A failure where no descriptor or no thread is left.
    static Result<std::unique_ptr<Protection>> open(ibv_context *context, const Calls& calls,
                                                    ProtectionOptions options);
    ~Protection();
    Protection(const Protection&) = delete;
    Protection& operator=(const Protection&) = delete;

    // The program has changed the state of a queue pair, which is watched from then on. A failure
    // where an alternate was due and could not be loaded.
    Outcome changed(ibv_qp *queue_pair);
    // Looks whether it is armed by now, and gives notice before it returns.
    void look(ibv_qp *queue_pair);
    // Before it is destroyed, or where the program migrates by itself. There are no notices about
    // it afterwards, nor events: waits for what is being given. Its counters stay in the sum.
    void forget(ibv_qp *queue_pair);

    // The three modules. `none`: choose.
    Outcome specify(ibv_qp *queue_pair, const std::optional<Alternate>& alternate);
    Outcome load(ibv_qp *queue_pair);
    Outcome migrate(ibv_qp *queue_pair);
    Result<Snapshot> query(ibv_qp *queue_pair);

    PathCounters sum();
    // At the end of the process: nothing if it ends in the middle of a call.
    PathCounters sum_at_end();
    std::size_t watched();
    // In the child of a fork, where there is no thread.
    void abandon();

  private:
    struct Watched {
        Machine machine;
        std::optional<Alternate> given;   // by the caller, for the next load
        std::optional<Alternate> chosen;  // loaded now
        Nanoseconds planned = never;      // its place in the agenda
    };

    Protection(ibv_context *context, const Calls& calls, ProtectionOptions options);
    Outcome start();
    PathCounters sum_of_all() const;
    void run();
    Nanoseconds next_wake();
    void perform_due();
    void plan(ibv_qp *queue_pair, Watched& watched);
    bool take_event();  // false where there is none
    void on_event(const ibv_async_event& event, Nanoseconds now);
    void on_path(ibv_qp *queue_pair, bool migrated, Nanoseconds now);
    void on_port(std::uint8_t port, bool up, Nanoseconds now);
    void on_addresses(Nanoseconds now);
    void on_failed(ibv_qp *queue_pair, Watched& watched, Nanoseconds now);
    void perform(ibv_qp *queue_pair, Watched& watched, Nanoseconds now);
    Outcome load_now(ibv_qp *queue_pair, Watched& watched, Nanoseconds now);
    Outcome load_as_told(ibv_qp *queue_pair, Watched& watched, Nanoseconds now);
    void load_as_due(ibv_qp *queue_pair, Watched& watched, Nanoseconds now);
    Outcome migrate_now(ibv_qp *queue_pair, Watched& watched, Nanoseconds now);
    void observe(ibv_qp *queue_pair, Watched& watched, Nanoseconds now);
    Result<Alternate> alternate_for(ibv_qp *queue_pair, const Watched& watched);
    Watched *find(ibv_qp *queue_pair);
    void read_device();
    void wake();
    MigrationCause cause_of_last(ibv_qp *queue_pair, const Watched& watched);
    void note(NoticeKind kind, ibv_qp *queue_pair, std::uint8_t port,
              std::optional<Failure> failure = {});
    void deliver_notices();
    bool is_delivering(const ibv_qp *queue_pair) const;

    ibv_context *context_;
    Calls calls_;
    ProtectionOptions options_;
    int events_;  // the device's descriptor of events
    int flags_;   // of that descriptor, as it was
    int wake_ = -1;
    std::mutex lock_;
    std::vector<Port> ports_;
    PortsUp up_{};
    std::map<ibv_qp *, Watched> watched_;
    std::set<std::pair<Nanoseconds, ibv_qp *>> deadlines_;  // by the deadlines of their machines
    Nanoseconds wakes_at_ = 0;                              // while the thread sleeps
    PathCounters past_counters_;
    std::vector<Notice> notices_;
    std::vector<Notice> delivering_;  // by `deliverer_`, without the lock
    std::size_t delivering_at_ = 0;
    std::thread::id deliverer_;
    const ibv_qp *forwarded_ = nullptr;  // whose event the thread hands on, without the lock
    std::condition_variable delivered_;
    std::atomic<bool> stop_{false};
    std::thread thread_;
};

PathCounters operator+(const PathCounters& a, const PathCounters& b);

}  // namespace lanewise::paths
