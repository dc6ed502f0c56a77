#pragma once

#include "lanista/engine/core/engine.h"
#include "lanista/engine/core/study_state.h"

namespace lanista::engine {

/// True if a study has proposed all trials of its budget, extensions included. Without a limit of trials it is false.
bool is_trial_budget_spent(const StudyState& state);

/// The extension that continues a study that ended by its budget or guard, or that the user stopped; else empty. It
/// raises used-up limits, or restores what the stop cut off (Engine::suggested_extension).
Engine::Extension suggested_extension(const StudyState& state, const data::DataSpec& data);

}  // namespace lanista::engine
