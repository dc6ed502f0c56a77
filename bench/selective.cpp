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
#include "lanista/exec/train/select_check.h"
#include "lanista/model/autodiff/training_step.h"
#include "lanista/model/mutate/model_space.h"

namespace lanista::bench {
namespace {

constexpr std::int64_t kEpochs = 30;
constexpr double kRareShare = 0.1;
constexpr std::int64_t kNever = 1'000'000;

/// Data and the model that learns them.
struct Task {
  std::string name;
  data::Dataset data;
  graph::Graph model;
};

// Training rows alone are changed: what is measured on stays as it is.
void mislabel(data::RawData& raw, const data::Split& split, double share) {
  Rng rng(17);
  for (const std::int64_t row : split[0]) {
    if (!rng.bernoulli(share)) continue;
    auto& label = raw.labels[static_cast<std::size_t>(row)];
    label = static_cast<std::int32_t>((label + rng.between(1, raw.spec.classes - 1)) % raw.spec.classes);
  }
}
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

/// What an arm trains with; a share of the epochs, for the control that does as many backward passes.
struct SelectiveArm {
  std::string name;
  study::PluginConfig select;
  std::int64_t epochs = kEpochs;
};

std::vector<SelectiveArm> make_arms() {
  const auto by_loss = [](double beta, std::int64_t stale) {
    return study::PluginConfig{"selective", {{"beta", beta}, {"stale", stale}}};
  };
  // One epoch on all examples, half of them in each of the others.
  constexpr std::int64_t kMatched = 1 + (kEpochs - 1) / 2;
  return {{"uniform", {}},
          {"uniform-matched", {}, kMatched},
          {"random", {"random", {{"keep", 0.5}}}},
          {"selective-1", by_loss(1, 1)},
          {"selective-2", by_loss(2, 1)},
          {"selective-3", by_loss(3, 1)},
          {"stale-2", by_loss(1, 2)},
          {"stale-3", by_loss(1, 3)},
          {"auto", {"auto", {{"beta", 1}, {"backward", 1}}}},  // a pass forward is half of a step here
          {"auto-every-5", {"auto", {{"beta", 1}, {"backward", 1}, {"every", 5}}}},
          {"batch", {"batch", {{"keep", 0.5}, {"from", 0.5}, {"until", 0.9}, {"interrupt", 2}}}}};
}

double median(std::vector<double> values) {
  std::ranges::sort(values);
  const std::size_t half = values.size() / 2;
  return values.size() % 2 == 1 ? values[half] : (values[half - 1] + values[half]) / 2;
}

/// Trainings by which the parts of an epoch are measured, each with one more of them. They choose next to nothing, so
/// that only what remains is theirs.
std::vector<SelectiveArm> part_arms() {
  const auto of = [](const char* name, Options own) {
    own["warmup_epochs"] = 0;
    own["max_wait"] = kNever;
    return study::PluginConfig{name, std::move(own)};
  };
  return {{"all", {}},
          {"drawn", of("random", {{"keep", 0.001}})},
          {"ranked", of("selective", {{"beta", 100}, {"floor", 0}, {"stale", kNever}})},  // by losses of the first pass
          {"looked", of("selective", {{"beta", 100}, {"floor", 0}})},
          {"looked-batch", of("batch", {{"keep", 1.0 / 32}})}};
}

/// A training, epoch by epoch.
struct SelectiveCurve {
  std::vector<double> error;        ///< per cent of the validation rows
  std::vector<double> seconds;      ///< of training, since the beginning
  std::vector<double> backward;     ///< examples since the beginning
  std::vector<SelectionWork> work;  ///< of each epoch
  std::vector<double> evaluation;   ///< seconds, of each epoch's
};

/// A training on its way.
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
                                    .step_ops = &ops};
    LANISTA_ASSIGN(auto training, TimedTraining::make(input));
    return Training(recipe, static_cast<double>(task.data.rows(data::Part::kTrain).size()), std::move(training));
  }

  bool ended() const { return std::ssize(curve_.error) == recipe_.epochs; }
  const SelectiveCurve& curve() const { return curve_; }

  Result<void> epoch() {
    const auto check = [](train::LaneGroup& group, train::TrialRun& run) -> Result<void> {
      if (!train::is_select_check_due(run)) return {};
      LANISTA_ASSIGN(const bool done, train::run_select_check(group, run, [] { return false; }));
      LANISTA_CHECK(done, "nobody leaves");
      return {};
    };
    LANISTA_TRY(training_->epoch(1, check));
    const study::Measurement& measurement = training_->run().progress().measurements().back();
    const auto& metrics = measurement.metrics;
    for (const study::SelectBranch& branch : measurement.selecting) {
      if (branch.kept) won_ = branch.selects;
    }
    LANISTA_ASSIGN(SelectionWork work, selection_work(recipe_.select, recipe_.epochs, std::ssize(curve_.error), won_));
    const auto trained = metrics.find("trained_rows");
    const double rows = trained != metrics.end() ? trained->second : rows_;
    backward_ += rows;
    work.trained = rows / rows_;
    if (work.chosen > 0) work.queued = work.trained - (1 - work.chosen);  // where batches are not trained on whole
    for (const study::SelectBranch& branch : measurement.selecting) count(branch, work);
    curve_.error.push_back(100 * (1 - metrics.at("val_accuracy")));
    curve_.seconds.push_back(training_->seconds());
    curve_.backward.push_back(backward_);
    curve_.work.push_back(work);
    curve_.evaluation.push_back(training_->evaluation());
    return {};
  }

 private:
  Training(const study::Recipe& recipe, double rows, std::unique_ptr<TimedTraining> training)
      : recipe_(recipe), rows_(rows), training_(std::move(training)) {}

  // What is given up has cost as much as training on so many; both branches are measured.
  void count(const study::SelectBranch& branch, SelectionWork& work) {
    work.evaluations += 1;
    if (branch.kept) return;
    const auto batch = static_cast<double>(recipe_.batch);
    backward_ += branch.cost * batch;
    const double read = static_cast<double>(branch.steps) * batch;
    const double scored = branch.selects ? read : 0;
    // By the guard's reckoning: a pass forward costs as much as one backward here, and a step is both.
    const double trained = (2 * branch.cost * batch - scored) / 2;
    work.scored += scored / rows_;
    work.chosen += scored / rows_;
    work.trained += trained / rows_;
    if (branch.selects) work.queued += trained / rows_;
  }

  study::Recipe recipe_;
  double rows_ = 0, backward_ = 0;
  bool won_ = false;
  std::unique_ptr<TimedTraining> training_;
  SelectiveCurve curve_;
};

