// SPDX-License-Identifier: BSD-3-Clause

#include "wavefront/store/manifest.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>

#include "base/file.hpp"
#include "base/json.hpp"
#include "base/json_object.hpp"
#include "wavefront/store/checksum.hpp"

namespace lanewise::wavefront {

Failure system_failure(const std::string& doing, const std::string& path) {
    const int error = errno;
    return {LW_ERR_IO,
            "cannot " + doing + " " + path + ": " + std::strerror(error) + free_space_there(error)};
}

namespace {

constexpr const char *schema_name = "lanewise-wavefront-store";
constexpr int schema_version = 1;
constexpr const char *checksum_key = "checksum";

Json run_json(const RunEntry& run, Dimensions dimensions) {
    Json json = {{"kernel", run.kernel},
                 {"parameters", run.parameters},
                 {"iterations_wanted", run.iterations_wanted},
                 {"tolerance", has_tolerance(run.tolerance) ? Json(run.tolerance) : Json(nullptr)}};
    // Only where there is one: readers of before the key was there refuse it.
    if (run.course)
        json["course"] = {{"directions", directions_text(run.course->directions)},
                          {"first_iteration", run.course->first_iteration},
                          {"still_iterations", run.course->still_iterations}};
    if (run.pause)
        json["pause"] = {{"until", run.pause->until},
                         {"every", run.pause->every},
                         {"first", run.pause->first ? Json(*run.pause->first) : Json(nullptr)}};
    if (run.pause && run.pause->pending) json["pause"]["pending"] = true;
    if (run.pause && !run.pause->snapshots.empty())
        json["pause"]["snapshots"] = run.pause->snapshots;
    if (!are_fixed(run.borders)) json["borders"] = borders_text(run.borders, dimensions);
    return json;
}

Json part_json(const PartEntry& part) {
    return {{"rank", part.rank},
            {"ranks", part.ranks},
            {"halo_rows", part.halo_rows},
            {"waves", part.waves}};
}

std::vector<MatrixEntry> read_matrices(JsonObject& top) {
    std::vector<MatrixEntry> matrices;
    top.each("matrices", [&](JsonObject& item) {
        const auto generation = item.string("generation");
        if (generation != "a" && generation != "b")
            item.refuse("generation", "is \"" + generation + "\", neither a nor b");
        matrices.push_back({item.string("name"), generation[0], item.string("sums")});
    });
    return matrices;
}

std::vector<VectorEntry> read_vectors(JsonObject& top, const char *key) {
    std::vector<VectorEntry> vectors;
    if (!top.has(key)) return vectors;
    top.each(key, [&](JsonObject& item) {
        const auto sum = item.string("sum");
        // It is a part of the name of a file.
        if (!sum.empty() && !is_checksum(sum))
            item.refuse("sum", "is \"" + sum + "\", not 16 hexadecimal digits");
        vectors.push_back({item.string("name"), sum});
    });
    return vectors;
}

Json vectors_json(const std::vector<VectorEntry>& vectors, std::size_t first, std::size_t count) {
    Json json = Json::array();
    for (std::size_t v = first; v < first + count; ++v)
        json.push_back({{"name", vectors[v].name}, {"sum", vectors[v].sum}});
    return json;
}

/* What a check of ours says, as a refusal of the file. */
template <typename Value>
Value accept(const JsonObject& from, const Result<Value>& checked) {
    if (!checked) from.refuse(checked.failure().sentence);
    return *checked;
}

MatrixShape read_shape(JsonObject& top) {
    if (const auto order = top.string("byte_order"); order != "little")
        top.refuse("byte_order", "is \"" + order + "\", not \"little\"");
    const MatrixShape shape{
        .rows = top.count<std::uint64_t>("rows"),
        .columns = top.count<std::uint64_t>("columns"),
        .data_count = top.count<std::uint32_t>("data_count"),
        .coefficient_count = top.count<std::uint32_t>("coefficient_count"),
        .element = accept(top, element_named(top.string("element"))),
        .layout = accept(top, layout_named(top.string("layout"))),
        .strip_rows = top.count<std::uint64_t>("strip_rows"),
        // Stores from before there were tiles do not say.
        .tile_columns =
            top.has("tile_columns") ? top.count<std::uint64_t>("tile_columns") : std::uint64_t{0},
        .line_columns =
            top.has("line_columns") ? top.count<std::uint64_t>("line_columns") : std::uint64_t{0}};
    accept(top, check_shape(shape));
    return shape;
}

KernelEntry read_kernel(JsonObject& kernel) {
    return {kernel.string("name"), kernel.numbers("parameters")};
}

CourseEntry read_course(JsonObject& course) {
    return {.directions = accept(course, parse_directions(course.string("directions"))),
            .first_iteration = course.count<std::uint64_t>("first_iteration"),
            .still_iterations = course.count<std::uint64_t>("still_iterations")};
}

PauseEntry read_pause(JsonObject& pause) {
    PauseEntry entry{.until = pause.string("until"), .every = pause.count<std::uint64_t>("every")};
    if (entry.every < 1) pause.refuse("every", "is 0, not 1 or more");
    if (!pause.is_null("first")) entry.first = pause.number("first");
    if (pause.has("pending")) entry.pending = pause.boolean("pending");
    if (pause.has("snapshots")) entry.snapshots = pause.string("snapshots");
    return entry;
}

RunEntry read_run(JsonObject& run, Dimensions dimensions) {
    RunEntry entry{run.string("kernel"), run.numbers("parameters"),
                   run.count<std::uint64_t>("iterations_wanted"),
                   run.is_null("tolerance") ? no_tolerance : run.number("tolerance")};
    if (run.has("course")) entry.course = run.object("course", read_course);
    if (run.has("pause")) entry.pause = run.object("pause", read_pause);
    if (run.has("borders"))
        entry.borders = accept(run, parse_borders(run.string("borders"), dimensions));
    return entry;
}

PartEntry read_part(JsonObject& part) {
    return {part.count<std::uint64_t>("rank"), part.count<std::uint64_t>("ranks"),
            part.count<std::uint64_t>("halo_rows"), part.count<std::uint64_t>("waves")};
}

/* Of all that the manifest says but this. */
std::string checksum_of(Json json) {
    json.erase(checksum_key);
    const auto text = json_text(json);
    return checksum_text(checksum(text.data(), text.size()));
}

Manifest read_whole(JsonObject& top) {
    top.expect_schema(schema_name, schema_version);
    if (top.has(checksum_key)) top.string(checksum_key);
    Manifest manifest;
    manifest.shape = read_shape(top);
    manifest.iterations = top.count<std::uint64_t>("iterations");
    manifest.disks = top.strings("disks");
    if (manifest.disks.empty()) top.refuse("disks", "names no disk");
    if (top.has("id")) manifest.id = top.string("id");
    manifest.matrices = read_matrices(top);
    if (manifest.matrices.size() != manifest.shape.matrix_count())
        top.refuse("lists " + std::to_string(manifest.matrices.size()) + " matrices and counts " +
                   std::to_string(manifest.shape.matrix_count()));
    const auto by_row = read_vectors(top, "row_coefficients");
    const auto by_column = read_vectors(top, "column_coefficients");
    manifest.shape.row_coefficient_count = static_cast<std::uint32_t>(by_row.size());
    manifest.shape.column_coefficient_count = static_cast<std::uint32_t>(by_column.size());
    accept(top, check_shape(manifest.shape));
    manifest.vectors = by_row;
    manifest.vectors.insert(manifest.vectors.end(), by_column.begin(), by_column.end());
    accept(top, check_names(manifest.shape, names_of(manifest)));
    const auto dimensions = dimensions_of(manifest.shape);
    if (!top.is_null("run"))
        manifest.run =
            top.object("run", [&](JsonObject& run) { return read_run(run, dimensions); });
    if (top.has("kernel") && !top.is_null("kernel"))
        manifest.kernel = top.object("kernel", read_kernel);
    // Stores from before there were parts are whole.
    if (top.has("part") && !top.is_null("part")) manifest.part = top.object("part", read_part);
    return manifest;
}

}  // namespace

std::string description_of(const Manifest& manifest) {
    const auto& shape = manifest.shape;
    std::string names;
    for (const auto& name : names_of(manifest)) names += (names.empty() ? "" : ", ") + name;
    return names + ": " + std::to_string(shape.data_count) + " with data, " +
           std::to_string(shape.columns) + " columns of " + element_name(shape.element) +
           (shape.line_columns ? " in lines of " + std::to_string(shape.line_columns) : "");
}

std::string description_of(const RunEntry& run, Dimensions dimensions) {
    auto alike = run;
    alike.iterations_wanted = 0;
    alike.borders.top = BorderKind::fixed;
    alike.borders.bottom = BorderKind::fixed;
    if (alike.course) alike.course->still_iterations = 0;
    return run_json(alike, dimensions).dump();
}

bool is_unfinished(const Manifest& manifest) {
    const auto& run = manifest.run;
    if (!run) return false;
    return manifest.iterations < run->iterations_wanted || (run->pause && run->pause->pending);
}

std::vector<std::string> names_of(const Manifest& manifest) {
    std::vector<std::string> names;
    for (const auto& matrix : manifest.matrices) names.push_back(matrix.name);
    for (const auto& vector : manifest.vectors) names.push_back(vector.name);
    return names;
}

Outcome check_names(const MatrixShape& shape, const std::vector<std::string>& names) {
    if (names.size() != shape.number_count())
        return Failure{
            LW_ERR_ARGUMENT,
            std::to_string(names.size()) + " names for " + std::to_string(shape.matrix_count()) +
                " matrices" +
                (shape.vector_count() ? " and " + std::to_string(shape.vector_count()) + " vectors"
                                      : "")};
    for (const auto& name : names) {
        const bool sound = !name.empty() && std::all_of(name.begin(), name.end(), [](char c) {
            return std::isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '-';
        });
        if (!sound || std::count(names.begin(), names.end(), name) > 1)
            return Failure{LW_ERR_ARGUMENT, "matrix name \"" + name +
                                                "\" is not of letters and digits, or stands twice"};
    }
    return Done{};
}

Json to_json(const Manifest& manifest) {
    const auto& shape = manifest.shape;
    Json matrices = Json::array();
    for (const auto& entry : manifest.matrices)
        matrices.push_back({{"name", entry.name},
                            {"generation", std::string(1, entry.generation)},
                            {"sums", entry.sums}});
    Json json = {
        {"schema", schema_name},
        {"version", schema_version},
        {checksum_key, ""},
        {"rows", shape.rows},
        {"columns", shape.columns},
        {"data_count", shape.data_count},
        {"coefficient_count", shape.coefficient_count},
        {"element", element_name(shape.element)},
        {"byte_order", "little"},
        {"layout", shape.layout->name},
        {"strip_rows", shape.strip_rows},
        {"tile_columns", shape.tile_columns},
        {"iterations", manifest.iterations},
        {"disks", manifest.disks},
        {"matrices", matrices},
        {"run", manifest.run ? run_json(*manifest.run, dimensions_of(shape)) : Json(nullptr)},
        {"part", manifest.part ? part_json(*manifest.part) : Json(nullptr)}};
    // Only where there is one: readers of before the key was there refuse it.
    if (shape.line_columns) json["line_columns"] = shape.line_columns;
    if (shape.row_coefficient_count)
        json["row_coefficients"] = vectors_json(manifest.vectors, 0, shape.row_coefficient_count);
    if (shape.column_coefficient_count)
        json["column_coefficients"] = vectors_json(manifest.vectors, shape.row_coefficient_count,
                                                   shape.column_coefficient_count);
    if (!manifest.id.empty()) json["id"] = manifest.id;
    if (manifest.kernel)
        json["kernel"] = {{"name", manifest.kernel->name},
                          {"parameters", manifest.kernel->parameters}};
    json[checksum_key] = checksum_of(json);
    return json;
}

Result<Manifest> manifest_from(const Json& json, const std::string& path) {
    const auto manifest = read_json_object(json, {path, ""}, read_whole);
    if (!manifest) return Failure{LW_ERR_IO, manifest.failure().sentence};
    // Stores from before manifests had a checksum, and those that somebody has edited, have none.
    if (json.contains(checksum_key) && json[checksum_key] != checksum_of(json))
        return Failure{LW_ERR_IO, path +
                                      " does not match its checksum; put a copy of it "
                                      "back, or remove the line \"checksum\" if the rest is right"};
    return manifest;
}

Result<Manifest> read_manifest(const std::string& folder, const char *name) {
    const auto path = folder + "/" + name;
    const auto text = read_file(path);
    if (!text && text.failure().status != LW_ERR_NOT_FOUND) return text.failure();
    if (!text)
        return Failure{LW_ERR_NOT_FOUND, folder + " is not a wavefront store: it has no " + name +
                                             "; lanewise wavefront create makes one"};
    const auto json = read_json(*text);
    if (!json)
        return Failure{LW_ERR_IO,
                       path + ": " + json.failure().sentence + "; put a copy of it back"};
    return manifest_from(*json, path);
}

Outcome sync_folder(const std::string& path) {
    const int folder = ::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (folder < 0) return system_failure("open", path);
    const int status = ::fsync(folder);
    const auto failure = system_failure("sync", path);
    // Some file systems keep names without being asked, and say so by refusing.
    const bool synced = status == 0 || errno == EINVAL;
    ::close(folder);
    return synced ? Outcome(Done{}) : Outcome(failure);
}

Outcome replace_file(const std::string& path, const void *bytes, std::size_t size) {
    const auto beside = path + ".next";
    const int file = ::open(beside.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    if (file < 0) return system_failure("create", beside);
    const auto *at = static_cast<const char *>(bytes);
    while (size > 0) {
        const auto written = ::write(file, at, size);
        if (written < 0 && errno == EINTR) continue;
        if (written < 0) {
            const auto failure = system_failure("write", beside);
            ::close(file);
            ::unlink(beside.c_str());
            return failure;
        }
        at += written;
        size -= static_cast<std::size_t>(written);
    }
    const bool synced = ::fsync(file) == 0;
    const auto unsynced = system_failure("sync", beside);
    ::close(file);
    if (!synced || std::rename(beside.c_str(), path.c_str()) != 0) {
        const auto failure = synced ? system_failure("rename", beside) : unsynced;
        ::unlink(beside.c_str());
        return failure;
    }
    return sync_folder(std::filesystem::path(path).parent_path().string());
}

Outcome write_manifest(const std::string& folder, const Manifest& manifest, const char *name) {
    const auto text = to_json(manifest).dump(2) + "\n";
    return replace_file(folder + "/" + name, text.data(), text.size());
}

}  // namespace lanewise::wavefront
