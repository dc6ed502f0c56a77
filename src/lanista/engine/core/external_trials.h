#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "lanista/base/result.h"
#include "lanista/engine/core/earlier_trials.h"
#include "lanista/model/mutate/model_space.h"
#include "lanista/search/study/config.h"

namespace lanista::engine {

/// A trial that somebody else has recorded.
struct ExternalTrial {
  std::string row;                        ///< where it stands: "line 3", "trial 7"
  nlohmann::json params;                  ///< an object: values by the parameters' names
  std::map<std::string, double> metrics;  ///< at its end; NaN where there is no number
  std::int64_t epoch = 0;                 ///< that the metrics are of; 0: all that a trial has
  bool is_refinement = false;                     ///< it left these values while it trained, as finals of ours do
};

/// The rows of a table with a column for each parameter and for the metrics, as in what `export --csv` writes, where
/// they are called params.NAME and metrics.NAME; a column `epochs` says how far a row was trained, one `is_refinement` what is
/// a final (strategy.then), any other is passed over. An empty cell is no value. Errors: kDataLoss (no table);
/// kInvalidArgument (no column of a parameter, or none of a metric that is asked for).
Result<std::vector<ExternalTrial>> read_csv_trials(std::string_view text, const std::vector<std::string>& params,
                                                const std::vector<std::string>& metrics);

/// The trials of a file of Optuna's JournalStorage that are complete; those that were pruned with the last value that
/// they reported, its step being an epoch (only where there is one goal). A line at the end that is not whole is passed
/// over, as Optuna does. Errors: kDataLoss with "line N"; kInvalidArgument (several studies; other directions than the
/// goals').
Result<std::vector<ExternalTrial>> read_optuna_trials(std::string_view text, const std::vector<study::Goal>& goals);

/// What the study that `config` begins over `models` can take over of them: whatever it could propose itself. Nobody
/// can tell whether they are of the same data and the same training; who imports them says so. The study must have one
/// base model, or a space of models, whose choices are parameters then. `left_out` says why others do not fit, row by
/// row. Errors: kInvalidArgument (several bases, a frozen part, several trainings a proposal, a constraint on what
/// the rows do not have).
Result<ImportedTrials> import_trials(const std::vector<ExternalTrial>& trials, const study::StudyConfig& config,
                            std::shared_ptr<const mutate::ModelSpace> models);

/// What rows must tell: the metrics of goals and of constraints, but for params and flops, which the model tells.
std::vector<std::string> required_metrics(const study::StudyConfig& config);

}  // namespace lanista::engine
