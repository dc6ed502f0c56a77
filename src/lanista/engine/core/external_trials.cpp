#include "lanista/engine/core/external_trials.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>

#include "lanista/base/csv.h"
#include "lanista/base/parse_number.h"
#include "lanista/engine/core/idle_settings.h"
#include "lanista/engine/core/study_setup.h"
#include "lanista/io/studyfile/notation.h"
#include "lanista/model/graph/infer.h"
#include "lanista/search/sampler/enqueued.h"
#include "lanista/search/study/trainings.h"

namespace lanista::engine {
namespace {

using nlohmann::json;

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
double parse_metric(std::string_view text) { return parse_number<double>(text).value_or(kNaN); }

std::string join_names(const std::vector<std::string>& names) {
  std::string out;
  for (const std::string& name : names) out += (out.empty() ? "" : ", ") + name;
  return out;
}

/// Converts a row to a trial of the study. Errors: kInvalidArgument is the reason why the row does not fit.
class RowMatcher {
 public:
  RowMatcher(const study::StudyConfig& config, const mutate::ModelSpace& models, search::Context context)
      : config_(config), models_(models), context_(std::move(context)) {}

  Result<study::EarlierTrial> match(const ExternalTrial& row, std::uint32_t number) const {
    const auto refuse = [](const std::string& what) { return Error{Code::kInvalidArgument, what, ""}; };
    if (row.is_refinement) return refuse("it tuned its settings while it trained (strategy.then)");
    // Other programs sample a momentum for adam, too.
    nlohmann::json params = row.params;
    const std::string optimizer = config_.train.optimizer.name;
    const auto named = params.find("optimizer");
    const bool is_text = named != params.end() && named->is_string();
    if (config_.data.rules > study::kFirstRules) {
      erase_unread_numbers(params, is_text ? named->get<std::string>() : optimizer);
    }
    LANISTA_ASSIGN(study::Proposal proposal, search::exact_proposal(context_, params));
    std::map<std::string, double> metrics = row.metrics;
    LANISTA_ASSIGN(const graph::Graph model, models_.rebuild(proposal.base, proposal.edits));
    LANISTA_ASSIGN(const graph::ModelCost cost, graph::model_cost(model, models_.ops()));
    metrics.insert({{"params", static_cast<double>(cost.parameters)}, {"flops", cost.forward.flops}});
    for (const std::string& name : required_metrics(config_)) {
      const auto found = metrics.find(name);
      if (found == metrics.end() || std::isnan(found->second)) return refuse("its " + name + " is missing or NaN");
      if (std::isinf(found->second)) return refuse("its " + name + " is infinite");
    }
    const std::int64_t all = config_.train.length.epochs, epoch = row.epoch == 0 ? all : row.epoch;
    if (epoch < 1 || epoch > all) {
      return refuse("epochs were " + std::to_string(epoch) + ", a trial has " + std::to_string(all));
    }
    study::EarlierTrial out;
    out.trial = TrialId{number};
    out.proposal = std::move(proposal);
    out.measurements.push_back({out.trial, epoch, epoch, std::move(metrics)});
    out.outcome = epoch == all ? study::OutcomeKind::kSucceeded : study::OutcomeKind::kStopped;
    return out;
  }

