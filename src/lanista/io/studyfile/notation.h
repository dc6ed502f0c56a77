#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "lanista/base/result.h"
#include "lanista/model/space/domain.h"
#include "lanista/search/study/config.h"

namespace lanista::studyfile {

/// A copy of a YAML text with semicolons in place of commas inside calls such as log(a, b), since a comma ends a value
/// in YAML's {…}. Quoted texts and comments do not change. Every character keeps its position, so that positions of
/// mistakes are right.
std::string protect_calls(std::string_view text);

/// The value that a plain scalar of the study file denotes: true, false, an integer, a finite real number, else the
/// text itself without spaces around it.
space::Value parse_value(std::string_view text);

/// The domain that a text denotes: "log(1e-3, 0.5)", "range(0, 0.9)", "int(1, 8)", "int(8, 64, log)", "quant(0, 1,
/// 0.1)" or "choice(sgd, adam)". None if the text is no call at all. With the first rules (study::kFirstRules) quant()
/// has the multiples of its step, else its grid begins at its lower bound. Errors: kInvalidArgument (an unknown name or
/// invalid arguments, with what is allowed).
std::optional<Result<space::Domain>> parse_domain(std::string_view text, std::int64_t rules = study::kLatestRules);
/// A domain as text that parse_domain() reads to the same domain with all rules.
std::string explicit_domain_text(const space::Domain& domain);

/// The goal that a text denotes: "maximize val_accuracy", "minimize val_loss", or "val_rmse", which has a known
/// direction. With a direction, any name of a metric is accepted. "minimize! val_accuracy" confirms a direction against
/// the better side. Errors: kInvalidArgument (another form).
Result<study::Goal> parse_goal(std::string_view text);
/// A goal as text that parse_goal() reads: "minimize val_loss". With later rules than the first, a contrary direction
/// is confirmed: "minimize! val_accuracy".
std::string goal_text(const study::Goal& goal, std::int64_t rules = study::kFirstRules);
/// True if the better values of a known metric are on the other side than a goal's.
bool is_contrary(const study::Goal& goal);
/// Checks that the text of a goal, as parse_goal() read it, confirms a contrary direction. Errors: kInvalidArgument.
Result<void> check_goal_direction(std::string_view text, const study::Goal& goal);

/// The number of an upper bound: "<= 200k" is 200,000, "5M", "2G", "12000". Errors: kInvalidArgument (not a number
/// above 0).
Result<double> parse_limit(std::string_view text);

/// The seconds of a duration: "30s", "0.5s", "2m" (minutes), "30". Errors: kInvalidArgument (not a number of at least
/// 0).
Result<double> parse_seconds(std::string_view text);

}  // namespace lanista::studyfile
