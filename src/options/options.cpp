// SPDX-License-Identifier: BSD-3-Clause
//
// See options.hpp.

#include "options/options.hpp"

#include <lanewise/status.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cctype>
#include <charconv>
#include <cmath>
#include <limits>
#include <memory>
#include <string_view>
#include <type_traits>

#include "base/json.hpp"
#include "base/nearest.hpp"
#include "base/sizes.hpp"

namespace lanewise {
namespace {

constexpr int description_version = 1;

std::vector<std::string> names_in(const std::string& names) {
    std::vector<std::string> parts;
    for (std::size_t begin = 0; begin <= names.size();) {
        const auto end = std::min(names.find(',', begin), names.size());
        parts.push_back(names.substr(begin, end - begin));
        begin = end + 1;
    }
    return parts;
}

/* "--time-limit" of "-t,--time-limit". */
std::string long_name(const std::string& names) {
    return names_in(names).back();
}

bool is_positional(const std::string& names) {
    return !names.starts_with('-');
}

template <typename Number>
Result<Number> parse_number(const std::string& name, const std::string& text) {
    Number number{};
    const char *last = text.data() + text.size();
    const auto [end, error] = std::from_chars(text.data(), last, number);
    if (error == std::errc{} && end == last) return number;
    constexpr bool whole = std::is_integral_v<Number>;
    return bad_argument(
        name + " \"" + text + "\" is not a " + (whole ? "whole number" : "number") +
        (whole && !std::is_signed_v<Number> && text.starts_with('-') ? " from 0 up" : ""));
}

std::string number_text(double number) {
    char text[32];
    const auto end = std::to_chars(text, text + sizeof text, number).ptr;
    return {text, end};
}

template <typename Number>
std::string number_text(Number number) {
    return std::to_string(number);
}

/* "did you mean max? Use max, root or global" */
std::string advice(const std::string& wanted, const std::vector<std::string>& known) {
    const auto near = nearest_name(wanted, known);
    std::string text = near.empty() ? "use " : "did you mean " + near + "? Use ";
    for (std::size_t i = 0; i < known.size(); ++i) {
        if (i > 0) text += i + 1 < known.size() ? ", " : " or ";
        text += known[i];
    }
    return text;
}

}  // namespace

/* Declarations as JSON. */
class Description {
  public:
    static Json of(const Options& options) {
        Json all = Json::array();
        for (const auto& option : options.options_) all.push_back(of(option));
        Json described = {
            {"name", options.name_}, {"summary", options.summary_}, {"options", std::move(all)}};
        if (options.subcommands_.empty()) return described;
        described["subcommands"] = Json::array();
        for (const auto& one : options.subcommands_) described["subcommands"].push_back(of(one));
        return described;
    }

  private:
    static Json of(const Option& option) {
        Json described = {{"names", names_in(option.names_)},
                          {"type", option.type_},
                          {"metavar", option.metavar_},
                          {"default", option.default_ ? Json(*option.default_) : Json(nullptr)},
                          {"help", option.help_},
                          {"group", option.group_},
                          {"required", option.required_},
                          {"repeatable", option.arity_ == Option::Arity::many}};
        if (!option.choices_.empty()) described["choices"] = option.choices_;
        return described;
    }
};

/* What CLI11 is told of declarations, and what it found. */
class Parser {
  public:
    explicit Parser(Options& options) : options_(options), app_(options.summary_, options.name_) {
        declare(options_, app_);
        app_.set_version_flag("--version", options.name_ + " " + lw_version());
        app_.add_flag("--describe")->description("Print these options as JSON");
    }

