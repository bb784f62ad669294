// SPDX-License-Identifier: BSD-3-Clause
//
// See manifest.hpp.

#include "wavefront/store/manifest.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>

namespace lanewise::wavefront {
namespace {

constexpr const char *schema_name = "lanewise-wavefront-store";
constexpr int schema_version = 1;

Failure damaged(const std::string& path, const std::string& what) {
    return {LW_ERR_IO, path + ": " + what};
}

Failure system_failure(const std::string& doing, const std::string& path) {
    return {LW_ERR_IO, "cannot " + doing + " " + path + ": " + std::strerror(errno)};
}

Outcome sync_path(const std::string& path, int flags) {
    const int file = ::open(path.c_str(), flags | O_CLOEXEC);
    if (file < 0) return system_failure("open", path);
    const int status = ::fsync(file);
    ::close(file);
    return status == 0 ? Outcome(Done{}) : Outcome(system_failure("sync", path));
}

Json run_json(const RunEntry& run) {
    return {{"kernel", run.kernel},
            {"parameters", run.parameters},
            {"iterations_wanted", run.iterations_wanted},
            {"tolerance", run.tolerance}};
}

Outcome check_keys(const Json& object, const std::set<std::string>& known, const std::string& path,
                   const std::set<std::string>& optional = {}) {
    if (!object.is_object()) return damaged(path, "not a JSON object where one belongs");
    for (const auto& [key, value] : object.items()) {
        if (!known.count(key) && !optional.count(key))
            return damaged(path, "unknown key \"" + key + "\"");
    }
    for (const auto& key : known) {
        if (!object.contains(key)) return damaged(path, "key \"" + key + "\" is missing");
    }
    return Done{};
}

Outcome read_matrices(const Json& list, const std::string& path, Manifest& manifest) {
    for (const auto& item : list) {
        const auto sound = check_keys(item, {"name", "generation", "sums"}, path);
        if (!sound) return sound;
        const auto generation = item["generation"].get<std::string>();
        if (generation != "a" && generation != "b")
            return damaged(path, "generation \"" + generation + "\" is neither a nor b");
        manifest.matrices.push_back(
            {item["name"].get<std::string>(), generation[0], item["sums"].get<std::string>()});
    }
    if (manifest.matrices.size() != manifest.shape.matrix_count())
        return damaged(path, "lists " + std::to_string(manifest.matrices.size()) +
                                 " matrices and counts " +
                                 std::to_string(manifest.shape.matrix_count()));
    return Done{};
}

Outcome read_shape(const Json& json, const std::string& path, MatrixShape& shape) {
    const auto element = element_named(json["element"].get<std::string>());
    const auto layout = layout_named(json["layout"].get<std::string>());
    if (!element) return damaged(path, element.failure().sentence);
    if (!layout) return damaged(path, layout.failure().sentence);
    if (json["byte_order"].get<std::string>() != "little")
        return damaged(path, "byte order " + json["byte_order"].dump() + " is not little");
    shape = {.rows = json["rows"].get<std::uint64_t>(),
             .columns = json["columns"].get<std::uint64_t>(),
             .data_count = json["data_count"].get<std::uint32_t>(),
             .coefficient_count = json["coefficient_count"].get<std::uint32_t>(),
             .element = *element,
             .layout = *layout,
             .strip_rows = json["strip_rows"].get<std::uint64_t>(),
             .tile_columns = json.value("tile_columns", std::uint64_t{0})};
    const auto sound = check_shape(shape);
    return sound ? Outcome(Done{}) : Outcome(damaged(path, sound.failure().sentence));
}

Outcome read_run(const Json& json, const std::string& path, Manifest& manifest) {
    if (json.is_null()) return Done{};
    const auto sound =
        check_keys(json, {"kernel", "parameters", "iterations_wanted", "tolerance"}, path);
    if (!sound) return sound;
    manifest.run =
        RunEntry{json["kernel"].get<std::string>(), json["parameters"].get<std::vector<double>>(),
                 json["iterations_wanted"].get<std::uint64_t>(), json["tolerance"].get<double>()};
    return Done{};
}

Outcome read_part(const Json& json, const std::string& path, Manifest& manifest) {
    if (json.is_null()) return Done{};
    const auto sound = check_keys(json, {"rank", "ranks", "halo_rows", "waves"}, path);
    if (!sound) return sound;
    manifest.part =
        PartEntry{json["rank"].get<std::uint64_t>(), json["ranks"].get<std::uint64_t>(),
                  json["halo_rows"].get<std::uint64_t>(), json["waves"].get<std::uint64_t>()};
    return Done{};
}

Json part_json(const PartEntry& part) {
    return {{"rank", part.rank},
            {"ranks", part.ranks},
            {"halo_rows", part.halo_rows},
            {"waves", part.waves}};
}

Result<Manifest> convert(const Json& json, const std::string& path) {
    if (!json.is_object() || json.value("schema", "") != schema_name)
        return damaged(path, "is not the manifest of a wavefront store");
    const int version = json.value("version", 0);
    if (version != schema_version)
        return damaged(path, "version " + std::to_string(version) + " is not " +
                                 std::to_string(schema_version) +
                                 "; it was written by another Lanewise, use that one");
    static const std::set<std::string> keys = {
        "schema",   "version",    "rows",   "columns",    "data_count", "coefficient_count",
        "element",  "byte_order", "layout", "strip_rows", "iterations", "disks",
        "matrices", "run"};
    // Stores from before there were parts and tiles are whole.
    const auto sound = check_keys(json, keys, path, {"part", "tile_columns"});
    if (!sound) return sound.failure();
    Manifest manifest;
    manifest.iterations = json["iterations"].get<std::uint64_t>();
    manifest.disks = json["disks"].get<std::vector<std::string>>();
    if (manifest.disks.empty()) return damaged(path, "names no disk");
    const Outcome steps[] = {read_shape(json, path, manifest.shape),
                             read_matrices(json["matrices"], path, manifest),
                             read_run(json["run"], path, manifest),
                             read_part(json.value("part", Json()), path, manifest)};
    for (const auto& step : steps) {
        if (!step) return step.failure();
    }
    return manifest;
}

}  // namespace

Json to_json(const Manifest& manifest) {
    const auto& shape = manifest.shape;
    Json matrices = Json::array();
    for (const auto& entry : manifest.matrices)
        matrices.push_back({{"name", entry.name},
                            {"generation", std::string(1, entry.generation)},
                            {"sums", entry.sums}});
    return {{"schema", schema_name},
            {"version", schema_version},
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
            {"run", manifest.run ? run_json(*manifest.run) : Json(nullptr)},
            {"part", manifest.part ? part_json(*manifest.part) : Json(nullptr)}};
}

Result<Manifest> manifest_from(const Json& json, const std::string& path) {
    try {
        return convert(json, path);
    } catch (const Json::exception& error) {
        return damaged(path, std::string("a value has the wrong type: ") + error.what());
    }
}

Result<Manifest> read_manifest(const std::string& folder, const char *name) {
    const auto path = folder + "/" + name;
    std::ifstream file(path);
    if (!file)
        return Failure{LW_ERR_NOT_FOUND, folder + " is not a wavefront store: it has no " + name +
                                             "; lanewise wavefront create makes one"};
    const std::string text((std::istreambuf_iterator<char>(file)), {});
    const auto json = parse_json(text);
    if (json.is_discarded()) return damaged(path, "is not JSON");
    return manifest_from(json, path);
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
    const int synced = ::fsync(file);
    ::close(file);
    if (synced != 0) return system_failure("sync", beside);
    if (std::rename(beside.c_str(), path.c_str()) != 0) return system_failure("rename", beside);
    return sync_path(std::filesystem::path(path).parent_path().string(), O_RDONLY | O_DIRECTORY);
}

Outcome write_manifest(const std::string& folder, const Manifest& manifest, const char *name) {
    const auto text = to_json(manifest).dump(2) + "\n";
    return replace_file(folder + "/" + name, text.data(), text.size());
}

}  // namespace lanewise::wavefront