 private:
  const study::StudyConfig& config_;
  const mutate::ModelSpace& models_;
  search::Context context_;
};

}  // namespace

std::vector<std::string> required_metrics(const study::StudyConfig& config) {
  std::vector<std::string> out;
  const auto add = [&](const std::string& name) {
    if (name != "params" && name != "flops" && std::ranges::find(out, name) == out.end()) out.push_back(name);
  };
  for (const study::Goal& goal : config.goals) add(goal.metric);
  const auto& names = study::sample_names();
  for (const study::Constraint& constraint : config.subject_to) {
    for (const std::string& name : constraint.names()) {
      if (constraint.is_measured() && std::ranges::find(names, name) == names.end()) add(name);
    }
  }
  return out;
}

Result<std::vector<ExternalTrial>> read_csv_trials(std::string_view text, const std::vector<std::string>& params,
                                                   const std::vector<std::string>& metrics) {
  LANISTA_ASSIGN(const formats::CsvTable table, formats::parse_csv(text, {0, true}));
  std::map<std::size_t, std::string> param_columns, metric_columns;
  std::optional<std::size_t> epochs, is_refinement;
  std::set<std::string> found;
  for (std::size_t k = 0; k < table.columns(); ++k) {
    const std::string& name = table.header()[k];
    if (name == "epochs") epochs = k;
    if (name == "tunes") is_refinement = k;
    for (const std::string& param : params) {
      if (name == param || name == "params." + param) param_columns[k] = param;
    }
    for (const std::string& metric : metrics) {
      if (name != metric && name != "metrics." + metric) continue;
      metric_columns[k] = metric;
      found.insert(metric);
    }
  }
  for (const std::string& metric : metrics) {
    if (!found.contains(metric)) {
      return Error{
          Code::kInvalidArgument,
          "no column is called '" + metric + "', which this study asks for; there are " + join_names(table.header()),
          "line 1"};
    }
  }
  if (param_columns.empty() && !params.empty()) {
    return Error{Code::kInvalidArgument,
                 "no column is called as a parameter of this study (" + join_names(params) + "); there are " +
                     join_names(table.header()),
                 "line 1"};
  }
  std::vector<ExternalTrial> out;
  for (std::size_t i = 0; i < table.rows(); ++i) {
    ExternalTrial row{"row " + std::to_string(i + 1), json::object(), {}, 0};
    for (const auto& [column, name] : param_columns) {
      const std::string_view cell = table.cell(i, column);
      if (!cell.empty()) row.params[name] = space::value_json(studyfile::parse_value(cell));
    }
    for (const auto& [column, name] : metric_columns) row.metrics[name] = parse_metric(table.cell(i, column));
    if (epochs) {
      const double epoch = parse_metric(table.cell(i, *epochs));
      row.epoch = epoch >= 1 && epoch <= static_cast<double>(study::kMaxEpochs) ? static_cast<std::int64_t>(epoch) : -1;
    }
    row.is_refinement = is_refinement && parse_metric(table.cell(i, *is_refinement)) == 1;
    out.push_back(std::move(row));
  }
  return out;
}

Result<ImportedTrials> import_trials(const std::vector<ExternalTrial>& trials, const study::StudyConfig& config,
                                     std::shared_ptr<const mutate::ModelSpace> models) {
  const auto refuse = [](const std::string& message, const std::string& key) {
    return Error{Code::kInvalidArgument, "its trials cannot be imported: " + message, key};
  };
  if (models->bases().size() != 1)
    return refuse("the study has several base models, and the rows do not name one", "model.base");
  if (config.model.frozen) return refuse("a part of this study's models is frozen", "model.frozen");
  if (study::trainings_per_proposal(config) > 1) {
    return refuse("proposals are trained several times", config.data.folds ? "data.folds" : "strategy.repeat");
  }
  LANISTA_ASSIGN(search::Context context, strategy_context(config, models));
  const RowMatcher rows(config, *models, std::move(context));
  ImportedTrials out;
  std::size_t values_left = kMaxImportedValues;
  for (auto trial = trials.rbegin(); trial != trials.rend(); ++trial) {
    const auto leave_out = [&](const std::string& why) {
      ++out.left_out[why];
      ++out.earlier.left_out;
    };
    auto fits = rows.match(*trial, static_cast<std::uint32_t>(trials.rend() - trial));
    if (!fits) {
      if (fits.error().code != Code::kInvalidArgument) return std::move(fits).error();
      const std::string& where = fits.error().where;
      leave_out((where.empty() ? "" : where.substr(1) + " ") + fits.error().message + " (" + trial->row + ")");
      continue;
    }
    const std::size_t size = count_json_values(study::earlier_study_json({"", {*fits}, 0}));
    if (size > values_left) {
      leave_out("the log header is full");
      continue;
    }
    values_left -= size;
    out.earlier.trials.push_back(*std::move(fits));
  }
  std::ranges::reverse(out.earlier.trials);
  return out;
}

}  // namespace lanista::engine
