#include "lanista/engine/forecast/simulated_study.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "lanista/base/portable_math.h"
#include "lanista/engine/core/check_config.h"
#include "lanista/engine/core/study_setup.h"
#include "lanista/engine/core/trial_cost.h"
#include "lanista/engine/forecast/plan_members.h"
#include "lanista/engine/forecast/search_driver.h"
#include "lanista/plan/elastic/elastic.h"
#include "lanista/plan/elastic/first_come.h"
#include "lanista/plan/sharing/plan.h"
#include "lanista/search/study/epoch_schedule.h"
#include "lanista/search/study/metric.h"

namespace lanista::engine {
namespace {

using plan::Arrival;
using plan::Prediction;

/// Predicted cost of a trial.
struct TrialCost {
  ExpectedTimes times;
  double bytes = 0;
  study::EpochSchedule epochs;
  std::int64_t validation_rows = 0;
  study::ExtraSteps extra = {};

  double seconds(std::int64_t from, std::int64_t through) const {
    const double made = from == 0 ? times.set_up : 0;
    const std::int64_t steps =
        epochs.steps_through(through) - epochs.steps_through(from) + extra.steps_through(from, through);
    return made + times.seconds(steps, through - from, validation_rows);
  }
};

std::string megabytes(double bytes) {
  char text[32];
  std::snprintf(text, sizeof text, "%.2f MB", bytes * 1e-6);
  return text;
}

/// Made-up values of all metrics that the study compares by.
SearchDriver::Metrics synthetic_metrics(const study::StudyConfig& config, const Rng& rng,
                                        const SearchDriver::Trial& trial) {
  const double loss = synthetic_loss(rng, trial.id.value, trial.epoch);
  SearchDriver::Metrics out{{"train_loss", portable_exp(0.3 * loss)}, {"val_loss", portable_exp(0.3 * loss)}};
  const auto add = [&](const std::string& name) {
    if (out.contains(name)) return;
    const bool more = study::more_is_better(name).value_or(false);
    out[name] = more ? 1 / (1 + portable_exp(loss)) : portable_exp(0.3 * loss);
  };
  for (const std::string& metric : config.train.measured.metrics) add("val_" + metric);
  for (const study::Goal& goal : config.goals) {
    if (goal.metric.starts_with("val_")) add(goal.metric);
  }
  return out;
}

Rng synthetic_rng(const study::StudyConfig& config) { return Rng(config.run.seed).split("made-up"); }

/// A simulated study as a source of work. One piece of work is the training of a trial until its next verdict.
class SimulatedStudy : public plan::TrialSource {
 public:
  SimulatedStudy(const study::StudyConfig& config, const data::DataSpec& data,
                 const std::shared_ptr<const mutate::ModelSpace>& models, const PlanRequest& request,
                 const ClusterFile& on, search::Strategy& strategy, std::int64_t trials)
      : config_(config),
        data_(data),
        ops_(models->ops()),
        request_(request),
        cluster_(on),
        strategy_(strategy),
        members_(config, data, models, request.costs.prices),
        rng_(synthetic_rng(config)),
        driver_(
            strategy, {config.strategy.slots, trials, true, LastRung(config)},
            [this](const SearchDriver::Trial& trial) { return synthetic_metrics(config_, rng_, trial); },
            [this](const SearchDriver::Trial&, study::OutcomeKind kind) {
              if (kind == study::OutcomeKind::kStopped) ++ended_early_;
            }) {}

  std::vector<Arrival> next(std::span<const plan::TrialEnd> ended, std::size_t, std::size_t) override {
    std::vector<Arrival> asked;
    for (const plan::TrialEnd& end : ended) {
      const TrialSegment piece = segments_[static_cast<std::size_t>(end.id)];
      // A trial that was stopped in the meantime has no more epochs.
      while (driver_.find_running(piece.trial) != nullptr && driver_.find_running(piece.trial)->epoch < piece.through) {
        driver_.advance(piece.trial);
      }
      if (driver_.find_running(piece.trial) != nullptr) record_error(add_segment(piece.trial, asked));
    }
    auto begun = driver_.fill();
    if (!begun) record_error(begun.error());
    if (error_ || !begun) return {};
    for (const TrialId id : *begun) {
      if (driver_.find_running(id)->epoch > 0) ++resumptions_;
      record_error(add_segment(id, asked));
    }
    return error_ ? std::vector<Arrival>() : asked;
  }

  const std::optional<Error>& error() const { return error_; }
  TrialId trial_of(std::int64_t piece) const { return segments_[static_cast<std::size_t>(piece)].trial; }
  std::int64_t resumptions() const { return resumptions_; }
  std::int64_t ended_early() const { return ended_early_; }

  /// The whole training of each trial.
  std::vector<Prediction> whole_trials() const {
    std::vector<Prediction> out;
    for (const auto& [trial, seconds] : seconds_) out.push_back(prediction(seconds, costs_.at(trial).bytes));
    return out;
  }

