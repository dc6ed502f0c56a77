#pragma once

#include <memory>
#include <string>

#include <nlohmann/json.hpp>

#include "lanista/engine/core/checkpoint_refs.h"
#include "lanista/engine/core/engine.h"
#include "lanista/engine/core/study_state.h"
#include "lanista/engine/core/trial_models.h"

namespace lanista::engine {

/// Seconds between reads of control/ and between calls of Observer::on_idle.
inline constexpr double kPollSeconds = 0.25;

/// The study that an engine runs: its folder, log and state, and the services for it. All parts of the engine share
/// one, so it has a fixed address. Not thread-safe.
struct StudyContext {
  /// Takes over the log and the state that was folded from it. Files are confined to `study_folder`.
  StudyContext(std::string study_folder, Services engine_services, store::LogWriter log_writer, StudyState folded_state,
               std::shared_ptr<const mutate::ModelSpace> model_space);
  StudyContext(const StudyContext&) = delete;
  StudyContext& operator=(const StudyContext&) = delete;

  /// Writes a log line for humans, if the services have a sink.
  void event(Level level, const std::string& name, nlohmann::json fields) const;
  /// The frozen part of every job.
  FrozenPart frozen() const;
  /// Seconds since this attempt began. Reads the clock.
  double attempt_seconds() const;

  std::string folder;                 ///< Folder of the study.
  std::shared_ptr<FileSystem> files;  ///< File system that is confined to the folder.
  Services services;                  ///< Services; their file system is `files`.
  store::LogWriter log;               ///< Log of the study.
  StudyState state;                   ///< State after the last record.
  TrialModels models;                 ///< Models of its trials.
  CheckpointRefs checkpoints;         ///< Its checkpoint files with their reference counts.
  double attempt_start_seconds = 0;   ///< Monotonic clock at the begin of this attempt.
};

}  // namespace lanista::engine
