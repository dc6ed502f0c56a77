#include "bench/epoch_search.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "bench/arms.h"
#include "bench/benchmark_strategy.h"
#include "lanista/search/sampler/tpe.h"
#include "lanista/search/study/pareto.h"

namespace lanista::bench {
namespace {

using Losses = std::vector<double>;

// The two goals of a cell as losses.
Losses losses_of(const AccuracyTable& table, std::size_t row) {
  return {-table.row(row).validation, table.weights(row)};
}

// The points that no other point dominates.
std::vector<Losses> front_of(const std::vector<Losses>& points) {
  const auto ranks = study::non_dominated_ranks(points);
  std::vector<Losses> front;
  for (std::size_t i = 0; i < points.size(); ++i) {
    if (ranks[i] == 0) front.push_back(points[i]);
  }
  return front;
}

/// The measure of fully trained trials with two goals: the volume between them and a corner. The corner is a little
/// beyond the nadir of the front, which has its worst value of each goal.
class Volume {
 public:
  /// Margin over the extent of the front. At the nadir itself the ends of the front would have no volume.
  static constexpr double kMargin = 0.1;

  explicit Volume(const AccuracyTable& table) {
    std::vector<Losses> cells;
    for (std::size_t row = 0; row < table.rows(); ++row) cells.push_back(losses_of(table, row));
    // The best cell for each number of weights is enough. The whole table is too long for a sort into fronts.
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
    all_ = search::hypervolume(front, corner_);
  }
  /// Percent of the volume of the table's front that `found` does not cover.
  double regret(const std::vector<Losses>& found) const {
    return all_ > 0 ? 100 * (1 - search::hypervolume(front_of(found), corner_) / all_) : 0;
  }

 private:
  Losses corner_;
  double all_ = 0;
};

/// One search of a table by epochs.
class Search {
 public:
  Search(const AccuracyTable& table, search::Strategy& strategy, const EpochBudget& budget, std::uint64_t seed)
      : table_(table),
        budget_(budget),
        curves_(table, budget.epochs, seed),
        driver_(
            strategy, {.slots = budget.slots}, [this](const SearchDriver::Trial& trial) { return measured(trial); },
            [this](const SearchDriver::Trial& trial, study::OutcomeKind kind) { ended(trial, kind); }) {}

  Result<EpochRun> run() {
    std::optional<Volume> volume;
    if (budget_.two_goals) volume.emplace(table_);
    const double begin = now_seconds();
    for (const std::int64_t mark : budget_.epoch_milestones) {
      LANISTA_TRY(driver_.run_until(mark));
      out_.after.push_back({best_epoch_ == 0 ? table_.best_validation() : table_.best_validation() - best_final_,
                            volume ? volume->regret(finished_) : 0, kept()});
    }
    out_.seconds = now_seconds() - begin;
    out_.trials = driver_.num_trials();
    return std::move(out_);
  }

 private:
  std::optional<Metrics> measured(const SearchDriver::Trial& trial) {
    const auto row = table_.row_of(trial.proposal.sample);
    if (!row) return std::nullopt;
    const double accuracy = curves_.validation(*row, trial.epoch);
    if (std::pair(trial.epoch, accuracy) > std::pair(best_epoch_, best_accuracy_)) {
      best_epoch_ = trial.epoch, best_accuracy_ = accuracy, best_final_ = table_.row(*row).validation;
    }
    Metrics metrics{{"val_accuracy", accuracy}};
    if (budget_.two_goals) metrics["weights"] = table_.weights(*row);
    return metrics;
  }

  void ended(const SearchDriver::Trial& trial, study::OutcomeKind kind) {
    const auto row = table_.row_of(trial.proposal.sample);
    if (!row) return;
    (kind == study::OutcomeKind::kSucceeded ? finished_ : stopped_).push_back(losses_of(table_, *row));
    if (kind == study::OutcomeKind::kSucceeded) ++out_.finished;
  }

  // EpochRun::Found::kept at this moment.
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
  const EpochBudget& budget_;
  TableCurves curves_;
  EpochRun out_;
  std::vector<Losses> finished_, stopped_;
  std::int64_t best_epoch_ = 0;
  double best_accuracy_ = 0, best_final_ = 0;
  SearchDriver driver_;
};

}  // namespace

Result<EpochRun> search_epochs(const AccuracyTable& table, const search::StrategyPlugin& plugin, const Options& options,
                               const EpochBudget& budget, std::uint64_t seed) {
  search::Context context = table.context(seed);
  context.epochs = budget.epochs;
  if (budget.two_goals) context.goals.push_back({false, "weights"});
  Options rule_options = Options::object();
  if (!budget.on.empty()) rule_options["on"] = budget.on;
  LANISTA_ASSIGN(const auto strategy, make_benchmark_strategy(context, plugin, options, budget.rule, rule_options));
  return Search(table, *strategy, budget, seed).run();
}

}  // namespace lanista::bench
