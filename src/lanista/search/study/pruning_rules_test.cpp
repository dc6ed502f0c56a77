#include "lanista/search/study/pruning_rules.h"

#include <gtest/gtest.h>

namespace lanista::study {
namespace {

using Json = nlohmann::json;

std::vector<space::Parameter> some_parameters() {
  return {{"optimizer", space::Categorical{{std::string("sgd"), std::string("adam")}}, {}},
          {"lr", space::FloatRange{0.001, 1, 0, true}, {{"optimizer", {std::string("sgd")}}}},
          {"batch", space::Categorical{{std::int64_t{8}, std::int64_t{32}}}, {}},
          {"nesterov", space::Categorical{{false, true}}, {}}};
}

std::string refusal(const Json& rule) {
  const auto read = rule_from_json(rule);
  return read ? "" : read.error().text();
}

std::string refusal_of(const std::vector<PruningRule>& rules) {
  const auto checked = check_rules(rules, some_parameters());
  return checked ? "" : checked.error().text();
}

TEST(PruningRule, RoundTripsItsNotation) {
  for (const PruningRule& rule : {PruningRule{"diverged", "lr", true}, PruningRule{"out_of_memory", "batch", false}}) {
    const auto back = rule_from_json(rule_json(rule));

    ASSERT_TRUE(back.ok()) << back.error().text();
    EXPECT_EQ(*back, rule);
  }
  EXPECT_EQ(rule_text({"diverged", "lr", true}), "diverged along lr up");

  const auto of_rungs = rule_from_json({{"when", "decided"}});
  ASSERT_TRUE(of_rungs.ok()) << of_rungs.error().text();
  EXPECT_EQ(rule_json(*of_rungs), (nlohmann::json{{"when", "decided"}}));
  EXPECT_EQ(rule_text(*of_rungs), "decided");
}

TEST(PruningRule, ReportsInvalidRule) {
  EXPECT_EQ(refusal("up"), "\"up\" is not allowed; a rule is {when: EVENT, along: PARAMETER, direction: up or down}");
  EXPECT_EQ(refusal({{"along", "lr"}}), "when: is missing: one of diverged, out_of_memory, decided");
  EXPECT_EQ(refusal({{"when", "divergd"}}),
            "when: 'divergd' is no event; one of diverged, out_of_memory, decided; did you mean 'diverged'?");
  EXPECT_EQ(refusal({{"when", 3}}), "when: 3 is not allowed; one of diverged, out_of_memory, decided");
  EXPECT_EQ(refusal({{"when", "decided"}, {"along", "lr"}}),
            "along: is not allowed with 'decided', which is about rungs, not parameters");
  EXPECT_EQ(refusal({{"when", "diverged"}}), "along: is missing: a parameter of the space");
  EXPECT_EQ(refusal({{"when", "diverged"}, {"along", "lr"}}), "direction: is missing: up or down");
  EXPECT_EQ(refusal({{"when", "diverged"}, {"along", "lr"}, {"direction", "left"}}),
            "direction: 'left' is not allowed; up or down");
  EXPECT_EQ(refusal({{"when", "diverged"}, {"allong", "lr"}, {"direction", "up"}}),
            "allong: is no key of a rule; the keys are when, along, direction; did you mean 'along'?");
}

TEST(PruningRule, RequiresOrderedParameter) {
  EXPECT_EQ(refusal_of({{"diverged", "lr", true}, {"out_of_memory", "batch", true}, {"diverged", "batch", false}}), "");
  EXPECT_EQ(
      refusal_of({{"diverged", "lrr", true}}),
      "[0].along: 'lrr' is no parameter of the space; there are optimizer, lr, batch, nesterov; did you mean 'lr'?");
  EXPECT_EQ(
      refusal_of({{"diverged", "lr", true}, {"diverged", "optimizer", true}}),
      "[1].along: 'optimizer' is choice(sgd, adam), which has no order; a range, or choices that are all numbers");
  EXPECT_NE(refusal_of({{"diverged", "nesterov", true}}), "") << "true and false have no order";
  EXPECT_EQ(refusal_of({{"diverged", "lr", true}, {"diverged", "lr", true}}),
            "[1]: 'diverged along lr up' is listed twice");
  EXPECT_EQ(refusal_of({{"diverged", "lr", true}, {"diverged", "lr", false}}),
            "[1]: 'diverged along lr down' conflicts with 'diverged along lr up': with both, one failure would end "
            "every trial");
}

TEST(FailureEvent, IsParsedFromReason) {
  const auto of = [](OutcomeKind kind, const std::string& reason) {
    return std::string(failure_event({kind, reason, {}, "", {}}));
  };

  EXPECT_EQ(of(OutcomeKind::kFailed, "diverged: train_loss is nan at epoch 2"), "diverged");
  EXPECT_EQ(of(OutcomeKind::kFailed, "out of memory"), "out_of_memory");
  EXPECT_EQ(of(OutcomeKind::kFailed, "tensor memory: 8 bytes wanted, 0 of 4 allowed bytes are held"), "out_of_memory");
  EXPECT_EQ(of(OutcomeKind::kFailed, "the system has no memory for a state of 8 bytes"), "out_of_memory");
  EXPECT_EQ(of(OutcomeKind::kFailed, "its worker died"), "");
  EXPECT_EQ(of(OutcomeKind::kSucceeded, "diverged: "), "");
  EXPECT_EQ(of(OutcomeKind::kPrunedByRule, "diverged: "), "") << "it did not fail itself";
}

TEST(KindForStrategy, CountsPrunedFailureAsFailure) {
  Outcome implied{OutcomeKind::kPrunedByRule, "", {}, "", {}};
  implied.rule = "diverged along lr up";
  EXPECT_EQ(kind_for_strategy(implied), OutcomeKind::kFailed);
  EXPECT_EQ(kind_for_strategy({OutcomeKind::kStopped, "", {}, "", {}}), OutcomeKind::kStopped);
}

TEST(PrunedOutcome, RoundTripsCauseAndRule) {
  Outcome outcome{OutcomeKind::kPrunedByRule, "as trial 3", {}, "", {}};
  outcome.pruned_by = TrialId{3};
  outcome.rule = "diverged along lr up";

  const auto back = outcome_from_json(outcome_json(outcome));

  ASSERT_TRUE(back.ok());
  EXPECT_EQ(back->kind, OutcomeKind::kPrunedByRule);
  EXPECT_EQ(back->pruned_by, TrialId{3});
  EXPECT_EQ(back->rule, outcome.rule);
  EXPECT_FALSE(outcome_from_json({{"kind", "implied"}}).ok()) << "implied_by is missing";
}

}  // namespace
}  // namespace lanista::study
