#pragma once

#include "lanista/engine/core/engine.h"
#include "lanista/engine/core/study_state.h"

namespace lanista::engine {

/// Whether a study has proposed all trials of its budget.
bool is_trial_budget_spent(const StudyState& state);

/// As Engine::suggested_extension, of a study with this state and these data.
Engine::Extension suggested_extension(const StudyState& state, const data::DataSpec& data);

}  // namespace lanista::engine
