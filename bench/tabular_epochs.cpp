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

EpochBudget budget_of(const Request& request) {
  EpochBudget budget;
  budget.epochs = request.epochs;
  budget.slots = std::max<std::int64_t>(1, request.slots);
  budget.two_goals = request.two_goals;
  const std::int64_t trainings = request.queries > 0 ? request.queries : kTrainings;
  for (const std::int64_t mark : {10, 25, 50}) {
    if (mark < trainings) budget.marks.push_back(mark * request.epochs);
  }
  budget.marks.push_back(trainings * request.epochs);
  return budget;
}

struct Rule {
  std::string arm;   ///< behind the strategy's name
  std::string rule;  ///< as EpochBudget::rule
  std::string on = {};
};

/// With two goals asha comes twice: by the first goal alone, and by both. A strategy that halves has no other rule.
std::vector<Rule> rules_of(const Request& request, const strategy::StrategyPlugin& plugin) {
  if (plugin.halves) return {{"", "none"}};
  if (request.two_goals) return {{"", "none"}, {"+asha-1-goal", "asha", "val_accuracy"}, {"+asha", "asha"}};
  return {{"", "none"}, {"+asha", "asha"}, {"+median", "median"}, {"+hyperband", "hyperband"}};
}

/// All seeds of one strategy, with one rule.
struct EpochRace {
  EpochBudget budget;
  std::vector<EpochRun> runs;

  Mean found(std::size_t mark, double EpochRun::Found::*which) const {
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

void print_rows(const std::string& name, const std::string& arm, const EpochRace& race, std::ostream& out) {
  const int seeds = static_cast<int>(race.runs.size());
  const auto row = [&](const std::string& what, const char* unit, Mean value) {
    print({"tabular", name + what, arm, unit, value.mean, value.deviation, seeds}, true, out);
  };
  for (std::size_t i = 0; i < race.budget.marks.size(); ++i) {
    const std::string after = "/" + std::to_string(race.budget.marks[i] / race.budget.epochs);
    row("-curves-val" + after, "points", race.found(i, &EpochRun::Found::validation_regret));
    if (!race.budget.two_goals) continue;
    row("-curves-volume" + after, "percent", race.found(i, &EpochRun::Found::volume_regret));
    row("-curves-kept" + after, "percent", race.found(i, &EpochRun::Found::kept));
  }
  row("-curves-trials", "trials", {race.mean(&EpochRun::trials), 0});
  row("-curves-cost", "s/search", {race.mean(&EpochRun::seconds), 0});
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
  out << (budget.two_goals ? "percent of the front's volume that is missing, mean +- deviation over seeds / percent of "
                             "the front of all trials that was trained to the end\n"
                           : "regret in points of final validation accuracy, mean +- deviation over seeds\n");
  out << format("%-22s", "after full trainings");
  for (const std::int64_t mark : budget.marks) out << format("  %20lld", static_cast<long long>(mark / budget.epochs));
  out << "   seeds  trials  trained  s/search\n";
}

std::string table_line(const std::string& arm, const EpochRace& race) {
  std::string line = format("%-22s", arm.c_str());
  for (std::size_t i = 0; i < race.budget.marks.size(); ++i) {
    if (race.budget.two_goals) {
      const Mean volume = race.found(i, &EpochRun::Found::volume_regret);
      line +=
          format("  %5.2f +-%5.2f /%5.1f", volume.mean, volume.deviation, race.found(i, &EpochRun::Found::kept).mean);
    } else {
      const Mean regret = race.found(i, &EpochRun::Found::validation_regret);
      line += format("         %5.2f +-%5.2f", regret.mean, regret.deviation);
    }
  }
  return line + format("  %6zu  %6.1f  %7.1f  %8.3f\n", race.runs.size(), race.mean(&EpochRun::trials),
                       race.mean(&EpochRun::finished), race.mean(&EpochRun::seconds));
}

}  // namespace

Result<void> tabular_epochs(const Request& request, const AccuracyTable& table, const std::string& name,
                            const std::vector<Racer>& chosen, std::ostream& out) {
  EpochBudget budget = budget_of(request);
  const int seeds = request.seeds > 0 ? request.seeds : kTabularSeeds;
  if (!request.json) print_head(budget, name, table, out);
  for (const Racer& racer : chosen) {
    for (const Rule& rule : rules_of(request, racer.plugin)) {
      budget.rule = rule.rule;
      budget.on = rule.on;
      EpochRace race{budget, {}};
      for (int seed = 0; seed < std::max(1, seeds / racer.seeds_divisor); ++seed) {
        LANISTA_ASSIGN(EpochRun run,
                       search_epochs(table, racer.plugin, racer.options, budget, static_cast<std::uint64_t>(seed)));
        race.runs.push_back(std::move(run));
      }
      const std::string arm = racer.name + rule.arm;
      if (request.json) print_rows(name, arm, race, out);
      if (!request.json) out << table_line(arm, race) << std::flush;
    }
  }
  return {};
}

}  // namespace lanista::bench