    Result<std::optional<Leave>> parse(int argc, char **argv) {
        const std::vector<std::string> all(argv + std::min(argc, 1), argv + argc);
        const std::vector<std::string> words(all.begin(), std::ranges::find(all, "--"));
        for (const auto& word : words) {
            // Asked for without what is required, as is --help.
            if (word == "--describe") return {Leave{options_.described() + "\n"}};
            // To CLI11, --resume=false is a flag that is there.
            const auto name = word.substr(0, word.find('='));
            if (name != word && is_flag(name))
                return bad_argument(name + " takes no value; --help lists the options");
        }
        try {
            app_.parse(argc, argv);
        } catch (const CLI::CallForHelp&) {
            return {Leave{app_.help("", CLI::AppFormatMode::Normal)}};
        } catch (const CLI::CallForVersion& version) {
            return {Leave{std::string(version.what()) + "\n"}};
        } catch (const CLI::ParseError& error) {
            // A misspelt option is often the reason why what is required is missing.
            const auto unknown = unknown_options(words);
            return unknown.empty() ? refusal(error) : refusal(unknown.front());
        }
        const auto read = read_values();
        if (!read) return read.failure();
        return {std::nullopt};
    }

  private:
    struct Bound {
        Option& option;
        CLI::Option *found;
        std::vector<std::string> values;
    };
    struct Command {
        Options& owner;
        const Options& named;
        CLI::App *app;
    };

    Failure refusal(const CLI::Error& error) const {
        return bad_argument(error.what() + where_options_are_listed());
    }

    /* Of an option that is not there: the one that may be meant. */
    Failure refusal(const std::string& unknown) const {
        const auto name = unknown.substr(0, unknown.find('='));
        std::vector<std::string> known;
        for (const auto *option : chosen().get_options()) {
            for (const auto& word : option->get_lnames()) known.push_back("--" + word);
        }
        const auto near = nearest_name(name, known);
        return bad_argument(
            "unknown option " + name +
            (near.empty() ? where_options_are_listed() : "; did you mean " + near + "?"));
    }

    std::string where_options_are_listed() const {
        const bool below = !app_.get_subcommands().empty();
        return below ? "; see " + chosen().get_name() + " --help" : "; --help lists the options";
    }

    const CLI::App& chosen() const {
        const auto commands = app_.get_subcommands();
        return commands.empty() ? app_ : *commands.front();
    }

    bool is_flag(const std::string& name) const {
        return name == "--help" || name == "--version" || name == "--describe" ||
               std::ranges::any_of(bound_, [&](const Bound& bound) {
                   return bound.option.arity_ == Option::Arity::none &&
                          long_name(bound.option.names_) == name;
               });
    }

    /* Of the words before "--", those that look like options, not like numbers, and are none. */
    std::vector<std::string> unknown_options(const std::vector<std::string>& before) const {
        auto left = app_.remaining(true);
        std::erase_if(left, [&](const std::string& word) {
            const bool is_number =
                word.size() > 1 &&
                (std::isdigit(static_cast<unsigned char>(word[1])) || word[1] == '.');
            return !word.starts_with('-') || is_number || std::ranges::count(before, word) == 0;
        });
        return left;
    }

    void declare(Options& options, CLI::App& app) {
        for (auto& option : options.options_) declare(option, app);
        for (auto& inner : options.subcommands_) {
            auto *command = app.add_subcommand(inner.name_, inner.summary_);
            commands_.push_back({options, inner, command});
            declare(inner, *command);
        }
        if (!options.subcommands_.empty()) app.require_subcommand(1);
    }

    void declare(Option& option, CLI::App& app) {
        auto& bound = bound_.emplace_back(Bound{option, nullptr, {}});
        auto help = option.help_;
        if (option.default_) help += " (default: " + *option.default_ + ")";
        switch (option.arity_) {
            case Option::Arity::none:
                bound.found = app.add_flag(option.names_)->description(help);
                break;
            case Option::Arity::one:
                bound.found = app.add_option(option.names_, bound.values.emplace_back(), help);
                break;
            case Option::Arity::many:
                bound.found = app.add_option(option.names_, bound.values, help);
                break;
        }
        if (option.commas_) bound.found->delimiter(',');
        if (option.one_per_use_) bound.found->allow_extra_args(false);
        if (option.required_) bound.found->required();
        if (option.arity_ != Option::Arity::none) bound.found->option_text(option_text(option));
        if (!is_positional(option.names_)) bound.found->group(option.group_);
    }

    static std::string option_text(const Option& option) {
        const bool list = option.arity_ == Option::Arity::many && !option.commas_;
        return option.metavar_ + (list ? "..." : "") + (option.required_ ? " (required)" : "");
    }

