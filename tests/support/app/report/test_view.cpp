#include "support/app/report/test_view.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <utility>

#include "lanista/base/check.h"
#include "lanista/base/rng.h"

namespace lanista::report::testing {
namespace {

using study::OutcomeKind;

void declare(space::SearchSpace& space, std::string name, space::Domain domain,
             std::vector<space::Parameter::Condition> when = {}) {
  const auto added = space.add({std::move(name), std::move(domain), std::move(when)});
  LANISTA_CHECK(added.ok(), added ? "" : added.error().message);
}

space::SearchSpace sample_space() {
  space::SearchSpace space;
  declare(space, "optimizer", space::Categorical{{std::string("sgd"), std::string("adam")}});
  declare(space, "lr", space::FloatRange{1e-3, 0.5, 0, true}, {{"optimizer", {std::string("sgd")}}});
  declare(space, "momentum", space::FloatRange{0, 0.95, 0.05, false}, {{"optimizer", {std::string("sgd")}}});
  declare(space, "lr", space::FloatRange{1e-4, 0.1, 0, true}, {{"optimizer", {std::string("adam")}}});
  declare(space, "warmup_epochs", space::IntRange{0, 7, 2, false});
  declare(space, "nesterov", space::Categorical{{false, true}});
  return space;
}

study::StudyView empty_study(std::string name) {
  study::StudyView view;
  view.config.name = std::move(name);
  view.config.space.params = sample_space();
  view.models = {{{"name", "small-mlp"}, {"graph", ""}}, {{"name", "=small,cnn"}, {"graph", ""}}};
  return view;
}

study::TrialView& add_trial(study::StudyView& view, space::Sample sample) {
  study::TrialView trial;
  trial.id = TrialId{static_cast<std::uint32_t>(view.trials.size() + 1)};
  trial.proposal.sample = std::move(sample);
  trial.proposal.budget = 3;
  trial.proposal.graph_hash = hash_text("graph " + std::to_string(trial.id.value));
  trial.proposal.base = trial.id.value % 2 == 0 ? 1 : 0;
  trial.parameters = 100 * trial.id.value;
  view.trials.push_back(std::move(trial));
  return view.trials.back();
}

/// Adds one epoch of 10 steps on `worker`, for half a second from `began` on.
void measure(study::StudyView& view, study::TrialView& trial, std::int64_t worker, double began, double accuracy) {
  const auto epoch = static_cast<std::int64_t>(trial.measurements.size()) + 1;
  trial.measurements.push_back(
      {trial.id, epoch, 10 * epoch, {{"train_loss", 1 - accuracy}, {"val_accuracy", accuracy}}});
  view.spans.push_back({trial.id, epoch, worker, began, began + 0.5});
}

space::Sample sample_of(const space::SearchSpace& space, const Rng& rng) {
  space::RandomChooser choose(rng);
  return space.sample(choose);
}

}  // namespace

study::StudyView small_study() {
  study::StudyView view = empty_study("=cmd|'/c calc'!A0 \xff </script>");
  const space::Sample sgd{{"optimizer", std::string("sgd")},
                          {"lr", 0.25},
                          {"momentum", 0.5},
                          {"warmup_epochs", std::int64_t{2}},
                          {"nesterov", true}};
  const space::Sample adam{
      {"optimizer", std::string("adam")}, {"lr", 0.001}, {"warmup_epochs", std::int64_t{0}}, {"nesterov", false}};

  auto& done = add_trial(view, sgd);
  measure(view, done, 0, 0, 0.5);
  measure(view, done, 0, 0.5, 0.75);
  done.outcome = study::Outcome{};
  auto& stopped = add_trial(view, adam);
  measure(view, stopped, 1, 0, 0.875);
  stopped.outcome = study::Outcome{OutcomeKind::kStopped, "asha: rung 1", {}, "", {}};
  auto& failed = add_trial(view, adam);
  measure(view, failed, 1, 0.5, std::numeric_limits<double>::quiet_NaN());
  failed.outcome = study::Outcome{OutcomeKind::kFailed, "-1\", \"diverged\"\n", {}, "", {}};
  auto& original = add_trial(view, sgd);
  original.outcome = study::Outcome{OutcomeKind::kDuplicate, "", TrialId{1}, "", {}};
  auto& running = add_trial(view, sgd);
  running.proposal.parent = TrialId{1};
  measure(view, running, 0, 1, 0.625);
  view.seconds = 1.5;
  return view;
}

study::StudyView random_study(std::int64_t trials, std::uint64_t seed) {
  study::StudyView view = empty_study("random");
  const Rng root(seed);
  double free_at[2] = {0, 0};
  for (std::int64_t i = 0; i < trials; ++i) {
    Rng rng = root.split(static_cast<std::uint64_t>(i));
    auto& trial = add_trial(view, sample_of(view.config.space.params, rng.split("sample")));
    trial.parameters = rng.between(100, 100000);
    const std::uint64_t fate = rng.below(10);
    if (i > 0 && fate == 0) {
      const TrialId original{static_cast<std::uint32_t>(rng.between(1, i))};
      trial.proposal.sample = view.trials[original.value - 1].proposal.sample;
      trial.outcome = study::Outcome{OutcomeKind::kDuplicate, "", original, "", {}};
      continue;
    }
    if (i > 2 && rng.bernoulli(0.5)) trial.proposal.parent = TrialId{static_cast<std::uint32_t>(rng.between(1, i))};
    const std::int64_t epochs = fate == 1 ? 0 : rng.between(1, 4);
    const std::int64_t worker = free_at[0] <= free_at[1] ? 0 : 1;
    for (std::int64_t e = 0; e < epochs; ++e) {
      measure(view, trial, worker, free_at[worker], fate == 2 && e == 2 ? std::nan("") : rng.uniform());
      free_at[worker] += rng.uniform(0.5, 1.5);
    }
    if (fate == 3) continue;  // under way
    const OutcomeKind kinds[] = {OutcomeKind::kSucceeded, OutcomeKind::kFailed, OutcomeKind::kFailed};
    trial.outcome = study::Outcome{fate < 3   ? kinds[fate]
                                   : fate < 6 ? OutcomeKind::kStopped
                                              : OutcomeKind::kSucceeded,
                                   fate == 1 ? "out of memory" : "",
                                   {},
                                   "",
                                   {}};
    if (fate == 9 && epochs == 1) trial.outcome->kind = OutcomeKind::kCancelled;
  }
  view.seconds = std::max(free_at[0], free_at[1]);
  return view;
}

std::string decoded(const std::string& text) {
  const std::string digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string out;
  unsigned held = 0, bits = 0;
  for (const char c : text.substr(0, text.find('='))) {
    held = held << 6 | static_cast<unsigned>(digits.find(c));
    if ((bits += 6) >= 8) out += static_cast<char>(held >> (bits -= 8) & 0xff);
  }
  return out;
}

}  // namespace lanista::report::testing
