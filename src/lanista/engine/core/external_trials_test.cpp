// Tables and journals of others as what a strategy knows at first.
#include "lanista/engine/core/external_trials.h"

#include <cmath>

#include <gtest/gtest.h>

#include "lanista/engine/core/optuna_storage.h"
#include "lanista/engine/core/study_setup.h"

namespace lanista::engine {
namespace {

template <class T>
T must(Result<T> result) {
  LANISTA_CHECK(result.ok(), result ? "" : result.error().text());
  return *std::move(result);
}

/// A study of nine epochs: sgd with lr and momentum, or adam with lr.
study::StudyConfig small_config() {
  study::StudyConfig out;
  const space::Value sgd(std::string("sgd")), adam(std::string("adam"));
  const auto add = [&](space::Parameter parameter) {
    LANISTA_CHECK(out.space.params.add(std::move(parameter)).ok(), "the test's own space");
  };
  add({"optimizer", space::Categorical{{sgd, adam}}, {}});
  add({"lr", space::FloatRange{0.01, 0.5, 0, true}, {{"optimizer", {sgd}}}});
  add({"momentum", space::FloatRange{0, 1, 0, false}, {{"optimizer", {sgd}}}});
  add({"lr", space::FloatRange{0.0001, 0.01, 0, true}, {{"optimizer", {adam}}}});
  add({"batch", space::Categorical{{space::Value(std::int64_t{32})}}, {}});
  return out;
}

std::shared_ptr<const mutate::ModelSpace> small_models(int bases = 1) {
  std::vector<mutate::BaseModel> all;
  for (int i = 0; i < bases; ++i) all.push_back(must(mutate::builtin_base("small-mlp", {{6}}, 3 + i)));
  return std::make_shared<const mutate::ModelSpace>(
      must(mutate::ModelSpace::make(graph::builtin_ops(), std::move(all), {}, {}, {})));
}

const std::vector<std::string> kParams{"optimizer", "lr", "momentum", "batch"}, kMetrics{"val_accuracy"};

TEST(ExternalTrials, ReadsCsvWithOrWithoutExportNames) {
  for (const char* header : {"optimizer,lr,momentum,val_accuracy,epochs,note\n",
                             "params.optimizer,params.lr,params.momentum,metrics.val_accuracy,epochs,note\n"}) {
    const auto rows =
        must(read_csv_trials(std::string(header) + "sgd,0.1,0.5,0.9,9,me\nadam,1e-3,,0.8,3,you\n", kParams, kMetrics));
    ASSERT_EQ(rows.size(), 2U);
    EXPECT_EQ(rows[0].params, (nlohmann::json{{"optimizer", "sgd"}, {"lr", 0.1}, {"momentum", 0.5}}));
    EXPECT_EQ(rows[1].params, (nlohmann::json{{"optimizer", "adam"}, {"lr", 0.001}}));
    EXPECT_EQ(rows[1].metrics.at("val_accuracy"), 0.8);
    EXPECT_EQ(rows[1].epoch, 3);
  }
  EXPECT_NE(read_csv_trials("optimizer,acc\nsgd,1\n", kParams, kMetrics).error().message.find("'val_accuracy'"),
            std::string::npos);
  EXPECT_NE(
      read_csv_trials("a,val_accuracy\n1,1\n", kParams, kMetrics).error().message.find("there are a, val_accuracy"),
      std::string::npos);
}

// As Optuna 3.1 and 5.0 write it: study, trials, distributions as text within the line; the last line is torn.
constexpr const char* kJournal =
    R"({"op_code":0,"worker_id":"w","study_name":"s","directions":[2]}
{"op_code":4,"worker_id":"w","study_id":0,"datetime_start":"2026-01-01"}
{"op_code":5,"worker_id":"w","trial_id":0,"param_name":"optimizer","param_value_internal":1,)"
    R"("distribution":"{\"name\": \"CategoricalDistribution\", )"
    R"(\"attributes\": {\"choices\": [\"sgd\", \"adam\"]}}"}
{"op_code":5,"worker_id":"w","trial_id":0,"param_name":"lr","param_value_internal":0.002,)"
    R"("distribution":"{\"name\": \"FloatDistribution\", \"attributes\": {\"step\": null, )"
    R"(\"low\": 0.0001, \"high\": 0.01, \"log\": true}}"}
{"op_code":7,"worker_id":"w","trial_id":0,"step":1,"intermediate_value":0.5}
{"op_code":6,"worker_id":"w","trial_id":0,"state":1,"values":[0.75]}
{"op_code":4,"worker_id":"w","study_id":0}
{"op_code":7,"worker_id":"w","trial_id":1,"step":2,"intermediate_value":0.25}
{"op_code":6,"worker_id":"w","trial_id":1,"state":2,"values":null}
{"op_code":4,"worker_id":"w","study_id":0}
{"op_code":6,"worker_id":"w","trial_id":2,"state":3,"values":null}
{"op_code":6,"worker_)";

TEST(ExternalTrials, ReplaysAJournal) {
  const auto trials = must(read_optuna_trials(kJournal, {{true, "val_accuracy"}}));
  ASSERT_EQ(trials.size(), 2U);  // the third failed
  EXPECT_EQ(trials[0].params, (nlohmann::json{{"optimizer", "adam"}, {"lr", 0.002}}));
  EXPECT_EQ(trials[0].metrics.at("val_accuracy"), 0.75);
  EXPECT_EQ(trials[0].epoch, 0);
  EXPECT_EQ(trials[1].metrics.at("val_accuracy"), 0.25);
  EXPECT_EQ(trials[1].epoch, 2);
}

TEST(ExternalTrials, ReadsTrialsOfExportLines) {
  const auto trials = must(read_optuna_trials(
      R"({"directions":[1],"op_code":0,"study_name":"s","worker_id":"lanista"}
{"op_code":4,"study_id":0,"state":1,"values":[0.5],"params":{"lr":0.25,"optimizer":0},)"
      R"("distributions":{"lr":"{\"attributes\":{},\"name\":\"FloatDistribution\"}",)"
      R"("optimizer":"{\"attributes\":{\"choices\":[\"sgd\"]},\"name\":\"CategoricalDistribution\"}"},)"
      R"("intermediate_values":{"1":0.75,"2":0.5}}
{"op_code":4,"study_id":0,"state":2,"values":null,"params":{"lr":0.125},)"
      R"("distributions":{"lr":"{\"attributes\":{},\"name\":\"FloatDistribution\"}"},)"
      R"("intermediate_values":{"1":0.75,"10":0.5}}
)",
      {{false, "val_loss"}}));
  ASSERT_EQ(trials.size(), 2U);
  EXPECT_EQ(trials[0].params, (nlohmann::json{{"optimizer", "sgd"}, {"lr", 0.25}}));
  EXPECT_EQ(trials[0].metrics.at("val_loss"), 0.5);
  EXPECT_EQ(trials[1].epoch, 10);
}

