// SPDX-License-Identifier: BSD-3-Clause
//
// What becomes of one queue pair: its communication state and its path state (Vishnu et
// al. 2007, figure 2), and what to do next (figure 4): load an alternate, look whether it is armed,
// go back to the home port. Time and events go in, the next action and the next deadline come out.
//
// The first alternate is loaded when the queue pair can send, or where it stays one that only
// receives; not every device takes it there, and then it waits until it can send. After a migration
// the next one waits for `settle_ns`: a queue pair that is loaded says so in its packets, and a
// peer that has not followed yet would take these for strays. It also waits for a port that is up.
//
// Fail-back is the work of the side that knows why the home port was left: that saw it go down, or
// left it on command. The other side follows, as it did before. A return that does not last makes
// the next wait twice as long.

#pragma once

#include <array>
#include <cstdint>
#include <limits>

namespace lanewise::paths {

using Nanoseconds = std::int64_t;
inline constexpr Nanoseconds never = std::numeric_limits<Nanoseconds>::max();

// enum ibv_qp_state and enum ibv_mig_state.
enum class Communication : std::uint8_t { reset, init, rtr, rts, sqd, sqe, error };
enum class PathState : std::uint8_t { migrated, rearm, armed };

enum class Policy : std::uint8_t {
    stay,     // where a migration has led
    back,     // to the port it began on, once that has been up for failback_delay_ns
    balance,  // to a port by its number, so that queue pairs spread over the ports
};

// Whether a machine asks for loads and returns by itself, or leaves them to its caller.
enum class Initiative : std::uint8_t { automatic, manual };

struct MigrationRules {
    Policy policy = Policy::back;
    Initiative initiative = Initiative::automatic;
    Nanoseconds failback_delay_ns = 1'000'000'000;
    Nanoseconds settle_ns = 20'000'000;
};

enum class Action : std::uint8_t { none, load, query, migrate };

struct PathCounters {
    std::uint64_t loads = 0;
    std::uint64_t loads_refused = 0;
    std::uint64_t armed = 0;
    std::uint64_t migrations = 0;
    std::uint64_t commanded = 0;  // of the migrations, by this side
    std::uint64_t returns = 0;    // of the migrations, to the home port
    std::uint64_t errors = 0;     // PATH_MIG_ERR
};

inline constexpr std::size_t ports_max = 8;
// Whether each port is up, from port 1.
using PortsUp = std::array<bool, ports_max>;

class Machine {
  public:
    Machine(const MigrationRules& rules, const PortsUp& ports) : rules_(rules), ports_(ports) {}

    // The program changed the state of the queue pair; `port` is that of its primary path and
    // `home` the one that the policy wants.
    void on_communication(Communication state, std::uint8_t port, std::uint8_t home,
                          Nanoseconds now);
    // What became of Action::load; `port` is that of the alternate.
    void on_loaded(std::uint8_t port, Nanoseconds now);
    void on_load_refused(Nanoseconds now);
    // What became of Action::query.
    void on_observed(PathState state, Nanoseconds now);
    // A migration was asked for: by Action::migrate, or by the program.
    void on_commanded(Nanoseconds now);
    // The device could not do it.
    void on_command_refused(Nanoseconds now);
    void on_migrated(Nanoseconds now);
    void on_migration_error(Nanoseconds now);
    void on_port(std::uint8_t port, bool up, Nanoseconds now);
    // The addresses of the ports have changed.
    void on_addresses(Nanoseconds now);

    Action next(Nanoseconds now) const;
    // When next() will ask for something; not after `now` only where it does so now.
    Nanoseconds deadline() const;

    Communication communication() const { return communication_; }
    PathState path() const { return path_; }
    std::uint8_t port() const { return port_; }
    std::uint8_t alternate_port() const { return alternate_; }  // 0: none loaded
    std::uint8_t home() const { return home_; }
    Nanoseconds since() const { return since_; }
    // A migration that this side asked for is under way.
    bool is_commanded() const { return commanded_; }
    const PathCounters& counters() const { return counters_; }

  private:
    bool is_connected() const;
    void enter(PathState state, Nanoseconds now);
    bool up(std::uint8_t port) const;
    void plan_load(Nanoseconds at);
    void plan_query(Nanoseconds now);
    void plan_return(Nanoseconds now);

    MigrationRules rules_;
    PortsUp ports_;
    Communication communication_ = Communication::reset;
    PathState path_ = PathState::migrated;
    std::uint8_t port_ = 0;
    std::uint8_t alternate_ = 0;
    std::uint8_t home_ = 0;
    bool returns_ = false;  // this side brings it home
    bool commanded_ = false;
    Nanoseconds since_ = 0;
    Nanoseconds load_at_ = never;
    Nanoseconds query_at_ = never;
    Nanoseconds query_pause_ = 0;
    Nanoseconds return_at_ = never;
    Nanoseconds home_at_ = never;  // when it last came home
    Nanoseconds failback_delay_ = 0;
    PathCounters counters_;
};

}  // namespace lanewise::paths
