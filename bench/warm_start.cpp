#include "bench/warm_start.h"

#include <algorithm>
#include <functional>
#include <future>
#include <memory>
#include <mutex>
#include <ostream>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "bench/arms.h"
#include "bench/recipe.h"
#include "bench/warm_stream.h"
#include "lanista/engine/core/warm_start.h"
#include "lanista/exec/kernels/flush_to_zero.h"
#include "lanista/exec/train/trainer.h"
#include "lanista/io/zoo/admission.h"
#include "lanista/io/zoo/catalogue.h"
#include "lanista/model/autodiff/training_step.h"

namespace lanista::bench {
namespace {

constexpr std::int64_t kEpochSteps = 20, kMaxEpochs = 40, kPatience = 8, kRaceSteps = 10;
constexpr double kShrink = 0.4, kPerturb = 0.1;  // Ash and Adams, NeurIPS'20

/// A model that an arm has trained.
struct Trained {
  graph::Graph model;
  train::TrainerState state;   ///< state at the best accuracy
  double accuracy = 0;         ///< best validation accuracy
  std::int64_t steps = 0;      ///< all steps, with those of lost starts
  std::int64_t to_target = 0;  ///< steps to the target; all steps if it was not reached
  bool reached = false;        ///< true if the target was reached
};

/// A model that arrives, and the models of the arm before it.
struct ArrivingModel {
  const WarmTask& task;
  const graph::OpTable& ops;
  const std::vector<Trained>& before;
  const graph::Graph& model;
  std::optional<std::size_t> parent;
  std::uint64_t seed = 0;
};
/// Start weights; null for random initial values.
using Weights = std::shared_ptr<const train::StartWeights>;

/// The weights of a parent for the child; null if too few of them fit.
Result<Weights> transfer_from(const ArrivingModel& arriving, const Trained& parent,
                              std::span<const graph::NodePair> pairs) {
  LANISTA_ASSIGN(const auto plan,
                 zoo::plan_transfer(parent.model, arriving.model, pairs, arriving.ops, {.seed = arriving.seed}));
  if (!plan.exact && zoo::inherited_share(plan) < engine::kMinCoverage) return Weights();
  return train::transfer_weights(parent.state, plan, arriving.model, arriving.ops, arriving.seed);
}

Result<Weights> from_lineage(const ArrivingModel& arriving) {
  if (!arriving.parent) return Weights();
  const Trained& parent = arriving.before[*arriving.parent];
  return transfer_from(arriving, parent, zoo::lineage_mapping(parent.model, arriving.model));
}

Result<Weights> from_zoo(const ArrivingModel& arriving, zoo::Catalogue& known) {
  LANISTA_ASSIGN(const auto model, zoo::MatchModel::of(arriving.model, arriving.ops));
  const auto offer = known.best(model, arriving.task.name);
  if (!offer) return Weights();
  return transfer_from(arriving, arriving.before[static_cast<std::size_t>(offer->entry.age)], offer->match.pairs);
}

Result<Weights> from_random_parent(const ArrivingModel& arriving) {
  if (arriving.before.empty()) return Weights();
  Rng rng = Rng(arriving.seed).split("any");
  const Trained& parent = arriving.before[rng.below(arriving.before.size())];
  return transfer_from(arriving, parent, zoo::lineage_mapping(parent.model, arriving.model));
}

Result<train::Trainer> trainer_of(const ArrivingModel& arriving, Weights start) {
  study::Recipe recipe = plain_recipe();
  recipe.steps_per_epoch = kEpochSteps;
  return train::Trainer::create({.trial = {},
                                 .model = arriving.model,
                                 .recipe = recipe,
                                 .metrics = {},
                                 .trial_seed = arriving.seed,
                                 .data_seed = 1,
                                 .data = &arriving.task.data,
                                 .step_ops = &arriving.ops,
                                 .start = std::move(start)});
}

// The weights of the parent times 0.4 plus a tenth of random initial values. Norms and their buffers keep their values.
Result<Weights> shrink_and_perturb(const ArrivingModel& arriving) {
  LANISTA_ASSIGN(const Weights start, from_lineage(arriving));
  if (!start) return start;
  LANISTA_ASSIGN(const auto fresh, trainer_of(arriving, nullptr));
  const std::vector<Tensor> own = train::weights_in(fresh.save().tensors);
  auto out = std::make_shared<train::StartWeights>(*start);
  for (Tensor& tensor : out->tensors) {
    if (tensor.shape.size() < 2) continue;
    const auto random = std::ranges::find(own, tensor.name, &Tensor::name);
    auto values = elements_of<float>(tensor);
    const auto noise = elements_of<float>(*random);
    for (std::size_t i = 0; i < values.size(); ++i) {
      values[i] =
          static_cast<float>(kShrink * static_cast<double>(values[i]) + kPerturb * static_cast<double>(noise[i]));
    }
  }
  return Weights(out);
}

/// Trains the model from the best of `starts`. Several starts race for kRaceSteps steps.
Result<Trained> train_from(const ArrivingModel& arriving, std::vector<Weights> starts) {
  std::int64_t lost = 0;
  std::optional<train::Trainer> best;
  double best_loss = 0;
  for (Weights& start : starts) {
    LANISTA_ASSIGN(auto trainer, trainer_of(arriving, std::move(start)));
    double loss = 0;
    if (starts.size() > 1) {
      for (std::int64_t step = 0; step < kRaceSteps; ++step) trainer.step();
      loss = trainer.evaluate(data::Part::kValidation, "").at("loss");
      lost += best ? kRaceSteps : 0;
    }
    if (!best || loss < best_loss) best.emplace(std::move(trainer)), best_loss = loss;
  }
  Trained out{arriving.model, {}, 0, lost, 0, false};
  const auto done = [&](std::int64_t since_best) { return out.reached && since_best >= kPatience; };
  for (std::int64_t epoch = 0, since_best = 0; epoch < kMaxEpochs && !done(since_best); ++epoch) {
    do ++out.steps;
    while (!best->step());
    const double accuracy = best->measurements().back().metrics.at("val_accuracy");
    since_best = accuracy > out.accuracy ? 0 : since_best + 1;
    if (accuracy > out.accuracy) out.accuracy = accuracy, out.state = best->save();
    if (!out.reached) out.to_target = lost + best->measurements().back().step;
    out.reached = out.reached || accuracy >= arriving.task.target;
  }
  if (starts.size() > 1) out.steps += kRaceSteps;
  if (out.state.tensors.empty()) out.state = best->save();
  return out;
}

/// An arm, which trains the models of a stream one by one.
class WarmArm {
 public:
  explicit WarmArm(std::string name) : name_(std::move(name)) {}
  /// Trains the next model.
  Result<void> train(const WarmTask& task, const graph::OpTable& ops, const graph::Graph& model,
                     const CellArrival& arrival, std::uint64_t seed) {
    const ArrivingModel arriving{
        task, ops, done, model, arrival.parent, Rng(seed).split("model").split(done.size()).key()};
    std::vector<Weights> starts;
    if (name_ == "lineage" || name_ == "race") {
      LANISTA_ASSIGN(starts.emplace_back(), from_lineage(arriving));
    }
    if (name_ == "zoo" || name_ == "race") {
      LANISTA_ASSIGN(starts.emplace_back(), from_zoo(arriving, known_));
    }
    if (name_ == "any") {
      LANISTA_ASSIGN(starts.emplace_back(), from_random_parent(arriving));
    }
    if (name_ == "shrunk") {
      LANISTA_ASSIGN(starts.emplace_back(), shrink_and_perturb(arriving));
    }
    if (name_ == "race") std::erase(starts, nullptr);
    if (name_ == "random" || name_ == "race") starts.emplace_back();
    LANISTA_ASSIGN(Trained trained, train_from(arriving, std::move(starts)));
    const double chance = 1 / static_cast<double>(task.data.spec().classes);
    if ((name_ == "zoo" || name_ == "race") && zoo::admission_refusal(trained.accuracy, chance, admitted_).empty()) {
      admitted_.push_back(trained.accuracy);
      LANISTA_ASSIGN(const auto matched, zoo::MatchModel::of(model, ops));
      const auto age = static_cast<std::int64_t>(done.size());
      LANISTA_TRY(known_.add({std::to_string(age), task.name, trained.accuracy, age}, matched));
    }
    done.push_back(std::move(trained));
    return {};
  }
  const std::string& name() const { return name_; }
  std::vector<Trained> done;

