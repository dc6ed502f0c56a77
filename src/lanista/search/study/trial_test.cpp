#include "lanista/search/study/trial.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace lanista::study {
namespace {

using space::Value;

Proposal full_proposal() {
  Proposal proposal;
  proposal.base = 1;
  proposal.base_hash = hash_text("base");
  proposal.steps.push_back({"widen", {{"site", 3, Value(std::int64_t{2})}, {"factor", 0, Value(0.1)}}});
  graph::Node node{graph::NodeId{7}, "linear", {{"out", std::int64_t{12}}}, {{graph::NodeId{2}, 0}}, "hidden"};
  proposal.edits.push_back(graph::PutNode{node});
  proposal.edits.push_back(graph::SetInput{graph::NodeId{3}, 0, {graph::NodeId{7}, 0}});
  proposal.edits.push_back(graph::SetAttr{graph::NodeId{3}, "out", std::int64_t{9}});
  proposal.edits.push_back(graph::RemoveNode{graph::NodeId{4}});
  proposal.graph_hash = hash_text("graph");
  proposal.sample = {{"lr", Value(0.1)}, {"optimizer", Value(std::string("sgd"))}, {"nesterov", Value(true)}};
  proposal.budget = 9;
  proposal.parent = TrialId{4};
  return proposal;
}

TEST(Proposal, SurvivesJsonAsText) {
  const Proposal before = full_proposal();

  const auto after = proposal_from_json(nlohmann::json::parse(proposal_json(before).dump()));

  ASSERT_TRUE(after.ok()) << after.error().text();
  EXPECT_EQ(after->base, before.base);
  EXPECT_EQ(after->base_hash, before.base_hash);
  EXPECT_EQ(after->steps, before.steps);
  EXPECT_EQ(after->edits, before.edits);
  EXPECT_EQ(after->graph_hash, before.graph_hash);
  EXPECT_EQ(after->sample, before.sample);
  EXPECT_EQ(after->budget, before.budget);
  EXPECT_EQ(after->parent, before.parent);
  EXPECT_EQ(run_key(*after), run_key(before));
}

TEST(Proposal, RejectsMissingOrMistypedFields) {
  const nlohmann::json whole = proposal_json(full_proposal());
  for (const auto& [name, value] : whole.items()) {
    if (name != "parent") {
      nlohmann::json without = whole;
      without.erase(name);
      const auto missing = proposal_from_json(without);
      ASSERT_FALSE(missing.ok()) << name;
      EXPECT_EQ(missing.error().code, Code::kDataLoss);
    }
    nlohmann::json other = whole;
    other[name] = nlohmann::json::array({nlohmann::json::object()});
    EXPECT_FALSE(proposal_from_json(other).ok()) << name;
  }
  EXPECT_FALSE(proposal_from_json(nlohmann::json(3)).ok());
}

TEST(DuplicateKey, DependsOnGraphSampleAndBudgetOnly) {
  const Proposal one = full_proposal();
  Proposal other = one;
  other.base = 0;
  other.parent.reset();
  other.steps.clear();
  EXPECT_EQ(run_key(one), run_key(other));

  Proposal graph = one;
  graph.graph_hash = hash_text("another");
  Proposal sample = one;
  sample.sample["lr"] = Value(0.2);
  Proposal budget = one;
  budget.budget = 3;
  EXPECT_NE(run_key(one), run_key(graph));
  EXPECT_NE(run_key(one), run_key(sample));
  EXPECT_NE(run_key(one), run_key(budget));
}

/// Expects that a field is stored with this value, and that its reader refuses -1.
void expect_stored(const Proposal& proposal, const char* field, std::int64_t value) {
  nlohmann::json record = proposal_json(proposal);
  EXPECT_EQ(record.at(field), value);
  const auto read = proposal_from_json(record);
  ASSERT_TRUE(read.ok());
  EXPECT_EQ(proposal_json(*read), record);
  record[field] = -1;
  EXPECT_EQ(proposal_from_json(record).error().code, Code::kDataLoss);
}

TEST(DuplicateKey, DistinguishesRepeatedTrainings) {
  const Proposal one = full_proposal();
  Proposal again = one;
  again.repeat = 2;
  EXPECT_NE(run_key(one), run_key(again));
  EXPECT_FALSE(proposal_json(one).contains("repeat"));  // logs of single trainings are as they always were
  expect_stored(again, "repeat", 2);
}

TEST(DuplicateKey, IgnoresFoldInDecisionsKey) {
  const Proposal one = full_proposal();
  EXPECT_FALSE(proposal_json(one).contains("fold"));  // logs without folds are as they always were
  Proposal other = one;
  other.fold = 4;
  EXPECT_EQ(decisions_key(one), decisions_key(other));
  expect_stored(other, "fold", 4);
}

TEST(Start, IsPartOfDecisionsKey) {
  const Proposal random = full_proposal();
  EXPECT_FALSE(proposal_json(random).contains("start"));  // logs without starts are as they always were
  Proposal one = random;
  one.start = Start{TrialId{3}, 2, "", "00ff"};
  EXPECT_NE(run_key(random), run_key(one));
  EXPECT_NE(decisions_key(random), decisions_key(one));
  for (const Start& other :
       {Start{TrialId{4}, 2, "", "00ff"}, Start{TrialId{3}, 1, "", "00ff"}, Start{TrialId{3}, 2, "widen", "00ff"}}) {
    Proposal changed = one;
    changed.start = other;
    EXPECT_FALSE(one.start->is_same_start(other));
    EXPECT_NE(run_key(one), run_key(changed));
    EXPECT_NE(decisions_key(one), decisions_key(changed));
  }
  // A strategy does not know the address yet.
  Proposal asked = one;
  asked.start->address.clear();
  EXPECT_TRUE(one.start->is_same_start(*asked.start));
  EXPECT_EQ(run_key(one), run_key(asked));
  EXPECT_EQ(start_text(*one.start), "trial 3 as of epoch 2");
}

TEST(Start, RoundTripsJsonAndRejectsMissingFields) {
  Proposal before = full_proposal();
  // A start that the engine chooses is no decision.
  Start chosen{TrialId{3}, 2, "lineage 1 0123", "00ff"};
  chosen.is_chosen_by_engine = true, chosen.coverage = 0.1 + 0.2, chosen.inexact_reason = "%4 relu: unknown";
  EXPECT_EQ(*start_from_json(nlohmann::json::parse(start_json(chosen).dump())), chosen);
  Proposal random, found;
  found.start = chosen;
  EXPECT_EQ(run_key(found), run_key(random));
  EXPECT_EQ(decisions_key(found), decisions_key(random));

  before.start = Start{TrialId{3}, 2, "grow %2\nby 3", "00ff"};
  const nlohmann::json whole = proposal_json(before);

  const auto after = proposal_from_json(nlohmann::json::parse(whole.dump()));

  ASSERT_TRUE(after.ok()) << after.error().text();
  EXPECT_EQ(after->start, before.start);
  for (const auto& [name, value] : whole.at("start").items()) {
    nlohmann::json without = whole, other = whole;
    without["start"].erase(name);
    EXPECT_EQ(proposal_from_json(without).error().code, Code::kDataLoss) << name;
    other["start"][name] = nlohmann::json::object();
    EXPECT_EQ(proposal_from_json(other).error().code, Code::kDataLoss) << name;
  }
  nlohmann::json unborn = whole, no_parent = whole, word = whole;
  unborn["start"]["epoch"] = 0;
  no_parent["start"]["parent"] = 0;
  word["start"] = "random";
  for (const nlohmann::json& bad : {unborn, no_parent, word}) {
    EXPECT_EQ(proposal_from_json(bad).error().code, Code::kDataLoss) << bad;
  }
}

TEST(Measurement, RoundTripsNonFiniteNumbers) {
  Measurement before{TrialId{3}, 2, 80, {}};
  before.metrics = {{"a", std::numeric_limits<double>::quiet_NaN()},
                    {"b", std::numeric_limits<double>::infinity()},
                    {"c", -std::numeric_limits<double>::infinity()},
                    {"d", 0.1}};

  const auto after = measurement_from_json(nlohmann::json::parse(measurement_json(before).dump()));

  ASSERT_TRUE(after.ok()) << after.error().text();
  EXPECT_EQ(after->trial, before.trial);
  EXPECT_EQ(after->epoch, 2);
  EXPECT_EQ(after->step, 80);
  EXPECT_TRUE(std::isnan(after->metrics.at("a")));
  EXPECT_EQ(after->metrics.at("b"), before.metrics.at("b"));
  EXPECT_EQ(after->metrics.at("c"), before.metrics.at("c"));
  EXPECT_EQ(after->metrics.at("d"), 0.1);
}

TEST(Measurement, IsRejectedWithoutTrialNumber) {
  nlohmann::json json = measurement_json({TrialId{3}, 2, 80, {}});
  json["trial"] = 0;
  const auto result = measurement_from_json(json);
  ASSERT_FALSE(result.ok());
  EXPECT_EQ(result.error().code, Code::kDataLoss);
}

TEST(Outcome, SurvivesJsonForEveryKind) {
  for (const OutcomeKind kind : {OutcomeKind::kSucceeded, OutcomeKind::kStopped, OutcomeKind::kFailed,
                                 OutcomeKind::kCancelled, OutcomeKind::kDuplicate}) {
    const Outcome before{kind, "why", TrialId{2}, "00ff", hash_text("state")};

    const auto after = outcome_from_json(outcome_json(before));

    ASSERT_TRUE(after.ok()) << outcome_name(kind);
    EXPECT_EQ(after->kind, kind);
    EXPECT_EQ(after->reason, before.reason);
    EXPECT_EQ(after->same_as, before.same_as);
    EXPECT_EQ(after->weights, before.weights);
    EXPECT_EQ(after->weights_hash, before.weights_hash);
  }
  EXPECT_FALSE(outcome_from_json({{"kind", "vanished"}}).ok());
}

}  // namespace
}  // namespace lanista::study
