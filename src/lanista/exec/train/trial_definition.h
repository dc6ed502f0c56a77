#pragma once

#include <optional>
#include <string>

#include "lanista/base/digest.h"
#include "lanista/base/result.h"
#include "lanista/exec/train/trainer_input.h"
#include "lanista/io/data/dataset.h"
#include "lanista/search/study/epoch_schedule.h"
#include "lanista/search/tuning/adaptive_batch_rules.h"
#include "lanista/search/tuning/tuner.h"

namespace lanista::train {

/// The properties of a trial in training that never change. A run and its copies share one object, because it may be
/// large.
struct TrialDefinition {
  /// The input without its start, which a run frees after the first step.
  TrainerInput input;
  data::Augmenter augmenter;    ///< Random changes of training samples; empty(): none.
  Digest key;                   ///< lane_group_key of the trial.
  std::string augment_text;     ///< Text that is equal for trials with the same augmentation.
  study::EpochSchedule epochs;  ///< Steps of the trial's epochs and of its passes over the training rows.
  std::optional<study::TuneRules> tune_rules;  ///< Rules of the trial's tune searches; none: it never searches.
};

/// Returns the definition of a trial with this input. Errors: kInvalidArgument (the augmentation does not suit the
/// data; options of train.select or train.tune).
Result<TrialDefinition> make_trial_definition(TrainerInput input);

}  // namespace lanista::train
