#include "lanista/search/sampler/second_stage.h"

#include <gtest/gtest.h>

#include <deque>
#include <functional>
#include <limits>
#include <map>
#include <set>
#include <tuple>
#include <utility>

#include "lanista/model/graph/infer.h"
#include "lanista/search/study/refinements.h"
#include "support/search/sampler/second_stage_test_support.h"

namespace lanista::search {
namespace {

using namespace testing;

constexpr std::int64_t kUnbounded = std::numeric_limits<std::int64_t>::max();

TrialId trial_of(const study::Event& event) {
  const auto* measured = std::get_if<study::Measured>(&event);
  if (measured != nullptr) return measured->measurement.trial;
  return std::visit(
      [](const auto& e) {
        if constexpr (requires { e.trial; }) return e.trial;
        return TrialId{};
      },
      event);
}

std::string text_of(const study::Event& event) {
  std::string text = std::to_string(event.index()) + " " + std::to_string(trial_of(event).value);
  if (const auto* measured = std::get_if<study::Measured>(&event)) {
    text += study::measurement_json(measured->measurement).dump();
  }
  if (const auto* ended = std::get_if<study::Ended>(&event)) text += study::outcome_json(ended->outcome).dump();
  if (const auto* proposed = std::get_if<study::Proposed>(&event))
    text += study::proposal_json(proposed->proposal).dump();
  return text;
}

std::string text_of(const Result<Suggestion>& answer) {
  if (!answer) return answer.error().text();
  std::string text = std::to_string(static_cast<int>(answer->kind));
  for (const Member& member : answer->group.members) {
    if (const auto* fresh = std::get_if<NewTrial>(&member)) text += " " + study::proposal_json(fresh->proposal).dump();
    if (const auto* on = std::get_if<ResumeTrial>(&member)) text += " on " + std::to_string(on->trial.value);
    if (const auto* stop = std::get_if<StopTrial>(&member)) text += " stop " + std::to_string(stop->trial.value);
  }
  return text;
}

/// The events and questions that a search receives.
struct CallRecord {
  std::vector<std::string> observed_events;
  std::vector<Capacity> asked;
};

class RecordingStrategy final : public Strategy {
 public:
  RecordingStrategy(std::unique_ptr<Strategy> inner, CallRecord* notes) : inner_(std::move(inner)), notes_(notes) {}
  std::string_view name() const override { return inner_->name(); }
  Result<Suggestion> suggest(const Capacity& capacity) const override {
    notes_->asked.push_back(capacity);
    return inner_->suggest(capacity);
  }
  void observe(const study::Event& event) override {
    notes_->observed_events.push_back(text_of(event));
    inner_->observe(event);
  }
  TrialVerdict verdict(TrialId trial) const override { return inner_->verdict(trial); }

 private:
  std::unique_ptr<Strategy> inner_;
  CallRecord* notes_;
};

/// Runs a study as an engine does. Results are random numbers of trial and epoch, and coarse, so that many are equal.
class SimulatedStudy {
 public:
  struct Trial {
    study::Proposal proposal;
    std::int64_t epoch = 0, budget = 0;
    study::Measurement last;
    std::optional<study::OutcomeKind> outcome;
    bool paused = false;
  };
  struct SuggestCall {
    std::size_t events = 0;
    Capacity capacity;
    std::string answer;
  };

  SimulatedStudy(Strategy& strategy, std::int64_t slots, std::int64_t limit, double fails, Rng rng)
      : trials_limit(limit),
        strategy_(strategy),
        slots_(slots),
        fails_(fails),
        rng_(rng),
        results_(rng.split("results")) {}

  void run() {
    while (true) {
      fill();
      if (running_.empty()) return;
      epoch_of(running_[rng_.below(running_.size())]);
    }
  }

  std::int64_t trials_limit;
  std::map<TrialId, Trial> trials;
  std::vector<study::Event> events;
  std::vector<SuggestCall> asked;
  std::string last_answer;

 private:
  void feed_event(study::Event event) {
    strategy_.observe(event);
    events.push_back(std::move(event));
  }
  std::int64_t paused() const {
    return std::ranges::count_if(trials, [](const auto& each) { return each.second.paused; });
  }

  void fill() {
    while (std::ssize(running_) < slots_) {
      if (waiting_.empty()) {
        const std::int64_t left = trials_limit == kUnbounded ? kUnbounded : trials_limit - std::ssize(trials);
        if (left <= 0 && paused() == 0) return;
        const Capacity capacity{slots_ - std::ssize(running_), left, std::ssize(running_), paused()};
        const auto answer = strategy_.suggest(capacity);
        last_answer = text_of(answer);
        asked.push_back({events.size(), capacity, last_answer});
        if (!answer || answer->kind != Suggestion::Kind::kGroup || answer->group.members.empty()) return;
        waiting_.assign(answer->group.members.begin(), answer->group.members.end());
      }
      const Member member = waiting_.front();
      waiting_.pop_front();
      take_up(member);
    }
  }

