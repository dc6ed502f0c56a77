#include "bench/lanes.h"

#include <cmath>
#include <map>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

#include "bench/arms.h"
#include "bench/recipe.h"
#include "lanista/base/file_system.h"
#include "lanista/base/rng.h"
#include "lanista/exec/kernels/kernels.h"
#include "lanista/exec/train/lane_group.h"
#include "lanista/model/autodiff/training_step.h"
#include "lanista/model/mutate/model_space.h"

namespace lanista::bench {
namespace {

constexpr std::int64_t kStreamLanes = 16;

enum class Policy { kMasked, kCompacted, kRefilled };

/// The epochs of each trial until it stops, in the order of arrival.
struct Script {
  std::string name;
  std::int64_t lanes = 0;
  std::vector<std::int64_t> epochs;
};

// A third of each rung continues to three times the epochs.
Script halving() {
  Script script{"81-27-9-3-1", 81, {}};
  std::int64_t left = 81, epochs = 1;
  for (; left >= 1; left /= 3, epochs *= 3) {
    for (std::int64_t i = left / 3; i < left; ++i) script.epochs.push_back(epochs);
  }
  // The order of arrival is not the order in which trials stop.
  Rng rng(3);
  for (std::size_t i = script.epochs.size(); i > 1; --i) std::swap(script.epochs[i - 1], script.epochs[rng.below(i)]);
  return script;
}

// Half of the trials stop after each of 1, 2, 4, 8 and 16 epochs. The rest stops after 32.
Script stream() {
  Script script{"stream-300", kStreamLanes, {}};
  Rng rng(4);
  for (int i = 0; i < 300; ++i) {
    std::int64_t epochs = 1;
    while (epochs < 32 && rng.bernoulli(0.5)) epochs *= 2;
    script.epochs.push_back(epochs);
  }
  return script;
}

struct Outcome {
  double us_per_step = 0;  // microseconds a step and lane
  double occupancy = 0;    // percent of lanes that train
  Digest weights;          // hash of the states of all trials
};

/// Runs the trials of a script in lanes.
class LaneScenario {
 public:
  LaneScenario(const data::Dataset& data, const graph::OpTable& ops, graph::Graph model, const Script& script)
      : data_(data), ops_(ops), model_(std::move(model)), script_(script) {}

  Result<Outcome> run_policy(Policy policy) {
    runs_.clear();
    next_ = 0;
    lane_steps_ = slot_steps_ = 0;
    LANISTA_TRY(resize(script_.lanes));
    const double begin = now_seconds();
    std::vector<std::size_t> active_trials;
    while (true) {
      const bool takes_next = policy == Policy::kRefilled || active_trials.empty();
      while (takes_next && std::ssize(active_trials) < group_->lanes() && next_ < script_.epochs.size()) {
        LANISTA_TRY(enter(active_trials));
      }
      if (active_trials.empty()) break;
      const bool queue_is_empty = next_ == script_.epochs.size();
      const bool compacts = policy == Policy::kCompacted || (policy == Policy::kRefilled && queue_is_empty);
      if (compacts && 2 * std::ssize(active_trials) <= group_->lanes()) LANISTA_TRY(resize(std::ssize(active_trials)));
      LANISTA_TRY(step(active_trials));
      if (active_trials.empty() && !queue_is_empty) LANISTA_TRY(resize(script_.lanes));
    }
    const double seconds = now_seconds() - begin;
    Hasher weights;
    for (const train::TrialRun& run : runs_) {
      for (const Tensor& tensor : run.save().tensors) weights.bytes(tensor.bytes);
    }
    return Outcome{1e6 * seconds / static_cast<double>(lane_steps_),
                   100 * static_cast<double>(lane_steps_) / static_cast<double>(slot_steps_), weights.finish()};
  }

 private:
  train::TrainerInput trial(std::uint32_t id) const {
    study::Recipe recipe = plain_recipe();
    recipe.lr = 0.02;
    return {.trial = TrialId{id + 1},
            .model = model_,
            .recipe = recipe,
            .metrics = {},
            .trial_seed = id,
            .data_seed = 12,
            .data = &data_,
            .step_ops = &ops_};
  }

