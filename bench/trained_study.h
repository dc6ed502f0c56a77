#pragma once

#include <cstdint>
#include <string>

#include "lanista/base/result.h"
#include "lanista/io/data/dataset.h"
#include "lanista/search/study/config.h"
#include "lanista/search/study/study_view.h"

namespace lanista::bench {

/// What a study is trained by. None of it changes what comes out, only how long it takes.
struct ExecutorSettings {
  std::int64_t workers = 2;
  std::int64_t lanes = 0;     ///< trials of one program that a worker trains together, at most; 0: as many as pay
  bool shares_epochs = true;  ///< prepared samples are kept for whoever comes to the same epoch
};

/// A study that was really trained to its end.
struct TrainedStudy {
  double seconds = 0;     ///< from before the engine is made to its end, the winner's package included
  std::string canonical;  ///< export of its log: equal for all crews
  study::StudyView view;
};

/// Settles a study file for a data set. A mistake in it is ours.
study::StudyConfig study_for(const std::string& yaml, const data::Dataset& data);

/// Trains it in memory: no disk takes part in the time. `data` are those of config.data. Errors: those of the engine;
/// kInternal if the study did not end by itself.
Result<TrainedStudy> train_study(const study::StudyConfig& config, const data::Dataset& data,
                                 const ExecutorSettings& executor_settings);

/// Seconds in which somebody trained, over all workers.
double training_seconds(const study::StudyView& view);

}  // namespace lanista::bench
