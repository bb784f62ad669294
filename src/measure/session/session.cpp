// SPDX-License-Identifier: BSD-3-Clause
//
// See session.hpp. What is measured in one go is a task: a group of points of
// operations, or all pairings at one size.

#include "measure/session/session.hpp"

#include <mpi.h>

#include <memory>

#include "base/json_lines.hpp"
#include "base/quantities.hpp"
#include "base/sizes.hpp"
#include "measure/bench.hpp"
#include "measure/curve.hpp"
#include "measure/round_trips.hpp"
#include "measure/session/availability.hpp"
#include "measure/session/output.hpp"
#include "measure/session/records.hpp"
#include "measure/validate.hpp"

namespace lanewise::measure::session {
namespace {

using measure::Bench;
using measure::Measured;
using measure::Point;

struct Free {
    void operator()(lw_operation *operation) const { lw_operation_free(operation); }
};
using Operation = std::unique_ptr<lw_operation, Free>;

struct Session {
    const Arguments& arguments;
    Bench& bench;
    Output& output;
    std::set<std::string> done; /* tasks of the file that is resumed */
    std::size_t points = 0;     /* of the whole run */
    std::size_t next = 0;       /* number of the next point to be printed */
    std::size_t before = 0;     /* points of the file that is resumed */
    Outcome written = Done{};
};

Result<std::vector<Operation>> make_operations(const Arguments& arguments) {
    std::vector<Operation> operations;
    for (const auto& name : arguments.operations) {
        lw_operation *operation = nullptr;
        const auto status = lw_operation_named(name.c_str(), &operation);
        if (status == LW_ERR_UNSUPPORTED)
            return Failure{status, name + " needs " + measure::find_entry(name)->lacks +
                                       ", which this MPI lacks; leave it out"};
        if (status != LW_OK) return Failure{status, name + ": " + lw_status_text(status)};
        operations.emplace_back(operation);
        if (operation->entry->messages) lw_operation_window(operation, arguments.window);
    }
    for (const auto& library : arguments.libraries) {
        char text[512] = "";
        lw_operation *operation = nullptr;
        const auto status = lw_operation_load(library.c_str(), text, sizeof text, &operation);
        if (status != LW_OK) return Failure{status, text};
        operations.emplace_back(operation);
    }
    for (const auto& operation : operations) {
        if (arguments.weights.empty()) break;
        const auto status = lw_operation_weights(operation.get(), arguments.weights.data(),
                                                 arguments.weights.size());
        if (status != LW_OK)
            return Failure{status, operation->name +
                                       " takes no such weights; they are numbers "
                                       "from 0 up, for v-operations"};
    }
    return operations;
}

std::size_t count_points(const Arguments& arguments, const std::vector<Operation>& operations,
                         int ranks) {
    if (arguments.subject == Subject::clock) return 0;
    if (arguments.subject == Subject::polling || arguments.subject == Subject::post_work_wait)
        return availability_records(arguments);
    if (arguments.subject == Subject::pair_rounds)
        return arguments.sizes_bytes.size() *
               task_points(arguments.round_trip->name, static_cast<std::size_t>(ranks));
    std::size_t points = 0;
    std::string note;
    for (const auto& operation : operations) {
        points += sizes_of(arguments, operation->name, ranks, note).size();
    }
    return arguments.definition ? 2 * points : points;
}

// The same on all ranks.
Outcome outcome_of_rank_0(const Bench& bench, const Outcome& outcome) {
    int status = outcome ? LW_OK : outcome.failure().status;
    bench.harness().broadcast_value(status);
    if (status == LW_OK) return Done{};
    if (!outcome) return outcome;
    return Failure{static_cast<lw_status>(status), ""};
}

void keep(Session& session, std::size_t index, const std::string& operation,
          const Measured& measured, const Definition *definition = nullptr) {
    if (session.bench.harness().rank() != 0 || !session.written) return;
    session.written = session.output.point(
        index, point_record(operation, session.arguments.launch, measured, definition));
}

// An operation at one size: isolated, and by the loop of another tool where one is asked for.
std::vector<Point> points_of(const Arguments& arguments, const lw_operation& operation,
                             std::uint64_t bytes) {
    std::vector<Point> points = {{&operation, arguments.root, bytes}};
    if (arguments.definition)
        points.push_back(
            {&operation, arguments.root, bytes, arguments.definition->loop_of(operation.name)});
    return points;
}

// Where that is asked for; a loop calls what is also measured in isolation.
Outcome validate_points(const Session& session, const std::vector<Point>& points) {
    for (const auto& point : points) {
        if (!session.arguments.validate || point.loop) continue;
        const auto valid =
            measure::validate(session.bench.harness(), *point.operation, point.root,
                              point.message_bytes, session.arguments.options.buffers);
        if (!valid) return valid;
    }
    return Done{};
}

Outcome measure_operations(Session& session, const std::vector<Operation>& operations) {
    const auto& arguments = session.arguments;
    const int ranks = session.bench.harness().size();
    std::vector<Point> points;
    for (const auto& operation : operations) {
        std::string note;
        for (const auto bytes : sizes_of(arguments, operation->name, ranks, note)) {
            for (const auto& point : points_of(arguments, *operation, bytes)) {
                const auto *as = point.loop ? arguments.definition->name : "";
                if (session.done.contains(task_key(operation->name, bytes, as))) continue;
                points.push_back(point);
            }
        }
        if (!note.empty() && session.bench.harness().rank() == 0) session.output.warning(note);
    }
    const auto valid = validate_points(session, points);
    if (!valid) return valid;
    const auto measured =
        session.bench.measure(points, [&](std::size_t index, const Measured& result) {
            const auto& point = points[index];
            keep(session, session.next + index, point.operation->name, result,
                 point.loop ? arguments.definition : nullptr);
        });
    session.next += points.size();
    if (!measured) return measured.failure();
    return outcome_of_rank_0(session.bench, session.written);
}

Outcome measure_curves(Session& session, const std::vector<Operation>& operations) {
    const auto& arguments = session.arguments;
    for (const auto& operation : operations) {
        std::string note;
        const int ranks = session.bench.harness().size();
        measure::Curve curve(sizes_of(arguments, operation->name, ranks, note),
                             arguments.stride_bytes_min, arguments.tolerance);
        while (!curve.wanted().empty()) {
            std::vector<Point> points;
            for (const auto bytes : curve.wanted()) {
                points.push_back({operation.get(), arguments.root, bytes});
            }
            const auto valid = validate_points(session, points);
            if (!valid) return valid;
            const auto wave = session.bench.measure(points);
            if (!wave) return wave.failure();
            std::vector<double> medians_s;
            for (const auto& measured : *wave) {
                medians_s.push_back(measured.point.median_s);
                keep(session, session.next++, operation->name, measured);
            }
            curve.add(medians_s);
        }
    }
    return outcome_of_rank_0(session.bench, session.written);
}

Outcome measure_pair_rounds(Session& session) {
    const auto& arguments = session.arguments;
    const auto& round_trip = *arguments.round_trip;
    const std::string name = round_trip.name;
    const int ranks = session.bench.harness().size();
    auto rounds = measure::rounds_of(round_trip, ranks);
    if (rounds.empty())
        return Failure{LW_ERR_ARGUMENT, name + " need more than " + std::to_string(ranks) +
                                            " ranks; start at least " +
                                            std::to_string(round_trip.peers + 1)};
    if (arguments.order == LW_ORDER_SEQUENTIAL) rounds = measure::one_by_one(rounds);
    for (const auto bytes : arguments.sizes_bytes) {
        if (session.done.contains(task_key(name, bytes))) continue;
        const auto reply = arguments.reply == "same" ? bytes : *parse_size(arguments.reply);
        const auto measured = measure::measure_pair_rounds(
            session.bench, {rounds, bytes, round_trip.answers ? reply : 0, &round_trip});
        if (!measured) return measured.failure();
        for (const auto& pairing : *measured) keep(session, session.next++, name, pairing);
    }
    return outcome_of_rank_0(session.bench, session.written);
}

Outcome measure_clock(Session& session) {
    lw_clock_report report = LW_CLOCK_REPORT;
    const auto status = lw_measure_clock(MPI_COMM_WORLD, session.arguments.wait_s,
                                         &session.bench.options(), &report);
    if (status != LW_OK) return Failure{status, "the clocks could not be synchronised"};
    if (session.bench.harness().rank() == 0)
        session.written = session.output.other(clock_record(report), "clock");
    return outcome_of_rank_0(session.bench, session.written);
}

// Opens the file on rank 0 and learns which tasks it holds already.
Outcome open_file(Session& session) {
    const auto& arguments = session.arguments;
    const auto context = context_record(arguments, session.bench);
    Outcome opened = Done{};
    std::string tasks;
    if (session.bench.harness().rank() == 0) {
        opened = [&]() -> Outcome {
            session.output.begin(session.points, context, arguments.output);
            if (arguments.output.empty()) return Done{};
            const bool resumes = arguments.resume && has_lines_to_resume(arguments.output);
            Unfinished before;
            if (resumes) {
                const auto unfinished =
                    read_unfinished(arguments.output, context, arguments.launch);
                if (!unfinished) return unfinished.failure();
                before = *unfinished;
            }
            if (before.truncated)
                session.output.warning(arguments.output +
                                       " ended within a line; that point is measured again");
            const bool fresh = before.keep_bytes == 0;
            auto writer = resumes ? JsonLinesWriter::resume(arguments.output, before.keep_bytes)
                                  : JsonLinesWriter::create(arguments.output);
            if (!writer) return writer.failure();
            if (fresh) {
                const auto written = writer->write(context);
                if (!written) return written;
            }
            session.output.keep_in(std::move(*writer));
            session.before = before.points;
            for (const auto& task : before.tasks) tasks += task + '\n';
            return Done{};
        }();
    }
    const auto agreed = outcome_of_rank_0(session.bench, opened);
    if (!agreed) return agreed;
    auto length = tasks.size();
    session.bench.harness().broadcast_value(length);
    tasks.resize(length);
    session.bench.harness().broadcast(std::as_writable_bytes(std::span(tasks)));
    for (std::size_t at = 0; at < tasks.size();) {
        const auto end = tasks.find('\n', at);
        session.done.insert(tasks.substr(at, end - at));
        at = end + 1;
    }
    return Done{};
}

Outcome admit_everything(Session& session, const std::vector<Operation>& operations) {
    std::vector<Point> points;
    for (const auto& operation : operations) {
        std::string note;
        const int ranks = session.bench.harness().size();
        const auto sizes = sizes_of(session.arguments, operation->name, ranks, note);
        if (sizes.empty()) return Failure{LW_ERR_ARGUMENT, note + "; none is left"};
        for (const auto bytes : sizes) {
            for (const auto& point : points_of(session.arguments, *operation, bytes)) {
                points.push_back(point);
            }
        }
    }
    return session.bench.prepare(points);
}

Outcome measure_subject(Session& session, const std::vector<Operation>& operations) {
    switch (session.arguments.subject) {
        case Subject::clock: return measure_clock(session);
        case Subject::pair_rounds: return measure_pair_rounds(session);
        case Subject::polling:
            return outcome_of_rank_0(session.bench, measure_polling(session.arguments, session.done,
                                                                    session.bench, session.output));
        case Subject::post_work_wait:
            return outcome_of_rank_0(session.bench,
                                     measure_post_work_wait(session.arguments, session.done,
                                                            session.bench, session.output));
        case Subject::operations: break;
    }
    return session.arguments.tolerance > 0.0 ? measure_curves(session, operations)
                                             : measure_operations(session, operations);
}

}  // namespace

Result<std::string> describe_plan(const Arguments& arguments) {
    const auto operations = make_operations(arguments);
    if (!operations) return operations.failure();
    const int ranks = std::max(arguments.ranks_expected, 1);
    Json names = Json::array();
    Json notes = Json::array();
    Json sizes_bytes_of = Json::object();
    for (const auto& operation : *operations) {
        names.push_back(operation->name);
        const bool is_timed = !arguments.definition && arguments.ranks_expected > 0;
        const auto timed =
            is_timed ? Bench::admit_timing(*operation, arguments.options, ranks) : Outcome(Done{});
        if (!timed) return timed.failure();
        std::string note;
        const auto sizes_bytes = sizes_of(arguments, operation->name, ranks, note);
        if (sizes_bytes.empty()) return Failure{LW_ERR_ARGUMENT, note + "; none is left"};
        sizes_bytes_of[operation->name] = sizes_bytes;
        if (!note.empty()) notes.push_back(note);
    }
    if (arguments.ranks_expected > 0 && arguments.root >= arguments.ranks_expected)
        return Failure{LW_ERR_ARGUMENT, "root " + std::to_string(arguments.root) +
                                            " is outside the communicator of " +
                                            counted(static_cast<std::uint64_t>(ranks), "rank") +
                                            "; ranks count from 0"};
    return Json{{"points", count_points(arguments, *operations, ranks)},
                {"operations", names},
                {"sizes_bytes", arguments.sizes_bytes},
                {"sizes_bytes_of", sizes_bytes_of},
                {"how", how_measured(arguments)},
                {"resync_s", arguments.options.resync_s},
                {"mpi", mpi_record()},
                {"notes", notes}}
        .dump();
}

Outcome run_session(const Arguments& arguments) {
    const auto operations = make_operations(arguments);
    if (!operations) return operations.failure();
    auto options = arguments.options;
    int rank = 0;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    options.skew_offset_s *= rank;
    options.skew_drift *= rank == 0 ? 0.0 : (rank % 2 == 0 ? -1.0 : 1.0);
    // The next launch takes the points in another order: what carries over from one to the next is
    // then not the same in all launches.
    options.seed += static_cast<std::uint64_t>(arguments.launch - 1);
    Bench bench(MPI_COMM_WORLD, options);
    Output output(arguments.events);
    Session session{arguments, bench, output, {}, 0, 0, 0, Done{}};
    session.points = count_points(arguments, *operations, bench.harness().size());
    const auto usable =
        outcome_of_rank_0(bench, rank == 0 ? check_output(arguments) : Outcome(Done{}));
    if (!usable) return usable;

    // Synchronising clocks is part of what a method costs.
    const double begin_s = bench.clock().now_s();
    const auto admitted = admit_everything(session, *operations);
    if (!admitted) return admitted;
    const auto opened = open_file(session);
    if (!opened) return opened;
    const auto measured = measure_subject(session, *operations);
    if (!measured) return measured;
    const double elapsed_s = bench.clock().now_s() - begin_s;
    if (rank == 0) session.written = output.end(session.before + session.next, elapsed_s);
    return outcome_of_rank_0(bench, session.written);
}

}  // namespace lanewise::measure::session
