#pragma once

#include <cstdint>
#include <string>

#include "lanista/base/result.h"
#include "lanista/io/data/dataset.h"
#include "lanista/search/study/config.h"
#include "lanista/search/study/study_view.h"

namespace lanista::bench {

/// Settings of the executor of a study. They change its duration, not its results.
struct ExecutorSettings {
  std::int64_t workers = 2;   ///< Worker threads.
  std::int64_t lanes = 0;     ///< Most lanes of a program; 0: as many as keep their states in the cache.
  bool shares_epochs = true;  ///< true: trials share prepared epochs.
};

/// The result of a study that was trained to its end.
struct TrainedStudy {
  double seconds = 0;     ///< Wall time of the engine, with the model package of the winner.
  std::string canonical;  ///< Canonical export of the log, equal for all executor settings.
  study::StudyView view;  ///< State of the study at its end.
};

/// The resolved configuration of a study file for a data set. The file must be valid.
study::StudyConfig study_for(const std::string& yaml, const data::Dataset& data);

/// Trains a study with its folder in memory, so that disks do not affect the time. `data` must be the data set of
/// config.data. Errors: those of the engine; kInternal if the study ends early.
Result<TrainedStudy> train_study(const study::StudyConfig& config, const data::Dataset& data,
                                 const ExecutorSettings& executor_settings);

/// Seconds of training, summed over all workers.
double training_seconds(const study::StudyView& view);

}  // namespace lanista::bench
