#include "bench/adaptive.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

#include "bench/arms.h"
#include "bench/recipe.h"
#include "bench/timed_training.h"
#include "lanista/base/file_system.h"
#include "lanista/exec/kernels/kernels.h"
#include "lanista/model/autodiff/training_step.h"
#include "lanista/model/mutate/model_space.h"
#include "lanista/search/tuning/adaptive_batch_rules.h"
#include "lanista/search/tuning/tuner.h"

namespace lanista::bench {
namespace {

constexpr std::int64_t kSmall = 8, kFirst = 32, kMost = 512;
constexpr std::int64_t kEpochs = 40;
constexpr double kTarget = 0.98;
constexpr const char* kName = "adaptive";

struct Task {
  std::string name;
  data::Dataset data;
  graph::Graph model;
};

Result<Task> make_task(const std::string& base) {
  study::DataConfig config;
  config.split = {0.7, 0.3, 0.0};
  LANISTA_ASSIGN(auto opened, data::open_raw(config, ".", real_file_system()));
  auto& [raw, split] = opened;
  LANISTA_ASSIGN(auto data, data::Dataset::make(std::move(raw), std::move(split), "auto", "auto"));
  LANISTA_ASSIGN(auto model, mutate::builtin_base(base, {data.spec().features}, data.spec().classes));
  return Task{"digits-" + base, std::move(data), std::move(model.graph)};
}

struct AdaptiveArm {
  std::string name;
  study::PluginConfig tune;
  std::int64_t first = kFirst;
  std::string optimizer = "sgd";
};

/// An arm with the batch `batch` from the first step on. The trial still counts steps of the batch kFirst.
AdaptiveArm fixed_batch_arm(std::int64_t batch, const char* rule, double rate) {
  return {std::to_string(batch) + rule, study::replay_schedule({{0, {{"batch", batch}, {"lr", rate}}}}), kFirst};
}
/// An arm with an adaptive batch up to `most`.
AdaptiveArm adaptive_arm(const std::string& name, std::int64_t most, const char* rate) {
  return {name, {std::string(study::kAdaptive), {{"most", most}, {"rate", rate}}}, kFirst};
}

std::vector<AdaptiveArm> make_arms(double rate) {
  std::vector<AdaptiveArm> out{{std::to_string(kFirst), {}, kFirst}};
  for (const std::int64_t batch : {std::int64_t{128}, kMost}) {
    const double factor = static_cast<double>(batch) / static_cast<double>(kFirst);
    out.push_back(fixed_batch_arm(batch, "-sqrt", rate * std::sqrt(factor)));
    out.push_back(fixed_batch_arm(batch, "-linear", rate * factor));
  }
  out.push_back(adaptive_arm("adaptive", kMost, "auto"));
  out.push_back(adaptive_arm("adaptive-sqrt", kMost, "sqrt"));
  out.push_back({std::to_string(kSmall), {}, kSmall});
  out.push_back(adaptive_arm("adaptive-" + std::to_string(kSmall), kMost, "auto"));
  out.back().first = kSmall;
  return out;
}

/// The values of a training after each epoch. Seconds and updates count from the begin.
struct AdaptiveCurve {
  std::vector<double> accuracy, seconds, updates;
  std::int64_t batch = 0;  ///< last batch
};

Result<AdaptiveCurve> train(const Task& task, const AdaptiveArm& arm_settings, std::int64_t epochs,
                            const graph::OpTable& ops, std::uint64_t seed) {
  study::Recipe recipe = plain_recipe();
  recipe.batch = arm_settings.first;
  recipe.lr *= std::sqrt(static_cast<double>(arm_settings.first) / static_cast<double>(kFirst));
  recipe.epochs = epochs;
  recipe.tune = arm_settings.tune;
  recipe.optimizer = arm_settings.optimizer;
  if (arm_settings.optimizer == "adam") recipe.lr = 1e-3;
  const train::TrainerInput input{.trial = {},
                                  .model = task.model,
                                  .recipe = recipe,
                                  .metrics = {},
                                  .trial_seed = seed,
                                  .data_seed = seed,
                                  .data = &task.data,
                                  .step_ops = &ops};
  LANISTA_ASSIGN(const auto training, TimedTraining::make(input));
  AdaptiveCurve curve;
  for (std::int64_t epoch = 0; epoch < epochs; ++epoch) {
    LANISTA_TRY(training->epoch(training->run().definition().epochs.length));
    curve.accuracy.push_back(training->run().progress().measurements().back().metrics.at("val_accuracy"));
    curve.seconds.push_back(training->seconds());
    curve.updates.push_back(training->updates());
  }
  curve.batch = training->run().recipe().batch;
  return curve;
}

void print_arm(const Task& task, const std::string& arm, const std::vector<AdaptiveCurve>& curves, bool json,
               std::ostream& out) {
  const auto row = [&](const std::string& unit, const std::vector<double>& values) {
    if (!values.empty()) print(summary(kName, task.name, arm, unit, values), json, out);
  };
  std::vector<double> accuracy, epoch, batch, seconds, epochs, updates;
  for (const AdaptiveCurve& curve : curves) {
    accuracy.push_back(100 * curve.accuracy.back());
    epoch.push_back(1e3 * curve.seconds.back() / static_cast<double>(curve.seconds.size()));
    batch.push_back(static_cast<double>(curve.batch));
    const auto found = std::ranges::find_if(curve.accuracy, [](double each) { return each >= kTarget; });
    if (found == curve.accuracy.end()) continue;
    const auto at = static_cast<std::size_t>(found - curve.accuracy.begin());
    seconds.push_back(1e3 * curve.seconds[at]);
    epochs.push_back(static_cast<double>(at + 1));
    updates.push_back(curve.updates[at]);
  }
  row("right%", accuracy);
  print({kName, task.name, arm, "reached", static_cast<double>(seconds.size()) / static_cast<double>(curves.size()), 0,
         static_cast<int>(curves.size())},
        json, out);
  row("ms to target", seconds);
  row("epochs to target", epochs);
  row("updates to target", updates);
  row("ms/epoch", epoch);
  row("batch", batch);
}

/// Prints the time of the measurement of gradient noise. Both arms do equal training.
Result<void> print_cost(const Task& task, const std::string& optimizer, std::int64_t epochs, int seeds,
                        const graph::OpTable& ops, bool json, std::ostream& out) {
  std::vector<AdaptiveArm> arms{{"plain", {}, kFirst}, adaptive_arm("measured", kFirst, "auto")};
  for (AdaptiveArm& arm : arms) arm.optimizer = optimizer;
  const std::string name = task.name + "-" + optimizer;
  std::vector<std::vector<double>> each(arms.size());
  std::vector<double> ratios;
  for (int seed = 0; seed < 3 * seeds; ++seed) {
    for (std::size_t i = 0; i < arms.size(); ++i) {
      const std::size_t arm = (i + static_cast<std::size_t>(seed)) % arms.size();
      LANISTA_ASSIGN(const AdaptiveCurve curve, train(task, arms[arm], epochs, ops, static_cast<std::uint64_t>(seed)));
      each[arm].push_back(1e3 * curve.seconds.back() / static_cast<double>(epochs));
    }
    ratios.push_back(each[1].back() / each[0].back());
  }
  for (std::size_t arm = 0; arm < arms.size(); ++arm) {
    print(summary(kName, name, arms[arm].name, "ms/epoch", each[arm]), json, out);
  }
  print(summary(kName, name, "measured", "by plain", ratios), json, out);
  return {};
}

}  // namespace

Result<void> adaptive(int seeds, bool json, std::ostream& out) {
  kernels::set_flush_to_zero();
  const graph::OpTable ops = autodiff::training_ops(graph::builtin_ops());
  // With these numbers of epochs, a training of print_cost() runs for a few tenths of a second.
  for (const auto& [base, cost_epochs] : {std::pair{"small-mlp", 400}, {"small-cnn", 40}}) {
    LANISTA_ASSIGN(const Task task, make_task(base));
    const std::vector<AdaptiveArm> arms = make_arms(plain_recipe().lr);
    std::vector<std::vector<AdaptiveCurve>> curves(arms.size());
    for (int seed = 0; seed < seeds; ++seed) {
      for (std::size_t i = 0; i < arms.size(); ++i) {
        const std::size_t arm = (i + static_cast<std::size_t>(seed)) % arms.size();
        LANISTA_ASSIGN(auto curve, train(task, arms[arm], kEpochs, ops, static_cast<std::uint64_t>(seed)));
        curves[arm].push_back(std::move(curve));
      }
    }
    for (std::size_t arm = 0; arm < arms.size(); ++arm) print_arm(task, arms[arm].name, curves[arm], json, out);
    for (const char* optimizer : {"sgd", "adam"})
      LANISTA_TRY(print_cost(task, optimizer, cost_epochs, seeds, ops, json, out));
  }
  return {};
}

}  // namespace lanista::bench
