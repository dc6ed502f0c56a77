#include "bench/function_benchmark.h"

#include <algorithm>
#include <ostream>
#include <string>
#include <vector>

#include "bench/arms.h"
#include "bench/function_search.h"
#include "bench/tabular_arms.h"

namespace lanista::bench {
namespace {

constexpr int kFunctionSeeds = 50;
constexpr int kSlowSamplerDivisor = 5;  ///< number by which the seeds of gp are divided

/// The milestones in full trainings.
std::vector<std::int64_t> trainings_up_to(std::int64_t most) {
  std::vector<std::int64_t> out;
  for (const std::int64_t mark : {10, 25, 50, 100}) {
    if (mark < most) out.push_back(mark);
  }
  out.push_back(most);
  return out;
}

/// The entries of `all` with the given names, or all of them without names. Errors: kInvalidArgument at the option
/// `option` for an unknown name.
template <class Entries>
Result<Entries> chosen_of(Entries all, const std::vector<std::string>& names, const char* option) {
  std::string known;
  for (const auto& each : all) known += (known.empty() ? "" : ", ") + each.name;
  for (const std::string& name : names) {
    if (std::ranges::any_of(all, [&](const auto& each) { return each.name == name; })) continue;
    return Error{Code::kInvalidArgument, "'" + name + "' is unknown; allowed are " + known, option};
  }
  if (!names.empty()) {
    std::erase_if(all, [&](const auto& each) { return std::ranges::find(names, each.name) == names.end(); });
  }
  return all;
}

/// All strategies that sample. A grid would need to know the number of trials.
std::vector<search::StrategyPlugin> searchers() {
  auto all = search::builtin_strategies();
  std::erase_if(all, [](const auto& plugin) { return plugin.name == "grid"; });
  return all;
}

/// The stopping rules that run with a strategy on a function.
std::vector<std::string> rules_for(const TestFunction& function, const search::StrategyPlugin& plugin) {
  std::vector<std::string> out{"none"};
  if (function.epochs == 1 || plugin.has_own_halving) return out;
  for (const search::StoppingPlugin& rule : search::builtin_stopping_rules()) {
    if (rule.name == "asha" || rule.name == "hyperband") out.push_back(rule.name);
  }
  return out;
}

Result<void> run_function(const TestFunction& function, const search::StrategyPlugin& plugin, const std::string& rule,
                          const BenchRequest& request, std::ostream& out) {
  const bool is_slow = plugin.name == "gp";
  nlohmann::json given = nlohmann::json::object();
  if (is_slow) given = {{"refit", 5}, {"candidates", 256}, {"fantasies", 16}};
  LANISTA_ASSIGN(const Options options, resolve_options(given, plugin.options));
  FunctionBudget budget;
  const std::vector<std::int64_t> trainings = trainings_up_to(request.queries > 0 ? request.queries : 100);
  for (const std::int64_t mark : trainings) budget.epoch_milestones.push_back(mark * function.epochs);
  budget.slots = std::max<std::int64_t>(1, request.slots);
  budget.rule = rule;
  const int seeds =
      std::max(1, (request.seeds > 0 ? request.seeds : kFunctionSeeds) / (is_slow ? kSlowSamplerDivisor : 1));
  std::vector<std::vector<double>> regrets(trainings.size());
  double seconds = 0;
  for (int seed = 0; seed < seeds; ++seed) {
    LANISTA_ASSIGN(const FunctionRun run,
                   search_function(function, plugin, options, budget, static_cast<std::uint64_t>(seed)));
    for (std::size_t i = 0; i < regrets.size(); ++i) regrets[i].push_back(run.regrets[i]);
    seconds += run.seconds / seeds;
  }
  const std::string arm = plugin.name + (rule == "none" ? "" : "+" + rule);
  std::string line = format("%-12s %-24s", function.name.c_str(), arm.c_str());
  for (std::size_t i = 0; i < regrets.size(); ++i) {
    const MeanAndDeviation mean = mean_of(regrets[i]);
    line += format("  %9.4g +-%8.3g", mean.mean, mean.deviation);
    const std::string name = function.name + "/" + std::to_string(trainings[i]);
    if (request.json) print({"functions", name, arm, "regret", mean.mean, mean.deviation, seeds}, true, out);
  }
  if (request.json) {
    print({"functions", function.name + "-cost", arm, "s/search", seconds, 0, seeds}, true, out);
  } else {
    out << line << format("  %5d %8.3f\n", seeds, seconds) << std::flush;
  }
  return {};
}

}  // namespace

Result<void> functions(const BenchRequest& request, std::ostream& out) {
  LANISTA_ASSIGN(const auto problems, chosen_of(test_functions(), request.cases, "--case"));
  const std::vector<std::string> only =
      request.strategy.empty() ? std::vector<std::string>{} : std::vector<std::string>{request.strategy};
  LANISTA_ASSIGN(const auto plugins, chosen_of(searchers(), only, "--strategy"));
  if (!request.json) {
    out << "regret, mean +- deviation over seeds, after the epochs of this number of full trainings\n"
        << format("%-37s", "");
    for (const std::int64_t mark : trainings_up_to(request.queries > 0 ? request.queries : 100)) {
      out << format("  %20lld", static_cast<long long>(mark));
    }
    out << "  seeds s/search\n";
  }
  for (const TestFunction& function : problems) {
    for (const search::StrategyPlugin& plugin : plugins) {
      for (const std::string& rule : rules_for(function, plugin)) {
        LANISTA_TRY(run_function(function, plugin, rule, request, out));
      }
    }
  }
  return {};
}

}  // namespace lanista::bench
