// SPDX-License-Identifier: BSD-3-Clause
//
// See finalists.hpp.

#include "tune/finalists.hpp"

#include "base/json_object.hpp"

namespace lanewise::tune {
namespace {

Finalist read_finalist(JsonObject& from) {
    Finalist read;
    const auto origin = from.string("origin");
    if (origin != "lanewise" && origin != "mpi") {
        from.refuse("origin", "is '" + origin + "', neither lanewise nor mpi");
    }
    read.origin = origin == "mpi" ? Origin::mpi : Origin::lanewise;
    read.algorithm = from.string("algorithm");
    read.segment_bytes = from.count("segment_bytes");
    read.lanes = from.count<int>("lanes", 1);
    return read;
}

JudgedPoint read_point(JsonObject& from) {
    JudgedPoint read;
    const auto name = from.string("collective");
    const auto operation = collectives::operation_named(name);
    if (!operation) from.refuse("collective", "is '" + name + "', which is none");
    read.operation = *operation;
    read.message_bytes = from.count<std::uint64_t>("message_bytes");
    read.default_s = from.number("default_s");
    read.repetition_s = from.has("repetition_s") ? from.number("repetition_s") : read.default_s;
    from.each("candidates",
              [&](JsonObject& one) { read.candidates.push_back(read_finalist(one)); });
    return read;
}

Stage read_stage(JsonObject& from) {
    const auto name = from.string("stage");
    for (const auto stage : {Stage::screening, Stage::judgement}) {
        if (name == name_of(stage)) return stage;
    }
    from.refuse("stage", "is '" + name + "', neither screening nor judgement");
}

}  // namespace

const char *name_of(Stage stage) {
    return stage == Stage::screening ? "screening" : "judgement";
}

Result<Finalists> parse_finalists(std::string_view text, const std::string& name) {
    return read_json_object(text, {name, "lanewise tune writes it"}, [](JsonObject& top) {
        Finalists read{.stage = read_stage(top), .points = {}};
        top.each("points", [&](JsonObject& one) { read.points.push_back(read_point(one)); });
        return read;
    });
}

}  // namespace lanewise::tune
