#include "bench/tabular.h"

#include <algorithm>
#include <ostream>

#include "bench/arms.h"
#include "bench/table_search.h"
#include "bench/tabular_arms.h"
#include "bench/tabular_epochs.h"
#include "lanista/base/file_system.h"

namespace lanista::bench {
namespace {

constexpr std::int64_t kQueries = 500;

// The milestones in queries.
std::vector<std::int64_t> marks_up_to(std::int64_t queries) {
  std::vector<std::int64_t> marks;
  for (const std::int64_t mark : {50, 100, 200, 500}) {
    if (mark < queries) marks.push_back(mark);
  }
  marks.push_back(queries);
  return marks;
}

/// The searches of one strategy, one for each seed.
struct TabularRuns {
  std::vector<std::int64_t> marks;
  std::vector<SearchRun> runs;
  /// Microseconds a query.
  double microseconds() const {
    double seconds = 0;
    std::int64_t queries = 0;
    for (const SearchRun& run : runs) seconds += run.seconds, queries += run.queries;
    return seconds * 1e6 / static_cast<double>(std::max<std::int64_t>(queries, 1));
  }
  MeanAndDeviation regret(std::size_t mark, double SearchRun::Found::*which) const {
    std::vector<double> values;
    for (const SearchRun& run : runs) values.push_back(run.after[mark].*which);
    return mean_of(values);
  }
};

void print_rows(const std::string& name, const std::string& arm, const TabularRuns& runs_of_arm, std::ostream& out) {
  const int seeds = static_cast<int>(runs_of_arm.runs.size());
  for (std::size_t i = 0; i < runs_of_arm.marks.size(); ++i) {
    const std::string after = "/" + std::to_string(runs_of_arm.marks[i]);
    const MeanAndDeviation validation = runs_of_arm.regret(i, &SearchRun::Found::validation_regret);
    const MeanAndDeviation test = runs_of_arm.regret(i, &SearchRun::Found::test_regret);
    print({"tabular", name + "-val" + after, arm, "points", validation.mean, validation.deviation, seeds}, true, out);
    print({"tabular", name + "-test" + after, arm, "points", test.mean, test.deviation, seeds}, true, out);
  }
  print({"tabular", name + "-cost", arm, "us/query", runs_of_arm.microseconds(), 0, seeds}, true, out);
}

std::string table_line(const std::string& arm, const TabularRuns& runs_of_arm) {
  std::string line = format("%-16s", arm.c_str());
  for (std::size_t i = 0; i < runs_of_arm.marks.size(); ++i) {
    const MeanAndDeviation validation = runs_of_arm.regret(i, &SearchRun::Found::validation_regret);
    const MeanAndDeviation test = runs_of_arm.regret(i, &SearchRun::Found::test_regret);
    line += format("  %5.2f +-%5.2f /%5.2f", validation.mean, validation.deviation, test.mean);
  }
  return line + format("  %6zu %9.1f\n", runs_of_arm.runs.size(), runs_of_arm.microseconds());
}

}  // namespace

Result<void> tabular(const BenchRequest& request, std::ostream& out) {
  if (request.file.empty()) {
    return Error{Code::kInvalidArgument, "tabular needs a table: --file accuracy.csv (cell, NAME-val, NAME-test)", ""};
  }
  LANISTA_ASSIGN(const std::vector<StrategyArm> chosen, strategy_arms(request.strategy, request.epochs > 0));
  const std::string name = request.column.empty() ? "cifar10" : request.column;
  LANISTA_ASSIGN(const std::string text, real_file_system().read(request.file, 0));
  auto table = AccuracyTable::read(text, name);
  if (!table) {
    const Error& error = table.error();
    return Error{error.code, error.message, request.file + (error.where.empty() ? "" : ": " + error.where)};
  }
  if (request.epochs > 0) return tabular_epochs(request, *table, name, chosen, out);
  const int seeds = request.seeds > 0 ? request.seeds : kTabularSeeds;
  const std::int64_t queries = request.queries > 0 ? request.queries : kQueries;
  const std::vector<std::int64_t> marks = marks_up_to(queries);
  if (!request.json) {
    out << format("%zu cells of %zu edges with %zu operations; best %s-val %.2f, %s-test %.2f\n", table->rows(),
                  table->edges(), table->operations(), name.c_str(), table->best_validation(), name.c_str(),
                  table->best_test())
        << "regret in points of validation accuracy, mean +- deviation over seeds / test regret of the same cell\n"
        << format("%-16s", "after queries");
    for (const std::int64_t mark : marks) out << format("  %20lld", static_cast<long long>(mark));
    out << "   seeds  us/query\n";
  }
  for (const StrategyArm& strategy_arm : chosen) {
    TabularRuns runs_of_arm{marks, {}};
    for (int seed = 0; seed < std::max(1, seeds / strategy_arm.seeds_divisor); ++seed) {
      LANISTA_ASSIGN(SearchRun run, search_table(*table, strategy_arm.plugin, strategy_arm.options, marks,
                                                 static_cast<std::uint64_t>(seed)));
      runs_of_arm.runs.push_back(std::move(run));
    }
    if (request.json) print_rows(name, strategy_arm.name, runs_of_arm, out);
    if (!request.json) out << table_line(strategy_arm.name, runs_of_arm) << std::flush;
  }
  return {};
}

}  // namespace lanista::bench