    Outcome read_values() {
        for (const auto& command : commands_) {
            if (command.app->parsed()) command.owner.chosen_ = &command.named;
        }
        for (auto& bound : bound_) {
            auto& option = bound.option;
            option.given_ = bound.found->count() > 0;
            if (!option.given_) continue;
            const auto read = option.read_(bound.values);
            if (!read) return read;
        }
        return Done{};
    }

    Options& options_;
    CLI::App app_;
    std::deque<Bound> bound_;
    std::vector<Command> commands_;
};

Option& Option::required() {
    required_ = true;
    default_.reset();
    return *this;
}

Option& Option::without_default() {
    default_.reset();
    return *this;
}

Option& Option::separated_by_commas() {
    commas_ = true;
    return *this;
}

Option& Option::one_value_per_use() {
    one_per_use_ = true;
    return *this;
}

Options::Options(std::string program, std::string summary)
    : name_(std::move(program)), summary_(std::move(summary)) {}

void Options::group(std::string name) {
    group_ = std::move(name);
}

Option& Options::declare(const std::string& names, const char *type, const std::string& metavar,
                         const std::string& help) {
    auto& option = options_.emplace_back();
    option.names_ = names;
    option.type_ = type;
    option.metavar_ = metavar;
    option.help_ = help;
    option.group_ = group_;
    return option;
}

bool Options::given(const std::string& name) const {
    return std::any_of(options_.begin(), options_.end(), [&](const Option& option) {
        const auto names = names_in(option.names_);
        return option.given() && std::find(names.begin(), names.end(), name) != names.end();
    });
}

Option& Options::flag(const std::string& names, bool& value, const std::string& help) {
    auto& option = declare(names, "flag", "", help);
    option.arity_ = Option::Arity::none;
    option.read_ = [&value](const auto&) -> Outcome {
        value = true;
        return Done{};
    };
    return option;
}

Option& Options::text(const std::string& names, const std::string& metavar, std::string& value,
                      const std::string& help) {
    auto& option = declare(names, "text", metavar, help);
    if (!value.empty()) option.default_ = value;
    option.read_ = [&value](const auto& values) -> Outcome {
        value = values.front();
        return Done{};
    };
    return option;
}

Option& Options::texts(const std::string& names, const std::string& metavar,
                       std::vector<std::string>& all, const std::string& help) {
    auto& option = declare(names, "text", metavar, help);
    option.arity_ = Option::Arity::many;
    option.read_ = [&all](const auto& values) -> Outcome {
        all = values;
        return Done{};
    };
    return option;
}

template <typename Number>
Option& Options::any_number(const std::string& names, const std::string& metavar, Number& value,
                            const std::string& help) {
    auto& option = declare(names, "number", metavar, help);
    option.default_ = number_text(value);
    option.read_ = [&value, name = long_name(names)](const auto& values) -> Outcome {
        const auto number = parse_number<Number>(name, values.front());
        if (!number) return number.failure();
        value = *number;
        return Done{};
    };
    return option;
}

Option& Options::number(const std::string& names, const std::string& metavar, int& value,
                        const std::string& help) {
    return any_number(names, metavar, value, help);
}

Option& Options::number(const std::string& names, const std::string& metavar, std::uint32_t& value,
                        const std::string& help) {
    return any_number(names, metavar, value, help);
}

Option& Options::number(const std::string& names, const std::string& metavar, std::uint64_t& value,
                        const std::string& help) {
    return any_number(names, metavar, value, help);
}

Option& Options::number(const std::string& names, const std::string& metavar, std::int64_t& value,
                        const std::string& help) {
    return any_number(names, metavar, value, help);
}

Option& Options::number(const std::string& names, const std::string& metavar, double& value,
                        const std::string& help) {
    return any_number(names, metavar, value, help);
}

Option& Options::numbers(const std::string& names, const std::string& metavar,
                         std::vector<double>& all, const std::string& help) {
    auto& option = declare(names, "number", metavar, help);
    option.arity_ = Option::Arity::many;
    option.read_ = [&all, name = long_name(names)](const auto& values) -> Outcome {
        all.clear();
        for (const auto& text : values) {
            const auto number = parse_number<double>(name, text);
            if (!number) return number.failure();
            all.push_back(*number);
        }
        return Done{};
    };
    return option;
}

Option& Options::size(const std::string& names, const std::string& metavar,
                      std::uint64_t& value_bytes, const std::string& help) {
    auto& option = declare(names, "size", metavar, help);
    option.default_ = format_size(value_bytes);
    option.read_ = [&value_bytes](const auto& values) -> Outcome {
        const auto size = parse_size(values.front());
        if (!size) return size.failure();
        value_bytes = *size;
        return Done{};
    };
    return option;
}

Option& Options::sizes(const std::string& names, const std::string& initially,
                       std::vector<std::uint64_t>& values_bytes, const std::string& help) {
    auto& option = declare(names, "sizes", "SIZES", help);
    option.default_ = initially;
    values_bytes = *parse_sizes(initially);
    option.read_ = [&values_bytes](const auto& values) -> Outcome {
        const auto sizes = parse_sizes(values.front());
        if (!sizes) return sizes.failure();
        values_bytes = *sizes;
        return Done{};
    };
    return option;
}

Option& Options::duration(const std::string& names, double& value_s, const std::string& help) {
    auto& option = declare(names, "duration", "TIME", help);
    option.default_ = duration_text(value_s);
    option.read_ = [&value_s, name = long_name(names)](const auto& values) -> Outcome {
        const auto duration_s = parse_duration(values.front(), name);
        if (!duration_s) return duration_s.failure();
        value_s = *duration_s;
        return Done{};
    };
    return option;
}

Option& Options::rate(const std::string& names, RateOf of, double& value_per_s,
                      const std::string& help) {
    auto& option = declare(names, "rate", "RATE", help);
    option.read_ = [&value_per_s, of, name = long_name(names)](const auto& values) -> Outcome {
        const auto rate = parse_rate(values.front(), of, name);
        if (!rate) return rate.failure();
        value_per_s = *rate;
        return Done{};
    };
    return option;
}

Option& Options::share(const std::string& names, double& value, const std::string& help) {
    auto& option = declare(names, "percentage", "SHARE", help);
    option.default_ = share_text(value);
    option.read_ = [&value, name = long_name(names)](const auto& values) -> Outcome {
        const auto share = parse_share(values.front(), name);
        if (!share) return share.failure();
        value = *share;
        return Done{};
    };
    return option;
}

Option& Options::repetitions(const std::string& names, std::uint32_t& min, std::uint32_t& max,
                             const std::string& help) {
    auto& option = declare(names, "repetitions", "N|MIN:MAX", help);
    option.default_ = repetitions_text({min, max});
    option.read_ = [&min, &max](const auto& values) -> Outcome {
        const auto parsed = parse_repetitions(values.front());
        if (!parsed) return parsed.failure();
        min = parsed->min;
        max = parsed->max;
        return Done{};
    };
    return option;
}

Option& Options::choice(const std::string& names, const std::vector<std::string>& known,
                        std::size_t initially, const std::function<void(std::size_t)>& choose,
                        const std::string& help) {
    std::string metavar;
    for (const auto& name : known) {
        metavar += (metavar.empty() ? "" : "|") + name;
    }
    auto& option = declare(names, "choice", metavar, help);
    option.default_ = known[initially];
    option.choices_ = known;
    const auto name = long_name(names);
    const auto what = name.substr(name.find_first_not_of('-'));
    option.read_ = [known, choose, what](const auto& values) -> Outcome {
        const auto found = std::find(known.begin(), known.end(), values.front());
        if (found == known.end())
            return bad_argument("unknown " + what + " \"" + values.front() + "\"; " +
                                advice(values.front(), known));
        choose(static_cast<std::size_t>(found - known.begin()));
        return Done{};
    };
    return option;
}

Options& Options::subcommand(const std::string& name, const std::string& summary) {
    return subcommands_.emplace_back(name, summary);
}

Result<std::optional<Leave>> Options::parse(int argc, char **argv) {
    return Parser(*this).parse(argc, argv);
}

std::string Options::described() const {
    Json all = {{"schema", "lanewise-options"}, {"version", description_version}};
    all.update(Description::of(*this));
    return all.dump();
}

}  // namespace lanewise
