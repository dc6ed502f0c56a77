// Trials that start from what other trials were.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>

#include "support/engine/core/random_clones.h"

namespace lanista::engine {
namespace {

using search::NewTrial;
using search::ResumeTrial;
using search::StopTrial;
using search::Suggestion;
using store::RecordType;
using study::OutcomeKind;
using testing::Bench;
using testing::CustomStudy;
using testing::kFolder;
using testing::small_study;

CustomStudy clone_study(std::uint64_t seed) { return testing::random_clone_study(small_study(12), seed); }

TEST(ClonedTrials, ResumeExactlyAfterAnyKill) {
  testing::CloneCounts all;
  for (std::uint64_t seed = 1; seed <= 16; ++seed) {
    SCOPED_TRACE(seed);
    const CustomStudy study = clone_study(seed);
    Bench bench;
    const auto end = study.run_study(bench, 0);
    ASSERT_TRUE(end.ok()) << end.error().text();
    const testing::CloneCounts here = testing::count_clones(bench.view());
    all.children += here.children;
    all.orphans += here.orphans;
    all.grandchildren += here.grandchildren;
    testing::expect_resumes_from_every_change(study, seed <= 3 ? 1 : 5);
    if (HasFatalFailure()) return;
  }
  EXPECT_GT(all.children, 20);
  EXPECT_GT(all.orphans, 5);
  EXPECT_GT(all.grandchildren, 5);
}

TEST(ClonedTrials, AreIndependentOfWorkersAndArrivalOrder) {
  for (std::uint64_t seed = 1; seed <= 12; ++seed) {
    SCOPED_TRACE(seed);
    testing::expect_independent_of_workers(clone_study(seed), 5);
  }
}

/// A scripted strategy: one group for each event that it names. Trial 1 pauses after its first epoch.
class ScriptedStrategy final : public search::Strategy {
 public:
  using Script = std::function<std::vector<search::Member>(const study::Event&, study::Proposal fresh)>;
  ScriptedStrategy(std::shared_ptr<const mutate::ModelSpace> models, Script script)
      : models_(std::move(models)), script_(std::move(script)) {}
  std::string_view name() const override { return "scripted"; }
  Result<Suggestion> suggest(const search::Capacity& capacity) const override {
    if (proposed_ == 0) return Suggestion{Suggestion::Kind::kGroup, {0, {NewTrial{first()}}}};
    if (next_ < asked_.size()) return Suggestion{Suggestion::Kind::kGroup, {0, {asked_[next_]}}};
    return capacity.running > 0 ? Suggestion::wait() : Suggestion::space_exhausted();
  }
  void observe(const study::Event& event) override {
    // All suggestions have become events.
    const bool answers = std::holds_alternative<study::Proposed>(event)  ? proposed_++ > 0
                         : std::holds_alternative<study::Resumed>(event) ? true
                                                                         : is_stop(event);
    if (answers && next_ < asked_.size()) ++next_;
    for (search::Member& member : script_(event, first())) asked_.push_back(std::move(member));
  }
  search::TrialVerdict verdict(TrialId trial) const override {
    return {trial == TrialId{1} ? study::Verdict::kPause : study::Verdict::kContinue, 1};
  }

