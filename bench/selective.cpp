#include "bench/selective.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <map>
#include <memory>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

#include "bench/arms.h"
#include "bench/recipe.h"
#include "bench/selection_cost_model.h"
#include "bench/timed_training.h"
#include "lanista/base/check.h"
#include "lanista/base/file_system.h"
#include "lanista/base/rng.h"
#include "lanista/exec/kernels/kernels.h"
#include "lanista/exec/train/lane_group.h"
#include "lanista/io/data/random_selector.h"
#include "lanista/model/autodiff/training_step.h"
#include "lanista/model/mutate/model_space.h"

namespace lanista::bench {
namespace {

constexpr std::int64_t kEpochs = 30;
constexpr double kRareShare = 0.1;
constexpr std::int64_t kNever = 1'000'000;

/// A data set and a model.
struct Task {
  std::string name;
  data::Dataset data;
  graph::Graph model;
};

// Gives the share `share` of the training rows a wrong label. The validation part keeps its labels.
void mislabel(data::RawData& raw, const data::Split& split, double share) {
  Rng rng(17);
  for (const std::int64_t row : split[0]) {
    if (!rng.bernoulli(share)) continue;
    auto& label = raw.labels[static_cast<std::size_t>(row)];
    label = static_cast<std::int32_t>((label + rng.between(1, raw.spec.classes - 1)) % raw.spec.classes);
  }
}
// Removes most training rows of the upper half of the classes.
void make_rare(const data::RawData& raw, data::Split& split) {
  Rng rng(19);
  std::erase_if(split[0], [&](std::int64_t row) {
    return 2 * raw.labels[static_cast<std::size_t>(row)] >= raw.spec.classes && !rng.bernoulli(kRareShare);
  });
}

Result<Task> make_task(const std::string& name, const std::string& source, const std::string& base, double wrong,
                       bool rare) {
  study::DataConfig config;
  config.source = source;
  config.split = {0.5, 0.5, 0.0};
  LANISTA_ASSIGN(auto opened, data::open_raw(config, ".", real_file_system()));
  auto& [raw, split] = opened;
  if (wrong > 0) mislabel(raw, split, wrong);
  if (rare) make_rare(raw, split);
  LANISTA_ASSIGN(auto data, data::Dataset::make(std::move(raw), std::move(split), "auto", "auto"));
  LANISTA_ASSIGN(auto model, mutate::builtin_base(base, {data.spec().features}, data.spec().classes));
  return Task{name, std::move(data), std::move(model.graph)};
}

/// The settings of an arm.
struct SelectiveArm {
  std::string name;
  study::PluginConfig select;
  std::int64_t epochs = kEpochs;  ///< fewer epochs for the control with equal backward passes
};

std::vector<SelectiveArm> make_arms() {
  const auto by_loss = [](double beta, std::int64_t stale) {
    return study::PluginConfig{"selective", {{"beta", beta}, {"stale", stale}}};
  };
  // As many backward passes as one epoch on all examples and the others on half of them.
  constexpr std::int64_t kMatched = 1 + (kEpochs - 1) / 2;
  return {{"uniform", {}},
          {"uniform-matched", {}, kMatched},
          {"random", {"random", {{"keep", 0.5}}}},
          {"selective-1", by_loss(1, 1)},
          {"selective-2", by_loss(2, 1)},
          {"selective-3", by_loss(3, 1)},
          {"stale-2", by_loss(1, 2)},
          {"stale-3", by_loss(1, 3)}};
}

double median(std::vector<double> values) {
  std::ranges::sort(values);
  const std::size_t half = values.size() / 2;
  return values.size() % 2 == 1 ? values[half] : (values[half - 1] + values[half]) / 2;
}

/// The trainings that measure the parts of an epoch. Each has one part more than another. They choose very few rows, so
/// that the rest of their time belongs to these parts.
std::vector<SelectiveArm> part_arms() {
  const auto of = [](const char* name, Options own) {
    own["warmup_epochs"] = 0;
    own["max_wait"] = kNever;
    return study::PluginConfig{name, std::move(own)};
  };
  return {{"all", {}},
          {"sampled", of("random", {{"keep", 0.001}})},
          {"ranked", of("selective", {{"beta", 100}, {"floor", 0}, {"stale", kNever}})},  // losses of the first pass
          {"scored", of("selective", {{"beta", 100}, {"floor", 0}})}};
}

/// The values of a training after each epoch.
struct SelectiveCurve {
  std::vector<double> error;        ///< percent of the validation rows
  std::vector<double> seconds;      ///< CPU seconds of training since the begin
  std::vector<double> backward;     ///< backward passes of examples since the begin
  std::vector<SelectionWork> work;  ///< work of the epoch
};

/// A training that runs epoch by epoch.
class Training {
 public:
  static Result<Training> make(const Task& task, const SelectiveArm& arm_settings, const graph::OpTable& ops,
                               std::uint64_t seed) {
    study::Recipe recipe = plain_recipe();
    recipe.schedule = "cosine";
    recipe.epochs = arm_settings.epochs;
    recipe.select = arm_settings.select;
    const train::TrainerInput input{.trial = {},
                                    .model = task.model,
                                    .recipe = recipe,
                                    .metrics = {},
                                    .trial_seed = seed,
                                    .data_seed = seed,
                                    .data = &task.data,
                                    .step_ops = &ops,
                                    .selectors = data::selectors_with_random()};
    LANISTA_ASSIGN(auto training, TimedTraining::make(input));
    return Training(recipe, static_cast<double>(task.data.rows(data::Part::kTrain).size()), std::move(training));
  }

