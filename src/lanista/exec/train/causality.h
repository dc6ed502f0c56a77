#pragma once

#include "lanista/base/result.h"
#include "lanista/io/data/spec.h"
#include "lanista/exec/program/program.h"
#include "lanista/model/autodiff/training_step.h"

namespace lanista::train {

/// Where a model answers at every position of a text (DataSpec::positions), whether no answer changes with a later
/// token: it would be what is asked for. The model is asked, with drawn weights, about texts that differ from some
/// token on, so it may be of any operators, a caller's own too: from every token of texts up to 65, from 64 or 65 of
/// longer ones, two samples each. Of other data nothing is checked. `options` say backend, operators and precision.
/// Errors: kInvalidArgument (an answer that changes, and where), those of Program::compile.
Result<void> check_causality(const step::InferenceStep& infer, const data::DataSpec& spec, nn::ProgramOptions options);

}  // namespace lanista::train
