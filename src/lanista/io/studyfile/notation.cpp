#include "lanista/io/studyfile/notation.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "lanista/base/edit_distance.h"
#include "lanista/base/parse_number.h"
#include "lanista/base/text_cursor.h"
#include "lanista/search/study/metric.h"

namespace lanista::studyfile {
namespace {

/// Reads a finite number only: "inf" and "nan" are words here, since JSON could not write them.
template <class T>
std::optional<T> number(std::string_view text) {
  const auto value = parse_number<T>(text);
  return value && std::isfinite(static_cast<double>(*value)) ? value : std::nullopt;
}

Error invalid(std::string_view seen, const std::string& allowed) {
  std::string shown(seen);
  std::ranges::replace(shown, ';', ',');  // undoes protect_calls
  return {Code::kInvalidArgument, "'" + shown + "' is not allowed; allowed: " + allowed, ""};
}

/// The metrics of goals, of all kinds of targets.
std::vector<std::string> measured_names() {
  std::vector<std::string> names{"val_loss", "train_loss", "params", "flops"};
  for (const std::int64_t classes : {2, 10, 0}) {
    for (const std::string& metric : study::applicable_metrics(classes)) {
      if (std::ranges::find(names, "val_" + metric) == names.end()) names.push_back("val_" + metric);
    }
  }
  return names;
}

std::vector<std::string_view> arguments(std::string_view inside) {
  std::vector<std::string_view> out;
  while (true) {
    const auto comma = inside.find_first_of(",;");
    out.push_back(trim(inside.substr(0, comma)));
    if (comma == std::string_view::npos) return out;
    inside.remove_prefix(comma + 1);
  }
}

/// The last argument of a quant() with a grid that begins at the lower bound under all rules of studies.
constexpr std::string_view kFromLo = "from lo";

struct Notation {
  std::string_view name;
  std::string_view form;
};
constexpr Notation kNotations[] = {{"range", "range(lo, hi)"},
                                   {"log", "log(lo, hi) with lo > 0"},
                                   {"int", "int(lo, hi), int(lo, hi, step) or int(lo, hi, log)"},
                                   {"quant", "quant(lo, hi, step)"},
                                   {"choice", "choice(a, b, ...)"}};

/// Removes `word` from the end of the arguments. True if it was there.
bool take_last(std::vector<std::string_view>& args, std::string_view word) {
  if (args.empty() || args.back() != word) return false;
  args.pop_back();
  return true;
}

Result<space::Domain> make_domain(std::string_view name, std::string_view form, std::vector<std::string_view> args,
                                  std::string_view text, std::int64_t rules) {
  if (name == "choice") {
    space::Categorical choice;
    for (const auto& arg : args) choice.values.push_back(parse_value(arg));
    return space::Domain{choice};
  }
  const bool is_int = name == "int", is_quant = name == "quant";
  const bool from_lo = (is_quant && take_last(args, kFromLo)) || rules > study::kFirstRules;
  const bool log = name == "log" || ((is_int || is_quant) && take_last(args, "log"));
  const std::size_t least = is_quant ? 3 : 2, most = is_quant || is_int ? 3 : 2;
  if (args.size() < least || args.size() > most) return invalid(text, std::string(form));
  if (is_int) {
    const auto lo = number<std::int64_t>(args[0]);
    const auto hi = number<std::int64_t>(args[1]);
    const auto step = args.size() == 3 ? number<std::int64_t>(args[2]) : 1;
    if (!lo || !hi || !step) return invalid(text, std::string(form) + " with integers");
    return space::Domain{space::IntRange{.lo = *lo, .hi = *hi, .step = *step, .log = log}};
  }
  const auto lo = number<double>(args[0]);
  const auto hi = number<double>(args[1]);
  const auto step = is_quant ? number<double>(args[2]) : 0.0;
  if (!lo || !hi || !step) return invalid(text, std::string(form) + " with numbers");
  if (is_quant && from_lo && !(*step > 0)) return invalid(text, std::string(form) + " with a step above 0");
  return space::Domain{
      space::FloatRange{.lo = *lo, .hi = *hi, .quant = *step, .log = log, .from_lo = is_quant && from_lo}};
}

// Whether a word precedes `open`, an opening parenthesis. Any word counts, so that a misspelt one is reported as a
// whole.
bool begins_call(std::string_view text, std::size_t open) {
  std::size_t begin = open;
  while (begin > 0 && text[begin - 1] >= 'a' && text[begin - 1] <= 'z') --begin;
  return begin < open && (begin == 0 || std::string_view(" \t[{:,-\n").find(text[begin - 1]) != std::string_view::npos);
}

}  // namespace

std::string protect_calls(std::string_view text) {
  std::string out(text);
  char quote = 0;
  bool comment = false, call = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (c == '\n') {
      comment = call = false;
    } else if (comment) {
      continue;
    } else if (quote != 0) {
      // An escaped character does not end a text: \" between double quotes, '' between single ones.
      const bool escapes = quote == '"' ? c == '\\' : c == quote && text.substr(i + 1).starts_with(quote);
      if (escapes) {
        ++i;
      } else if (c == quote) {
        quote = 0;
      }
    } else if (call) {
      if (c == ',') out[i] = ';';
      if (c == ')') call = false;
    } else if (c == '"' || c == '\'') {
      // An apostrophe inside a plain word does not begin a text.
      const bool opens = i == 0 || std::string_view(" \t[{:,\n").find(text[i - 1]) != std::string_view::npos;
      if (opens) quote = c;
    } else if (c == '#' && (i == 0 || text[i - 1] == ' ' || text[i - 1] == '\n')) {
      comment = true;
    } else if (c == '(' && begins_call(text, i)) {
      call = true;
    }
  }
  return out;
}

