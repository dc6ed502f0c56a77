#include "lanista/bench/epoch_search.h"

#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "lanista/bench/arms.h"
#include "lanista/strategy/tpe.h"
#include "lanista/study/pareto.h"

namespace lanista::bench {
namespace {

using Losses = std::vector<double>;

Losses losses_of(const AccuracyTable& table, std::size_t row) {
  return {-table.row(row).validation, table.weights(row)};
}

std::vector<Losses> front_of(const std::vector<Losses>& points) {
  const auto ranks = study::non_dominated_ranks(points);
  std::vector<Losses> front;
  for (std::size_t i = 0; i < points.size(); ++i) {
    if (ranks[i] == 0) front.push_back(points[i]);
  }
  return front;
}

/// What fully trained trials are measured by when there are two goals: the volume between them and a corner a little
/// beyond the front's nadir, its worst value by each goal.
class Volume {
 public:
  /// Of the front's extent; at the nadir itself the ends of the front would count nothing.
  static constexpr double kMargin = 0.1;

  explicit Volume(const AccuracyTable& table) {
    std::vector<Losses> cells;
    for (std::size_t row = 0; row < table.rows(); ++row) cells.push_back(losses_of(table, row));
    // One cell a number of weights is enough: the table is too long to sort into fronts.
    std::sort(cells.begin(), cells.end(),
              [](const Losses& a, const Losses& b) { return std::pair(a[1], a[0]) < std::pair(b[1], b[0]); });
    cells.erase(std::unique(cells.begin(), cells.end(), [](const Losses& a, const Losses& b) { return a[1] == b[1]; }),
                cells.end());
    const std::vector<Losses> front = front_of(cells);
    for (std::size_t k = 0; k < 2; ++k) {
      const auto [lo, hi] = std::minmax_element(front.begin(), front.end(),
                                                [k](const Losses& a, const Losses& b) { return a[k] < b[k]; });
      corner_.push_back((*hi)[k] + kMargin * ((*hi)[k] - (*lo)[k]));
    }
    all_ = strategy::hypervolume(front, corner_);
  }
  double regret(const std::vector<Losses>& found) const {
    return all_ > 0 ? 100 * (1 - strategy::hypervolume(front_of(found), corner_) / all_) : 0;
  }

 private:
  Losses corner_;
  double all_ = 0;
};

struct Trial {
  TrialId id;
  std::optional<std::size_t> row;
  std::int64_t epoch = 0;
};

class Search {
 public:
  Search(const AccuracyTable& table, strategy::Strategy& strategy, const EpochBudget& budget, std::uint64_t seed)
      : table_(table), strategy_(strategy), budget_(budget), curves_(table, budget.epochs, seed) {}

  Result<EpochRun> run() {
    std::optional<Volume> volume;
    if (budget_.two_goals) volume.emplace(table_);
    const double begin = now_seconds();
    for (const std::int64_t mark : budget_.marks) {
      while (spent_ < mark) {
        LANISTA_TRY(fill());
        if (running_.empty()) break;
        Trial trial = running_.front();
        running_.erase(running_.begin());
        ++spent_;
        if (!advance(trial)) running_.push_back(trial);
      }
      out_.after.push_back({best_epoch_ == 0 ? table_.best_validation() : table_.best_validation() - best_final_,
                            volume ? volume->regret(finished_) : 0, kept()});
    }
    out_.seconds = now_seconds() - begin;
    return std::move(out_);
  }

 private:
  Result<void> fill() {
    while (static_cast<std::int64_t>(running_.size()) < budget_.slots) {
      const auto group = strategy_.suggest({1});
      if (!group && group.error().code != Code::kResourceExhausted) return group.error();
      if (!group || group->proposals().empty()) return {};
      const TrialId id{static_cast<std::uint32_t>(++out_.trials)};
      running_.push_back({id, table_.row_of(group->proposals()[0].sample), 0});
      strategy_.observe(study::Proposed{id, group->proposals()[0]});
    }
    return {};
  }

  /// Trains an epoch; whether the trial has ended.
  bool advance(Trial& trial) {
    if (!trial.row) return end(trial, study::OutcomeKind::kFailed);
    const double accuracy = curves_.validation(*trial.row, ++trial.epoch);
    std::map<std::string, double> metrics{{"val_accuracy", accuracy}};
    if (budget_.two_goals) metrics["weights"] = table_.weights(*trial.row);
    strategy_.observe(study::Measured{{trial.id, trial.epoch, trial.epoch, std::move(metrics)}});
    if (std::pair(trial.epoch, accuracy) > std::pair(best_epoch_, best_accuracy_)) {
      best_epoch_ = trial.epoch, best_accuracy_ = accuracy, best_final_ = table_.row(*trial.row).validation;
    }
    if (trial.epoch == budget_.epochs) return end(trial, study::OutcomeKind::kSucceeded);
    return strategy_.verdict(trial.id).verdict == study::Verdict::kStop && end(trial, study::OutcomeKind::kStopped);
  }

  bool end(const Trial& trial, study::OutcomeKind kind) {
    study::Outcome outcome;
    outcome.kind = kind;
    strategy_.observe(study::Ended{trial.id, outcome});
    if (!trial.row) return true;
    (kind == study::OutcomeKind::kSucceeded ? finished_ : stopped_).push_back(losses_of(table_, *trial.row));
    if (kind == study::OutcomeKind::kSucceeded) ++out_.finished;
    return true;
  }

  double kept() const {
    if (!budget_.two_goals || finished_.empty()) return 100;
    std::vector<Losses> all = finished_;
    all.insert(all.end(), stopped_.begin(), stopped_.end());
    const auto ranks = study::non_dominated_ranks(all);
    double front = 0, trained = 0;
    for (std::size_t i = 0; i < all.size(); ++i) {
      if (ranks[i] != 0) continue;
      front += 1;
      trained += i < finished_.size() ? 1 : 0;
    }
    return 100 * trained / front;
  }

  const AccuracyTable& table_;
  strategy::Strategy& strategy_;
  const EpochBudget& budget_;
  TableCurves curves_;
  EpochRun out_;
  std::vector<Trial> running_;
  std::vector<Losses> finished_, stopped_;
  std::int64_t spent_ = 0, best_epoch_ = 0;
  double best_accuracy_ = 0, best_final_ = 0;
};

Result<std::unique_ptr<strategy::Halving>> rule_for(const strategy::Context& context, const EpochBudget& budget) {
  for (const strategy::StoppingPlugin& plugin : strategy::builtin_stopping_rules()) {
    if (plugin.name != (budget.asha ? "asha" : "none")) continue;
    Options given = Options::object();
    if (budget.asha) given["on"] = budget.asha_on;
    LANISTA_ASSIGN(const Options options, resolve_options(given, plugin.options));
    return plugin.make({context.goals, context.epochs}, options);
  }
  return Error{Code::kInternal, "there is no such stopping rule", ""};
}

}  // namespace

Result<EpochRun> search_epochs(const AccuracyTable& table, const strategy::StrategyPlugin& plugin,
                               const Options& options, const EpochBudget& budget, std::uint64_t seed) {
  strategy::Context context = table.context(seed);
  context.epochs = budget.epochs;
  if (budget.two_goals) context.goals.push_back({false, "weights"});
  LANISTA_ASSIGN(auto rule, rule_for(context, budget));
  LANISTA_ASSIGN(auto sampler, plugin.make(context, options));
  const auto strategy = strategy::compose(std::move(sampler), std::move(rule));
  return Search(table, *strategy, budget, seed).run();
}

}  // namespace lanista::bench
