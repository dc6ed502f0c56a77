#include "lanista/engine/forecast/study_plan.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "lanista/base/check.h"
#include "lanista/base/frame.h"
#include "lanista/engine/core/frozen_part.h"
#include "lanista/engine/core/record_bodies.h"
#include "lanista/engine/core/study_state.h"
#include "lanista/engine/forecast/forecast.h"
#include "lanista/model/mutate/model_space.h"
#include "support/engine/core/test_support.h"

namespace lanista::engine {
namespace {

using testing::Bench;
using testing::small_data;
using testing::small_study;

Result<StudyPlan> planned(const study::StudyConfig& config, const PlanRequest& request = {}) {
  MemoryFileSystem disk;
  const auto models = make_model_space(config, small_data(), ".", disk);
  LANISTA_CHECK(models.ok(), models ? "" : models.error().text());
  return plan_study(config, small_data(), *models, request);
}

study::StudyConfig one_model() {
  study::StudyConfig config = small_study();
  config.space.mutate.clear();
  config.strategy = {"random", 3, Options::object()};
  config.data.augment = {{"noise", {{"std", 0.5}}}};
  return config;
}

std::vector<std::int64_t> random_members(const StudyPlan& plan) {
  std::vector<std::int64_t> trials;
  for (const sharing::FusionMember& member : plan.predicted.graph.members) trials.push_back(member.trial.value);
  return trials;
}

TEST(StudyPlan, TrialsOfOneModelAndOptimiserAreLanes) {
  study::StudyConfig config = one_model();
  config.space.params = {};
  ASSERT_TRUE(config.space.params.add({"lr", space::FloatRange{0.01, 0.5, 0, true}, {}}));
  const auto plan = planned(config);

  ASSERT_TRUE(plan) << plan.error().text();
  EXPECT_EQ(plan::plan_text(plan->plan), "1-3");
  ASSERT_EQ(plan->predicted.groups.size(), 1U);
  EXPECT_EQ(plan->predicted.groups[0].form(), sharing::GroupForm::kFused);
  EXPECT_EQ(random_members(*plan), (std::vector<std::int64_t>{1, 2, 3}));
  EXPECT_NE(plan_text(*plan, false).find("group 1: trials 1 2 3, lanes of one program, "), std::string::npos);
}

TEST(StudyPlan, OtherOptimisersAreOtherPrograms) {
  const auto plan = planned(one_model(), {.trials = 8});

  ASSERT_TRUE(plan) << plan.error().text();
  ASSERT_EQ(plan->plan.groups.size(), 2U) << "sgd and adam";
  EXPECT_NE(sharing::explain(plan->predicted).find("noise(std=0.5)"), std::string::npos)
      << "augmented samples are shared";
}

TEST(StudyPlan, UsesProposalsOfTheEngine) {
  study::StudyConfig config = small_study();
  Bench bench;
  ASSERT_TRUE(bench.run(config, {}));
  const auto plan = planned(config);

  ASSERT_TRUE(plan) << plan.error().text();
  const StudyView view = bench.view();
  for (const sharing::FusionMember& member : plan->predicted.graph.members) {
    const auto& proposal = view.trials.at(member.trial.value - 1).proposal;
    EXPECT_EQ(graph::canonical_hash(member.model, graph::builtin_ops()), proposal.graph_hash) << member.trial.value;
  }
}

/// The plans of a study's log, in order.
std::vector<plan::GroupPlan> logged_plans(Bench& bench) {
  std::vector<plan::GroupPlan> plans;
  plan::Grouping grouping;
  const auto records = store::read_log(bench.disk, testing::kFolder);
  EXPECT_TRUE(records);
  for (const store::Record& record : *records) {
    if (record.type != store::RecordType::kPlan) continue;
    const auto plan_changes = read_plan(record.body);
    EXPECT_TRUE(plan_changes) << plan_changes.error().text();
    EXPECT_FALSE(plan_changes->is_full_plan);
    grouping.apply(plan_changes->changes);
    plans.push_back(grouping.plan());
  }
  return plans;
}

TEST(StudyPlan, EqualsFirstLoggedPlan) {
  for (const std::int64_t workers : {1, 2, 5}) {
    study::StudyConfig config = small_study();
    config.strategy.slots = 7;
    config.budget.trials = 10;
    Bench bench;
    bench.machine = {.workers = workers, .lanes = 3};
    ASSERT_TRUE(bench.run(config, {}));
    const auto plan = planned(config, {.machine = bench.machine});

    ASSERT_TRUE(plan) << plan.error().text();
    const auto logged = logged_plans(bench);
    ASSERT_FALSE(logged.empty());
    plan::GroupPlan several = plan->plan;
    std::erase_if(several.groups, [](const plan::Group& group) { return group.trials.size() == 1; });
    EXPECT_EQ(logged.front(), several);
  }
}

TEST(StudyPlan, IsLoggedOnChangeWithRunningTrialsOnly) {
  study::StudyConfig config = one_model();
  Bench bench;
  bench.machine = {.workers = 2};
  ASSERT_TRUE(bench.run(config, {.fail_one_in = 4}));

  const auto records = store::read_log(bench.disk, testing::kFolder);
  ASSERT_TRUE(records);
  std::set<TrialId> open;
  plan::Grouping grouping;
  int plans = 0;
  for (const store::Record& record : *records) {
    if (record.type == store::RecordType::kProposed) open.insert(TrialId{record.body["trial"].get<std::uint32_t>()});
    if (record.type == store::RecordType::kOutcome) open.erase(TrialId{record.body["trial"].get<std::uint32_t>()});
    if (record.type != store::RecordType::kPlan) continue;
    const auto plan_changes = read_plan(record.body);
    ASSERT_TRUE(plan_changes) << plan_changes.error().text();
    grouping.apply(plan_changes->changes);
    const plan::GroupPlan plan = grouping.plan();
    std::set<TrialId> planned;
    for (const plan::Group& group : plan.groups) {
      planned.insert(group.trials.begin(), group.trials.end());
      EXPECT_GT(group.trials.size(), 1U);
    }
    EXPECT_TRUE(std::ranges::includes(open, planned)) << plan::plan_text(plan);
    EXPECT_FALSE(plan_changes->changes.parts.empty());
    ++plans;
  }
  EXPECT_GE(plans, 10);
}

/// Stores the lane groups that it receives, as executors do.
class Listening final : public testing::ForwardingExecutor {
 public:
  using testing::ForwardingExecutor::ForwardingExecutor;
  Result<void> start(const Job& job) override {
    received.apply({{{0, {job.trial}}}});  // a new trial is in no group yet
    return testing::ForwardingExecutor::start(job);
  }
  void command(const Command& command) override {
    if (const auto* arrange = std::get_if<UpdateGroups>(&command)) received.apply(arrange->changes);
    testing::ForwardingExecutor::command(command);
  }
  plan::Grouping received;
};

study::StudyConfig random_study(Rng& rng) {
  study::StudyConfig config = small_study(24);
  config.strategy.slots = rng.between(2, 12);
  if (rng.bernoulli(0.5)) {
    config.strategy = {"random", config.strategy.slots, Options::object()};
    config.stop = {"successive_halving", {{"trials", 8}, {"eta", 2}}};
  }
  return config;
}

/// Numbers of comparisons between a reader of the log and the executor: all, and those with a plan.
struct PlanObserver {
  int all = 0, shared = 0;
};

/// Runs one attempt at the study on `bench`'s disk. After every event a reader of the log sees the executor's groups.
/// Returns the disk after a kill at event `kill_after`; nullopt: the study ended before.
std::optional<testing::Files> run_attempt(Bench& bench, const study::StudyConfig& config, const FakeOptions& options,
                                          int kill_after, PlanObserver& looks) {
  FakeExecutor fake = bench.executor(bench.disk, options);
  Listening executor(fake);
  store::LogFollower log(bench.disk, testing::kFolder);
  StudyState reader;
  std::size_t read = 0;
  int events = 0;
  std::optional<testing::Files> killed;
  bench.observer.on_event = [&](const StudyView&, const study::Event&) {
    const auto records = log.read_new_records();
    LANISTA_CHECK(records.ok(), records ? "" : records.error().text());
    const auto folded = replay_records(
        reader, *records, [](const study::Event&) {}, read);
    LANISTA_CHECK(folded.ok(), folded ? "" : folded.error().text());
    read += records->size();
    const plan::GroupPlan seen = reader.plan.plan();
    EXPECT_EQ(seen, executor.received.plan()) << plan::plan_text(seen);
    ++looks.all;
    if (!seen.groups.empty()) ++looks.shared;
    if (++events == kill_after) killed = bench.disk.files();
  };
  const Services services = bench.services(bench.disk, executor);
  auto engine =
      bench.disk.exists(testing::kFolder + "/log/000001.log")
          ? Engine::resume(testing::kFolder, {}, bench.numerics, services)
          : Engine::create(testing::kFolder, config, studyfile::write_study(config), bench.numerics, services);
  LANISTA_CHECK(engine.ok(), engine ? "" : engine.error().text());
  const auto summary = (*engine)->run();
  EXPECT_TRUE(summary) << summary.error().text();
  return killed;
}

TEST(StudyPlan, ExecutorAndLogAgreeAcrossKills) {
  const Rng root(84);
  PlanObserver looks;
  int kills = 0;
  for (std::uint64_t number = 0; number < 30; ++number) {
    SCOPED_TRACE(number);
    Rng rng = root.split(number);
    const study::StudyConfig config = random_study(rng);
    const plan::Machine machine{.workers = rng.between(1, 3), .lanes = rng.between(0, 5)};
    testing::Files disk;
    while (true) {
      Bench bench;
      bench.machine = machine;
      testing::put_all(bench.disk, disk);
      const FakeOptions options{.seed = rng.next(), .workers = 2, .checkpoint_one_in = 2, .fail_one_in = 9};
      auto left = run_attempt(bench, config, options, static_cast<int>(rng.between(1, 60)), looks);
      if (!left) break;
      disk = *std::move(left);
      ++kills;
    }
  }
  EXPECT_GT(kills, 60);
  EXPECT_GT(looks.shared, looks.all / 4) << "there were plans to compare";
}

/// The first records of a log that builds before schema 3 wrote: every plan is complete.
std::string older_log(const std::vector<store::Record>& records, std::size_t count) {
  std::string bytes;
  plan::Grouping grouping;
  for (std::size_t i = 0; i < count; ++i) {
    nlohmann::json body = records[i].body;
    if (records[i].type == store::RecordType::kHeader) body["schema"] = 1;
    if (records[i].type == store::RecordType::kPlan) {
      grouping.apply(read_plan(body)->changes);
      body = {{"groups", plan::plan_text(grouping.plan())}};
    }
    encode_frame(static_cast<std::uint16_t>(records[i].type), body.dump(), bytes);
  }
  return bytes;
}

// A log of an older build keeps its schema, so that the older build can also end the study.
TEST(StudyPlan, OlderLogKeepsWholePlans) {
  Bench bench;
  auto older = one_model();
  older.data.rules = study::kFirstRules;  // later rules have a higher schema
  ASSERT_TRUE(bench.run(older, {}));
  const auto records = store::read_log(bench.disk, testing::kFolder);
  ASSERT_TRUE(records);
  EXPECT_EQ(records->front().body.at("schema"), 3);
  for (std::size_t count = 20; count < records->size(); count += 7) {
    Bench again;
    again.disk.put(testing::kFolder + "/log/000001.log", older_log(*records, count));
    ASSERT_TRUE(again.resume({}));

    EXPECT_EQ(again.view().trials.size(), 14U);
    const auto all = store::read_log(again.disk, testing::kFolder);
    ASSERT_TRUE(all);
    int plans = 0;
    for (const store::Record& record : *all) {
      if (record.type != store::RecordType::kPlan) continue;
      EXPECT_TRUE(read_plan(record.body)->is_full_plan) << record.body.dump();
      ++plans;
    }
    EXPECT_GT(plans, 3);
    StudyState reader;
    ASSERT_TRUE(replay_records(reader, *all, [](const study::Event&) {}));
    EXPECT_LE(reader.plan.plan().groups.size(), 1U) << "a whole plan takes the place of the one before";
  }
}

TEST(StudyPlan, EndsWithTheSpace) {
  study::StudyConfig config = one_model();
  config.space.params = {};
  config.train.optimizer.name = "sgd";
  const auto plan = planned(config, {.trials = 5});

  ASSERT_TRUE(plan) << plan.error().text();
  EXPECT_EQ(random_members(*plan), (std::vector<std::int64_t>{1}));
  EXPECT_FALSE(plan->exhausted_reason.empty());
  EXPECT_NE(plan_text(*plan, false).find("no more: " + plan->exhausted_reason), std::string::npos);
}

// Cached values are read once in a pass, independent of the length of an epoch: two steps a pass, and 40 steps.
TEST(StudyPlan, CountsPassesOverTheRows) {
  study::StudyConfig config = one_model();
  config.train.length.steps_per_epoch = 5;
  config.train.length.epochs = 8;
  const auto plan = planned(config);
  ASSERT_TRUE(plan) << plan.error().text();
  for (const sharing::FusionMember& member : plan->predicted.graph.members) EXPECT_EQ(member.recipe.epochs, 20);

  config.model.frozen = study::FrozenConfig{"x", "y"};
  config.budget.trials = 10;
  EXPECT_EQ(frozen_part(config, small_data(), {}, "").epochs, 10 * 8) << "augmented: read to be measured on";
  config.data.augment.clear();
  EXPECT_EQ(frozen_part(config, small_data(), {}, "").epochs, 10 * 20);
}

TEST(StudyPlan, CountsDiscardedSearchSteps) {
  study::StudyConfig config = one_model();
  config.space.params = {};
  config.train.length.epochs = 6;
  const auto plain = planned(config);
  ASSERT_TRUE(plain) << plain.error().text();
  EXPECT_EQ(plan_text(*plain, false).find("discarded"), std::string::npos);
  config.train.tune = {"mltuner", {{"params", {{"lr", "log(1e-4, 1)"}}}, {"together", 2}, {"time", 1}, {"trials", 2}}};
  const auto plan = planned(config);
  ASSERT_TRUE(plan) << plan.error().text();

  std::int64_t own = 0, expected = 0, most = 0;
  for (std::size_t m = 0; m < plan->extra.size(); ++m) {
    own += plan->steps_without_extra[m];
    expected += plan->extra[m].expected_steps();
    most += plan->extra[m].most;
  }
  ASSERT_GT(expected, 0);
  EXPECT_GE(most, expected);
  const nlohmann::json plan_changes = plan_json(*plan, false).at("beside");
  EXPECT_EQ(plan_changes.at("own_steps"), own);
  EXPECT_EQ(plan_changes.at("steps_expected"), expected);
  EXPECT_EQ(plan_changes.at("steps_most"), most);
  EXPECT_NE(plan_text(*plan, false).find("at most " + std::to_string(most) + " by the rules"), std::string::npos);

  ClusterFile one;
  one.cluster.workers = one.cluster.shares = one.cluster.widest = 1;
  one.cluster.memory = 1e18;
  const auto seconds = [&](const StudyPlan& of, ExtraStepsCount extra_steps_count) {
    const auto forecast = forecast_plan(of, 3, one, extra_steps_count);
    LANISTA_CHECK(forecast.ok(), "no forecast");
    return forecast->course.makespan;
  };
  const double alone = seconds(*plain, ExtraStepsCount::kExpectedCount);
  EXPECT_DOUBLE_EQ(seconds(*plain, ExtraStepsCount::kMaximum), alone);
  const auto part = [&](std::int64_t more) { return static_cast<double>(own + more) / static_cast<double>(own); };
  EXPECT_NEAR(seconds(*plan, ExtraStepsCount::kExpectedCount) / alone, part(expected), 1e-9);
  EXPECT_NEAR(seconds(*plan, ExtraStepsCount::kMaximum) / alone, part(most), 1e-9);
}

TEST(StudyPlan, RespectsTrialBudgetAndMemory) {
  study::StudyConfig config = one_model();
  config.budget.trials = 2;
  const auto few = planned(config, {.trials = 9});
  ASSERT_TRUE(few) << few.error().text();
  EXPECT_EQ(random_members(*few).size(), 2U);

  const auto alone = planned(one_model(), {.trials = 3, .machine = {.bytes = 1}});
  ASSERT_TRUE(alone) << alone.error().text();
  EXPECT_EQ(alone->plan.groups.size(), 3U);
  EXPECT_NE(plan_text(*alone, false).find("group 2: trial 2 alone, "), std::string::npos);
}

TEST(StudyPlan, ExcludesRefinementTrials) {
  study::StudyConfig config = one_model();
  config.budget.trials = 6;
  config.strategy.then = {{"mltuner", {{"params", {{"lr", "log(1e-4, 1)"}}}}}, 2, 5};
  const auto plan = planned(config, {.trials = 9});
  ASSERT_TRUE(plan) << plan.error().text();
  EXPECT_EQ(random_members(*plan).size(), 4U);
  EXPECT_NE(plan_text(*plan, false).find("its best 2 are trained once more"), std::string::npos);
  EXPECT_EQ(plan_json(*plan, false)["finals"], 2);
  const auto without = planned(one_model(), {.trials = 4});
  EXPECT_EQ(plan_text(*without, false).find("once more"), std::string::npos);
  EXPECT_FALSE(plan_json(*without, false).contains("finals"));
}

TEST(StudyPlan, RefusesToPlanNothing) {
  const auto plan = planned(one_model(), {.trials = 0});
  ASSERT_FALSE(plan);
  EXPECT_EQ(plan.error().code, Code::kInvalidArgument);
  EXPECT_EQ(plan.error().message, "a plan of 0 trials; at least 1 is needed");
}

TEST(StudyPlan, IsDeterministicInTextAndJson) {
  const auto first = planned(small_study(), {.trials = 6}), again = planned(small_study(), {.trials = 6});
  ASSERT_TRUE(first) << first.error().text();
  EXPECT_EQ(plan_text(*first, true), plan_text(*again, true));

  const auto json = plan_json(*first, false);
  std::size_t trials = 0;
  for (const auto& group : json["groups"]) trials += group["trials"].size();
  EXPECT_EQ(trials, json["trials"].get<std::size_t>());
  EXPECT_FALSE(json.contains("explained"));
  EXPECT_EQ(plan_json(*first, true)["explained"], sharing::explain(first->predicted));
}

}  // namespace
}  // namespace lanista::engine