 private:
  std::string name_;
  zoo::Catalogue known_;
  std::vector<double> admitted_;  // accuracies of the models in the catalogue
};

const std::vector<std::string> kArms{"random", "lineage", "zoo", "race", "any", "shrunk"};

/// The arms of `requested`, a list of names with commas; all arms if it is empty. Random is always the first, since the
/// others are compared with it.
Result<std::vector<std::string>> arms_of(const std::string& requested) {
  if (requested.empty()) return kArms;
  std::vector<std::string> out{kArms.front()};
  std::istringstream names(requested);
  for (std::string name; std::getline(names, name, ',');) {
    if (std::ranges::find(kArms, name) == kArms.end()) {
      return Error{Code::kInvalidArgument,
                   "--strategy: unknown arm '" + name + "'; allowed are random, lineage, zoo, race, any, shrunk", ""};
    }
    if (std::ranges::find(out, name) == out.end()) out.push_back(name);
  }
  return out;
}

/// The sum of a number of steps over all models.
double total(const WarmArm& arm, std::int64_t Trained::*steps) {
  double out = 0;
  for (const Trained& one : arm.done) out += static_cast<double>(one.*steps);
  return out;
}

/// The mean of a value over all models.
double mean(const WarmArm& arm, const std::function<double(const Trained&)>& value) {
  double out = 0;
  for (const Trained& one : arm.done) out += value(one) / static_cast<double>(arm.done.size());
  return out;
}

/// Called after every model of a stream.
using ProgressCallback = std::function<void(std::uint64_t seed, const std::vector<WarmArm>& arms)>;

/// Trains the stream of one seed. Returns the arms in the order of `names`.
Result<std::vector<WarmArm>> run_seed(const WarmTask& task, const graph::OpTable& ops,
                                      const std::vector<std::string>& names, std::int64_t models, std::uint64_t seed,
                                      const ProgressCallback& on_progress) {
  const kernels::FlushToZero as_workers;
  LANISTA_ASSIGN(const auto space, CellModels::make(task.data.spec(), ops));
  const CellEvolution evolution(seed);
  std::vector<CellArrival> arrivals;
  std::vector<double> accuracy;
  std::vector<WarmArm> arms;
  for (const std::string& name : names) arms.emplace_back(name);
  for (std::int64_t i = 0; i < models; ++i) {
    arrivals.push_back(evolution.next(arrivals, accuracy));
    LANISTA_ASSIGN(const graph::Graph model, space.model(arrivals.back().cell, ops));
    for (WarmArm& arm : arms) LANISTA_TRY(arm.train(task, ops, model, arrivals.back(), seed));
    accuracy.push_back(arms.front().done.back().accuracy);
    on_progress(seed, arms);
  }
  return arms;
}

void print_task(const WarmTask& task, const std::vector<std::vector<WarmArm>>& seeds, bool json, std::ostream& out) {
  for (std::size_t a = 0; a < seeds.front().size(); ++a) {
    const auto row = [&](const std::string& unit, const std::function<double(const WarmArm&, const WarmArm&)>& value) {
      std::vector<double> values;
      for (const auto& arms : seeds) values.push_back(value(arms[a], arms.front()));
      std::ranges::sort(values);
      const double range = values.back() - values.front(), median = values[values.size() / 2];
      print({"warm-start", task.name, seeds.front()[a].name(), unit, median, range, static_cast<int>(values.size())},
            json, out);
    };
    row("ksteps to target", [](const WarmArm& arm, const WarmArm&) { return total(arm, &Trained::to_target) / 1e3; });
    row("ksteps in all", [](const WarmArm& arm, const WarmArm&) { return total(arm, &Trained::steps) / 1e3; });
    row("reached%", [](const WarmArm& arm, const WarmArm&) {
      return 100 * mean(arm, [](const Trained& one) { return one.reached ? 1.0 : 0.0; });
    });
    row("accuracy%", [](const WarmArm& arm, const WarmArm&) {
      return 100 * mean(arm, [](const Trained& one) { return one.accuracy; });
    });
    if (a == 0) continue;
    row("saving%", [](const WarmArm& arm, const WarmArm& random) {
      return 100 * (1 - total(arm, &Trained::to_target) / total(random, &Trained::to_target));
    });
    row("saving% in all", [](const WarmArm& arm, const WarmArm& random) {
      return 100 * (1 - total(arm, &Trained::steps) / total(random, &Trained::steps));
    });
    row("points of accuracy", [](const WarmArm& arm, const WarmArm& random) {
      const auto accuracy = [](const Trained& one) { return one.accuracy; };
      return 100 * (mean(arm, accuracy) - mean(random, accuracy));
    });
    row("worse%", [](const WarmArm& arm, const WarmArm& random) {
      double worse = 0;
      for (std::size_t i = 0; i < arm.done.size(); ++i) worse += arm.done[i].to_target > random.done[i].to_target;
      return 100 * worse / static_cast<double>(arm.done.size());
    });
  }
}

/// Prints the rows of a stream after every tenth model, for runs that are ended early.
void print_progress(const WarmTask& task, std::int64_t models, std::uint64_t seed, const std::vector<WarmArm>& arms,
                    std::ostream& out) {
  const auto known = std::ssize(arms.front().done);
  if (known % 10 != 0 && known != models) return;
  const std::string stream = task.name + " seed " + std::to_string(seed) + " after " + std::to_string(known);
  for (const WarmArm& arm : arms) {
    const auto accuracy = [](const Trained& one) { return one.accuracy; };
    const auto row = [&](const char* unit, double value) {
      print({"warm-start", stream, arm.name(), unit, value, 0, 1}, false, out);
    };
    row("ksteps to target", total(arm, &Trained::to_target) / 1e3);
    row("ksteps in all", total(arm, &Trained::steps) / 1e3);
    row("accuracy%", 100 * mean(arm, accuracy));
  }
  out.flush();
}

}  // namespace

Result<void> warm_start(const BenchRequest& request, std::ostream& out) {
  const graph::OpTable ops = autodiff::training_ops(graph::builtin_ops());
  const int seeds = request.seeds > 0 ? request.seeds : 3;
  LANISTA_ASSIGN(const auto names, arms_of(request.strategy));
  for (auto* make : {digits_task, glyphs_task, dev_glyphs_task}) {
    LANISTA_ASSIGN(const WarmTask task, make());
    const bool dev = task.name.starts_with("dev-");
    const bool named = std::ranges::find(request.cases, task.name) != request.cases.end();
    if (request.cases.empty() ? dev : !named) continue;
    const int first = dev ? 11 : 1;
    const std::int64_t models = request.queries > 0 ? request.queries : task.models;
    std::mutex printing;
    const ProgressCallback on_progress = [&](std::uint64_t seed, const std::vector<WarmArm>& arms) {
      const std::scoped_lock lock(printing);
      if (!request.json) print_progress(task, models, seed, arms, out);
    };
    std::vector<std::future<Result<std::vector<WarmArm>>>> streams;
    for (int seed = first; seed < first + seeds; ++seed) {
      streams.push_back(std::async(std::launch::async, [&, seed] {
        return run_seed(task, ops, names, models, static_cast<std::uint64_t>(seed), on_progress);
      }));
    }
    std::vector<std::vector<WarmArm>> done;
    for (auto& one : streams) {
      LANISTA_ASSIGN(auto arms, one.get());
      done.push_back(std::move(arms));
    }
    print_task(task, done, request.json, out);
    out.flush();
  }
  return {};
}

}  // namespace lanista::bench
