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

/// The domain that a text denotes: "log(1e-3, 0.5)", "range(0, 0.9)", "int(1, 8)", "quant(0, 1, 0.1)" or "choice(sgd,
/// adam)". None if the text is no call at all. Errors: kInvalidArgument (an unknown name or invalid arguments, with
/// what is allowed).
std::optional<Result<space::Domain>> parse_domain(std::string_view text);

/// The goal that a text denotes: "maximize val_accuracy", "minimize val_loss", or "val_rmse", which has a known
/// direction. With a direction, any name of a metric is accepted. Errors: kInvalidArgument (another form).
Result<study::Goal> parse_goal(std::string_view text);
/// A goal as text that parse_goal() reads: "minimize val_loss".
std::string goal_text(const study::Goal& goal);

/// The number of an upper bound: "<= 200k" is 200,000, "5M", "2G", "12000". Errors: kInvalidArgument (not a number
/// above 0).
Result<double> parse_limit(std::string_view text);

/// The seconds of a duration: "30s", "0.5s", "2m" (minutes), "30". Errors: kInvalidArgument (not a number of at least
/// 0).
Result<double> parse_seconds(std::string_view text);

}  // namespace lanista::studyfile
