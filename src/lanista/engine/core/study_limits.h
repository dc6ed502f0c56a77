#pragma once

#include "lanista/engine/core/engine.h"
#include "lanista/engine/core/study_state.h"

namespace lanista::engine {

/// True if a study has proposed all trials of its budget, extensions included. Without a limit of trials it is false.
bool is_trial_budget_spent(const StudyState& state);

/// The extension that continues a study that ended by its budget or guard, or that the user stopped; else empty. It
/// raises used-up limits, or restores what the stop cut off (Engine::suggested_extension).
Engine::Extension suggested_extension(const StudyState& state, const data::DataSpec& data);

/// Checks that budget.steps trains one trial to its end. Errors: kInvalidArgument at "budget.steps" with the steps of a
/// trial. A study with the first rules, or with trials that pause at rungs, is not checked.
Result<void> check_steps_budget(const study::StudyConfig& config, const data::DataSpec& data);

/// Why a study ended without a finished trial, if its budget is the reason, and the smallest budget that trains one:
/// "budget.steps is 1; ...". The minutes follow from the trial that trained the largest part of its epochs. Empty:
/// another reason.
std::string short_budget_text(const StudyView& view, const data::DataSpec& data);

}  // namespace lanista::engine
