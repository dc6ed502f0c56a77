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
  /// The best trial, without those with weights that are lost. It may have no kept weights. Absent: there is none.
  std::optional<TrialId> trial;
  /// Metrics by name of this trial on the test part; empty: there is no test part, or no weights were kept.
  std::map<std::string, double> test;
  std::optional<study::Ensemble> ensemble;  ///< The ensemble in best/; absent: best/ has the winner alone.
};

/// Measures the winner of a study, chooses its ensemble and writes the model package `best/`. Not thread-safe.
class WinnerExport {
 public:
  /// Chooses among the best trials of `kept`. Both arguments outlive this.
  WinnerExport(StudyContext& study, KeptStates& kept) : study_(study), kept_(kept), weights_(study, kept) {}

  /// Chooses the winner, writes its package to best/ and calls Observer::on_package. Lost weights are trained again;
  /// trials for which that fails are left out with a warning. Without a trial, or if its weights were not kept, nothing
  /// is written. Errors: those of the executor and of the file system, kUnavailable (a pause interrupted it).
  Result<Winner> choose_and_write();
  /// Writes a lost or damaged package of an ended study again; a whole one, or one of a newer version, stays. Without a
  /// winner, or if its weights were not kept, nothing is written. Errors: kDataLoss (weights are lost), kUnavailable (a
  /// pause interrupted it), those of the executor and of the file system.
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