 private:
  bool is_stop(const study::Event& event) const {
    const auto* ended = std::get_if<study::Ended>(&event);
    if (ended == nullptr || next_ >= asked_.size()) return false;
    const auto* stop = std::get_if<StopTrial>(&asked_[next_]);
    return stop != nullptr && stop->trial == ended->trial;
  }
  study::Proposal first() const {
    study::Proposal proposal;
    proposal.base_hash = models_->base(0).hash;
    proposal.graph_hash = models_->base(0).hash;
    proposal.sample = {
        {"optimizer", space::Value(std::string("sgd"))}, {"lr", space::Value(0.3)}, {"momentum", space::Value(0.5)}};
    proposal.budget = proposal.horizon = 4;
    return proposal;
  }
  std::shared_ptr<const mutate::ModelSpace> models_;
  Script script_;
  std::vector<search::Member> asked_;
  std::size_t next_ = 0, proposed_ = 0;
};

CustomStudy scripted(ScriptedStrategy::Script script) {
  study::StudyConfig config = small_study(6);
  config.strategy.slots = 1;
  return {config, [script = std::move(script)](const auto& models) {
            return std::make_unique<ScriptedStrategy>(models, script);
          }};
}

bool is_pause(const study::Event& event) { return std::holds_alternative<study::Paused>(event); }

NewTrial child(study::Proposal fresh, std::int64_t epoch, std::uint32_t parent = 1) {
  fresh.start = study::Start{TrialId{parent}, epoch, "", "not set by a strategy"};
  return {std::move(fresh)};
}

std::string path_of(const std::string& address) { return kFolder + "/ckpt/" + address + ".safetensors"; }

TEST(Start, IsResolvedAndRecorded) {
  Bench bench;
  const auto end =
      scripted([](const study::Event& event, const study::Proposal& fresh) {
        return is_pause(event) ? std::vector<search::Member>{child(fresh, 1)} : std::vector<search::Member>{};
      }).run_study(bench, 1);
  ASSERT_TRUE(end.ok()) << end.error().text();

  std::string paused_state;
  const auto records = *store::read_log(bench.disk, kFolder);
  for (const auto& record : records) {
    if (record.type == RecordType::kPaused) paused_state = record.body.at("address");
  }
  const StudyView view = bench.view();
  ASSERT_EQ(view.trials.size(), 2U);
  ASSERT_TRUE(view.trials[1].proposal.start);
  EXPECT_EQ(view.trials[1].proposal.start->address, paused_state);
  EXPECT_FALSE(paused_state.empty());
  EXPECT_EQ(view.trials[1].outcome->kind, OutcomeKind::kSucceeded) << "the same decisions, and yet no duplicate";
  ASSERT_EQ(view.trials[1].measurements.size(), 4U);
  EXPECT_NE(view.trials[1].measurements[0].metrics, view.trials[0].measurements[0].metrics);
  const auto job = make_job(view.config, bench.data, view.trials[1], {});
  ASSERT_TRUE(job.ok());
  EXPECT_EQ(job->start, view.trials[1].proposal.start);
  EXPECT_NE(job->trial_seed, make_job(view.config, bench.data, view.trials[0], {})->trial_seed);
}

TEST(Start, IsPartOfDuplicateKey) {
  Bench bench;
  const auto end = scripted([](const study::Event& event, const study::Proposal& fresh) {
                     return is_pause(event) ? std::vector<search::Member>{child(fresh, 1), child(fresh, 1)}
                                            : std::vector<search::Member>{};
                   }).run_study(bench, 1);
  ASSERT_TRUE(end.ok()) << end.error().text();
  const StudyView view = bench.view();
  ASSERT_EQ(view.trials.size(), 3U);
  EXPECT_EQ(view.trials[2].outcome->kind, OutcomeKind::kDuplicate);
  EXPECT_EQ(view.trials[2].outcome->same_as, TrialId{2});
}

TEST(Start, FailsWithReasonWithoutStoredState) {
  Bench bench;
  const auto end = scripted([](const study::Event& event, const study::Proposal& fresh) {
                     return is_pause(event) ? std::vector<search::Member>{child(fresh, 3), ResumeTrial{TrialId{1}, 4}}
                                            : std::vector<search::Member>{};
                   }).run_study(bench, 1);
  ASSERT_TRUE(end.ok()) << end.error().text();
  const StudyView view = bench.view();
  EXPECT_EQ(view.trials[1].proposal.start->address, "");
  EXPECT_EQ(view.trials[1].outcome->kind, OutcomeKind::kFailed);
  EXPECT_NE(view.trials[1].outcome->reason.find("nothing is kept of trial 1 as of epoch 3, to start from"),
            std::string::npos)
      << view.trials[1].outcome->reason;
}

TEST(Start, RefusesStartFromMissingTrial) {
  Bench bench;
  const auto end =
      scripted([](const study::Event& event, const study::Proposal& fresh) {
        return is_pause(event) ? std::vector<search::Member>{child(fresh, 1, 9)} : std::vector<search::Member>{};
      }).run_study(bench, 1);
  ASSERT_FALSE(end.ok());
  EXPECT_EQ(end.error().code, Code::kInvalidArgument);
  EXPECT_EQ(end.error().message, "the strategy starts a trial from trial 9, which is not there");
}

TEST(Start, IsRefusedWithFoldsToAvoidLeakage) {
  Bench bench;
  const data::DataSpec one = bench.data;
  bench.data.folds = {one, one};
  CustomStudy study = scripted([](const study::Event& event, const study::Proposal& fresh) {
    return is_pause(event) ? std::vector<search::Member>{child(fresh, 1)} : std::vector<search::Member>{};
  });
  study.config.data.folds = 2;
  const auto end = study.run_study(bench, 1);
  ASSERT_FALSE(end.ok());
  EXPECT_EQ(end.error().code, Code::kInvalidArgument);
  EXPECT_EQ(end.error().where, "strategy");
  EXPECT_EQ(
      end.error().message,
      "the strategy starts a trial from trial 1; with data.folds the parent may have trained on rows that its child "
      "is measured on");
}

/// The parent is stopped as soon as its child has begun.
CustomStudy study_with_lost_start() {
  CustomStudy study = scripted([](const study::Event& event, const study::Proposal& fresh) {
    if (is_pause(event)) return std::vector<search::Member>{child(fresh, 1), StopTrial{TrialId{1}}};
    return std::vector<search::Member>{};
  });
  study.config.strategy.slots = 2;
  return study;
}

TEST(Start, IsHeldWhileTrialOrWeightsExist) {
  CustomStudy study = study_with_lost_start();
  study.config.keep.top = 1;
  Bench bench;
  std::string address;
  bench.observer.on_event = [&](const StudyView& view, const study::Event& event) {
    bench.clock.advance(2);  // so that unreferenced files are removed at once
    if (view.trials.size() < 2 || view.trials[1].outcome) return;
    address = view.trials[1].proposal.start->address;
    EXPECT_TRUE(bench.disk.exists(path_of(address))) << event.index();
  };
  ASSERT_TRUE(study.run_study(bench, 1).ok());
  const StudyView view = bench.view();
  ASSERT_TRUE(view.trials[0].outcome && view.trials[1].outcome);
  ASSERT_EQ(view.trials[1].outcome->kind, OutcomeKind::kSucceeded) << view.trials[1].outcome->reason;
  ASSERT_EQ(view.winner, TrialId{2});
  EXPECT_TRUE(bench.disk.exists(path_of(address))) << "its weights can be trained again";
  const auto files = bench.disk.files();
  EXPECT_EQ(std::ranges::count_if(files, [](const auto& file) { return file.first.starts_with(kFolder + "/ckpt/"); }),
            2);
}

TEST(Start, LostStartFailsOnlyTheTrial) {
  const CustomStudy study = study_with_lost_start();
  Bench bench;
  bench.observer.on_event = [&](const StudyView&, const study::Event& event) {
    if (const auto* proposed = std::get_if<study::Proposed>(&event); proposed && proposed->proposal.start) {
      ASSERT_TRUE(bench.disk.remove(path_of(proposed->proposal.start->address)));
    }
  };
  const auto end = study.run_study(bench, 1);
  ASSERT_TRUE(end.ok()) << end.error().text();
  const StudyView view = bench.view();
  EXPECT_EQ(view.trials[1].outcome->kind, OutcomeKind::kFailed);
  EXPECT_NE(view.trials[1].outcome->reason.find(view.trials[1].proposal.start->address), std::string::npos)
      << view.trials[1].outcome->reason;
}

TEST(Start, OfALogNamesAnEarlierTrial) {
  Bench bench;
  ASSERT_TRUE(study_with_lost_start().run_study(bench, 1).ok());
  auto records = *store::read_log(bench.disk, kFolder);
  for (auto& record : records) {
    if (record.type != RecordType::kProposed || !record.body["proposal"].contains("start")) continue;
    record.body["proposal"]["start"]["parent"] = 2;
  }
  const auto view = fold(records);
  ASSERT_FALSE(view.ok());
  EXPECT_EQ(view.error().code, Code::kDataLoss);
  EXPECT_EQ(view.error().message, "trial 2 starts from trial 2");
}

}  // namespace
}  // namespace lanista::engine
