#include "campaign/grid.h"

#include <array>
#include <cstdio>
#include <vector>

#include "campaign/campaign_folder.h"

namespace lanista::campaign {
namespace {

constexpr const char* kCommon = R"yaml(
name: grid
model: {base: builtin:small-mlp}
data: {source: "synthetic:blobs?rows=240&classes=3&features=6&seed=1", batch: 16}
budget: {trials: 16}
keep: {top: 2, checkpoint_every: 0.01s}
)yaml";

constexpr const char* kReals =
    "space: {params: {lr: log(0.003, 0.3), momentum: range(0, 0.95), label_smoothing: [0, 0.1]}}\n";
constexpr const char* kMutations =
    "space: {mutate: [widen, deepen, swap_op, add_skip, remove], params: {lr: log(0.01, 0.3)}}\n";
constexpr const char* kChoices =
    "space: {params: {lr: [0.01, 0.03, 0.1], momentum: [0, 0.5, 0.9], optimizer: [sgd, adam]}}\n";
constexpr const char* kAsha = "stop: {rule: asha, rungs: [1, 2]}\n";

/// A strategy with its search space and its stopping rule.
struct Case {
  const char* name;
  const char* strategy;
  const char* space;
  const char* rest;
  const char* train = "{epochs: 3}";
};

constexpr std::array kCases{
    Case{"random", "{name: random, slots: 6}", kMutations, ""},
    Case{"random, ASHA", "{name: random, slots: 6}", kMutations, kAsha},
    Case{"random, median", "{name: random, slots: 6}", kMutations, "stop: {rule: median, startup: 3}\n"},
    Case{"random, patience", "{name: random, slots: 6}", kMutations, "stop: {rule: patience, epochs: 1}\n"},
    Case{"random, last epochs", "{name: random, slots: 6}", kMutations, "", "{epochs: 3, keep: last}"},
    Case{"random, selected examples", "{name: random, slots: 6}", kMutations, kAsha,
         "{epochs: 3, select: {selective: {warmup_epochs: 0, stale: 2}}}"},
    Case{"grid", "{name: grid, slots: 6}", kChoices, ""},
    Case{"sobol", "{name: sobol, slots: 6}", kReals, ""},
    Case{"evolution", "{name: evolution, population: 5, slots: 4}", kMutations, ""},
    Case{"evolution, ASHA", "{name: evolution, population: 5, slots: 4}", kMutations, kAsha},
    Case{"nsga2", "{name: nsga2, population: 5, slots: 4}", kMutations,
         "goal: [maximize val_accuracy, minimize params]\n"},
    Case{"local_search", "{name: local_search, slots: 4}", kMutations, ""},
    Case{"policy_gradient", "{name: policy_gradient, slots: 4}", kChoices, ""},
    Case{"tpe", "{name: tpe, slots: 4}", kReals, ""},
    Case{"tpe, ASHA", "{name: tpe, slots: 4}", kReals, kAsha},
    Case{"gp", "{name: gp, slots: 4}", kReals, ""},
    Case{"gp, ASHA", "{name: gp, slots: 4}", kReals, kAsha},
    Case{"cmaes", "{name: cmaes, slots: 4}", kReals, ""},
    Case{"random, promotion", "{name: random, slots: 6}", kMutations,
         "stop: {rule: asha, type: promotion, rungs: [1]}\n"},
    Case{"evolution, successive halving", "{name: evolution, population: 5, slots: 4}", kMutations,
         "stop: {rule: successive_halving}\n"},
    Case{"bohb, hyperband", "{name: bohb, slots: 6}", kReals, "stop: {rule: hyperband}\n"},
    Case{"dehb", "{name: dehb, slots: 6}", kReals, ""},
    Case{"random, curve", "{name: random, slots: 6}", kMutations, "stop: {rule: curve}\n", "{epochs: 6}"},
    Case{"tpe, three trainings", "{name: tpe, slots: 4, repeat: 3, average: median}", kReals, ""},
};

constexpr std::array kNumbersOfWorkers{1, 2, 4};
constexpr std::array kNumbersOfLanes{1, 4, 16};

}  // namespace

bool run_grid(const std::string& lanista, bool few) {
  const CampaignFolder campaign_folder;
  CheckCounts verdicts;
  double longest = 0;
  for (const Case& each : kCases) {
    const std::string file = campaign_folder.path("grid.yaml"), study = campaign_folder.path("study");
    write_file(file, std::string(kCommon) + "strategy: " + each.strategy + "\ntrain: " + each.train + "\n" +
                         each.space + each.rest);
    std::string expected;
    for (const int workers : kNumbersOfWorkers) {
      for (const int lanes : kNumbersOfLanes) {
        if (few && !(workers == 1 && lanes == 1) && !(workers == 4 && lanes == 16)) continue;
        for (const std::string isolation : {"thread", "process"}) {
          if (few && (isolation == "thread") != (workers == 1)) continue;
          remove_all(study);
          const ProcessResult ended =
              run({.command = {lanista, "run", file, "--quiet", "--out", study, "--workers", std::to_string(workers),
                               "--lanes", std::to_string(lanes), "--isolation", isolation}});
          longest = std::max(longest, ended.seconds);
          const std::string found = fingerprint(lanista, study);
          if (expected.empty()) expected = found;
          std::string wrong = find_misbehaviour(ended);
          if (wrong.empty() && ended.code != 0) wrong = "exit " + std::to_string(ended.code);
          if (wrong.empty() && (found.empty() || found != expected)) wrong = "has another result";
          verdicts.take(std::string(each.name) + ", " + std::to_string(workers) + " workers, " + std::to_string(lanes) +
                            " lanes, isolation " + isolation,
                        wrong, &ended);
        }
      }
    }
  }
  std::printf(
      "workers and lanes: %lld studies of %zu strategies; the longest ran for %.1f s\n"
      "  %lld failed\n",
      static_cast<long long>(verdicts.all()), kCases.size(), longest, static_cast<long long>(verdicts.failures()));
  return verdicts.failures() == 0;
}

}  // namespace lanista::campaign
