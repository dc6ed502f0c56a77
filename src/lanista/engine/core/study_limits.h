#pragma once

#include "lanista/engine/core/engine.h"
#include "lanista/engine/core/study_state.h"

namespace lanista::engine {

/// True if a study has proposed all trials of its budget, extensions included. Without a limit of trials it is false.
bool is_trial_budget_spent(const StudyState& state);

/// The result of Engine::suggested_extension for a study with this state and these data.
Engine::Extension suggested_extension(const StudyState& state, const data::DataSpec& data);

}  // namespace lanista::engine
