#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "lanista/engine/core/ensemble.h"
#include "lanista/engine/core/kept_states.h"
#include "lanista/engine/core/package.h"
#include "lanista/engine/core/study_context.h"
#include "lanista/engine/core/trained_weights.h"

namespace lanista::engine {

/// The winner of a study, with its test metrics.
struct Winner {
  std::optional<TrialId> trial;  ///< The best trial with weights that can be read; absent: no trial has any.
  /// Metrics by name of this trial on the test part; empty: there is no test part.
  std::map<std::string, double> test;
  std::optional<study::Ensemble> ensemble;  ///< The ensemble in best/; absent: best/ has the winner alone.
};

/// Measures the winner of a study, chooses its ensemble and writes the model package `best/`. Not thread-safe.
class WinnerExport {
 public:
  /// Chooses among the best trials of `kept`. Both arguments outlive this.
  WinnerExport(StudyContext& study, KeptStates& kept) : study_(study), kept_(kept), weights_(study, kept) {}

  /// Chooses the winner and writes its package to best/. Trials with lost weights are left out with a warning; without
  /// any trial nothing is written. Errors: those of the executor and of the file system, kUnavailable (a pause
  /// interrupted it).
  Result<Winner> choose_and_write();
  /// Writes a lost or damaged package of an ended study again; a whole one stays. Errors: kDataLoss (weights are lost),
  /// those of the executor and of the file system.
  Result<void> repair_package();

 private:
  /// Whether the data have a test part.
  bool has_test_part() const { return study_.services.data->split_rows[2] > 0; }
  /// The best trial with readable weights, and its metrics.
  Result<Winner> best_readable();
  /// The metrics of a trial on the test part.
  Result<std::map<std::string, double>> measure(const TrialView& winner);
  /// The trainings of a proposal (study::fold_models_of), without those with lost weights (a warning is logged).
  Result<EnsembleModel> ensemble_model_of(const TrialView& named);
  /// The ensemble of the kept trials, measured on the test part; nullopt: the winner alone is as good. With folds the
  /// winner is an ensemble of its trainings with equal shares.
  Result<std::optional<study::Ensemble>> choose_ensemble_for(const TrialView& winner);
  /// The package of a trial; nullopt: its weights are not kept. Errors: kDataLoss (they are lost).
  Result<std::optional<ModelPackage>> package_of(const TrialView& trial, const std::map<std::string, double>& test);
  /// Writes best/ with these trials, blended by their shares. Errors: kDataLoss (weights are lost).
  Result<void> write_best(const study::Ensemble& ensemble, const std::map<std::string, double>& test);

  StudyContext& study_;
  const KeptStates& kept_;
  TrainedWeights weights_;
};

}  // namespace lanista::engine
