#include "bench/tabular_epochs.h"

#include <algorithm>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

#include "bench/arms.h"

namespace lanista::bench {
namespace {

constexpr std::int64_t kTrainings = 50;

EpochBudget budget_of(const BenchRequest& request) {
  EpochBudget budget;
  budget.epochs = request.epochs;
  budget.slots = std::max<std::int64_t>(1, request.slots);
  budget.two_goals = request.two_goals;
  const std::int64_t trainings = request.queries > 0 ? request.queries : kTrainings;
  for (const std::int64_t mark : {10, 25, 50}) {
    if (mark < trainings) budget.epoch_milestones.push_back(mark * request.epochs);
  }
  budget.epoch_milestones.push_back(trainings * request.epochs);
  return budget;
}

/// A stopping rule of an arm.
struct Rule {
  std::string arm;      ///< suffix of the strategy's name
  std::string rule;     ///< EpochBudget::rule
  std::string on = {};  ///< EpochBudget::on
};

/// The rules that run with a strategy. With two goals, asha runs once with the first goal and once with both. A
/// strategy with its own halving has no other rule.
std::vector<Rule> rules_of(const BenchRequest& request, const search::StrategyPlugin& plugin) {
  if (plugin.has_own_halving) return {{"", "none"}};
  if (request.two_goals) return {{"", "none"}, {"+asha-1-goal", "asha", "val_accuracy"}, {"+asha", "asha"}};
  return {{"", "none"}, {"+asha", "asha"}, {"+median", "median"}, {"+hyperband", "hyperband"}};
}

/// The searches of one strategy with one rule, one for each seed.
struct TabularEpochRuns {
  EpochBudget budget;
  std::vector<EpochRun> runs;

  MeanAndDeviation found(std::size_t mark, double EpochRun::Found::*which) const {
    std::vector<double> values;
    for (const EpochRun& run : runs) values.push_back(run.after[mark].*which);
    return mean_of(values);
  }
  template <class Number>
  double mean(Number EpochRun::*which) const {
    double sum = 0;
    for (const EpochRun& run : runs) sum += static_cast<double>(run.*which);
    return sum / static_cast<double>(runs.size());
  }
};

void print_rows(const std::string& name, const std::string& arm, const TabularEpochRuns& runs_of_arm,
                std::ostream& out) {
  const int seeds = static_cast<int>(runs_of_arm.runs.size());
  const auto row = [&](const std::string& what, const char* unit, MeanAndDeviation value) {
    print({"tabular", name + what, arm, unit, value.mean, value.deviation, seeds}, true, out);
  };
  for (std::size_t i = 0; i < runs_of_arm.budget.epoch_milestones.size(); ++i) {
    const std::string after = "/" + std::to_string(runs_of_arm.budget.epoch_milestones[i] / runs_of_arm.budget.epochs);
    row("-curves-val" + after, "points", runs_of_arm.found(i, &EpochRun::Found::validation_regret));
    if (!runs_of_arm.budget.two_goals) continue;
    row("-curves-volume" + after, "percent", runs_of_arm.found(i, &EpochRun::Found::volume_regret));
    row("-curves-kept" + after, "percent", runs_of_arm.found(i, &EpochRun::Found::kept));
  }
  row("-curves-trials", "trials", {runs_of_arm.mean(&EpochRun::trials), 0});
  row("-curves-cost", "s/search", {runs_of_arm.mean(&EpochRun::seconds), 0});
}

void print_head(const EpochBudget& budget, const std::string& name, const AccuracyTable& table, std::ostream& out) {
  out << format("%zu cells on simulated curves of %lld epochs, %lld at a time; best %s-val %.2f\n", table.rows(),
                static_cast<long long>(budget.epochs), static_cast<long long>(budget.slots), name.c_str(),
                table.best_validation());
  out << "rank correlation with the final accuracy:";
  const TableCurves curves(table, budget.epochs, 0);
  for (std::int64_t epoch = 1; epoch < budget.epochs; epoch *= 3) {
    out << format(" %.2f at epoch %lld,", curves.rank_correlation(epoch), static_cast<long long>(epoch));
  }
  out << " 1 at the last\n";
  out << (budget.two_goals
              ? "percent of the front's volume that is not covered, mean +- deviation over seeds / percent "
                "of the front of all trials that was trained to the end\n"
              : "regret in points of final validation accuracy, mean +- deviation over seeds\n");
  out << format("%-22s", "after full trainings");
  for (const std::int64_t mark : budget.epoch_milestones)
    out << format("  %20lld", static_cast<long long>(mark / budget.epochs));
  out << "   seeds  trials  trained  s/search\n";
}

std::string table_line(const std::string& arm, const TabularEpochRuns& runs_of_arm) {
  std::string line = format("%-22s", arm.c_str());
  for (std::size_t i = 0; i < runs_of_arm.budget.epoch_milestones.size(); ++i) {
    if (runs_of_arm.budget.two_goals) {
      const MeanAndDeviation volume = runs_of_arm.found(i, &EpochRun::Found::volume_regret);
      line += format("  %5.2f +-%5.2f /%5.1f", volume.mean, volume.deviation,
                     runs_of_arm.found(i, &EpochRun::Found::kept).mean);
    } else {
      const MeanAndDeviation regret = runs_of_arm.found(i, &EpochRun::Found::validation_regret);
      line += format("         %5.2f +-%5.2f", regret.mean, regret.deviation);
    }
  }
  return line + format("  %6zu  %6.1f  %7.1f  %8.3f\n", runs_of_arm.runs.size(), runs_of_arm.mean(&EpochRun::trials),
                       runs_of_arm.mean(&EpochRun::finished), runs_of_arm.mean(&EpochRun::seconds));
}

}  // namespace

Result<void> tabular_epochs(const BenchRequest& request, const AccuracyTable& table, const std::string& name,
                            const std::vector<StrategyArm>& chosen, std::ostream& out) {
  EpochBudget budget = budget_of(request);
  const int seeds = request.seeds > 0 ? request.seeds : kTabularSeeds;
  if (!request.json) print_head(budget, name, table, out);
  for (const StrategyArm& strategy_arm : chosen) {
    for (const Rule& rule : rules_of(request, strategy_arm.plugin)) {
      budget.rule = rule.rule;
      budget.on = rule.on;
      TabularEpochRuns runs_of_arm{budget, {}};
      for (int seed = 0; seed < std::max(1, seeds / strategy_arm.seeds_divisor); ++seed) {
        LANISTA_ASSIGN(EpochRun run, search_epochs(table, strategy_arm.plugin, strategy_arm.options, budget,
                                                   static_cast<std::uint64_t>(seed)));
        runs_of_arm.runs.push_back(std::move(run));
      }
      const std::string arm = strategy_arm.name + rule.arm;
      if (request.json) print_rows(name, arm, runs_of_arm, out);
      if (!request.json) out << table_line(arm, runs_of_arm) << std::flush;
    }
  }
  return {};
}

}  // namespace lanista::bench
