// Import of an earlier study's trials, and their use by the strategy.
#include "lanista/engine/core/earlier_trials.h"

#include <gtest/gtest.h>

#include <set>

#include "lanista/engine/core/study_setup.h"
#include "support/engine/core/test_support.h"

namespace lanista::engine {
namespace {

using testing::Bench;
using testing::kFolder;
using testing::small_study;

/// A study that has ended.
StudyView earlier_study(std::int64_t trials = 20) {
  Bench bench;
  const auto end = bench.run(small_study(trials), {.workers = 2, .fail_one_in = 9});
  LANISTA_CHECK(end.ok(), end ? "" : end.error().text());
  return bench.view();
}

std::vector<const TrialView*> outputs_read_after(const StudyView& view) {
  std::vector<const TrialView*> out;
  for (const TrialView& trial : view.trials) {
    if (trial.outcome && study::ranks(trial, *trial.outcome)) out.push_back(&trial);
  }
  return out;
}

Result<ImportedTrials> import_from(const StudyView& old, const study::StudyConfig& config,
                                   const data::DataSpec& data = testing::small_data()) {
  MemoryFileSystem none;
  const auto models = make_model_space(config, data, ".", none);
  LANISTA_CHECK(models.ok(), models ? "" : models.error().text());
  return import_trials(old, config, data, **models);
}

/// The same study with another space of hyper-parameters.
study::StudyConfig with_params(const std::function<void(space::Parameter&)>& change) {
  study::StudyConfig config = small_study();
  space::SearchSpace params;
  for (space::Parameter parameter : config.space.params.parameters()) {
    change(parameter);
    if (!parameter.name.empty()) LANISTA_CHECK(params.add(std::move(parameter)).ok(), "the test's own space");
  }
  config.space.params = std::move(params);
  return config;
}

/// Why trials were left out, or empty.
std::string error_of(const Result<ImportedTrials>& imported) {
  return imported && !imported->left_out.empty() ? imported->left_out.begin()->first : "";
}

double momentum_of(const space::Sample& sample) { return std::get<double>(sample.at("momentum")); }

TEST(ImportTrials, ImportsEveryResultOfSameSpace) {
  const StudyView old = earlier_study();
  const auto results = outputs_read_after(old);
  ASSERT_LT(results.size(), old.trials.size()) << "some fail";

  const auto all = import_from(old, small_study());

  ASSERT_TRUE(all) << all.error().text();
  EXPECT_TRUE(all->left_out.empty());
  EXPECT_EQ(all->earlier.study, "tiny");
  ASSERT_EQ(all->earlier.trials.size(), results.size());
  for (std::size_t i = 0; i < results.size(); ++i) {
    const study::EarlierTrial& each = all->earlier.trials[i];
    EXPECT_EQ(each.trial, results[i]->id);
    EXPECT_EQ(each.proposal.graph_hash, results[i]->proposal.graph_hash);
    EXPECT_EQ(each.proposal.sample, results[i]->proposal.sample);
    EXPECT_FALSE(each.proposal.parent);
    EXPECT_EQ(study::run_key(each.proposal), study::run_key(results[i]->proposal));
    EXPECT_EQ(each.measurements.size(), results[i]->measurements.size());
  }
  EXPECT_EQ(study::earlier_study_json(study::read_earlier_study(study::earlier_study_json(all->earlier))),
            study::earlier_study_json(all->earlier));
}

TEST(ImportTrials, LeavesOutValuesBeyondANarrowerRange) {
  const StudyView old = earlier_study();
  const auto narrower_space = with_params([](space::Parameter& parameter) {
    if (parameter.name == "momentum") parameter.domain = space::FloatRange{0, 0.45, 0, false};
  });

  const auto some = import_from(old, narrower_space);

  ASSERT_TRUE(some) << some.error().text();
  std::set<TrialId> wanted;
  std::int64_t beyond = 0;
  for (const TrialView* trial : outputs_read_after(old)) {
    const auto& sample = trial->proposal.sample;
    const bool fits = !sample.contains("momentum") || momentum_of(sample) <= 0.45;
    beyond += fits ? 0 : 1;
    if (fits) wanted.insert(trial->id);
  }
  std::set<TrialId> seen;
  for (const auto& trial : some->earlier.trials) seen.insert(trial.trial);
  EXPECT_EQ(seen, wanted);
  ASSERT_GT(beyond, 0);
  EXPECT_EQ(some->left_out, (std::map<std::string, std::int64_t>{{"its momentum is not in the space", beyond}}));
  EXPECT_EQ(some->earlier.left_out, beyond);
}

TEST(ImportTrials, AcceptsFixedValueAsSampled) {
  study::StudyConfig wider = small_study();
  ASSERT_TRUE(wider.space.params.add({"label_smoothing", space::FloatRange{0, 0.2, 0, false}, {}}));
  const StudyView old = earlier_study();

  const auto all = import_from(old, wider);

  ASSERT_TRUE(all) << all.error().text();
  EXPECT_EQ(all->earlier.trials.size(), outputs_read_after(old).size());
  for (const auto& trial : all->earlier.trials) {
    EXPECT_EQ(std::get<double>(trial.proposal.sample.at("label_smoothing")), 0);
  }
  // A value that the new range does not have does not fit.
  wider = small_study();
  ASSERT_TRUE(wider.space.params.add({"label_smoothing", space::FloatRange{0.1, 0.2, 0, false}, {}}));
  const auto none = import_from(old, wider);
  ASSERT_TRUE(none);
  EXPECT_TRUE(none->earlier.trials.empty());
}

TEST(ImportTrials, AcceptsChoiceValuesForRange) {
  study::StudyConfig choice = small_study();
  const std::vector<space::Value> values{space::Value(std::int64_t{0}), space::Value(0.05)};
  ASSERT_TRUE(choice.space.params.add({"label_smoothing", space::Categorical{values}, {}}));
  Bench bench;
  ASSERT_TRUE(bench.run(choice, {.workers = 2}));
  const StudyView old = bench.view();
  study::StudyConfig range = small_study();
  ASSERT_TRUE(range.space.params.add({"label_smoothing", space::FloatRange{0, 0.1, 0, false}, {}}));

  const auto all = import_from(old, range);

  ASSERT_TRUE(all) << all.error().text();
  EXPECT_EQ(all->earlier.trials.size(), outputs_read_after(old).size());
  for (const auto& trial : all->earlier.trials) {
    EXPECT_TRUE(std::holds_alternative<double>(trial.proposal.sample.at("label_smoothing")));
  }
}

TEST(ImportTrials, MatchesFixedValueOnly) {
  const StudyView old = earlier_study();
  const auto fixed = with_params([](space::Parameter& parameter) {
    if (parameter.name == "momentum") parameter.name.clear();
  });

  const auto some = import_from(old, fixed);

  ASSERT_TRUE(some) << some.error().text();
  std::size_t adam = 0;
  for (const TrialView* trial : outputs_read_after(old)) adam += trial->proposal.sample.contains("momentum") ? 0 : 1;
  EXPECT_EQ(some->earlier.trials.size(), adam);
  EXPECT_EQ(error_of(some), "momentum had another value in training");
}

TEST(ImportTrials, IgnoresNumbersThatNoTrialOfTheOptimizerReads) {
  // With the first rules every trial has a momentum, also those of adam, which do not read it.
  study::StudyConfig first = small_study();
  first.space.params = {};
  const std::vector<space::Value> names{space::Value(std::string("sgd")), space::Value(std::string("adam"))};
  ASSERT_TRUE(first.space.params.add({"optimizer", space::Categorical{names}, {}}));
  ASSERT_TRUE(first.space.params.add({"momentum", space::FloatRange{0, 0.9, 0, false}, {}}));
  Bench bench;
  ASSERT_TRUE(bench.run(first, {.workers = 2}));
  study::StudyConfig now = first;
  now.space.params = {};
  ASSERT_TRUE(now.space.params.add({"optimizer", space::Categorical{names}, {}}));
  ASSERT_TRUE(now.space.params.add({"momentum", space::FloatRange{0, 0.9, 0, false}, {{"optimizer", {names[0]}}}}));

  const auto all = import_from(bench.view(), now);

  ASSERT_TRUE(all) << all.error().text();
  EXPECT_EQ(error_of(all), "");
  std::size_t adam = 0;
  for (const auto& trial : all->earlier.trials) {
    const bool is_sgd = trial.proposal.sample.at("optimizer") == names[0];
    EXPECT_EQ(trial.proposal.sample.contains("momentum"), is_sgd);
    adam += is_sgd ? 0 : 1;
  }
  EXPECT_GT(adam, 0U);
}

TEST(ImportTrials, LeavesOutModelsThatAreNotInTheSpace) {
  const StudyView old = earlier_study();
  study::StudyConfig config = small_study();
  config.space.mutate = {{"widen", Options::object()}};
  const auto widened = import_from(old, config);
  ASSERT_TRUE(widened) << widened.error().text();
  std::size_t wanted = 0;
  for (const TrialView* trial : outputs_read_after(old)) {
    const auto& steps = trial->proposal.steps;
    wanted += std::ranges::all_of(steps, [](const auto& step) { return step.mutator == "widen"; }) ? 1 : 0;
  }
  EXPECT_EQ(widened->earlier.trials.size(), wanted);

  config = small_study();
  config.space.limit_params = static_cast<double>(outputs_read_after(old)[0]->parameters);
  const auto small = import_from(old, config);
  ASSERT_TRUE(small) << small.error().text();
  wanted = 0;
  for (const TrialView* trial : outputs_read_after(old))
    wanted += trial->parameters <= outputs_read_after(old)[0]->parameters ? 1 : 0;
  EXPECT_EQ(small->earlier.trials.size(), wanted);
  EXPECT_LT(wanted, outputs_read_after(old).size()) << "or nothing was tested";
}

TEST(ImportTrials, RefusesIncomparableStudies) {
  const StudyView old = earlier_study(6);
  data::DataSpec other = testing::small_data();
  other.hash = hash_text("other");
  const auto refused = import_from(old, small_study(), other);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().where, "data.source");
  study::StudyConfig repeated = small_study();
  repeated.strategy.repeat = 2;
  EXPECT_EQ(import_from(old, repeated).error().where, "strategy.repeat");
  // Trainings of other lengths, or by other rules, are left out one by one.
  study::StudyConfig longer = small_study();
  longer.train.length.epochs = 5;
  EXPECT_TRUE(import_from(old, longer)->earlier.trials.empty());
  study::StudyConfig clipped = small_study();
  clipped.train.optimizer.clip_norm += 1;
  EXPECT_EQ(error_of(import_from(old, clipped)), "clip_norm had another value in training");
  study::StudyConfig by_f1 = small_study();
  by_f1.goals = {{true, "val_f1_macro"}};
  EXPECT_EQ(error_of(import_from(old, by_f1)), "'val_f1_macro' was not measured");
}

/// A bench with studies that import the trials of another one.
Result<RunResult> run_with(Bench& bench, FileSystem& fs, const study::StudyConfig& config,
                           const study::Earlier& earlier) {
  FakeExecutor fake = bench.executor(fs, {.workers = 2, .checkpoint_one_in = 3});
  Services services = bench.services(fs, fake);
  services.earlier = earlier;
  auto engine = Engine::create(kFolder, config, studyfile::write_study(config), bench.numerics, std::move(services));
  if (!engine) return std::move(engine).error();
  return (*engine)->run();
}

TEST(EarlierTrials, AreParentsForEvolution) {
  const auto earlier = import_from(earlier_study(), small_study())->earlier;
  ASSERT_GE(earlier.trials.size(), 6U);
  Bench bench;
  ASSERT_TRUE(run_with(bench, bench.disk, small_study(8), earlier));
  const StudyView view = bench.view();
  ASSERT_TRUE(view.earlier);
  EXPECT_EQ(study::earlier_study_json(*view.earlier), study::earlier_study_json(earlier));
  std::size_t children = 0;
  for (const TrialView& trial : view.trials) {
    if (trial.proposal.parent) {
      EXPECT_LT(trial.proposal.parent->value, trial.id.value);
    }
    // A child has all of its parent's hyper-parameters but one, or all of its edits and one more.
    children +=
        std::ranges::any_of(earlier.trials,
                            [&](const study::EarlierTrial& other) {
                              const auto& own = trial.proposal.edits;
                              const bool edits =
                                  !other.proposal.edits.empty() && own.size() > other.proposal.edits.size() &&
                                  std::equal(other.proposal.edits.begin(), other.proposal.edits.end(), own.begin());
                              return edits || other.proposal.sample == trial.proposal.sample;
                            })
            ? 1
            : 0;
  }
  EXPECT_GT(children, 4U) << "the first proposals of a study that knows nothing are random";
  Bench plain;
  ASSERT_TRUE(plain.run(small_study(8), {.workers = 2}));
  EXPECT_NE(plain.view().trials[0].proposal.sample, view.trials[0].proposal.sample);
}

TEST(EarlierTrials, AreObservedByStrategiesAndNotRepeated) {
  const auto earlier = import_from(earlier_study(), small_study())->earlier;
  std::set<Digest> known;
  for (const auto& trial : earlier.trials) known.insert(study::run_key(trial.proposal));
  for (const auto& plugin : search::builtin_strategies()) {
    study::StudyConfig config = small_study(12);
    config.strategy = {plugin.name, 3, Options::object()};
    if (plugin.has_own_halving) config.stop = {};
    if (plugin.forks) config.train.measured.keep = study::kKeepLast, config.strategy.options = {{"fixed", "keep"}};
    Bench bench;
    const auto end = run_with(bench, bench.disk, config, earlier);
    ASSERT_TRUE(end) << plugin.name << ": " << end.error().text();
    for (const TrialView& trial : bench.view().trials) {
      EXPECT_FALSE(known.contains(study::run_key(trial.proposal))) << plugin.name << " proposes again what is known";
      if (trial.proposal.parent) {
        EXPECT_LT(trial.proposal.parent->value, trial.id.value) << plugin.name;
      }
    }
  }
}

TEST(EarlierTrials, KeepResumptionExact) {
  const auto earlier = import_from(earlier_study(), small_study())->earlier;
  const study::StudyConfig config = small_study(10);
  Bench whole;
  const auto snapshots = testing::with_new_records(
      testing::snapshots_of(whole, [&](FileSystem& fs) { return run_with(whole, fs, config, earlier); }));
  ASSERT_GT(snapshots.size(), 30U);
  const std::string canonical = whole.canonical();
  EXPECT_NE(canonical.find("\"earlier\""), std::string::npos);
  for (std::size_t i = 0; i < snapshots.size(); i += 5) {
    Bench bench;
    testing::put_all(bench.disk, snapshots[i]);
    const auto end = bench.resume({.workers = 1, .checkpoint_one_in = 2});
    if (!end && end.error().code == Code::kNotFound) continue;  // before its first record
    ASSERT_TRUE(end) << i << ": " << end.error().text();
    ASSERT_TRUE(bench.canonical() == canonical) << "killed at moment " << i;
  }
}

TEST(EarlierTrials, AreRefusedByOlderBuilds) {
  const auto earlier = import_from(earlier_study(6), small_study())->earlier;
  Bench with, without, later;
  study::StudyConfig config = small_study(2);
  config.strategy.slots = 1;
  ASSERT_TRUE(later.run(config, {}));
  config.data.rules = study::kFirstRules;
  ASSERT_TRUE(run_with(with, with.disk, config, earlier));
  ASSERT_TRUE(without.run(config, {}));
  const auto schema = [](Bench& bench) {
    return (*store::read_log(bench.disk, kFolder))[0].body.at("schema").get<int>();
  };
  EXPECT_EQ(schema(with), 2);
  EXPECT_EQ(schema(without), 1);
  EXPECT_EQ(schema(later), store::kRulesSchema);
}

}  // namespace
}  // namespace lanista::engine