  // Selects the program with `lanes` lanes. Programs are kept, as in an executor.
  Result<void> resize(std::int64_t lanes) {
    auto found = groups_.find(lanes);
    if (found == groups_.end()) {
      LANISTA_ASSIGN(auto made, train::LaneGroup::create(trial(0), lanes));
      found = groups_.emplace(lanes, std::move(made)).first;
    }
    group_ = &found->second;
    return {};
  }

  // Starts the next trial.
  Result<void> enter(std::vector<std::size_t>& active_trials) {
    LANISTA_ASSIGN(auto run, train::TrialRun::create(trial(static_cast<std::uint32_t>(next_))));
    LANISTA_TRY(group_->admit(run));
    runs_.push_back(std::move(run));
    active_trials.push_back(next_++);
    return {};
  }

  Result<void> step(std::vector<std::size_t>& active_trials) {
    std::vector<train::TrialRun*> work;
    for (const std::size_t i : active_trials) work.push_back(&runs_[i]);
    std::vector<train::StepResult> ends(work.size());
    group_->step(work, ends);
    lane_steps_ += std::ssize(work);
    slot_steps_ += group_->lanes();
    for (const auto& end : ends) {
      if (!end.failure.empty()) return Error{Code::kInternal, end.failure, script_.name};
    }
    std::erase_if(active_trials, [&](std::size_t i) { return runs_[i].progress().epochs_done() == script_.epochs[i]; });
    return {};
  }

  const data::Dataset& data_;
  const graph::OpTable& ops_;
  graph::Graph model_;
  const Script& script_;
  std::map<std::int64_t, train::LaneGroup> groups_;
  train::LaneGroup* group_ = nullptr;
  std::vector<train::TrialRun> runs_;  // in the order of arrival
  std::size_t next_ = 0;
  std::int64_t lane_steps_ = 0, slot_steps_ = 0;  // steps of active lanes, and of all lanes
};

Result<void> run_case(const data::Dataset& data, const graph::OpTable& ops, const std::string& base,
                      const Script& script, int repeats, bool json, std::ostream& out) {
  LANISTA_ASSIGN(const auto model, mutate::builtin_base(base, data.spec().features, 10));
  const std::string name = base + "/" + script.name;
  std::vector<std::pair<std::string, Policy>> policies{
      {"masked", Policy::kMasked}, {"compacted", Policy::kCompacted}, {"refilled", Policy::kRefilled}};
  LaneScenario scenario(data, ops, model.graph, script);
  std::map<std::string, Outcome> last;
  std::vector<Arm> arms;
  Result<void> failure;
  for (const auto& [arm, policy] : policies) {
    arms.push_back({arm, [&, policy = policy, arm = arm] {
                      auto outcome = scenario.run_policy(policy);
                      if (!outcome) failure = outcome.error();
                      return outcome ? (last[arm] = *outcome).us_per_step : std::nan("");
                    }});
  }
  const std::vector<BenchRow> rows = run_interleaved("lanes", name, "us/step", arms, repeats);
  LANISTA_TRY(failure);
  for (const BenchRow& row : rows) print(row, json, out);
  for (const auto& [arm, policy] : policies) {
    if (last[arm].weights != last["masked"].weights) {
      return Error{Code::kInternal, "arms masked and " + arm + " end with different weights", name};
    }
    print({"lanes", name, arm, "%", last[arm].occupancy, 0, 1}, json, out);
  }
  return {};
}

}  // namespace

Result<void> lanes(int repeats, bool json, std::ostream& out) {
  kernels::set_flush_to_zero();
  LANISTA_ASSIGN(const auto digits, data::open({}, ".", real_file_system()));
  const graph::OpTable ops = autodiff::training_ops(graph::builtin_ops());
  for (const char* base : {"small-mlp", "small-cnn"}) {
    for (const Script& script : {halving(), stream()}) {
      LANISTA_TRY(run_case(digits, ops, base, script, repeats, json, out));
    }
  }
  return {};
}

}  // namespace lanista::bench