space::Value parse_value(std::string_view text) {
  text = trim(text);
  if (text == "true" || text == "false") return text == "true";
  if (const auto integer = number<std::int64_t>(text)) return *integer;
  if (const auto real = number<double>(text)) return *real;
  return std::string(text);
}

std::optional<Result<space::Domain>> parse_domain(std::string_view text, std::int64_t rules) {
  text = trim(text);
  const auto open = text.find('(');
  if (open == std::string_view::npos || !text.ends_with(')')) return std::nullopt;
  const std::string_view name = trim(text.substr(0, open));
  std::vector<std::string> names;
  for (const auto& notation : kNotations) {
    names.emplace_back(notation.name);
    if (notation.name != name) continue;
    auto domain =
        make_domain(name, notation.form, arguments(text.substr(open + 1, text.size() - open - 2)), text, rules);
    if (domain) {
      if (auto checked = space::check_domain(*domain); !checked) {
        return Result<space::Domain>(invalid(text, std::string(notation.form) + "; " + checked.error().message));
      }
    }
    return domain;
  }
  const std::string near = nearest_name(name, names);
  std::string allowed;
  for (const auto& notation : kNotations) allowed += (allowed.empty() ? "" : ", ") + std::string(notation.form);
  return Result<space::Domain>(invalid(text, allowed + (near.empty() ? "" : "; did you mean '" + near + "'?")));
}

std::string explicit_domain_text(const space::Domain& domain) {
  std::string text = space::domain_text(domain);
  const auto* range = std::get_if<space::FloatRange>(&domain);
  if (range != nullptr && range->from_lo) text.insert(text.size() - 1, ", " + std::string(kFromLo));
  return text;
}

Result<study::Goal> parse_goal(std::string_view text) {
  text = trim(text);
  const auto space = text.find(' ');
  std::string_view direction = text.substr(0, space);
  const std::string_view metric = space == std::string_view::npos ? "" : trim(text.substr(space));
  if (const auto more = study::more_is_better(text)) return study::Goal{*more, std::string(text)};
  const bool confirmed = direction.ends_with('!');
  if (confirmed) direction.remove_suffix(1);
  if ((direction != "maximize" && direction != "minimize") || metric.empty()) {
    const std::string near = space == std::string_view::npos ? nearest_name(text, measured_names()) : "";
    return invalid(text, "'maximize METRIC', 'minimize METRIC', or a metric alone, such as val_accuracy" +
                             (near.empty() ? "" : "; did you mean '" + near + "'?"));
  }
  return study::Goal{direction == "maximize", std::string(metric)};
}

std::string goal_text(const study::Goal& goal, std::int64_t rules) {
  const bool confirms = rules > study::kFirstRules && is_contrary(goal);
  return (goal.maximize ? "maximize" : "minimize") + std::string(confirms ? "! " : " ") + goal.metric;
}

bool is_contrary(const study::Goal& goal) {
  const auto more = study::more_is_better(goal.metric);
  return more && *more != goal.maximize;
}

Result<void> check_goal_direction(std::string_view text, const study::Goal& goal) {
  const bool confirmed = trim(text).substr(0, trim(text).find(' ')).ends_with('!');
  if (!is_contrary(goal) || confirmed) return {};
  const std::string named = std::string(goal.maximize ? "maximize" : "minimize");
  return Error{Code::kInvalidArgument,
               "'" + named + " " + goal.metric + "' is a search for the worst models, since " +
                   (goal.maximize ? "smaller" : "larger") + " values of " + goal.metric + " are better; write '" +
                   goal.metric + "', or '" + named + "! " + goal.metric + "' to confirm it",
               ""};
}

Result<double> parse_limit(std::string_view text) {
  std::string_view rest = trim(text);
  if (rest.starts_with("<=")) rest = trim(rest.substr(2));
  double unit = 1;
  if (rest.ends_with('k')) unit = 1e3;
  if (rest.ends_with('M')) unit = 1e6;
  if (rest.ends_with('G')) unit = 1e9;
  if (unit > 1) rest = trim(rest.substr(0, rest.size() - 1));
  const auto value = number<double>(rest);
  if (!value || !(*value > 0) || !std::isfinite(*value * unit))
    return invalid(text, "an upper bound such as '<= 200k', '5M' or 12000");
  return *value * unit;
}

Result<double> parse_seconds(std::string_view text) {
  std::string_view rest = trim(text);
  double unit = 1;
  if (rest.ends_with('m')) unit = 60;
  if (rest.ends_with('m') || rest.ends_with('s')) rest = trim(rest.substr(0, rest.size() - 1));
  const auto value = number<double>(rest);
  if (!value || !(*value >= 0) || !std::isfinite(*value * unit))
    return invalid(text, "seconds such as '30s', '0.5s' or '2m'");
  return *value * unit;
}

}  // namespace lanista::studyfile
