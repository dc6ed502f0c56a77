#include "lanista/search/study/zoo_start.h"

#include <gtest/gtest.h>

#include "lanista/search/study/record_fields.h"
#include "lanista/search/study/study_view.h"

namespace lanista::study {
namespace {

TrialView measured(std::uint32_t id, const std::vector<double>& accuracies) {
  TrialView out;
  out.id = TrialId{id};
  for (std::size_t k = 0; k < accuracies.size(); ++k) {
    const auto epoch = static_cast<std::int64_t>(k + 1);
    out.measurements.push_back(
        {out.id, epoch, 10 * epoch, {{"val_accuracy", accuracies[k]}, {"val_loss", 1 - accuracies[k]}}});
  }
  out.outcome = Outcome{};
  return out;
}

TrialView from_zoo(TrialView trial, const std::string& id) {
  trial.proposal.start = Start{};
  trial.proposal.start->zoo = id;
  trial.proposal.start->is_chosen_by_engine = true;
  return trial;
}

StudyView view_of(std::vector<TrialView> trials) {
  StudyView out;
  out.zoo = ZooSnapshot{7, 2, false, ""};
  out.zoo_models["ab"] = {"ab", "", "accuracy", 0.9, {0.8, 40}, false};
  out.trials = std::move(trials);
  return out;
}

TEST(ZooStart, FindsFirstStepAtQuality) {
  const TrialView trial = measured(1, {0.5, 0.8, 0.7, 0.9});
  EXPECT_EQ(steps_to(trial, "accuracy", 0.8), 20);
  EXPECT_EQ(steps_to(trial, "accuracy", 0.81), 40);
  EXPECT_EQ(steps_to(trial, "accuracy", 0.91), std::nullopt);
  EXPECT_EQ(steps_to(trial, "-loss", -0.35), 20) << "smaller losses are better";
  EXPECT_EQ(steps_to(trial, "rmse", 0), std::nullopt);
}

TEST(ZooStart, KeepsReferenceStepsFromRandomStart) {
  TrialView child = measured(2, {0.9});
  child.proposal.start = Start{TrialId{1}, 4, "", ""};
  StudyView view = view_of({measured(1, {0.5, 0.8, 0.79, 0.81}), child, from_zoo(measured(3, {0.95}), "ab")});

  EXPECT_EQ(reference_of(view, view.trials[0], "accuracy", 0.81), (Reference{0.81 - 0.02 * 0.81, 20}));
  view.config.train.measured.keep = kKeepLast;
  EXPECT_EQ(reference_of(view, view.trials[1], "accuracy", 0.9).steps, 20) << "the steps of its parent";
  EXPECT_EQ(reference_of(view, view.trials[2], "accuracy", 0.95), (Reference{0.8, 40})) << "the steps of the zoo model";
  EXPECT_EQ(reference_of(view, view.trials[2], "-loss", -0.05), Reference());
  view.zoo_models["ab"].related = true;
  EXPECT_EQ(reference_of(view, view.trials[2], "accuracy", 0.95), Reference()) << "the model is of other data";
}

TEST(ZooStart, ReportsSavingsAndReference) {
  TrialView stopped = from_zoo(measured(4, {0.3}), "ab");
  stopped.outcome->kind = OutcomeKind::kStopped;
  const StudyView view = view_of(
      {measured(1, {0.9}), from_zoo(measured(2, {0.85}), "ab"), from_zoo(measured(3, {0.5, 0.6}), "ab"), stopped});

  EXPECT_EQ(start_outcome(view, view.trials[0]), std::nullopt);
  EXPECT_EQ(start_outcome(view, view.trials[1])->steps, 10);
  EXPECT_EQ(start_outcome(view, view.trials[2])->steps, 40) << "it did not reach the target: nothing was saved";
  EXPECT_EQ(start_outcome(view, view.trials[3]), std::nullopt) << "a stopped trial does not count";
  const ZooSavings saved = zoo_savings(view);
  EXPECT_EQ(saved.started, 3);
  EXPECT_EQ(saved.compared, 2);
  EXPECT_EQ(saved.reached, 1);
  EXPECT_EQ(saved.steps, 50);
  EXPECT_EQ(saved.reference, 80);
  EXPECT_EQ(zoo_text(view),
            "3 trials began with models of the zoo; 1 of 2 came within 2 % of their models' quality, in 50 steps (the "
            "others count as no saving), where from random values these took 80: 38 % of the steps saved");
}

TEST(ZooStart, RoundTripsJsonAndRejectsMissingFields) {
  const ZooSnapshot moment{9, 3, true, "no rights"};
  EXPECT_EQ(read_zoo_snapshot(zoo_snapshot_json(moment)), moment);
  const ZooModel model{"ab", "%0 = input(shape=[2])", "-loss", -0.25, {-0.3, 40}, true};
  EXPECT_EQ(read_zoo_model(zoo_model_json(model)), model);
  for (const char* part : {"id", "graph", "metric", "quality", "target", "steps"}) {
    auto json = zoo_model_json(model);
    json.erase(part);
    EXPECT_THROW(read_zoo_model(json), fields::Malformed) << part;
  }
  auto json = zoo_model_json(model);
  json["quality"] = "nan";
  EXPECT_THROW(read_zoo_model(json), fields::Malformed);
}

}  // namespace
}  // namespace lanista::study