 private:
  struct TrialSegment {
    TrialId trial;
    std::int64_t through = 0;  ///< Epoch.
  };

  void record_error(const Result<void>& result) {
    if (!result && !error_) error_ = result.error();
  }

  Prediction prediction(double seconds, double bytes) const {
    return plan::prediction_of(seconds, cluster_.serial_fraction, cluster_.busy_fraction, bytes,
                               cluster_.resize_seconds);
  }

  Result<void> add_segment(TrialId id, std::vector<Arrival>& asked) {
    const SearchDriver::Trial& trial = *driver_.find_running(id);
    LANISTA_ASSIGN(const TrialCost price, cost_of(trial));
    if (const double usable_bytes = cluster_.cluster.usable_memory(); price.bytes > usable_bytes) {
      return Error{Code::kResourceExhausted,
                   "trial " + std::to_string(id.value) + " needs " + megabytes(price.bytes) +
                       ", as predicted; a worker of the cluster has " + megabytes(usable_bytes) + " for trials",
                   "memory_mb"};
    }
    const std::int64_t end = std::min(trial.budget, study::full_epochs(trial.proposal));
    const std::int64_t through = std::clamp(strategy_.verdict(id).through, trial.epoch + 1, end);
    const double seconds = price.seconds(trial.epoch, through);
    seconds_[id] += seconds;
    const Prediction piece = prediction(seconds, price.bytes);
    asked.push_back({std::ssize(segments_), piece, piece, {}});
    segments_.push_back({id, through});
    return {};
  }

  Result<TrialCost> cost_of(const SearchDriver::Trial& trial) {
    if (const auto known = costs_.find(trial.id); known != costs_.end()) return known->second;
    study::TrialView view;
    view.id = trial.id;
    view.proposal = trial.proposal;
    LANISTA_ASSIGN(PlannedMember planned, members_.make(view));
    const auto known =
        request_.known ? request_.known->expected(planned.shape, 1, 1, cluster_.cluster.workers) : std::nullopt;
    std::vector<sharing::FusionMember> alone;
    alone.push_back(std::move(planned.member));
    const std::vector<std::vector<std::size_t>> programs{{0}};
    LANISTA_ASSIGN(const sharing::FusionPlan plan, sharing::plan_of(std::move(alone), programs, ops_, request_.costs));
    LANISTA_ASSIGN(const data::DataSpec data, data::training_spec(data_, trial.proposal.fold));
    ExpectedTimes times{.step = plan.groups.front().us * 1e-6};
    if (known) times = *known;
    const TrialCost price{times, static_cast<double>(plan.groups.front().bytes),
                          epoch_schedule_of(config_, data, trial.proposal.sample), planned.validation_rows,
                          std::move(planned.extra)};
    return costs_.emplace(trial.id, price).first->second;
  }

