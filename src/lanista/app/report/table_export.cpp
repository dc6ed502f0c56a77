#include "lanista/app/report/table_export.h"

#include <optional>
#include <vector>

#include "lanista/app/report/facts.h"
#include "lanista/io/formats/csv_writer.h"
#include "lanista/model/graph/editor.h"

namespace lanista::report {
namespace {

using formats::add_csv_row;
using formats::csv_cell;
using nlohmann::json;

std::string number(std::int64_t value) { return std::to_string(value); }

std::string value_cell(const space::Value& value) {
  const auto* text = std::get_if<std::string>(&value);
  return text != nullptr ? csv_cell(*text) : space::value_text(value);
}

void add_metrics(std::vector<std::string>& row, const std::vector<std::string>& names,
                 const study::Measurement* measurement) {
  for (const std::string& name : names) {
    row.emplace_back();
    if (measurement == nullptr) continue;
    const auto found = measurement->metrics.find(name);
    if (found != measurement->metrics.end()) row.back() = csv_cell(found->second);
  }
}

std::vector<std::string> trial_cells(const study::StudyView& view, const study::TrialView& trial,
                                     const std::optional<std::int64_t>& rank, double seconds) {
  const bool measured = !trial.measurements.empty();
  const study::Proposal& proposal = trial.proposal;
  return {number(std::int64_t{trial.id.value}),
          std::string(state_name(trial)),
          trial.outcome ? csv_cell(trial.outcome->reason) : "",
          rank ? number(*rank) : "",
          proposal.parent ? number(std::int64_t{proposal.parent->value}) : "",
          trial.outcome && trial.outcome->same_as ? number(std::int64_t{trial.outcome->same_as->value}) : "",
          csv_cell(base_name(view, proposal)),
          number(static_cast<std::int64_t>(proposal.edits.size())),
          proposal.graph_hash.hex(),
          number(measured ? trial.measurements.back().epoch : 0),
          number(measured ? trial.measurements.back().step : 0),
          number(measured ? study::result_of(view.config, trial).epoch : 0),
          number(trial.parameters),
          csv_cell(seconds)};
}

json measurements_json(const study::TrialView& trial) {
  json out = json::array();
  for (const study::Measurement& measurement : trial.measurements) {
    json one = study::measurement_json(measurement);
    one.erase("trial");
    out.push_back(std::move(one));
  }
  return out;
}

json lineage_json(const study::StudyView& view, const study::Proposal& proposal) {
  json mutations = json::array(), edits = json::array();
  for (const space::MutationStep& step : proposal.steps) mutations.push_back(step.mutator);
  for (const graph::Edit& edit : proposal.edits) edits.push_back(graph::edit_text(edit));
  json out{{"base", base_name(view, proposal)},
           {"base_hash", proposal.base_hash.hex()},
           {"mutations", std::move(mutations)},
           {"edits", std::move(edits)}};
  if (proposal.parent) out["parent"] = proposal.parent->value;
  if (proposal.is_refinement) out["tunes"] = true;
  return out;
}

}  // namespace

std::string trials_csv(const study::StudyView& view) {
  const std::vector<std::string> metrics = metric_names(view);
  const std::vector<Axis> params = axes(view);
  std::vector<std::string> head{"trial", "state",      "reason", "rank",  "parent",     "same_as",    "base",
                                "edits", "graph_hash", "epochs", "steps", "kept_epoch", "parameters", "seconds"};
  const bool has_finals = view.config.strategy.then.has_value();
  if (has_finals) head.emplace_back("tunes");
  for (const std::string& name : metrics) head.push_back(csv_cell("metrics." + name));
  for (const Axis& axis : params) head.push_back(csv_cell("params." + axis.name));

  std::string out;
  add_csv_row(out, head);
  const auto times = trial_times(view);
  const auto trial_ranks = ranks(view);
  for (std::size_t i = 0; i < view.trials.size(); ++i) {
    const study::TrialView& trial = view.trials[i];
    std::vector<std::string> row = trial_cells(view, trial, trial_ranks[i], times[i].seconds);
    if (has_finals) row.emplace_back(trial.proposal.is_refinement ? "1" : "0");
    add_metrics(row, metrics, trial.measurements.empty() ? nullptr : &study::result_of(view.config, trial));
    for (const Axis& axis : params) {
      const auto found = trial.proposal.sample.find(axis.name);
      row.push_back(found == trial.proposal.sample.end() ? "" : value_cell(found->second));
    }
    add_csv_row(out, row);
  }
  return out;
}

std::string measurements_csv(const study::StudyView& view) {
  const std::vector<std::string> metrics = metric_names(view);
  std::vector<std::string> head{"trial", "epoch", "step", "seconds"};
  for (const std::string& name : metrics) head.push_back(csv_cell("metrics." + name));

  std::string out;
  add_csv_row(out, head);
  const auto times = trial_times(view);
  for (std::size_t i = 0; i < view.trials.size(); ++i) {
    for (const study::Measurement& measurement : view.trials[i].measurements) {
      const auto over = times[i].epochs.find(measurement.epoch);
      std::vector<std::string> row{number(std::int64_t{view.trials[i].id.value}), number(measurement.epoch),
                                   number(measurement.step),
                                   over == times[i].epochs.end() ? "" : csv_cell(over->second)};
      add_metrics(row, metrics, &measurement);
      add_csv_row(out, row);
    }
  }
  return out;
}

std::string trials_jsonl(const study::StudyView& view) {
  std::string out;
  const auto times = trial_times(view);
  const auto trial_ranks = ranks(view);
  for (std::size_t i = 0; i < view.trials.size(); ++i) {
    const study::TrialView& trial = view.trials[i];
    json line{{"v", 1},
              {"trial", trial.id.value},
              {"state", state_name(trial)},
              {"graph_hash", trial.proposal.graph_hash.hex()},
              {"lineage", lineage_json(view, trial.proposal)},
              {"sample", space::sample_json(trial.proposal.sample)},
              {"budget", study::full_epochs(trial.proposal)},
              {"parameters", trial.parameters},
              {"seconds", number_json(times[i].seconds)},
              {"measurements", measurements_json(trial)}};
    if (!trial.measurements.empty()) line["kept_epoch"] = study::result_of(view.config, trial).epoch;
    if (!trial.rungs.empty()) line["rungs"] = trial.rungs;
    if (trial_ranks[i]) line["rank"] = *trial_ranks[i];
    if (trial.outcome && !trial.outcome->reason.empty()) line["reason"] = trial.outcome->reason;
    if (trial.outcome && trial.outcome->same_as) line["same_as"] = trial.outcome->same_as->value;
    if (trial.outcome && trial.outcome->pruned_by) line["implied_by"] = trial.outcome->pruned_by->value;
    if (trial.outcome && !trial.outcome->rule.empty()) line["rule"] = trial.outcome->rule;
    out += dump(line) + "\n";
  }
  return out;
}

}  // namespace lanista::report
