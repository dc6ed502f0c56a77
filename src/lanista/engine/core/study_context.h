#pragma once

#include <memory>
#include <string>

#include <nlohmann/json.hpp>

#include "lanista/engine/core/checkpoint_refs.h"
#include "lanista/engine/core/engine.h"
#include "lanista/engine/core/study_state.h"
#include "lanista/engine/core/trial_models.h"

namespace lanista::engine {

/// Seconds between two reads of control/ and between two calls of Observer::on_idle.
inline constexpr double kPollSeconds = 0.25;

/// The study that an engine runs: its folder, log and state, and the services for it. All parts of the engine share one
/// object by reference, so it cannot be copied. Not thread-safe.
struct StudyContext {
  /// Takes over the log, and the state that was folded from it. Files are confined to `study_folder`. `model_space` is
  /// the study's model space.
  StudyContext(std::string study_folder, Services engine_services, store::LogWriter log_writer, StudyState folded_state,
               std::shared_ptr<const mutate::ModelSpace> model_space);
  StudyContext(const StudyContext&) = delete;
  StudyContext& operator=(const StudyContext&) = delete;

  /// Writes a message for people, with a name and fields, to the services' sink; without a sink it has no effect.
  void event(Level level, const std::string& name, nlohmann::json fields) const;
  /// The frozen part of every job of the study; empty if it has none.
  FrozenPart frozen() const;
  /// Seconds since this attempt began, from the monotonic clock.
  double attempt_seconds() const;

  std::string folder;                 ///< Folder of the study.
  std::shared_ptr<FileSystem> files;  ///< File system that is confined to the folder.
  Services services;                  ///< Services of the engine; their file system is `files`.
  store::LogWriter log;               ///< Log of the study.
  StudyState state;                   ///< State after the last record.
  TrialModels models;                 ///< Builds the models of trials.
  CheckpointRefs checkpoints;         ///< The study's checkpoint files with their reference counts.
  double attempt_start_seconds = 0;   ///< Reading of the monotonic clock at the begin of this attempt, in seconds.
};

}  // namespace lanista::engine
