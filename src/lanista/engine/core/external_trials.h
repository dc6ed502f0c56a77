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
  std::string row;                        ///< Position in its file, for messages: "row 3", "trial 7".
  nlohmann::json params;                  ///< Object with a value for each parameter name.
  std::map<std::string, double> metrics;  ///< Final metrics by name; NaN: undefined.
  std::int64_t epoch = 0;                 ///< Epoch of the metrics, from 1; 0: after its whole training; -1: invalid.
  bool is_refinement = false;             ///< True: it is a refinement, which chose these values while it trained.
};

/// Reads the rows of a CSV table with a column for each of `params` and `metrics`, in order. `export --csv` writes this
/// form, with columns params.NAME and metrics.NAME; plain names are read too. The column `epochs` gives the epochs of a
/// row; an invalid number gives -1. 1 in the column `tunes` marks refinements (strategy.then). Other columns are
/// ignored. An empty parameter cell means no value; any other text than a number in a metric cell gives NaN. Errors:
/// kDataLoss (not a table), kInvalidArgument (no column for any parameter, or none for one of the metrics).
Result<std::vector<ExternalTrial>> read_csv_trials(std::string_view text, const std::vector<std::string>& params,
                                                   const std::vector<std::string>& metrics);

/// The external trials that a new study of `config` over `models` can import: those that it could propose itself. If
/// there are too many, the latest ones are imported. The caller guarantees equal data and training, which cannot be
/// checked.
///
/// The study needs one base model or a blueprint; the choices of a blueprint are parameters. `left_out` of the result
/// counts the rows that do not fit, by reason and row. A trial gets the number of its row, from 1, and one measurement.
/// Before the last epoch its outcome is `stopped`. Errors: kInvalidArgument (several base models, a frozen part, or
/// several trainings for each proposal), kDataLoss (a model cannot be rebuilt).
Result<ImportedTrials> import_trials(const std::vector<ExternalTrial>& trials, const study::StudyConfig& config,
                                     std::shared_ptr<const mutate::ModelSpace> models);

/// Names of the metrics that rows must have, each once: those of goals and measured constraints. Without
/// hyper-parameters, and without params and flops, which follow from the model.
std::vector<std::string> required_metrics(const study::StudyConfig& config);

}  // namespace lanista::engine
