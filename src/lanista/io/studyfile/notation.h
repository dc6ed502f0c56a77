#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "lanista/base/result.h"
#include "lanista/model/space/domain.h"
#include "lanista/search/study/config.h"

namespace lanista::studyfile {

/// The commas inside calls such as log(a, b) as semicolons, because in YAML's {…} a comma ends the
/// value; quoted texts and comments stay. Every character keeps its place, so line and column of later mistakes are
/// right.
std::string protect_calls(std::string_view text);

/// A plain value of the study file: true, false, integer, real, or text.
space::Value parse_value(std::string_view text);

/// "log(1e-3, 0.5)", "range(0, 0.9)", "int(1, 8)", "quant(0, 1, 0.1)", "choice(sgd, adam)"; nullopt if the text is no
/// such call. Errors: kInvalidArgument (what was seen, what is allowed).
std::optional<Result<space::Domain>> parse_domain(std::string_view text);

/// "maximize val_accuracy", "minimize val_loss", or "val_rmse", whose better direction is known. Errors:
/// kInvalidArgument.
Result<study::Goal> parse_goal(std::string_view text);
std::string goal_text(const study::Goal& goal);

/// "<= 200k", "5M", "12000": an upper bound. Errors: kInvalidArgument.
Result<double> parse_limit(std::string_view text);

/// "30s", "0.5s", "2m", "30" in seconds. Errors: kInvalidArgument.
Result<double> parse_seconds(std::string_view text);

}  // namespace lanista::studyfile