  void take_up(const Member& member) {
    if (const auto* fresh = std::get_if<NewTrial>(&member)) {
      ASSERT_LT(std::ssize(trials), trials_limit) << "more trials than the capacity allows";
      const TrialId id{static_cast<std::uint32_t>(trials.size() + 1)};
      trials[id].proposal = fresh->proposal;
      trials[id].budget = fresh->proposal.budget;
      running_.push_back(id);
      feed_event(study::Proposed{id, fresh->proposal});
    } else if (const auto* on = std::get_if<ResumeTrial>(&member)) {
      Trial& trial = trials.at(on->trial);
      ASSERT_TRUE(std::exchange(trial.paused, false));
      trial.budget = on->budget;
      running_.push_back(on->trial);
      feed_event(study::Resumed{on->trial, trial.epoch, on->budget});
    } else {
      end(std::get<StopTrial>(member).trial, study::OutcomeKind::kStopped);
    }
  }

  void epoch_of(TrialId id) {
    Trial& trial = trials.at(id);
    Rng of = results_.split(id.value).split(static_cast<std::uint64_t>(++trial.epoch));
    if (of.split("fails").bernoulli(fails_)) return end(id, study::OutcomeKind::kFailed);
    const double accuracy = static_cast<double>(of.below(4)) / 4, loss = static_cast<double>(of.below(2));
    trial.last = {id, trial.epoch, trial.epoch, {{"val_accuracy", accuracy}, {"val_loss", loss}}};
    feed_event(study::Measured{trial.last});
    if (trial.epoch == study::full_epochs(trial.proposal)) return end(id, study::OutcomeKind::kSucceeded);
    if (strategy_.verdict(id).verdict == study::Verdict::kStop) return end(id, study::OutcomeKind::kStopped);
    if (trial.epoch < trial.budget) return;
    trial.paused = true;
    std::erase(running_, id);
    feed_event(study::Paused{id, trial.epoch});
  }

  void end(TrialId id, study::OutcomeKind kind) {
    std::erase(running_, id);
    trials.at(id).paused = false;
    trials.at(id).outcome = kind;
    study::Outcome outcome;
    outcome.kind = kind;
    feed_event(study::Ended{id, outcome});
  }

