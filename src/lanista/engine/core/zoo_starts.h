#pragma once

#include <map>
#include <optional>
#include <string>

#include "lanista/engine/core/package.h"
#include "lanista/engine/core/study_context.h"
#include "lanista/engine/core/study_zoo.h"
#include "lanista/engine/core/warm_start.h"

namespace lanista::engine {

/// A possible start from a zoo model.
struct ZooStartOption {
  StartOption found;      ///< The start, and the weights that the child takes from it.
  study::ZooModel model;  ///< The zoo model.
};

/// Starts of trials from zoo models, and additions of trained trials to the zoo (`train.start: zoo`). Without a usable
/// zoo its functions have no effect and find nothing. Not thread-safe.
class ZooStarts {
 public:
  /// The zoo is closed until open(). `study` outlives this.
  explicit ZooStarts(StudyContext& study) : study_(study) {}

  /// Opens the zoo of the study, if it has one. A failure is logged as a warning.
  void open();
  /// Ends the study's leases of zoo models.
  void release();
  /// The most similar zoo model as a start, if it is useful and more useful than `own` (null: no other start). Its
  /// weights are copied to the checkpoint store. nullopt: none. Errors: those of graph::verify (kNotFound,
  /// kInvalidArgument) and of the checkpoint store.
  Result<std::optional<ZooStartOption>> find_start(TrialId id, const graph::Graph& child, const StartOption* own);
  /// Copies the zoo weights from which a trial starts once more, if their file is lost or damaged. If the zoo does not
  /// have them any more, a warning is logged. Errors: those of start_model and of the checkpoint store.
  Result<void> repair_start(TrialId id);
  /// Adds a finished trial with kept weights to the zoo, and reports to the zoo how useful the trial's own zoo start
  /// was. Failures are logged as warnings.
  void add(const TrialView& trial);

 private:
  /// Copies a zoo model to the checkpoints and returns its address; empty: it is damaged or gone (a warning is logged).
  Result<std::string> import_weights(const std::string& id, const graph::Graph& graph);
  /// Copies the weights of one start again.
  Result<void> repair_start(TrialId id, const study::Start* start);
  /// The package of a finished trial, without its metrics on the test part. Errors: those of make_job
  /// (kInvalidArgument, kDataLoss) and the store.
  Result<ModelPackage> package_of(const TrialView& trial);
  /// Reports how many steps a trial with a zoo start saved.
  void report_outcome(const TrialView& trial, const std::string& source);

  StudyContext& study_;
  std::optional<StudyZoo> zoo_;
  std::map<std::string, std::string> addresses_;  ///< Addresses of copied zoo models, by id.
};

}  // namespace lanista::engine
