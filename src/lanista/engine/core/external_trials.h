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

/// A trial that another program recorded.
struct ExternalTrial {
  std::string row;                        ///< Position in its file: "line 3", "trial 7".
  nlohmann::json params;                  ///< Object of values by parameter name.
  std::map<std::string, double> metrics;  ///< Final metrics; NaN: undefined.
  std::int64_t epoch = 0;                 ///< Epoch of the metrics; 0: after its whole training.
  bool is_refinement = false;             ///< It chose these values while it trained, as a refinement does.
};

/// Reads the rows of a CSV table with a column for each parameter and metric. `export --csv` writes this form, with
/// columns params.NAME and metrics.NAME. The column `epochs` gives the epochs of a row, and `tunes` marks
/// refinements (strategy.then). Other columns are ignored. An empty cell has no value. Errors: kDataLoss (not a table),
/// kInvalidArgument (no column for a parameter or for a required metric).
Result<std::vector<ExternalTrial>> read_csv_trials(std::string_view text, const std::vector<std::string>& params,
                                                   const std::vector<std::string>& metrics);

/// Reads the complete trials of an Optuna JournalStorage file. With one goal, pruned trials count too, with their last
/// reported value and its step as the epoch. An unfinished last line is ignored, as in Optuna. Errors: kDataLoss with
/// "line N", kInvalidArgument (several studies, or directions that differ from the goals).
Result<std::vector<ExternalTrial>> read_optuna_trials(std::string_view text, const std::vector<study::Goal>& goals);

/// The external trials that a new study of `config` over `models` can import: those that it could propose itself. The
/// caller guarantees equal data and training, which cannot be checked. The study needs one base model or a blueprint,
/// and the choices of a blueprint are parameters. `left_out` counts the rows that do not fit, by reason. Errors:
/// kInvalidArgument (several base models, a frozen part, several trainings for each proposal, a constraint on a metric
/// that the rows lack).
Result<ImportedTrials> import_trials(const std::vector<ExternalTrial>& trials, const study::StudyConfig& config,
                                     std::shared_ptr<const mutate::ModelSpace> models);

/// Metrics that rows must have: those of goals and constraints, except params and flops, which follow from the model.
std::vector<std::string> required_metrics(const study::StudyConfig& config);

}  // namespace lanista::engine