  const study::StudyConfig& config_;
  const data::DataSpec& data_;
  graph::OpTable ops_;
  const PlanRequest& request_;
  const ClusterFile& cluster_;
  search::Strategy& strategy_;
  PlanMemberBuilder members_;
  Rng rng_;
  SearchDriver driver_;
  std::vector<TrialSegment> segments_;  ///< By trial id.
  std::map<TrialId, TrialCost> costs_;
  std::map<TrialId, double> seconds_;
  std::int64_t resumptions_ = 0, ended_early_ = 0;
  std::optional<Error> error_;
};

/// True if the study compares trials at rungs, and the best train to the end.
bool has_rungs(const study::StudyConfig& config) {
  constexpr std::array<std::string_view, 3> kRules{"asha", "successive_halving", "hyperband"};
  if (std::ranges::find(kRules, config.stop.rule) != kRules.end()) return true;
  const auto all = search::builtin_strategies();
  const auto plugin = std::ranges::find(all, config.strategy.name, &search::StrategyPlugin::name);
  return plugin != all.end() && plugin->has_own_halving && !plugin->forks;
}

/// The reason why no trial trains to the end, and what to change.
Error nothing_to_end(const study::StudyConfig& config, const data::DataSpec& data, std::int64_t trials) {
  const std::int64_t epochs = config.train.length.epochs, steps = min_trial_steps(config, data);
  const auto error = [&](const std::string& text, const std::string& key) {
    return Error{Code::kFailedPrecondition,
                 "no trial trains to its last epoch, " + std::to_string(epochs) + ": " + text, key};
  };
  if (config.budget.steps && steps > *config.budget.steps) {
    return error("budget.steps is " + std::to_string(*config.budget.steps) + ", and one trial has " +
                     std::to_string(steps) + " steps; raise budget.steps to at least that, or lower train.epochs",
                 "budget.steps");
  }
  const auto stopped = config.stop.options.find("bootstrap");
  if (stopped != config.stop.options.end() && stopped->is_number_integer() && *stopped > 0) {
    return error("stop.bootstrap ends the first " + stopped->dump() + " trials at each rung, and the study has " +
                     std::to_string(trials) + "; lower stop.bootstrap, or raise budget.trials",
                 "stop.bootstrap");
  }
  return error("the budget ends before the rungs do; raise budget.trials or budget.steps, or lower train.epochs",
               "budget");
}

}  // namespace

Result<std::optional<LastRungForecast>> forecast_last_rung(const study::StudyConfig& config, const data::DataSpec& data,
                                                           std::shared_ptr<const mutate::ModelSpace> models) {
  LANISTA_TRY(check_config(config));
  if (!has_rungs(config)) return std::optional<LastRungForecast>();
  study::StudyConfig simulated = config;
  if (config.stop.rule != "none") {
    simulated.strategy.name = "random";
    simulated.strategy.options = Options::object();
    simulated.strategy.then.reset();
  }
  LANISTA_ASSIGN(const auto strategy, make_strategy(simulated, std::move(models)));
  const Rng rng = synthetic_rng(config);
  const std::int64_t trials = std::min(config.budget.trials.value_or(kMaxForecastTrials), kMaxForecastTrials);
  LastRungForecast out{0, 0, config.train.length.epochs};
  SearchDriver driver(
      *strategy,
      {config.strategy.slots, trials, true, LastRung(simulated), config.budget.steps,
       [&](const study::Proposal& proposal, std::int64_t from, std::int64_t to) {
         return steps_between(simulated, data, proposal, from, to);
       }},
      [&](const SearchDriver::Trial& trial) { return synthetic_metrics(simulated, rng, trial); },
      [&](const SearchDriver::Trial& trial, study::OutcomeKind) {
        out.to_end += trial.epoch >= study::full_epochs(trial.proposal) ? 1 : 0;
      });
  LANISTA_TRY(driver.run_until(std::numeric_limits<std::int64_t>::max()));
  out.trials = driver.num_trials();
  if (out.to_end == 0) return nothing_to_end(config, data, out.trials);
  return std::optional(out);
}

double synthetic_loss(const Rng& rng, std::int64_t number, std::int64_t budget) {
  Rng of = rng.split("curve").split(static_cast<std::uint64_t>(number));
  const double last = of.normal(), height = of.uniform(0.5, 2);
  const double noise = of.split(static_cast<std::uint64_t>(budget)).normal();
  return last + height * portable_pow(static_cast<double>(budget), -0.5) + 0.05 * noise;
}

Result<Forecast> forecast_study(const study::StudyConfig& config, const data::DataSpec& data,
                                std::shared_ptr<const mutate::ModelSpace> models, const PlanRequest& request,
                                const ClusterFile& file) {
  LANISTA_TRY(check_config(config));
  const bool is_known = request.known && !request.known->empty();
  const TimingHistory* known = is_known ? request.known.get() : nullptr;
  const ClusterFile on =
      known ? file.with_defaults(known->serial_fraction(), known->resize_seconds(), known->interference_fraction())
            : file;
  const std::int64_t trials = request.trials.value_or(config.budget.trials.value_or(config.strategy.slots));
  Forecast out;
  out.cluster = on.cluster;
  out.slots = config.strategy.slots;
  out.basis = (is_known ? "of earlier studies (" + request.known->text() + ")"
                        : std::string("predicted from the cost of a step; training only, no evaluation")) +
              "; results are made up (seed " + std::to_string(config.run.seed) +
              "), so the set of promoted trials is an example" +
              (config.implied.empty() ? "" : "; pruning rules (implied) are not simulated");
  const auto ours = plan::elastic(), fifo = plan::first_come();
  for (const plan::Policy* policy : {fifo.get(), ours.get()}) {
    LANISTA_ASSIGN(const auto strategy, make_strategy(config, models));
    SimulatedStudy study(config, data, models, request, on, *strategy, trials);
    auto course = plan::simulate(on.cluster, study, *policy);
    if (study.error()) return *study.error();
    if (!course) return std::move(course).error();
    const auto whole = study.whole_trials();
    if (whole.empty()) return Error{Code::kResourceExhausted, "the strategy has nothing to propose", "strategy"};
    if (policy == fifo.get()) {
      out.fifo_seconds = course->makespan;
      continue;
    }
    for (plan::PlacementInterval& stretch : course->placement_intervals) stretch.id = study.trial_of(stretch.id).value;
    for (plan::TrialEnd& end : course->ends) end.id = study.trial_of(end.id).value;
    out.course = *std::move(course);
    out.trials = std::ssize(whole);
    out.resumptions = study.resumptions();
    out.ended_early = study.ended_early();
    out.bounds = plan::bounds_of(whole, on.cluster);
  }
  return out;
}

}  // namespace lanista::engine
