#include "lanista/search/sampler/dominance_pruner.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <tuple>

#include "lanista/base/rng.h"

namespace lanista::search {
namespace {

using study::Outcome;
using study::OutcomeKind;
using study::PruningRule;

const std::vector<PruningRule> kRules{
    {"diverged", "lr", true}, {"diverged", "batch", false}, {"out_of_memory", "batch", true}};

study::Proposal proposal(double lr, std::int64_t batch, std::int64_t model = 0, const std::string& schedule = "cosine",
                         std::int64_t budget = 4, std::int64_t horizon = 4) {
  study::Proposal out;
  out.graph_hash = hash_text("model " + std::to_string(model));
  out.sample = {{"lr", lr}, {"batch", batch}, {"schedule", schedule}};
  out.budget = budget;
  out.horizon = horizon;
  return out;
}

Outcome failure(const std::string& reason) { return {OutcomeKind::kFailed, reason, {}, "", {}}; }
const char* const kNan = "diverged: train_loss is nan";
const char* const kMemory = "out of memory";

/// Feeds events of a study to a pruner.
struct StudyEvents {
  DominancePruner by{kRules};
  std::uint32_t last = 0;

  TrialId begin(const study::Proposal& proposal) {
    by.observe(study::Proposed{TrialId{++last}, proposal});
    return TrialId{last};
  }
  void measure(TrialId trial, std::int64_t epoch) { by.observe(study::Measured{{trial, epoch, epoch, {}, {}}}); }
  void end(TrialId trial, const Outcome& outcome) { by.observe(study::Ended{trial, outcome}); }
  std::string of(TrialId trial, std::int64_t budget = 4) const {
    const auto pruned = by.of(trial, budget);
    return pruned ? std::to_string(pruned->by.value) + ": " + pruned->rule : "";
  }
};

TEST(DominancePruner, PrunesDominatedTrialsOfEqualSettings) {
  StudyEvents history;
  const TrialId failed = history.begin(proposal(0.1, 16));
  const TrialId higher = history.begin(proposal(0.2, 16)), both = history.begin(proposal(0.2, 8));
  const TrialId lower = history.begin(proposal(0.05, 16)), same = history.begin(proposal(0.1, 16));
  const TrialId mixed = history.begin(proposal(0.2, 32)), other = history.begin(proposal(0.2, 16, 1));
  const TrialId recipe = history.begin(proposal(0.2, 16, 0, "constant"));
  const TrialId longer = history.begin(proposal(0.2, 16, 0, "cosine", 4, 8));

  history.measure(failed, 1);
  history.end(failed, failure(kNan));

  EXPECT_EQ(history.of(higher), "1: diverged along lr up");
  EXPECT_EQ(history.of(both), "1: diverged along lr up and diverged along batch down");
  for (const TrialId trial : {lower, same, mixed, other, recipe, longer})
    EXPECT_EQ(history.of(trial), "") << trial.value;
}

TEST(DominancePruner, PrunesOnlyTrialsThatWouldReachTheEpoch) {
  StudyEvents history;
  const TrialId failed = history.begin(proposal(0.1, 16)), higher = history.begin(proposal(0.2, 16));
  history.measure(failed, 1);
  history.measure(failed, 2);
  history.end(failed, failure(kNan));  // In epoch 2.

  EXPECT_EQ(history.of(higher, 1), "") << "its budget ends before";
  EXPECT_EQ(history.of(higher, 2), "1: diverged along lr up");
  history.measure(higher, 1);
  EXPECT_EQ(history.of(higher, 2), "1: diverged along lr up");
  history.measure(higher, 2);
  EXPECT_EQ(history.of(higher), "") << "it has measured that epoch";
}

TEST(DominancePruner, KeepsRulesOfEachEventApart) {
  StudyEvents history;
  const TrialId failed = history.begin(proposal(0.1, 16)), larger = history.begin(proposal(0.1, 32));
  const TrialId higher = history.begin(proposal(0.2, 16));
  history.end(failed, failure(kMemory));

  EXPECT_EQ(history.of(larger), "1: out_of_memory along batch up");
  EXPECT_EQ(history.of(higher), "") << "the memory rule does not compare lr";
}

TEST(DominancePruner, IgnoresFailureOfAnotherKind) {
  StudyEvents history;
  const TrialId failed = history.begin(proposal(0.1, 16)), higher = history.begin(proposal(0.2, 16));
  history.end(failed, failure("its worker died"));

  EXPECT_EQ(history.of(higher), "");
}

TEST(DominancePruner, WithdrawsContradictedRule) {
  StudyEvents history;
  const TrialId through = history.begin(proposal(0.3, 16));
  for (std::int64_t epoch = 1; epoch <= 4; ++epoch) history.measure(through, epoch);
  history.end(through, {});
  const TrialId failed = history.begin(proposal(0.1, 16)), between = history.begin(proposal(0.2, 16));
  const TrialId smaller = history.begin(proposal(0.1, 8));
  history.measure(failed, 1);
  history.end(failed, failure(kNan));

  EXPECT_EQ(history.by.contradicted_rules(), std::vector<std::string>{"diverged along lr up"});
  EXPECT_EQ(history.of(between), "");
  EXPECT_EQ(history.of(smaller), "2: diverged along batch down") << "that rule is not contradicted";
}

TEST(DominancePruner, CountsNanLossAsFailure) {
  StudyEvents history;
  const TrialId first = history.begin(proposal(0.1, 16)), second = history.begin(proposal(0.2, 16));
  const TrialId third = history.begin(proposal(0.4, 16));
  history.measure(first, 1);
  history.measure(second, 1);
  history.end(first, failure(kNan));
  history.end(second, failure(kNan));  // It measured the epoch and ended with it.

  EXPECT_TRUE(history.by.contradicted_rules().empty());
  EXPECT_EQ(history.of(third), "1: diverged along lr up");
}

TEST(DominancePruner, IgnoresForkedTrials) {
  StudyEvents history;
  const TrialId failed = history.begin(proposal(0.1, 16)), higher = history.begin(proposal(0.2, 16));
  history.by.observe(study::Paused{higher, 1});
  history.by.observe(study::Resumed{higher, 1, 4, study::Fork{failed, 1, {{"lr", 0.01}}, ""}});
  history.measure(failed, 1);
  history.measure(failed, 2);
  history.end(failed, failure(kNan));

  EXPECT_EQ(history.of(higher), "");
}

TEST(DominancePruner, TreatsModelChoiceLikeParameter) {
  DominancePruner by({{"out_of_memory", "model.width", true}});
  const auto of_width = [](std::int64_t width, const std::string& block) {
    study::Proposal out;
    out.graph_hash = hash_text(block + std::to_string(width));
    out.sample = {{"model.width", width}, {"model.block", block}};
    out.budget = 1;
    return out;
  };
  by.observe(study::Proposed{TrialId{1}, of_width(64, "dense")});
  by.observe(study::Proposed{TrialId{2}, of_width(128, "dense")});
  by.observe(study::Proposed{TrialId{3}, of_width(128, "conv")});
  by.observe(study::Ended{TrialId{1}, failure(kMemory)});

  EXPECT_TRUE(by.of(TrialId{2}, 1).has_value());
  EXPECT_FALSE(by.of(TrialId{3}, 1).has_value()) << "it has another model choice";
}

/// The oracle: the definition, applied to all events at every question, without lines, keys or state.
class BruteForcePruner {
 public:
  struct Trial {
    double lr = 0;
    std::int64_t batch = 0, model = 0, horizon = 0;
    std::string schedule;
    std::int64_t measured = 0, through = 0;
    std::string failed_by;
    std::int64_t failed_at = 0;
    bool forked = false;
  };
  std::map<std::uint32_t, Trial> trials;
  std::set<std::string> wrong;  ///< Contradicted rules.

