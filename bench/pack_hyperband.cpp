#include "bench/pack_hyperband.h"

#include <algorithm>
#include <cmath>
#include <ostream>
#include <set>
#include <string>
#include <vector>

#include "bench/arms.h"
#include "bench/trained_study.h"
#include "lanista/base/file_system.h"
#include "lanista/exec/kernels/kernels.h"
#include "lanista/io/data/augment.h"

namespace lanista::bench {
namespace {

struct HyperbandCase {
  std::string name, base, mutate, mutations, augment;
};

// The part of a step that prepares samples falls from case to case. In the last two cases there is nothing to share.
const std::vector<HyperbandCase>& hyperband_cases() {
  static const std::vector<HyperbandCase> all{
      {"mlp-64-noise", "small-mlp", "[]", "[0, 0]", "[{crop: {pad: 1}}, {noise: {std: 0.1}}]"},
      {"mlp-64-erase", "small-mlp", "[]", "[0, 0]", "[{crop: {pad: 1}}, erase]"},
      {"mlp-any-noise", "small-mlp", "[widen, deepen]", "[1, 3]", "[{crop: {pad: 1}}, {noise: {std: 0.1}}]"},
      {"cnn-noise", "small-cnn", "[]", "[0, 0]", "[{crop: {pad: 1}}, {noise: {std: 0.1}}]"},
      {"mlp-64-plain", "small-mlp", "[]", "[0, 0]", "[]"},
      {"cnn-plain", "small-cnn", "[]", "[0, 0]", "[]"}};
  return all;
}

std::string study_file(const HyperbandCase& of) {
  return "model: {base: builtin:" + of.base + "}\n" +  //
         "space:\n  mutate: " + of.mutate + "\n" +     //
         "  params: {lr: log(0.003, 0.3), momentum: \"range(0, 0.95)\"}\n" +
         "data: {source: builtin:digits, batch: 32, augment: " + of.augment + "}\n" + "train: {epochs: 27}\n" +  //
         "strategy: {name: random, mutations: " + of.mutations + "}\n" +
         "stop: {rule: hyperband, min: 1, eta: 3, cycles: 1}\n" + "budget: {trials: 1000}\nkeep: {top: 1}\n";
}

/// The seconds in which a worker prepares the samples of an epoch, batch by batch.
Result<double> preparing_seconds(const study::StudyConfig& config, const data::Dataset& data) {
  LANISTA_ASSIGN(const auto augmenter, data::Augmenter::make(config.data.augment, data.spec()));
  if (augmenter.empty()) return 0.0;
  const auto& rows = data.rows(data::Part::kTrain);
  const auto batch = static_cast<std::size_t>(config.data.batch);
  std::vector<float> features(batch * static_cast<std::size_t>(data.spec().features.elements_per_sample()));
  const auto width = features.size() / batch;
  std::int64_t epoch = 0;
  const double rate = calls_per_second(
      [&] {
        for (std::size_t at = 0; at < rows.size(); at += batch) {
          const auto part = std::span(rows).subspan(at, std::min(batch, rows.size() - at));
          augmenter.gather(data, 1, epoch, part, std::span(features).first(part.size() * width));
        }
        ++epoch;
      },
      kSampleSeconds);
  return 1 / rate;
}

/// The limit of sharing, sum t_i / (t_in + sum (t_i - t_in)) over all epochs of all trials. Each epoch is prepared
/// once.
double sharing_limit(const study::StudyView& view, double preparing) {
  std::set<std::int64_t> epochs;
  std::int64_t trained = 0;
  for (const auto& trial : view.trials) {
    for (const auto& measured : trial.measurements) epochs.insert(measured.epoch), ++trained;
  }
  const double all = training_seconds(view);
  return all / (all - preparing * static_cast<double>(trained - std::ssize(epochs)));
}

struct HyperbandArm {
  std::string name;
  ExecutorSettings executor_settings;
  TrainedStudy last;
};

Result<void> run_case(const HyperbandCase& of, const data::Dataset& data, int repeats, bool json, std::ostream& out) {
  const auto config = study_for(study_file(of), data);
  std::vector<HyperbandArm> all{
      {"plain", {.lanes = 1, .shares_epochs = false}, {}}, {"packed", {.lanes = 1}, {}}, {"fused", {}, {}}};
  Result<void> failure;
  std::vector<double> limits;
  std::vector<Arm> arms;
  for (HyperbandArm& arm : all) {
    arms.push_back({arm.name, [&] {
                      auto trained = train_study(config, data, arm.executor_settings);
                      if (!trained) failure = trained.error();
                      if (!failure.ok()) return std::nan("");
                      arm.last = *std::move(trained);
                      if (&arm == &all.front()) {
                        const auto preparing = preparing_seconds(config, data);
                        if (!preparing) failure = preparing.error();
                        limits.push_back(preparing ? sharing_limit(arm.last.view, *preparing) : std::nan(""));
                      }
                      return arm.last.seconds;
                    }});
  }
  const auto values = run_rounds(arms, repeats);
  LANISTA_TRY(failure);
  for (const HyperbandArm& arm : all) {
    if (arm.last.canonical == all.front().last.canonical && arm.last.view.winner == all.front().last.view.winner) {
      continue;
    }
    return Error{Code::kInternal, "the decisions of the arms plain and " + arm.name + " differ", of.name};
  }
  for (std::size_t a = 0; a < all.size(); ++a) {
    print(summary("pack-hyperband", of.name, all[a].name, "s", values[a]), json, out);
  }
  for (std::size_t a = 1; a < all.size(); ++a) {
    std::vector<double> quotients;
    for (std::size_t i = 0; i < values[a].size(); ++i) quotients.push_back(values[0][i] / values[a][i]);
    print(summary("pack-hyperband", of.name, "plain/" + all[a].name, "x", quotients), json, out);
  }
  print(summary("pack-hyperband", of.name, "limit", "x", limits), json, out);
  out << std::flush;
  return {};
}

}  // namespace

Result<void> pack_hyperband(const BenchRequest& request, std::ostream& out) {
  kernels::set_flush_to_zero();
  const int repeats = request.repeats > 0 ? request.repeats : 7;
  LANISTA_ASSIGN(const auto digits, data::open({}, ".", real_file_system()));
  for (const HyperbandCase& of : hyperband_cases()) {
    if (!request.cases.empty() && std::ranges::find(request.cases, of.name) == request.cases.end()) continue;
    LANISTA_TRY(run_case(of, digits, repeats, request.json, out));
  }
  return {};
}

}  // namespace lanista::bench
