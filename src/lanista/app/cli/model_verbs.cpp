#include "lanista/app/cli/model_verbs.h"

#include <algorithm>
#include <cmath>
#include <iostream>

#include "lanista/app/cli/app.h"
#include "lanista/app/cli/assessment_text.h"
#include "lanista/app/cli/load.h"
#include "lanista/app/cli/session.h"
#include "lanista/app/cli/terminal.h"
#include "lanista/engine/core/frozen_part.h"
#include "lanista/inference/compared_predictions.h"
#include "lanista/inference/prediction_columns.h"
#include "lanista/inference/predictor.h"
#include "lanista/io/data/raw_input.h"
#include "lanista/io/formats/csv_writer.h"
#include "lanista/io/formats/signature.h"
#include "lanista/io/store/checkpoints.h"

namespace lanista::cli {
namespace {

using engine::ModelPackage;

/// Raw data with the predictions of a model.
struct Predicted {
  ModelPackage package;
  data::RawData raw;
  inference::Predictor predictor;
  std::vector<double> values;  ///< [rows, outputs]
};

Result<Predicted> predict_raw(const std::string& model, const std::string& input) {
  LANISTA_ASSIGN(auto package, load_package(model));
  LANISTA_ASSIGN(auto raw, data::read_raw(package.data, input, real_file_system()));
  print_notes(raw.data_warnings);
  LANISTA_ASSIGN(auto predictor, inference::Predictor::create(package));
  auto values = predictor.predict(raw.features);
  return Predicted{std::move(package), std::move(raw), std::move(predictor), std::move(values)};
}

/// The function that writes the text of a cell: unchanged into a file, with escaped control characters to stdout.
using CellText = std::string (*)(const std::string&);
std::string unchanged(const std::string& text) { return text; }
std::string for_terminal(const std::string& text) { return escape_controls(text); }

std::vector<std::string> header(const Predicted& all, CellText written) {
  const auto& data = all.package.data;
  std::vector<std::string> cells{all.raw.names.empty() ? "row" : "name"};
  if (data.classes > 0) cells.emplace_back("prediction");
  for (const std::string& name : inference::prediction_columns(data)) cells.push_back(formats::csv_cell(written(name)));
  return cells;
}

std::string predictions_csv(const Predicted& all, CellText written) {
  std::string out;
  formats::add_csv_row(out, header(all, written));
  const auto& data = all.package.data;
  const auto width = static_cast<std::size_t>(all.predictor.outputs());
  const auto answer = static_cast<std::size_t>(data.width());
  for (std::size_t row = 0; row * width < all.values.size(); ++row) {
    // For a text, the prediction at its last position: the next token.
    const auto values = std::span(all.values).subspan(row * width, width).last(answer);
    std::vector<std::string> cells{all.raw.names.empty() ? std::to_string(row)
                                                         : formats::csv_cell(written(all.raw.names[row]))};
    if (data.classes > 0) {
      const auto best = static_cast<std::size_t>(std::max_element(values.begin(), values.end()) - values.begin());
      cells.push_back(formats::csv_cell(written(inference::class_name(data, best))));
    }
    for (const double value : inference::prediction_values(data, values)) cells.push_back(formats::csv_cell(value));
    formats::add_csv_row(out, cells);
  }
  return out;
}

/// The error for a trial without weights, with a command that gives some.
Error no_weights(const LoadedTrial& loaded) {
  const study::TrialView& trial = loaded.trial();
  const auto named = [&](TrialId id) { return shell_word(loaded.folder + "#" + std::to_string(id.value)); };
  const std::string name = "trial " + std::to_string(trial.id.value);
  std::string text;
  if (trial.outcome && trial.outcome->same_as) {
    text = name + " is the same as trial " + std::to_string(trial.outcome->same_as->value) +
           " and was not trained itself; use " + named(*trial.outcome->same_as);
  } else if (trial.measurements.empty()) {
    text = name + " has no measurement, so it has no weights";
  } else {
    text = "the weights of " + name +
           (trial.outcome ? " were not kept (keep.top sets how many are)" : " are not final yet") +
           "; train it again with: lanista repeat " + named(trial.id) + " --out FOLDER";
  }
  return {Code::kNotFound, std::move(text), loaded.folder};
}

Result<ModelPackage> package_of_trial(const std::string& target) {
  LANISTA_ASSIGN(auto loaded, load_trial(target));
  const study::TrialView& trial = loaded.trial();
  if (!trial.outcome || trial.outcome->weights.empty()) return no_weights(loaded);
  const store::CheckpointStore checkpoints(real_file_system(), loaded.folder);
  auto kept = checkpoints.get(trial.outcome->weights);
  // Only the best are kept; the weights of all others are removed.
  if (!kept && kept.error().code == Code::kNotFound) return no_weights(loaded);
  LANISTA_ASSIGN(auto checkpoint, std::move(kept));
  LANISTA_ASSIGN(const data::DataSpec data, data::parse_spec(loaded.view.data));
  LANISTA_ASSIGN(const engine::Job job, engine::make_job(loaded.view.config, data, trial, loaded.model));
  LANISTA_ASSIGN(const engine::FrozenPart frozen, engine::frozen_part(loaded.view));
  LANISTA_ASSIGN(auto state, engine::full_state(store::selected_weights(std::move(checkpoint)), frozen, checkpoints));
  return engine::make_package(loaded.view.config, data, trial, job.recipe, std::move(loaded.model), std::move(state),
                              {});
}

}  // namespace

Result<ModelPackage> load_package(const std::string& target) {
  if (parse_target(target).has_trial) return package_of_trial(target);
  auto& files = real_file_system();
  const auto inside = files.confined_to(target);
  // A file instead of a folder. For a pickle the message has a way out.
  if (const auto bytes = files.read(target)) {
    if (const auto foreign = formats::unsupported_format_error(*bytes, target)) return *foreign;
    return Error{Code::kInvalidArgument, "is a file; a model package is a folder with package.json", target};
  }
  const std::string best = target + "/best";
  const bool study = inside->exists(best + "/package.json") || inside->kind(best) == FileKind::kLink;
  if (!study && files.exists(target + "/log")) {
    return Error{Code::kNotFound, "the study has no best model yet; DIR#TRIAL names one of its trials", target};
  }
  // A package outside of a study may have links: caches of models have their files in another folder.
  return study ? engine::read_package(*inside, best, graph::builtin_ops())
               : engine::read_package(files, target, graph::builtin_ops());
}

int predict(const PredictRequest& request) {
  const auto all = predict_raw(request.model, request.input);
  if (!all) return print_error(all.error());
  if (request.out.empty()) {
    // A pipe may end at a terminal, too, so the kind of stdout does not matter.
    std::cout << predictions_csv(*all, for_terminal) << std::flush;
    return kDone;
  }
  const std::string csv = predictions_csv(*all, unchanged);
  if (auto written = write_atomically(real_file_system(), request.out, csv); !written)
    return print_error(written.error());
  std::cerr << "wrote " << printable(request.out) << "\n";
  return kDone;
}

int evaluate(const EvalRequest& request) {
  const auto all = predict_raw(request.model, request.input);
  if (!all) return print_error(all.error());
  if (all->raw.labels.empty() && all->raw.targets.empty()) {
    return print_error({Code::kInvalidArgument, "the data has no targets to compare with", request.input});
  }
  const data::DataSpec& data = all->package.data;
  const inference::ComparedPredictions compared =
      inference::rows_with_targets(data, all->raw, all->values, all->predictor.outputs());
  const std::int64_t left_out = all->raw.rows() - compared.rows;
  if (left_out > 0) {
    print_notes({std::to_string(left_out) + " of " + std::to_string(all->raw.rows()) + " rows " +
                 (left_out == 1 ? "has" : "have") + " no target and " + (left_out == 1 ? "is" : "are") + " left out"});
  }
  const auto assessment = all->predictor.assess(compared.values, compared.labels, compared.targets);
  std::cout << (request.json ? json_line(assessment_json(assessment, data)) : assessment_text(assessment, data));
  return kDone;
}

}  // namespace lanista::cli
