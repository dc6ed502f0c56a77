#pragma once

#include <string>

#include "lanista/engine/core/engine.h"

namespace lanista::cli {

/// How a trial was made, in words: "small-cnn > widen(x2) > swap_op".
std::string lineage_text(const engine::StudyView& view, const study::Proposal& proposal);
/// What was chosen inside a model, "depth=3 act=relu"; what is longer than `width` letters ends in dots.
std::string choices_text(const space::Sample& sample, std::size_t width);
/// The hyper-parameters in words: "sgd lr 0.103 momentum 0.84".
std::string sample_text(const space::Sample& sample);

/// How far one gets without a search, by the first goal: a line, or nothing where that is not known.
std::string baselines_text(const engine::StudyView& view);

/// How far the best score may be luck of its validation rows: a line, or nothing where that cannot be said.
std::string noise_text(const engine::StudyView& view);

/// "#4 67 %, #2 33 %: val_accuracy 0.9800"
std::string ensemble_members_text(const study::Ensemble& ensemble, const std::string& metric);

/// What best/ blends, with shares, its validation and test value and those of the winner alone; or that no ensemble was
/// better. Empty where the study asked for none.
std::string ensemble_text(const engine::StudyView& view);

/// The best `top` trials as a table, best first, with the winner's test metric if known and what had to be beaten.
/// Plain text, no control codes.
std::string leaderboard(const engine::StudyView& view, std::size_t top);

}  // namespace lanista::cli
