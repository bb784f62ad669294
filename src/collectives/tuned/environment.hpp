// SPDX-License-Identifier: BSD-3-Clause
//
// Environment: what the environment variables ask for, and the rules of the tuning file they name.
//
//   LANEWISE_TUNING=FILE         the rules to follow; without it every call is forwarded
//   LANEWISE_PLATFORM=FILE       for rules whose algorithm needs the platform file
//   LANEWISE_REPORT=FILE         written when the program finalizes MPI
//   LANEWISE_PROFILE=FILE        who was late; written when the program finalizes MPI
//   LANEWISE_PROFILE_CALLS=N     calls that a rank has room for, before it keeps one in two of them
//   LANEWISE_RESULTS=FOLDER      hashes of what reductions gave (tuned/results)
//   LANEWISE_ROLL_CALL=...       where lanewise run listens (tuned/roll_call)
//   LANEWISE_EVERY_RANK=1        all ranks have this library, so nobody needs to ask
//   LANEWISE_SAME_BITS=order     reductions in one order, whatever the size (tuned/same_bits)
//   LANEWISE_SAME_BITS=ranks     and exact sums and products
//   LANEWISE_STRICT=1            end the program if the tuning file, or a rule of it, cannot be
//                                used; with "file" only if nothing of it can
//   LANEWISE_SWITCHED=1          rules are set by the program (tuned/switch)
//   LANEWISE_SCRATCH_LIMIT=SIZE  memory that one call may use on a rank, such as "256M"

#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "collectives/choose.hpp"
#include "collectives/execute/communicator_state.hpp"
#include "model/platform/platform.hpp"

namespace lanewise::tuned {

using collectives::SameBits;

/* What ends a program before it begins: nothing, a file of which nothing can be used, or one with
   any rule that cannot be followed. */
enum class Strictness : std::uint8_t { none, file, rules };

/* So many calls of each rank can be counted and exchanged in int. */
constexpr std::size_t profile_calls_max = std::size_t{1} << 30;

struct Environment {
    std::string tuning_path;
    std::string platform_path;
    std::string report_path;
    std::string profile_path;
    std::string results_folder;
    std::size_t profile_calls = std::size_t{1} << 19;
    Strictness strictness = Strictness::none;
    SameBits same_bits = SameBits::unasked;
    bool switched = false;
    std::int64_t scratch_limit_bytes = std::int64_t{256} << 20;
    std::string fault;         /* why a variable was ignored; empty: none was */
    std::string profile_fault; /* the same of one that only a profile goes by */
};

/* Empty where it is not set. */
std::string variable(const char *name);

/* As the variables were at the first call of this. */
const Environment& environment();

/* The rules of the file, or none and the reason; read at the first call of `rules`. */
struct Rules {
    collectives::Tuning tuning;
    std::shared_ptr<const model::Platform>
        platform; /* null: rules that look at it are not followed */
    bool usable = false;
    std::string complaint;   /* a sentence for the user, which usable rules may have as well */
    std::string consequence; /* of no network: what happens all the same; goes on from why */
};
const Rules& rules();

/* A number that ranks with the same rules and settings share; 0 where there are no rules. */
std::uint64_t fingerprint_of(const Rules& rules);
/* That of `rules()`. */
std::uint64_t fingerprint();

/* "4.1.4" of the text of MPI_Get_library_version; empty where it holds no such number. */
std::string version_in(const std::string& library);

/* Says one line on standard error. */
void say(const std::string& sentence);

/* Each sentence once, by the first process of the job. */
void say_once(const std::string& sentence);

}  // namespace lanewise::tuned