  bool ended() const { return std::ssize(curve_.error) == recipe_.epochs; }
  const SelectiveCurve& curve() const { return curve_; }

  Result<void> epoch() {
    LANISTA_TRY(training_->epoch(1));
    const study::Measurement& measurement = training_->run().progress().measurements().back();
    const auto& metrics = measurement.metrics;
    LANISTA_ASSIGN(SelectionWork work, selection_work(recipe_.select, recipe_.epochs, std::ssize(curve_.error)));
    const auto trained = metrics.find("trained_rows");
    const double rows = trained != metrics.end() ? trained->second : rows_;
    backward_ += rows;
    work.trained = rows / rows_;
    if (work.chosen > 0) work.queued = work.trained - (1 - work.chosen);  // without batches that train completely
    curve_.error.push_back(100 * (1 - metrics.at("val_accuracy")));
    curve_.seconds.push_back(training_->seconds());
    curve_.backward.push_back(backward_);
    curve_.work.push_back(work);
    return {};
  }

 private:
  Training(const study::Recipe& recipe, double rows, std::unique_ptr<TimedTraining> training)
      : recipe_(recipe), rows_(rows), training_(std::move(training)) {}

  study::Recipe recipe_;
  double rows_ = 0, backward_ = 0;
  std::unique_ptr<TimedTraining> training_;
  SelectiveCurve curve_;
};

/// Trains all arms, an epoch of each in turn, so that other work of the machine affects all equally.
Result<std::vector<SelectiveCurve>> train(const Task& task, const std::vector<SelectiveArm>& arms,
                                          const graph::OpTable& ops, std::uint64_t seed) {
  std::vector<Training> trainings;
  for (const SelectiveArm& arm_settings : arms) {
    LANISTA_ASSIGN(auto training, Training::make(task, arm_settings, ops, seed));
    trainings.push_back(std::move(training));
  }
  for (std::size_t turn = 0; turn < static_cast<std::size_t>(kEpochs); ++turn) {
    for (std::size_t i = 0; i < arms.size(); ++i) {
      Training& training = trainings[(i + turn + static_cast<std::size_t>(seed)) % arms.size()];
      if (!training.ended()) LANISTA_TRY(training.epoch());
    }
  }
  std::vector<SelectiveCurve> curves;
  for (const Training& training : trainings) curves.push_back(training.curve());
  return curves;
}

// A row with the mean and the half width of its 95 % interval, by Student's t with 1 to 9 degrees of freedom.
BenchRow interval(const std::string& name, const std::string& arm, const std::string& unit,
                  const std::vector<double>& all) {
  constexpr double kStudent[] = {12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262};
  const auto count = static_cast<double>(all.size());
  double mean = 0, square = 0;
  for (const double value : all) mean += value / count;
  for (const double value : all) square += (value - mean) * (value - mean);
  const std::size_t freedom = std::clamp<std::size_t>(all.size() - 1, 1, std::size(kStudent));
  const double half = all.size() < 2 ? 0 : kStudent[freedom - 1] * std::sqrt(square / (count - 1) / count);
  return {"selective", name, arm, unit, mean, half, static_cast<int>(all.size())};
}

/// The mean milliseconds of the epochs from the second to epoch `epochs`.
double epoch_ms(const SelectiveCurve& curve, std::size_t epochs) {
  return 1e3 * (curve.seconds[epochs - 1] - curve.seconds[0]) / static_cast<double>(epochs - 1);
}

/// The costs of the parts for the selector `kind`, from the curves of part_arms() over `epochs` epochs.
SelectionCosts parts_of(const std::string& kind, const std::vector<SelectiveCurve>& curves, std::size_t epochs,
                        const SelectionOverhead& alone) {
  const auto share = [&](const SelectiveCurve& curve) {
    double trained = 0;
    for (std::size_t e = 1; e < epochs; ++e) trained += curve.work[e].trained;
    return trained / static_cast<double>(epochs - 1);
  };
  SelectionCosts parts;
  const double all = epoch_ms(curves[0], epochs);
  // The time of an epoch without its few trained rows, which count as in training on all rows.
  const auto without = [&](const SelectiveCurve& curve) {
    return epoch_ms(curve, epochs) - share(curve) * parts.train;
  };
  parts.read = std::max(0.0, epoch_ms(curves[1], epochs) - share(curves[1]) * all - alone.sampling);
  parts.train = all - parts.read;
  parts.queue = alone.queue;
  parts.forward = without(curves[3]) - without(curves[2]);
  parts.choose = without(curves[2]) - parts.read;
  if (kind == "random") parts.choose = alone.sampling;
  return parts;
}

/// Prints the costs of the parts. The curves of part_arms() follow those of the arms.
void print_parts(const Task& task, const std::vector<std::vector<SelectiveCurve>>& curves,
                 const SelectionOverhead& alone, bool json, std::ostream& out) {
  const std::size_t first = make_arms().size();
  std::map<std::string, std::vector<double>> parts;
  for (std::size_t seed = 0; seed < curves[first].size(); ++seed) {
    std::vector<SelectiveCurve> part_curves;
    for (std::size_t part = first; part < curves.size(); ++part) part_curves.push_back(curves[part][seed]);
    const auto of = [&](const char* kind) { return parts_of(kind, part_curves, kEpochs, alone); };
    const SelectionCosts all = of("selective");
    parts["read"].push_back(all.read);
    parts["forward"].push_back(all.forward);
    parts["train"].push_back(all.train);
    parts["choose random"].push_back(of("random").choose);
    parts["choose selective"].push_back(all.choose);
    parts["queue"].push_back(all.queue);
  }
  for (const auto& [part, values] : parts)
    print(summary("selective", task.name, part, "ms of all rows", values), json, out);
}

/// Prints the rows of one task. `curves` are [arm][seed]: the arms of make_arms(), then those of part_arms().
void print_task(const Task& task, const std::vector<std::vector<SelectiveCurve>>& curves, bool json,
                std::ostream& out) {
  const std::vector<SelectiveArm> arms = make_arms();
  const SelectionOverhead alone =
      measure_selection_overhead(std::ssize(task.data.rows(data::Part::kTrain)), plain_recipe().batch);
  const auto finals = [&](std::size_t arm) {
    std::vector<double> values;
    for (const SelectiveCurve& curve : curves[arm]) values.push_back(curve.error.back());
    return values;
  };
  const double baseline = median(finals(0));
  for (std::size_t arm = 0; arm < arms.size(); ++arm) {
    const std::string& name = arms[arm].name;
    print(summary("selective", task.name, name, "error%", finals(arm)), json, out);
    for (std::size_t other = 0; other < 3 && arm > other; ++other) {
      std::vector<double> differences;
      const auto own = finals(arm), others = finals(other);
      for (std::size_t i = 0; i < own.size(); ++i) differences.push_back(own[i] - others[i]);
      print(interval(task.name, name + " - " + arms[other].name, "points", differences), json, out);
    }
    for (const double factor : {1.1, 1.2, 1.4}) {
      std::vector<double> seconds, backward;
      for (const SelectiveCurve& curve : curves[arm]) {
        const auto found = std::ranges::find_if(curve.error, [&](double e) { return e <= factor * baseline; });
        if (found == curve.error.end()) continue;
        const auto epoch = static_cast<std::size_t>(found - curve.error.begin());
        seconds.push_back(curve.seconds[epoch]);
        backward.push_back(curve.backward[epoch] / 1e3);
      }
      const std::string target = " to " + std::to_string(factor).substr(0, 3) + "x";
      const double reached = static_cast<double>(seconds.size()) / static_cast<double>(curves[arm].size());
      print({"selective", task.name, name, "reached" + target, reached, 0, static_cast<int>(curves[arm].size())}, json,
            out);
      if (seconds.empty()) continue;
      print(summary("selective", task.name, name, "s" + target, seconds), json, out);
      print(summary("selective", task.name, name, "kback" + target, backward), json, out);
    }
    std::vector<double> epochs, predicted, ratio;
    for (std::size_t seed = 0; seed < curves[arm].size(); ++seed) {
      const SelectiveCurve& curve = curves[arm][seed];
      const std::size_t count = curve.work.size();
      std::vector<SelectiveCurve> part_curves;
      for (std::size_t part = arms.size(); part < curves.size(); ++part) part_curves.push_back(curves[part][seed]);
      const SelectionCosts parts = parts_of(arms[arm].select.name, part_curves, count, alone);
      double all = 0;
      for (std::size_t e = 1; e < count; ++e) all += predict_epoch_milliseconds(parts, curve.work[e]);
      epochs.push_back(epoch_ms(curve, count));
      predicted.push_back(all / static_cast<double>(count - 1));
      ratio.push_back(predicted.back() / epochs.back());
    }
    print(summary("selective", task.name, name, "ms/epoch", epochs), json, out);
    print(summary("selective", task.name, name, "ms/epoch predicted", predicted), json, out);
    print(summary("selective", task.name, name, "predicted/epoch", ratio), json, out);
  }
  print_parts(task, curves, alone, json, out);
}

}  // namespace

Result<void> selective(int seeds, bool json, std::ostream& out) {
  kernels::set_flush_to_zero();
  const graph::OpTable ops = autodiff::training_ops(graph::builtin_ops());
  std::vector<Task> tasks;
  for (const int wrong : {0, 10, 20, 40}) {
    LANISTA_ASSIGN(auto task, make_task("digits-wrong-" + std::to_string(wrong), "builtin:digits", "small-cnn",
                                        wrong / 100.0, false));
    tasks.push_back(std::move(task));
  }
  LANISTA_ASSIGN(auto rare, make_task("digits-rare", "builtin:digits", "small-cnn", 0, true));
  tasks.push_back(std::move(rare));
  LANISTA_ASSIGN(auto spirals,
                 make_task("spirals", "synthetic:spirals?rows=6000&classes=3&seed=3", "small-mlp", 0, false));
  tasks.push_back(std::move(spirals));
  std::vector<SelectiveArm> arms = make_arms();
  std::ranges::copy(part_arms(), std::back_inserter(arms));
  for (const Task& task : tasks) {
    std::vector<std::vector<SelectiveCurve>> curves(arms.size());
    for (int seed = 0; seed < seeds; ++seed) {
      LANISTA_ASSIGN(auto some, train(task, arms, ops, static_cast<std::uint64_t>(seed)));
      for (std::size_t arm = 0; arm < arms.size(); ++arm) curves[arm].push_back(std::move(some[arm]));
    }
    print_task(task, curves, json, out);
  }
  return {};
}

}  // namespace lanista::bench
