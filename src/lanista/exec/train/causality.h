#pragma once

#include "lanista/base/result.h"
#include "lanista/exec/program/program.h"
#include "lanista/io/data/spec.h"
#include "lanista/model/autodiff/training_step.h"

namespace lanista::train {

/// Checks that a model with an answer at every position (DataSpec::positions) does not use later tokens.
///
/// It predicts for pairs of texts that differ from one token on, with sampled weights. So operators may be any,
/// including the caller's. In texts of at most 65 tokens the difference begins at each token but the first; in longer
/// ones at 64 or 65 sampled tokens. Data with fewer than two positions or tokens needs no check. `options` gives
/// backend, operators and precision. Errors: kInvalidArgument (an answer changes with a later token: both positions),
/// those of Program::compile.
Result<void> check_causality(const autodiff::InferenceStep& infer, const data::DataSpec& spec,
                             program::ProgramOptions options);

}  // namespace lanista::train
