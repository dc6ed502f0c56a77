#include "lanista/bench/selective.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

#include "lanista/base/check.h"
#include "lanista/base/file_system.h"
#include "lanista/base/rng.h"
#include "lanista/bench/arms.h"
#include "lanista/bench/recipe.h"
#include "lanista/bench/timed_training.h"
#include "lanista/kernels/kernels.h"
#include "lanista/mutate/model_space.h"
#include "lanista/step/training_step.h"
#include "lanista/train/lane_group.h"
#include "lanista/train/select_check.h"

namespace lanista::bench {
namespace {

constexpr std::int64_t kEpochs = 30;
constexpr double kRareShare = 0.1;

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
struct Way {
  std::string name;
  study::PluginConfig select;
  std::int64_t epochs = kEpochs;
};

std::vector<Way> ways() {
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

/// A training, epoch by epoch.
struct Course {
  std::vector<double> error;     ///< per cent of the validation rows
  std::vector<double> seconds;   ///< of training, since the beginning
  std::vector<double> backward;  ///< examples since the beginning
};

Result<Course> train(const Task& task, const Way& way, const graph::OpTable& ops, std::uint64_t seed) {
  study::Recipe recipe = plain_recipe();
  recipe.schedule = "cosine";
  recipe.epochs = way.epochs;
  recipe.select = way.select;
  const train::TrainerInput input{.trial = {},
                                  .model = task.model,
                                  .recipe = recipe,
                                  .metrics = {},
                                  .trial_seed = seed,
                                  .data_seed = seed,
                                  .data = &task.data,
                                  .step_ops = &ops};
  LANISTA_ASSIGN(const auto training, TimedTraining::make(input));
  const auto check = [](train::LaneGroup& group, train::TrialRun& run) -> Result<void> {
    if (!run.wants_select_check()) return {};
    LANISTA_ASSIGN(const bool done, train::check_selecting(group, run, [] { return false; }));
    LANISTA_CHECK(done, "nobody leaves");
    return {};
  };
  Course course;
  double backward = 0;
  for (std::int64_t epoch = 0; epoch < way.epochs; ++epoch) {
    LANISTA_TRY(training->epoch(1, check));
    const study::Measurement& measurement = training->run().measurements().back();
    const auto& metrics = measurement.metrics;
    // What is given up has cost as much as training on so many.
    for (const study::SelectBranch& branch : measurement.selecting) {
      if (!branch.kept) backward += branch.cost * static_cast<double>(recipe.batch);
    }
    const auto trained = metrics.find("trained_rows");
    backward += trained != metrics.end() ? trained->second
                                         : static_cast<double>(task.data.rows(data::Part::kTrain).size());
    course.error.push_back(100 * (1 - metrics.at("val_accuracy")));
    course.seconds.push_back(training->seconds());
    course.backward.push_back(backward);
  }
  return course;
}

// Mean and half the 95 % interval of it, by Student's t of 1 to 9 degrees of freedom.
Row interval(const std::string& name, const std::string& arm, const std::string& unit, const std::vector<double>& all) {
  constexpr double kStudent[] = {12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262};
  const auto count = static_cast<double>(all.size());
  double mean = 0, square = 0;
  for (const double value : all) mean += value / count;
  for (const double value : all) square += (value - mean) * (value - mean);
  const std::size_t freedom = std::clamp<std::size_t>(all.size() - 1, 1, std::size(kStudent));
  const double half = all.size() < 2 ? 0 : kStudent[freedom - 1] * std::sqrt(square / (count - 1) / count);
  return {"selective", name, arm, unit, mean, half, static_cast<int>(all.size())};
}

/// Milliseconds of an epoch of training on all examples, and of a forward pass over them.
struct Costs {
  double train = 0, forward = 0;
};

Result<Costs> costs_of(const Task& task, const graph::OpTable& ops) {
  // A selector that asks for every loss and takes next to nothing runs forward alone.
  const Way nothing{"", {"selective", {{"beta", 100}, {"floor", 0}, {"warmup_epochs", 0}, {"max_wait", 1'000'000}}}, 6};
  const Way all{"", {}, 6};
  std::vector<double> forward, whole;
  for (std::uint64_t seed = 0; seed < 5; ++seed) {
    LANISTA_ASSIGN(const Course a, train(task, nothing, ops, seed));
    LANISTA_ASSIGN(const Course b, train(task, all, ops, seed));
    const double share = (a.backward.back() - a.backward.front()) / (b.backward.back() - b.backward.front());
    const double fifth = 1e3 / 5;
    const double forward_epoch = fifth * (a.seconds.back() - a.seconds.front());
    const double whole_epoch = fifth * (b.seconds.back() - b.seconds.front());
    // The few examples that were trained on cost what they cost when all are.
    forward.push_back(forward_epoch - share * whole_epoch);
    whole.push_back(whole_epoch);
  }
  return Costs{median(whole), median(forward)};
}

/// Prints what came out of one task; arms in the order of ways(), seeds in the same order for each.
void print_task(const Task& task, const std::vector<std::vector<Course>>& courses, const Costs& costs, bool json,
                std::ostream& out) {
  const std::vector<Way> arms = ways();
  const auto finals = [&](std::size_t arm) {
    std::vector<double> values;
    for (const Course& course : courses[arm]) values.push_back(course.error.back());
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
      for (const Course& course : courses[arm]) {
        const auto found = std::ranges::find_if(course.error, [&](double e) { return e <= factor * baseline; });
        if (found == course.error.end()) continue;
        const auto epoch = static_cast<std::size_t>(found - course.error.begin());
        seconds.push_back(course.seconds[epoch]);
        backward.push_back(course.backward[epoch] / 1e3);
      }
      const std::string target = " to " + std::to_string(factor).substr(0, 3) + "x";
      const double reached = static_cast<double>(seconds.size()) / static_cast<double>(courses[arm].size());
      print({"selective", task.name, name, "reached" + target, reached, 0, static_cast<int>(courses[arm].size())}, json,
            out);
      if (seconds.empty()) continue;
      print(summary("selective", task.name, name, "s" + target, seconds), json, out);
      print(summary("selective", task.name, name, "kback" + target, backward), json, out);
    }
    std::vector<double> epochs, predicted;
    for (const Course& course : courses[arm]) {
      const std::size_t last = course.seconds.size() - 1;
      const auto count = static_cast<double>(last);
      const double all = static_cast<double>(task.data.rows(data::Part::kTrain).size()) * count;
      const double kept = (course.backward[last] - course.backward[0]) / all;
      const auto& options = arms[arm].select.options;
      const bool looks = arms[arm].select.name == "selective";
      const double looked = looks ? 1.0 / static_cast<double>(options.value("stale", std::int64_t{1})) : 0;
      epochs.push_back(1e3 * (course.seconds[last] - course.seconds[0]) / count);
      predicted.push_back(looked * costs.forward + kept * costs.train);
    }
    print(summary("selective", task.name, name, "ms/epoch", epochs), json, out);
    if (arms[arm].select.name != "batch" && arms[arm].select.name != "auto") {
      print(summary("selective", task.name, name, "ms/epoch predicted", predicted), json, out);
    }
  }
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
  LANISTA_ASSIGN(auto spirals, make_task("spirals", "synthetic:spirals?rows=6000&classes=3&seed=3", "small-mlp", 0, false));
  tasks.push_back(std::move(spirals));
  const std::vector<Way> arms = ways();
  for (const Task& task : tasks) {
    LANISTA_ASSIGN(const Costs costs, costs_of(task, ops));
    std::vector<std::vector<Course>> courses(arms.size());
    for (int seed = 0; seed < seeds; ++seed) {
      for (std::size_t i = 0; i < arms.size(); ++i) {
        const std::size_t arm = (i + static_cast<std::size_t>(seed)) % arms.size();
        LANISTA_ASSIGN(auto course, train(task, arms[arm], ops, static_cast<std::uint64_t>(seed)));
        courses[arm].push_back(std::move(course));
      }
    }
    print_task(task, courses, costs, json, out);
  }
  return {};
}

}  // namespace lanista::bench