  /// Returns the rules by which b is further than a, "=" if they have the same position, and else an empty text.
  static std::string rules(const std::string& event, const Trial& a, const Trial& b) {
    if (a.model != b.model || a.horizon != b.horizon || a.schedule != b.schedule) return "";
    if (event == "out_of_memory") {
      if (a.lr != b.lr) return "";
      return b.batch > a.batch ? "out_of_memory along batch up" : b.batch == a.batch ? "=" : "";
    }
    if (b.lr < a.lr || b.batch > a.batch) return "";
    std::string out;
    if (b.lr > a.lr) out = "diverged along lr up";
    if (b.batch < a.batch) out += (out.empty() ? "" : " and ") + std::string("diverged along batch down");
    return out.empty() ? "=" : out;
  }
  bool applies(const std::string& rules) const {
    return std::ranges::none_of(wrong, [&](const auto& rule) { return rules.find(rule) != std::string::npos; });
  }

  void look_for_contradictions() {
    std::set<std::string> found;
    for (const auto& [i, failed] : trials) {
      for (const auto& [j, other] : trials) {
        if (failed.failed_by.empty() || failed.forked || other.forked || other.through < failed.failed_at) continue;
        const std::string between = rules(failed.failed_by, failed, other);
        for (const std::string rule :
             {"diverged along lr up", "diverged along batch down", "out_of_memory along batch up"}) {
          const bool is_meant = between == "=" ? rule.starts_with(failed.failed_by)
                                               : applies(between) && between.find(rule) != std::string::npos;
          if (is_meant) found.insert(rule);
        }
      }
    }
    wrong.insert(found.begin(), found.end());
  }