TEST(ExternalTrials, RefusesJournalsOfOtherStudies) {
  EXPECT_NE(read_optuna_trials(kJournal, {{false, "val_loss"}}).error().message.find("maximised"), std::string::npos);
  EXPECT_NE(read_optuna_trials(kJournal, {{true, "a"}, {true, "b"}}).error().message.find("1 objectives"),
            std::string::npos);
  const std::string twice = R"({"op_code":0,"directions":[2]})"
                            "\n"
                            R"({"op_code":0,"directions":[2]})"
                            "\n";
  EXPECT_NE(read_optuna_trials(twice, {{true, "a"}}).error().message.find("it has 2 studies"), std::string::npos);
  for (const char* line : {"{}\n", "[1]\n", "x\n", "{\"op_code\":6,\"trial_id\":9,\"state\":1}\n",
                           "{\"op_code\":4,\"state\":1,\"params\":{\"a\":1},\"distributions\":{}}\n"}) {
    const auto answer = read_optuna_trials(line, {{true, "a"}});
    ASSERT_FALSE(answer.ok());
    EXPECT_EQ(answer.error().text().find("line 1") != std::string::npos, true) << line;
  }
}

TEST(ExternalTrials, IgnoreNumbersThatTheirOptimizerDoesNotRead) {
  const study::StudyConfig config = small_config();
  const auto imported = must(
      import_trials({{"row 1", {{"optimizer", "adam"}, {"lr", 0.001}, {"momentum", 0.5}}, {{"val_accuracy", 0.9}}, 0}},
                    config, small_models()));
  ASSERT_EQ(imported.earlier.trials.size(), 1U);
  EXPECT_FALSE(imported.earlier.trials[0].proposal.sample.contains("momentum"));
}

