#pragma once

#include <functional>

#include "lanista/base/result.h"
#include "lanista/data/dataset.h"
#include "lanista/engine/executor.h"
#include "lanista/train/trainer.h"

namespace lanista::runtime {

/// Trains a job alone, from the beginning through `epochs` epochs: what the study did with it, to the bit. `on_epoch`
/// is told each measurement. Errors: those of a trainer.
struct RepeatedTrial {
  train::TrainerState state;
  std::vector<study::Measurement> measurements;
  Digest hash;  ///< of the state, as an outcome's weights_hash
};
Result<RepeatedTrial> repeat_trial(const engine::Job& job, std::int64_t epochs, const std::vector<std::string>& metrics,
                                   const data::Dataset& data,
                                   const std::function<void(const study::Measurement&)>& on_epoch,
                                   const nn::Operators& operators = {});

}  // namespace lanista::runtime