  std::string of(std::uint32_t id, std::int64_t budget) const {
    const Trial& trial = trials.at(id);
    for (const auto& [i, failed] : trials) {
      if (failed.failed_by.empty() || failed.forked || trial.forked) continue;
      if (failed.failed_at <= trial.measured || failed.failed_at > budget) continue;
      const std::string between = rules(failed.failed_by, failed, trial);
      if (between.empty() || between == "=" || !applies(between)) continue;
      return std::to_string(i) + ": " + between;
    }
    return "";
  }
};

TEST(DominancePruner, MatchesDefinitionOnRandomStudies) {
  std::int64_t asked = 0, pruned = 0, contradicted_rules = 0;
  for (std::uint64_t seed = 0; seed < 150; ++seed) {
    Rng rng = Rng(seed).split("course");
    const double chance = rng.uniform(0.1, 0.6);
    const bool is_lawful = rng.bernoulli(0.6);  // If not, any trial may fail, and rules are wrong.
    StudyEvents history;
    BruteForcePruner definition;
    std::set<std::uint32_t> running, paused;
    for (int i = 0; i < 60; ++i) {
      const bool begins = running.empty() || rng.bernoulli(0.4);
      if (begins && (paused.empty() || rng.bernoulli(0.8))) {
        BruteForcePruner::Trial trial;
        trial.lr = 0.1 * static_cast<double>(rng.between(1, 4));
        trial.batch = std::int64_t{8} << rng.between(0, 2);
        trial.model = rng.between(0, 1);
        trial.horizon = 4 * rng.between(1, 2);
        trial.schedule = rng.bernoulli(0.8) ? "cosine" : "constant";
        const TrialId id = history.begin(
            proposal(trial.lr, trial.batch, trial.model, trial.schedule, rng.between(1, 4), trial.horizon));
        definition.trials[id.value] = trial;
        running.insert(id.value);
      } else if (begins) {
        const std::uint32_t id = *paused.begin();
        paused.erase(id);
        running.insert(id);
        study::Resumed resumed{TrialId{id}, definition.trials[id].measured, 4};
        if (rng.bernoulli(0.2)) resumed.fork = study::Fork{TrialId{1}, 1, {{"lr", 0.3}}, ""};
        if (resumed.fork) definition.trials[id].forked = true;
        history.by.observe(resumed);
      } else {
        const std::uint32_t id = *std::next(running.begin(), static_cast<std::ptrdiff_t>(rng.below(running.size())));
        BruteForcePruner::Trial& trial = definition.trials[id];
        const bool would = trial.lr * 8 > 0.2 * static_cast<double>(trial.batch) && trial.measured >= 1;
        const bool fails = is_lawful ? would && rng.bernoulli(0.9) : rng.bernoulli(chance);
        const double what = rng.uniform();
        if (fails && what < 0.6) {
          history.measure(TrialId{id}, ++trial.measured);
          trial.through = std::max(trial.through, trial.measured - 1);
          history.end(TrialId{id}, failure(kNan));
          trial.failed_by = "diverged";
          trial.failed_at = trial.measured;
          running.erase(id);
        } else if (fails) {
          history.end(TrialId{id}, failure(kMemory));
          trial.failed_by = "out_of_memory";
          trial.failed_at = trial.measured + 1;
          running.erase(id);
        } else if (what < 0.6 && trial.measured < 4) {
          history.measure(TrialId{id}, ++trial.measured);
          trial.through = std::max(trial.through, trial.measured - 1);
        } else if (what < 0.8) {
          history.by.observe(study::Paused{TrialId{id}, trial.measured});
          trial.through = trial.measured;
          running.erase(id);
          paused.insert(id);
        } else {
          const OutcomeKind kind = what < 0.9 ? OutcomeKind::kStopped : OutcomeKind::kCancelled;
          if (kind == OutcomeKind::kStopped) trial.through = trial.measured;
          history.end(TrialId{id}, {kind, "", {}, "", {}});
          running.erase(id);
        }
      }
      definition.look_for_contradictions();
      for (const auto& [id, trial] : definition.trials) {
        for (const std::int64_t budget : {1, 2, 4}) {
          const std::string wanted = definition.of(id, budget);
          ASSERT_EQ(history.of(TrialId{id}, budget), wanted) << "seed " << seed << ", event " << i << ", trial " << id;
          ++asked;
          pruned += wanted.empty() ? 0 : 1;
        }
      }
      const auto contradicted_texts = history.by.contradicted_rules();
      ASSERT_EQ(std::set<std::string>(contradicted_texts.begin(), contradicted_texts.end()), definition.wrong)
          << "seed " << seed;
    }
    contradicted_rules += std::ssize(definition.wrong);
  }
  EXPECT_GT(pruned, asked / 100);
  EXPECT_GT(contradicted_rules, 50);
}

/// Trains a grid of rates and batch sizes one after the other, of which some fail. Returns how many were trained.
std::int64_t trained_of(const std::vector<std::pair<double, std::int64_t>>& grid,
                        const std::function<bool(double, std::int64_t)>& fails, std::string_view order) {
  StudyEvents history;
  std::vector<DominancePruner::LinePositions> positions;
  for (const auto& [lr, batch] : grid) positions.push_back(history.by.positions_of(proposal(lr, batch)));
  std::vector<std::size_t> left(grid.size());
  for (std::size_t i = 0; i < left.size(); ++i) left[i] = i;
  std::int64_t trained = 0;
  while (!left.empty()) {
    std::vector<DominancePruner::QueueEntry> line;
    for (const std::size_t i : left) line.push_back({&positions[i], 1, 4, {}});
    const std::size_t at = history.by.next_index(line, order);
    const auto [lr, batch] = grid[left[at]];
    left.erase(left.begin() + static_cast<std::ptrdiff_t>(at));
    const TrialId trial = history.begin(proposal(lr, batch));
    if (history.by.of(trial, 4)) {
      EXPECT_TRUE(fails(lr, batch)) << "a pruned trial would have failed";
      Outcome pruned{OutcomeKind::kPrunedByRule, "", {}, "", {}};
      history.end(trial, pruned);
      continue;
    }
    ++trained;
    history.measure(trial, 1);
    history.end(trial, fails(lr, batch) ? failure(kNan) : Outcome{});
  }
  return trained;
}

TEST(TrainingOrder, TrainsOnlySurvivorsAndNearestFailures) {
  std::int64_t given = 0, informative = 0, needed = 0, whole = 0;
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    Rng rng = Rng(seed).split("grid");
    std::vector<std::pair<double, std::int64_t>> grid;
    for (int lr = 1; lr <= 6; ++lr) {
      for (std::int64_t batch = 4; batch <= 32; batch *= 2) grid.emplace_back(0.1 * lr, batch);
    }
    for (std::size_t i = grid.size(); i > 1; --i) std::swap(grid[i - 1], grid[rng.below(i)]);
    const double slope = rng.uniform(0.005, 0.1);
    const auto fails = [&](double lr, std::int64_t batch) { return lr > slope * static_cast<double>(batch); };
    // By brute force: survivors, and failures without a nearer failure.
    std::int64_t least = 0;
    for (const auto& [lr, batch] : grid) {
      const bool spared = std::ranges::any_of(grid, [&, lr = lr, batch = batch](const auto& other) {
        const bool nearer = other.first <= lr && other.second >= batch && (other.first < lr || other.second > batch);
        return nearer && fails(other.first, other.second);
      });
      least += fails(lr, batch) && spared ? 0 : 1;
    }

    const std::int64_t ours = trained_of(grid, fails, study::kNeededFirst);

    ASSERT_EQ(ours, least) << "seed " << seed;
    needed += ours;
    informative += trained_of(grid, fails, study::kInformativeFirst);
    given += trained_of(grid, fails, study::kAsGiven);
    whole += std::ssize(grid);
  }
  // bench/results/scheduling.jsonl has these numbers, from --gtest_output=json.
  RecordProperty("none", static_cast<int>(whole));
  RecordProperty("given", static_cast<int>(given));
  RecordProperty("informative", static_cast<int>(informative));
  RecordProperty("needed_first", static_cast<int>(needed));
  EXPECT_LT(needed, informative);
  EXPECT_LT(informative, given);
  EXPECT_LT(given, whole);
}

TEST(TrainingOrder, MatchesInformativeFormula) {
  DominancePruner by({{"diverged", "lr", true}});
  std::vector<DominancePruner::LinePositions> positions;
  const std::vector<double> rates{0.4, 0.1, 0.3, 0.2}, costs{1, 1, 2, 1};
  std::vector<DominancePruner::QueueEntry> line;
  for (const double lr : rates) positions.push_back(by.positions_of(proposal(lr, 16)));
  for (std::size_t i = 0; i < rates.size(); ++i) line.push_back({&positions[i], costs[i], 4, {}});

  // Of 4 on a line, the i-th fails with probability i / 5. So V = 1/5 (1 + 2 + 1) = 0.8, 2/5 (2 + 1) = 1.2,
  // 3/5 1 / 2 = 0.3, and 0.
  EXPECT_EQ(by.next_index(line, study::kInformativeFirst), 3U);
  EXPECT_EQ(by.next_index(line, study::kNeededFirst), 1U);
  EXPECT_EQ(by.next_index(line, study::kAsGiven), 0U);
}

TEST(TrainingOrder, PrefersNeededTrialWithLargestSavings) {
  DominancePruner by({{"diverged", "lr", true}});
  std::vector<DominancePruner::LinePositions> positions;
  std::vector<DominancePruner::QueueEntry> line;
  const auto add = [&](double lr, std::int64_t model) {
    positions.push_back(by.positions_of(proposal(lr, 16, model)));
  };
  add(0.1, 0);  // The only trial of its line.
  add(0.1, 1), add(0.2, 1);
  add(0.1, 2), add(0.2, 2), add(0.3, 2);
  for (const auto& each : positions) line.push_back({&each, 1, 4, {}});

  EXPECT_EQ(by.next_index(line, study::kNeededFirst), 3U);
}

}  // namespace
}  // namespace lanista::search
