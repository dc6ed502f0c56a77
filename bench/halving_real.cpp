#include "bench/halving_real.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <memory>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

#include "bench/arms.h"
#include "bench/trained_study.h"
#include "lanista/base/file_system.h"
#include "lanista/exec/kernels/kernels.h"
#include "lanista/plan/elastic/bounds.h"
#include "lanista/plan/elastic/first_come.h"
#include "lanista/plan/elastic/simulate.h"

namespace lanista::bench {
namespace {

using plan::Arrival;
using plan::Prediction;
using plan::TrialEnd;

constexpr std::int64_t kWorkers = 2, kProfiledEpochs = 8;

// Models differ in depth and width, and trials in their batch. The slowest epoch needs about ten times the time of the
// fastest.
constexpr const char* kModels = R"yaml(
model: {base: [builtin:small-mlp, builtin:small-cnn]}
space:
  mutate: [{widen: {by: [0.5, 2]}}, deepen]
  params: {lr: log(0.003, 0.1), batch: "choice(8, 16, 32, 64)"}
data: {source: builtin:digits}
keep: {top: 1}
)yaml";
constexpr const char* kHalving = R"yaml(
train: {epochs: 432}
stop: {rule: successive_halving, trials: 27, rungs: [16, 48, 144], cycles: 1}
budget: {trials: 27}
)yaml";

/// A study of the same 27 proposals, with `slots` slots.
study::StudyConfig halving_study(const std::string& training_yaml, std::int64_t slots, const data::Dataset& data) {
  const std::string strategy = "strategy: {name: random, mutations: [0, 2], slots: " + std::to_string(slots) + "}\n";
  return study_for(std::string(kModels) + training_yaml + strategy, data);
}

using Seconds = std::map<TrialId, double>;

/// The median seconds of an epoch for each trial, without the first epoch, in which programs are compiled.
Seconds epoch_seconds(const study::StudyView& view) {
  std::map<TrialId, std::vector<double>> epoch_seconds_by_trial;
  for (const study::Span& span : view.spans) {
    if (span.epoch > 1) epoch_seconds_by_trial[span.trial].push_back(span.ended - span.began);
  }
  Seconds of;
  for (const auto& [trial, seconds] : epoch_seconds_by_trial) of[trial] = summary("", "", "", "s", seconds).value;
  return of;
}

/// The trials that train to a rung, and the epochs since the rung before.
struct Rung {
  std::vector<TrialId> trials;
  std::int64_t epochs = 0;
};

/// The rungs of a complete study, from the measurements of its trials.
std::vector<Rung> rungs_of(const study::StudyView& view) {
  std::map<std::int64_t, std::vector<TrialId>> by_end;  // trials by their last epoch
  for (const auto& trial : view.trials) {
    by_end[trial.measurements.empty() ? 0 : trial.measurements.back().epoch].push_back(trial.id);
  }
  std::vector<Rung> rungs;
  std::int64_t before = 0;
  for (auto at = by_end.begin(); at != by_end.end(); ++at) {
    Rung rung{{}, at->first - before};
    for (auto further = at; further != by_end.end(); ++further) {
      rung.trials.insert(rung.trials.end(), further->second.begin(), further->second.end());
    }
    std::ranges::sort(rung.trials);
    before = at->first;
    rungs.push_back(std::move(rung));
  }
  return rungs;
}

/// The trials of the rungs, as a source for a simulated schedule. A rung starts when all trials of the rung before have
/// ended. With `by_epochs` each epoch is a piece of its own, as in `ours`, where a worker takes one epoch at a time.
class RungTrials : public plan::TrialSource {
 public:
  RungTrials(const std::vector<Rung>& rungs, const Seconds& epoch, bool by_epochs)
      : rungs_(rungs), epoch_(epoch), by_epochs_(by_epochs) {}

  std::vector<Arrival> next(std::span<const TrialEnd> ended, std::size_t waiting, std::size_t running) override {
    std::vector<Arrival> arrivals;
    for (const TrialEnd& end : ended) {
      Piece& piece = pieces_[static_cast<std::size_t>(end.id)];
      if (piece.left > 0) add_arrival(piece.trial, piece.left, arrivals);
    }
    if (arrivals.empty() && waiting + running == 0 && at_ < rungs_.size()) {
      const Rung& rung = rungs_[at_++];
      for (const TrialId trial : rung.trials) add_arrival(trial, rung.epochs, arrivals);
    }
    return arrivals;
  }

 private:
  struct Piece {
    TrialId trial;
    std::int64_t left = 0;  ///< epochs of the rung after this piece
  };
  void add_arrival(TrialId trial, std::int64_t epochs, std::vector<Arrival>& arrivals) {
    const std::int64_t now = by_epochs_ ? 1 : epochs;
    const auto piece = plan::prediction_of(static_cast<double>(now) * epoch_.at(trial), 0);
    arrivals.push_back({std::ssize(pieces_), piece, piece, {}});
    pieces_.push_back({trial, epochs - now});
  }

  const std::vector<Rung>& rungs_;
  const Seconds& epoch_;
  bool by_epochs_;
  std::size_t at_ = 0;
  std::vector<Piece> pieces_;  // by id
};

/// Two workers without interference.
plan::Cluster two_workers() {
  plan::Cluster cluster;
  cluster.workers = kWorkers;
  cluster.widest = 1;
  cluster.interference = 0;
  return cluster;
}