TEST(ExternalTrials, ImportsProposableRowsAndReportsOthers) {
  study::StudyConfig config = small_config();
  config.data.rules = study::kFirstRules;
  const auto row = [](const char* name, nlohmann::json params, double accuracy, std::int64_t epoch = 0) {
    return ExternalTrial{name, std::move(params), {{"val_accuracy", accuracy}}, epoch};
  };
  const auto taken = must(import_trials({row("row 1", {{"optimizer", "sgd"}, {"lr", 0.1}, {"momentum", 0}}, 0.9),
                                         row("row 2", {{"optimizer", "adam"}, {"lr", 0.1}}, 0.9),
                                         row("row 3", {{"optimizer", "adam"}, {"lr", 0.001}, {"momentum", 0.5}}, 0.9),
                                         row("row 4", {{"optimizer", "sgd"}, {"lr", 0.1}}, 0.9),
                                         row("row 5", {{"optimizer", "adam"}, {"lr", 0.002}}, std::nan("")),
                                         row("row 6", {{"optimizer", "adam"}, {"lr", 0.003}}, 0.8, 4),
                                         row("row 7", {{"optimizer", "adam"}, {"lr", 0.003}}, 0.8, 10),
                                         row("row 8", {{"optimizer", "adam"}, {"lr", 0.003}, {"beta", 1}}, 0.8)},
                                        config, small_models()));
  ASSERT_EQ(taken.earlier.trials.size(), 2U);
  const study::EarlierTrial& whole = taken.earlier.trials[0];
  EXPECT_EQ(whole.proposal.sample.at("momentum"), space::Value(0.0));
  EXPECT_EQ(whole.proposal.sample.at("batch"), space::Value(std::int64_t{32})) << "there is no other";
  EXPECT_EQ(whole.measurements.front().epoch, 9);
  EXPECT_EQ(whole.outcome, study::OutcomeKind::kSucceeded);
  EXPECT_EQ(taken.earlier.trials[1].outcome, study::OutcomeKind::kStopped);
  EXPECT_EQ(taken.earlier.left_out, 6);
  std::string reasons;
  for (const auto& [why, count] : taken.left_out) reasons += why + "\n";
  for (const char* why : {"lr 0.1 is not in log(1e-04, 0.01) (row 2)", "momentum does not exist with", "(row 3)",
                          "momentum is not given (row 4)", "its val_accuracy is missing or NaN (row 5)",
                          "epochs were 10, a trial has 9 (row 7)", "beta is no parameter of the space"}) {
    EXPECT_NE(reasons.find(why), std::string::npos) << why << " in\n" << reasons;
  }
  // A log can read what it holds.
  EXPECT_EQ(study::read_earlier_study(study::earlier_study_json(taken.earlier)).trials.size(), 2U);
}

TEST(ExternalTrials, IgnoresRefinedTrials) {
  const auto rows =
      must(read_csv_trials("optimizer,lr,val_accuracy,tunes\nadam,0.002,0.5,0\nadam,0.002,0.9,1\n", kParams, kMetrics));
  ASSERT_EQ(rows.size(), 2U);
  EXPECT_FALSE(rows[0].is_refinement);
  const auto journal = must(read_optuna_trials(
      R"({"directions":[2],"op_code":0,"study_name":"s","worker_id":"lanista"}
{"op_code":4,"study_id":0,"state":1,"values":[0.9],"params":{},"distributions":{},"user_attrs":{"tunes":true}}
{"op_code":4,"study_id":0,"state":1,"values":[0.9],"params":{},"distributions":{},"user_attrs":{"rank":1}}
)",
      {{true, "val_accuracy"}}));
  ASSERT_EQ(journal.size(), 2U);
  EXPECT_TRUE(journal[0].is_refinement);
  EXPECT_FALSE(journal[1].is_refinement);
  const auto taken = must(import_trials(rows, small_config(), small_models()));
  ASSERT_EQ(taken.earlier.trials.size(), 1U);
  EXPECT_EQ(taken.earlier.trials[0].measurements.front().metrics.at("val_accuracy"), 0.5);
  EXPECT_EQ(taken.left_out.begin()->first, "it tuned its settings while it trained (strategy.then) (row 2)");
}

TEST(ExternalTrials, AreRefusedWithSeveralBases) {
  EXPECT_EQ(import_trials(std::vector<ExternalTrial>{}, small_config(), small_models(2)).error().where, "model.base");
}

}  // namespace
}  // namespace lanista::engine