/// Trains all of them side by side, an epoch of each in turn, so that whatever else the machine does is in all alike.
Result<std::vector<SelectiveCurve>> train(const Task& task, const std::vector<SelectiveArm>& make_arms,
                                          const graph::OpTable& ops, std::uint64_t seed) {
  std::vector<Training> trainings;
  for (const SelectiveArm& arm_settings : make_arms) {
    LANISTA_ASSIGN(auto training, Training::make(task, arm_settings, ops, seed));
    trainings.push_back(std::move(training));
  }
  for (std::size_t turn = 0; turn < static_cast<std::size_t>(kEpochs); ++turn) {
    for (std::size_t i = 0; i < make_arms.size(); ++i) {
      Training& training = trainings[(i + turn + static_cast<std::size_t>(seed)) % make_arms.size()];
      if (!training.ended()) LANISTA_TRY(training.epoch());
    }
  }
  std::vector<SelectiveCurve> curves;
  for (const Training& training : trainings) curves.push_back(training.curve());
  return curves;
}

// Mean and half the 95 % interval of it, by Student's t of 1 to 9 degrees of freedom.
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

/// Milliseconds of an epoch: the mean of those from the second to the last of so many.
double epoch_ms(const SelectiveCurve& curve, std::size_t epochs) {
  return 1e3 * (curve.seconds[epochs - 1] - curve.seconds[0]) / static_cast<double>(epochs - 1);
}

/// The parts as arms of this kind have them, by trainings of part_arms() over as many epochs beside them.
SelectionCosts parts_of(const std::string& kind, const std::vector<SelectiveCurve>& curves, std::size_t epochs,
                        const SelectionOverhead& alone) {
  const auto share = [&](const SelectiveCurve& curve) {
    double trained = 0;
    for (std::size_t e = 1; e < epochs; ++e) trained += curve.work[e].trained;
    return trained / static_cast<double>(epochs - 1);
  };
  SelectionCosts parts;
  const double all = epoch_ms(curves[0], epochs);
  // The few rows that were trained on cost what they cost when all are.
  const auto without = [&](const SelectiveCurve& curve) {
    return epoch_ms(curve, epochs) - share(curve) * parts.train;
  };
  parts.read = std::max(0.0, epoch_ms(curves[1], epochs) - share(curves[1]) * all - alone.sampling);
  parts.train = all - parts.read;
  parts.queue = alone.queue;
  parts.forward = without(curves[3]) - without(curves[2]);
  parts.choose = without(curves[2]) - parts.read;
  if (kind == "random") parts.choose = alone.sampling;
  if (kind == "batch") parts.choose = without(curves[4]) - parts.read - parts.forward;
  for (std::size_t e = 1; e < epochs; ++e) {
    parts.evaluate += 1e3 * curves[0].evaluation[e] / static_cast<double>(epochs - 1);
  }
  return parts;
}

/// What the parts took, which stand behind the arms.
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
    parts["evaluate"].push_back(all.evaluate);
    parts["choose random"].push_back(of("random").choose);
    parts["choose selective"].push_back(all.choose);
    parts["choose batch"].push_back(of("batch").choose);
    parts["queue"].push_back(all.queue);
  }
  for (const auto& [part, values] : parts)
    print(summary("selective", task.name, part, "ms of all rows", values), json, out);
}

/// Prints what came out of one task; arms in the order of ways(), behind them those of part_arms(); seeds in the same
/// order for each.
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
  const graph::OpTable ops = step::training_ops(graph::builtin_ops());
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
