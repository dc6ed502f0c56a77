#pragma once

#include <string>

#include "lanista/engine/core/engine.h"

namespace lanista::cli {

/// Returns the base model of a trial and its mutations in order: "small-cnn > widen x2 > swap_op". A refinement ends
/// with "> tuned".
std::string lineage_text(const engine::StudyView& view, const study::Proposal& proposal);
/// Returns the choices inside a model as text: "depth=3 act=relu". Choices beyond `width` bytes are left out; then the
/// text ends with " ...", which `width` does not count.
std::string choices_text(const space::Sample& sample, std::size_t width);
/// Returns the hyper-parameters with their values as text, without model choices: "sgd lr 0.103 momentum 0.84". The
/// optimiser is first, without its name.
std::string sample_text(const space::Sample& sample);

/// Returns one line with the first goal, and its test value, of the baselines (a constant prediction, a linear model,
/// boosted trees). A second line states if the best trial does not beat the best of them by more than the noise. Empty
/// if none was measured.
std::string baselines_text(const engine::StudyView& view);

/// Returns one line with the 95 % confidence interval of the best result and the number of other trials in it. Empty if
/// the interval is unknown.
std::string noise_text(const engine::StudyView& view);

/// Returns the members of an ensemble with their shares, and its validation metric: "#4 67 %, #2 33 %: val_accuracy
/// 0.9800".
std::string ensemble_members_text(const study::Ensemble& ensemble, const std::string& metric);

/// Returns one line on the ensemble in best/: members with shares, its validation and test value, and those of the
/// winner alone. If no ensemble was better, the line states that. With folds it names the trainings in best/ and the
/// test values. Empty without a winner or without ensembles.
std::string ensemble_text(const engine::StudyView& view);

/// Returns the table of the best `top` trials, best first, followed by lines on the ensemble, the baselines and the
/// marks in the table. Without a finished trial it is one line that states so. Plain text without control codes.
std::string leaderboard(const engine::StudyView& view, std::size_t top);

}  // namespace lanista::cli