  Strategy& strategy_;
  std::int64_t slots_;
  double fails_;
  Rng rng_, results_;
  std::deque<Member> waiting_;
  std::vector<TrialId> running_;
};

/// Returns, by brute force, the best trials of the search with results: by accuracy, loss, size and trial id.
std::vector<TrialId> best_of(const SimulatedStudy& played, const Context& context, std::size_t count) {
  std::vector<std::tuple<double, double, std::int64_t, std::uint32_t>> all;
  for (const auto& [id, trial] : played.trials) {
    if (trial.proposal.is_refinement || !trial.outcome || trial.epoch == 0 || trial.last.metrics.empty()) continue;
    if (*trial.outcome != study::OutcomeKind::kSucceeded && *trial.outcome != study::OutcomeKind::kStopped) continue;
    const auto model = must(context.models->rebuild(trial.proposal.base, trial.proposal.edits));
    const auto cost = must(graph::model_cost(model, context.models->ops()));
    all.emplace_back(-trial.last.metrics.at("val_accuracy"), trial.last.metrics.at("val_loss"), cost.parameters,
                     id.value);
  }
  std::ranges::sort(all);
  std::vector<TrialId> out;
  for (std::size_t i = 0; i < std::min(count, all.size()); ++i) out.push_back(TrialId{std::get<3>(all[i])});
  return out;
}

std::vector<TrialId> tuned(const SimulatedStudy& played) {
  std::vector<TrialId> out;
  for (const auto& [id, trial] : played.trials) {
    if (trial.proposal.is_refinement) out.push_back(*trial.proposal.parent);
  }
  return out;
}

/// Expects that a new strategy with the same events gives the same answers at every point.
template <class Make>
void expect_rebuilt(const SimulatedStudy& played, const Make& make) {
  auto again = make();
  std::size_t num_fed = 0;
  for (const SimulatedStudy::SuggestCall& asked : played.asked) {
    for (; num_fed < asked.events; ++num_fed) again->observe(played.events[num_fed]);
    ASSERT_EQ(text_of(again->suggest(asked.capacity)), asked.answer) << "behind event " << num_fed;
  }
}

TEST(SecondStage, RetrainsBestTrialsHiddenFromSearch) {
  std::int64_t several = 0, num_paused = 0, ended_early = 0;
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    SCOPED_TRACE(seed);
    Rng rng(seed);
    const Context context = staged_context(seed);
    const std::int64_t best = rng.between(1, 4), slots = rng.between(1, 5), trials = best + rng.between(1, 14);
    const study::StudyConfig config = staged_config(context, best, rng.between(1, 3));
    const char* names[] = {"random", "evolution", "tpe", "dehb"};
    const StrategyPlugin plugin = testing::sampler_named(names[seed % 4]);
    CallRecord notes;
    const char* type = seed % 3 == 0 ? "stopping" : "promotion";
    const auto make = [&](CallRecord* observed_events) {
      return must(
          with_second_stage(std::make_unique<RecordingStrategy>(search_of(plugin, context, type), observed_events),
                            config, context.models));
    };
    auto strategy = make(&notes);
    SimulatedStudy played(*strategy, slots, trials, 0.1, rng.split("results"));
    played.run();
    if (HasFatalFailure()) return;

    EXPECT_EQ(tuned(played), best_of(played, context, static_cast<std::size_t>(best)));
    std::vector<std::string> of_search;
    std::set<TrialId> under_way;
    std::int64_t searched = 0;
    for (const study::Event& event : played.events) {
      const TrialId id = trial_of(event);
      const study::Proposal& proposal = played.trials.at(id).proposal;
      if (!proposal.is_refinement) {
        of_search.push_back(text_of(event));
        under_way.insert(id);
        if (std::holds_alternative<study::Ended>(event)) under_way.erase(id);
        searched += std::holds_alternative<study::Proposed>(event) ? 1 : 0;
        num_paused += std::holds_alternative<study::Paused>(event) ? 1 : 0;
      } else {
        EXPECT_TRUE(under_way.empty()) << "a refinement ran during the search";
        EXPECT_EQ(proposal.budget, context.epochs);
        EXPECT_NE(study::run_key(proposal), study::run_key(played.trials.at(*proposal.parent).proposal));
      }
    }
    EXPECT_EQ(notes.observed_events, of_search);
    EXPECT_EQ(searched, trials - best);
    std::vector<std::int64_t> expected, passed_on;
    for (const SimulatedStudy::SuggestCall& asked : played.asked) {
      const std::int64_t own = std::max<std::int64_t>(0, asked.capacity.new_trials - best);
      if (own > 0 || asked.capacity.paused > 0) expected.push_back(own);
    }
    for (const Capacity& capacity : notes.asked) passed_on.push_back(capacity.new_trials);
    EXPECT_EQ(passed_on, expected);
    // Refinements end by patience: when the first goal has not improved for so many epochs.
    for (const auto& [id, trial] : played.trials) {
      if (!trial.proposal.is_refinement || *trial.outcome == study::OutcomeKind::kFailed) continue;
      double top = -1;
      std::int64_t since = 0, end = 0;
      for (const study::Event& event : played.events) {
        const auto* measured = std::get_if<study::Measured>(&event);
        if (measured == nullptr || measured->measurement.trial != id || end > 0) continue;
        const double now = measured->measurement.metrics.at("val_accuracy");
        since = now > top ? 0 : since + 1;
        top = std::max(top, now);
        if (since >= config.strategy.then->end) end = measured->measurement.epoch;
      }
      EXPECT_EQ(trial.epoch, end > 0 ? end : context.epochs);
      ended_early += trial.epoch < context.epochs ? 1 : 0;
    }
    several += tuned(played).size() > 1 ? 1 : 0;
    CallRecord unread;
    expect_rebuilt(played, [&] { return make(&unread); });
  }
  EXPECT_GT(several, 20);
  EXPECT_GT(num_paused, 50);
  EXPECT_GT(ended_early, 10);
}

struct Stage {
  Context context;
  CallRecord notes;
  std::unique_ptr<Strategy> strategy;

