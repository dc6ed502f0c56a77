#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "lanista/base/result.h"
#include "lanista/model/space/domain.h"
#include "lanista/search/study/config.h"

namespace lanista::studyfile {

/// Replaces the commas inside calls such as log(a, b) by semicolons, since a comma ends a value in YAML's {…}. Quoted
/// texts and comments do not change. Every character keeps its position, so that the positions of later mistakes are
/// right.
std::string protect_calls(std::string_view text);

/// Reads a plain value of the study file: true, false, integer, real, or text.
space::Value parse_value(std::string_view text);

/// Reads a domain: "log(1e-3, 0.5)", "range(0, 0.9)", "int(1, 8)", "quant(0, 1, 0.1)" or "choice(sgd, adam)". None if
/// the text is no such call. Errors: kInvalidArgument (the value, what is allowed).
std::optional<Result<space::Domain>> parse_domain(std::string_view text);

/// Reads a goal: "maximize val_accuracy", "minimize val_loss", or "val_rmse", which has a known direction. Errors:
/// kInvalidArgument.
Result<study::Goal> parse_goal(std::string_view text);
/// A goal as parse_goal() reads it.
std::string goal_text(const study::Goal& goal);

/// Reads an upper bound: "<= 200k", "5M", "12000". Errors: kInvalidArgument.
Result<double> parse_limit(std::string_view text);

/// Reads a duration: "30s", "0.5s", "2m", "30"; the result is in seconds. Errors: kInvalidArgument.
Result<double> parse_seconds(std::string_view text);

}  // namespace lanista::studyfile
