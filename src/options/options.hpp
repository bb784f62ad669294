// SPDX-License-Identifier: BSD-3-Clause
//
// Options: the command line of a native program. Each option is declared once, with its names, its
// grammar, its default, its help and its group; parsing, --help and --describe follow from that.
//
//     Options options("lanewise-fit", "Fits communication models to samples of lanewise measure.");
//     options.text("-o,--output", "FILE", output, "Platform file to write");
//     options.number("--seed", "N", seed, "Seed of the bootstrap");
//     const auto parsed = options.parse(argc, argv);
//
// A declaration binds a variable, whose value at that time is the default. Values are read in the
// order of declaration, and the first that is refused is the failure.
//
// The parser is CLI11. Its headers take seconds to compile, so that only options.cpp includes them.

#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/quantities.hpp"
#include "base/result.hpp"

namespace lanewise {

/* Text to print before leaving with status 0: help, version or the declarations. */
struct Leave {
    std::string text;
};

/* One option, as it was declared. */
class Option {
  public:
    Option& required();
    /* The default is not what the variable holds now; the help says what happens without one. */
    Option& without_default();
    /* Values of a list are separated by commas. */
    Option& separated_by_commas();
    /* Of a list: each use takes one value, so that what follows it is something else. */
    Option& one_value_per_use();

    /* After parsing: whether the command line has it. */
    bool given() const { return given_; }

  private:
    friend class Options;
    friend class Parser;
    friend class Description;

    enum class Arity { none, one, many };

    std::string names_; /* "-o,--output", or "store" where the place says it */
    std::string type_;
    std::string metavar_;
    std::string help_;
    std::string group_;
    std::optional<std::string> default_;
    std::vector<std::string> choices_;
    Arity arity_ = Arity::one;
    bool required_ = false;
    bool commas_ = false;
    bool one_per_use_ = false;
    bool given_ = false;
    std::function<Outcome(const std::vector<std::string>& values)> read_;
};

class Options {
  public:
    /* `summary` is a sentence; lines after the first are examples. */
    Options(std::string program, std::string summary);

    /* The heading of what is declared from now on. */
    void group(std::string name);

    Option& flag(const std::string& names, bool& value, const std::string& help);
    Option& text(const std::string& names, const std::string& metavar, std::string& value,
                 const std::string& help);
    Option& texts(const std::string& names, const std::string& metavar,
                  std::vector<std::string>& values, const std::string& help);
    Option& number(const std::string& names, const std::string& metavar, int& value,
                   const std::string& help);
    Option& number(const std::string& names, const std::string& metavar, std::uint32_t& value,
                   const std::string& help);
    Option& number(const std::string& names, const std::string& metavar, std::uint64_t& value,
                   const std::string& help);
    Option& number(const std::string& names, const std::string& metavar, std::int64_t& value,
                   const std::string& help);
    Option& number(const std::string& names, const std::string& metavar, double& value,
                   const std::string& help);
    Option& numbers(const std::string& names, const std::string& metavar,
                    std::vector<double>& values, const std::string& help);
    Option& size(const std::string& names, const std::string& metavar, std::uint64_t& value_bytes,
                 const std::string& help);
    /* A list of sizes in the grammar of base/sizes.hpp; `initially` is its default. */
    Option& sizes(const std::string& names, const std::string& initially,
                  std::vector<std::uint64_t>& values_bytes, const std::string& help);
    Option& duration(const std::string& names, double& value_s, const std::string& help);
    /* A rate above 0, in bytes or cells per second. */
    Option& rate(const std::string& names, RateOf of, double& value_per_s, const std::string& help);
    Option& share(const std::string& names, double& value, const std::string& help);
    Option& repetitions(const std::string& names, std::uint32_t& min, std::uint32_t& max,
                        const std::string& help);
    /* One of `names_known`; `choose` hears which. */
    Option& choice(const std::string& names, const std::vector<std::string>& names_known,
                   std::size_t initially, const std::function<void(std::size_t)>& choose,
                   const std::string& help);
    /* The same of a registry, whose entries have a `name` and an `id`. */
    template <typename Registry, typename Id>
    Option& choice(const std::string& names, const Registry& registry, Id& value,
                   const std::string& help) {
        std::vector<std::string> known;
        std::vector<Id> ids;
        std::size_t initially = 0;
        for (const auto& entry : registry) {
            if (entry.id == value) initially = known.size();
            known.emplace_back(entry.name);
            ids.push_back(entry.id);
        }
        return choice(
            names, known, initially, [ids, &value](std::size_t i) { value = ids[i]; }, help);
    }

    /* A subcommand with options of its own; where there are any, one of them must be named. */
    Options& subcommand(const std::string& name, const std::string& summary);
    /* After parsing: the subcommand that was named, or null. */
    const Options *chosen() const { return chosen_; }
    const std::string& name() const { return name_; }

    /* Reads the command line. With --help, --version or --describe the program is to be left. */
    Result<std::optional<Leave>> parse(int argc, char **argv);

    /* After parsing: whether the command line has the option of this name, such as "--output". */
    bool given(const std::string& name) const;

    /* The declarations as JSON, in the form of schema/options.schema.json. */
    std::string described() const;

  private:
    friend class Parser;
    friend class Description;

    Option& declare(const std::string& names, const char *type, const std::string& metavar,
                    const std::string& help);
    template <typename Number>
    Option& any_number(const std::string& names, const std::string& metavar, Number& value,
                       const std::string& help);

    std::string name_;
    std::string summary_;
    std::string group_ = "Options";
    std::deque<Option> options_;
    std::deque<Options> subcommands_;
    const Options *chosen_ = nullptr;
};

}  // namespace lanewise