  Stage(std::uint64_t seed, std::int64_t best) : context(staged_context(seed, false)) {
    strategy = must(
        with_second_stage(std::make_unique<RecordingStrategy>(search_of(random_plugin(), context, "stopping"), &notes),
                          staged_config(context, best), context.models));
  }
};

TEST(SecondStage, UsesAtMostTrialsWithResults) {
  int fewer = 0;
  for (std::uint64_t seed = 1; seed <= 40; ++seed) {
    Stage stage(seed, 4);
    SimulatedStudy played(*stage.strategy, 2, 8, 0.6, Rng(seed));
    played.run();
    const std::size_t with_results = best_of(played, stage.context, 8).size();
    EXPECT_EQ(tuned(played), best_of(played, stage.context, 4));
    EXPECT_EQ(played.trials.size(), 4 + std::min<std::size_t>(4, with_results));
    if (with_results >= 4) continue;
    EXPECT_EQ(played.last_answer, "2") << "nothing is left";
    fewer += with_results > 0 ? 1 : 0;
  }
  EXPECT_GT(fewer, 5);
  // A trial that fails in its first epoch has no measurement.
  Stage stage(1, 2);
  SimulatedStudy played(*stage.strategy, 2, 6, 1, Rng(1));
  played.run();
  EXPECT_EQ(played.trials.size(), 4U);
  EXPECT_EQ(played.last_answer, "2");
}

TEST(SecondStage, RunsAfterExtensionOfStudy) {
  int renewed = 0, unchanged = 0;
  for (std::uint64_t seed = 1; seed <= 30; ++seed) {
    SCOPED_TRACE(seed);
    Stage stage(seed, 2);
    SimulatedStudy played(*stage.strategy, 3, 8, 0.1, Rng(seed));
    played.run();
    const std::vector<TrialId> first = tuned(played);
    if (first.size() < 2) continue;
    played.trials_limit += 6;
    played.run();
    ASSERT_FALSE(HasFatalFailure());

    EXPECT_EQ(played.trials.size(), 14U) << "the search gets trials that no refinement needs";
    // The best trials have a refinement, as far as new trials were left after the search.
    std::vector<TrialId> all = tuned(played);
    const std::set<TrialId> once(all.begin(), all.end());
    EXPECT_EQ(once.size(), all.size());
    (all.size() > 2 ? renewed : unchanged) += 1;
    for (std::size_t i = 2; i < all.size(); ++i) EXPECT_GT(all[i].value, 8U) << "only new trials";
    for (const auto& [id, trial] : played.trials) {
      const bool is_next = id.value > 8 && id.value <= 12;
      EXPECT_FALSE(is_next && trial.proposal.is_refinement) << "the search continues first";
    }
    Stage again(seed, 2);
    expect_rebuilt(played, [&] { return std::move(again.strategy); });
  }
  EXPECT_GT(renewed, 5);
  EXPECT_GT(unchanged, 3);
}

/// Returns kResourceExhausted after five proposals.
class ExhaustedSearch final : public Strategy {
 public:
  explicit ExhaustedSearch(std::unique_ptr<Strategy> inner) : inner_(std::move(inner)) {}
  std::string_view name() const override { return "unlucky"; }
  Result<Suggestion> suggest(const Capacity& capacity) const override {
    if (proposed_ == 5) return Error{Code::kResourceExhausted, "found nothing new", ""};
    if (proposed_ > 5) return Error{Code::kInternal, "asked again", ""};
    return inner_->suggest(capacity);
  }
  void observe(const study::Event& event) override {
    proposed_ += std::holds_alternative<study::Proposed>(event) ? 1 : 0;
    inner_->observe(event);
  }
  TrialVerdict verdict(TrialId trial) const override { return inner_->verdict(trial); }

 private:
  std::unique_ptr<Strategy> inner_;
  int proposed_ = 0;
};

TEST(SecondStage, StartsAfterSearchEnds) {
  const Context context = staged_context(3, false);
  for (const bool some : {true, false}) {
    auto strategy =
        must(with_second_stage(std::make_unique<ExhaustedSearch>(search_of(random_plugin(), context, "promotion")),
                               staged_config(context, 2), context.models));
    SimulatedStudy played(*strategy, 3, some ? 40 : kUnbounded, 0, Rng(4));
    played.run();
    EXPECT_EQ(played.trials.size(), 7U);
    EXPECT_EQ(tuned(played), best_of(played, context, 2));
    EXPECT_NE(played.last_answer.find("found nothing new"), std::string::npos) << played.last_answer;
  }
}

TEST(SecondStage, ForwardsErrorsOfSearch) {
  class Broken final : public Strategy {
    std::string_view name() const override { return "broken"; }
    Result<Suggestion> suggest(const Capacity&) const override { return Error{Code::kInternal, "broken", ""}; }
    void observe(const study::Event&) override {}
    TrialVerdict verdict(TrialId) const override { return {}; }
  };
  const Context context = staged_context(3);
  auto strategy = must(with_second_stage(std::make_unique<Broken>(), staged_config(context, 2), context.models));
  EXPECT_EQ(strategy->suggest({1}).error().code, Code::kInternal);
}

}  // namespace
}  // namespace lanista::search
