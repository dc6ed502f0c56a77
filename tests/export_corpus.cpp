// Writes studies with unusual content in each export format, and a facts.json for each with the content that a reader
// must find. usage: export_corpus FOLDER

#include <filesystem>
#include <fstream>
#include <iostream>
#include <map>
#include <string>

#include "lanista/app/report/facts.h"
#include "lanista/app/report/optuna.h"
#include "lanista/app/report/table_export.h"
#include "lanista/app/report/tensorboard.h"
#include "lanista/app/report/trace.h"
#include "support/app/report/test_view.h"
#include "support/engine/core/test_support.h"

namespace {

using namespace lanista;
using nlohmann::json;

constexpr double kBaseTime = 1'700'000'000;

/// Returns a study with brackets, in which trials end at rungs, train to the end, or fail.
study::StudyView hyperband() {
  study::StudyConfig config = engine::testing::small_study(45);
  config.train.length.epochs = 9;
  config.stop = {"hyperband", Options::object()};
  const auto resolved = studyfile::read_study(studyfile::write_study(config), "hyperband.yaml");
  LANISTA_CHECK(resolved.ok(), resolved ? "" : resolved.error().text());
  engine::testing::Bench bench;
  const auto end = bench.run(*resolved, {.seed = 3, .workers = 2, .fail_one_in = 8});
  LANISTA_CHECK(end.ok(), end ? "" : end.error().text());
  return bench.view();
}

std::map<std::string, study::StudyView> studies() {
  std::map<std::string, study::StudyView> out;
  out["hostile"] = report::testing::small_study();
  out["random"] = report::testing::random_study(250, 11);
  out["two_goals"] = report::testing::random_study(40, 12);
  out["two_goals"].config.goals = {{true, "val_accuracy"}, {false, "train_loss"}};
  out["empty"].config.name = "empty";
  out["hyperband"] = hyperband();
  return out;
}

json trial_facts(const study::StudyView& view, const study::TrialView& trial) {
  json curve = json::array();
  for (const study::Measurement& measurement : trial.measurements) {
    json metrics = json::object();
    for (const auto& [name, value] : measurement.metrics) metrics[name] = report::number_json(value);
    curve.push_back({{"epoch", measurement.epoch}, {"step", measurement.step}, {"metrics", metrics}});
  }
  return {{"id", trial.id.value},
          {"state", report::state_name(trial)},
          {"same_as", trial.outcome && trial.outcome->same_as ? json(trial.outcome->same_as->value) : json()},
          {"parent", trial.proposal.parent ? json(trial.proposal.parent->value) : json()},
          {"base", report::base_name(view, trial.proposal)},
          {"graph_hash", trial.proposal.graph_hash.hex()},
          {"sample", space::sample_json(trial.proposal.sample)},
          {"curve", curve}};
}

json facts(const study::StudyView& view) {
  json out{{"name", report::valid_utf8(view.config.name)}, {"spans", view.spans.size()}, {"base_time", kBaseTime}};
  out["goals"] = out["params"] = out["trials"] = json::array();
  for (const study::Goal& goal : view.config.goals) out["goals"].push_back({goal.metric, goal.maximize});
  for (const space::Parameter& parameter : view.config.space.params.parameters()) {
    out["params"].push_back(parameter.name);
  }
  for (const study::TrialView& trial : view.trials) out["trials"].push_back(trial_facts(view, trial));
  return out;
}

void write(const std::filesystem::path& path, const std::string& bytes) {
  std::filesystem::create_directories(path.parent_path());
  std::ofstream(path, std::ios::binary) << bytes;
}

void write(const std::filesystem::path& folder, const study::StudyView& view) {
  write(folder / "facts.json", report::dump(facts(view)));
  write(folder / "trials.csv", report::trials_csv(view));
  write(folder / "measurements.csv", report::measurements_csv(view));
  write(folder / "trials.jsonl", report::trials_jsonl(view));
  write(folder / "trace.json", report::chrome_trace(view));
  write(folder / "optuna.journal", report::optuna_journal(view, kBaseTime));
  for (const auto& [path, bytes] : report::tensorboard_files(view, {.base_time = kBaseTime})) {
    write(folder / "tensorboard" / path, bytes);
  }
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) {
    std::cerr << "usage: export_corpus FOLDER\n";
    return 2;
  }
  std::filesystem::remove_all(argv[1]);
  for (const auto& [name, view] : studies()) write(std::filesystem::path(argv[1]) / name, view);
  return 0;
}