/// The simulated makespan of the rungs.
Result<double> simulated_seconds(const std::vector<Rung>& rungs, const Seconds& epoch, bool by_epochs) {
  RungTrials source(rungs, epoch, by_epochs);
  LANISTA_ASSIGN(const auto simulation, plan::simulate(two_workers(), source, *plan::first_come()));
  return simulation.makespan;
}

/// The least makespan of the rungs on two workers.
double bound_seconds(const std::vector<Rung>& rungs, const Seconds& epoch) {
  double seconds = 0;
  for (const Rung& rung : rungs) {
    std::vector<Prediction> trials;
    for (const TrialId trial : rung.trials) {
      trials.push_back(plan::prediction_of(static_cast<double>(rung.epochs) * epoch.at(trial), 0));
    }
    seconds += plan::bounds_of(trials, two_workers()).best();
  }
  return seconds;
}

/// Checks that two studies have the same trials and measurements. With `to_the_end` also their numbers of epochs and
/// the winner. Errors: kInternal with the trial.
Result<void> check_same(const study::StudyView& one, const study::StudyView& other, bool to_the_end) {
  const auto differ = [](TrialId trial) {
    return Error{Code::kInternal, "arms differ in trial " + std::to_string(trial.value), "halving-real"};
  };
  if (one.trials.size() != other.trials.size()) return differ(TrialId{0});
  for (std::size_t i = 0; i < one.trials.size(); ++i) {
    const auto &a = one.trials[i], &b = other.trials[i];
    if (a.proposal.graph_hash != b.proposal.graph_hash || a.proposal.sample != b.proposal.sample) return differ(a.id);
    if (to_the_end && a.measurements.size() != b.measurements.size()) return differ(a.id);
    for (std::size_t m = 0; m < std::min(a.measurements.size(), b.measurements.size()); ++m) {
      if (a.measurements[m].metrics != b.measurements[m].metrics) return differ(a.id);
    }
  }
  if (to_the_end && one.winner != other.winner) return differ(one.winner.value_or(TrialId{0}));
  return {};
}

/// The seconds of one round.
struct Round {
  double ours = 0, fifo = 0, ours_simulated = 0, fifo_simulated = 0, bound = 0;
};

Result<Round> run_round(const data::Dataset& data, bool fifo_first) {
  const ExecutorSettings one_a_worker{.workers = kWorkers, .lanes = 1}, lanes{.workers = kWorkers};
  const std::string short_training =
      "train: {epochs: " + std::to_string(kProfiledEpochs) + "}\nstop: {rule: none}\nbudget: {trials: 27}\n";
  LANISTA_ASSIGN(const auto profile, train_study(halving_study(short_training, kWorkers, data), data, one_a_worker));
  TrainedStudy ours, fifo;
  for (const bool is_fifo : {fifo_first, !fifo_first}) {
    const auto config = halving_study(kHalving, is_fifo ? kWorkers : 27, data);
    LANISTA_ASSIGN((is_fifo ? fifo : ours), train_study(config, data, is_fifo ? one_a_worker : lanes));
  }
  LANISTA_TRY(check_same(ours.view, fifo.view, true));
  LANISTA_TRY(check_same(ours.view, profile.view, false));

  const auto rungs = rungs_of(ours.view);
  const Seconds before = epoch_seconds(profile.view);
  Round round{.ours = ours.seconds, .fifo = fifo.seconds};
  LANISTA_ASSIGN(round.ours_simulated, simulated_seconds(rungs, before, true));
  LANISTA_ASSIGN(round.fifo_simulated, simulated_seconds(rungs, before, false));
  round.bound = bound_seconds(rungs, epoch_seconds(ours.view));
  return round;
}

}  // namespace

Result<void> halving_real(const BenchRequest& request, std::ostream& out) {
  kernels::set_flush_to_zero();
  const int repeats = request.repeats > 0 ? request.repeats : 7;
  LANISTA_ASSIGN(const auto digits, data::open({}, ".", real_file_system()));
  std::vector<Round> all;
  for (int i = 0; i < repeats; ++i) {
    LANISTA_ASSIGN(const Round round, run_round(digits, i % 2 == 1));
    all.push_back(round);
  }
  const auto row = [&](const std::string& arm, const std::string& unit, const auto& value) {
    std::vector<double> values;
    for (const Round& round : all) values.push_back(value(round));
    print(summary("halving-real", "sha-27-of-2", arm, unit, values), request.json, out);
  };
  row("ours", "s", [](const Round& r) { return r.ours; });
  row("ours-simulated", "s", [](const Round& r) { return r.ours_simulated; });
  row("ours-bound", "s", [](const Round& r) { return r.bound; });
  row("fifo", "s", [](const Round& r) { return r.fifo; });
  row("fifo-simulated", "s", [](const Round& r) { return r.fifo_simulated; });
  row("simulated/ours", "x", [](const Round& r) { return r.ours_simulated / r.ours; });
  row("simulated/fifo", "x", [](const Round& r) { return r.fifo_simulated / r.fifo; });
  row("fifo/ours", "x", [](const Round& r) { return r.fifo / r.ours; });
  row("ours/bound", "x", [](const Round& r) { return r.ours / r.bound; });
  return {};
}

}  // namespace lanista::bench
