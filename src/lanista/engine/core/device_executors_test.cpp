#include "lanista/engine/core/device_executors.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <deque>
#include <thread>

namespace lanista::engine {
namespace {

/// Does nothing; stores the commands that it receives and returns the reports that it is given.
struct Listener final : Executor {
  Result<void> start(const Job& job) override {
    started.push_back(job.trial.value);
    return {};
  }
  void command(const Command& command) override { commands.push_back(command); }
  std::optional<Report> next(double seconds) override {
    EXPECT_EQ(seconds, 0) << "only the ready signal waits";
    if (reports.empty()) return std::nullopt;
    Report report = std::move(reports.front());
    reports.pop_front();
    return report;
  }
  Result<std::map<std::string, double>> measure(std::span<const EvaluatedMember> members, data::Part) override {
    if (cannot) return Error{*cannot, "cannot", ""};
    return std::map<std::string, double>{{name, static_cast<double>(members.size())}};
  }
  template <class T>
  const T& received(std::size_t i) const {
    return std::get<T>(commands.at(i));
  }

  std::string name;
  std::optional<Code> cannot;
  std::vector<std::uint32_t> started;
  std::vector<Command> commands;
  std::deque<Report> reports;
};

class DeviceExecutorsTest : public ::testing::Test {
 protected:
  DeviceExecutorsTest() {
    std::vector<DeviceExecutors::Device> devices;
    for (const char* name : {"a", "b"}) {
      auto each = std::make_unique<Listener>();
      each->name = name;
      (devices.empty() ? a : b) = each.get();
      devices.push_back({name, std::move(each), 3});
    }
    all.emplace(std::move(devices), ready_signal);
  }
  void start(std::uint32_t id, const std::string& device) {
    Job job;
    job.trial = TrialId{id};
    job.device = device;
    ASSERT_TRUE(all->start(job));
  }

  std::shared_ptr<ReadySignal> ready_signal = std::make_shared<ReadySignal>();
  Listener *a = nullptr, *b = nullptr;
  std::optional<DeviceExecutors> all;
};

TEST_F(DeviceExecutorsTest, RoutesJobsAndCommands) {
  start(1, "b");
  start(2, "a");
  start(3, "gone");
  EXPECT_EQ(a->started, (std::vector<std::uint32_t>{2, 3}));
  EXPECT_EQ(b->started, (std::vector<std::uint32_t>{1}));
  all->command(Finish{TrialId{1}, true, false});
  all->command(PauseTrial{TrialId{2}});
  all->command(Allow{TrialId{77}, 3});
  ASSERT_EQ(b->commands.size(), 1U);
  EXPECT_TRUE(b->received<Finish>(0).keep_weights);
  ASSERT_EQ(a->commands.size(), 1U);
  EXPECT_EQ(a->received<PauseTrial>(0).trial, TrialId{2});
}

TEST_F(DeviceExecutorsTest, SendsGroupsToTheirDevice) {
  for (std::uint32_t id = 1; id <= 4; ++id) start(id, id % 2 == 0 ? "a" : "b");
  UpdateGroups arranged;
  arranged.changes.parts = {{0, {TrialId{1}}}, {1, {TrialId{2}, TrialId{4}}}};
  arranged.allow = {{TrialId{3}, 2}, {TrialId{4}, 5}};
  all->command(arranged);
  ASSERT_EQ(a->commands.size() + b->commands.size(), 2U);
  using Parts = std::vector<plan::Regrouping::Part>;
  EXPECT_EQ(a->received<UpdateGroups>(0).changes.parts, (Parts{{1, {TrialId{2}, TrialId{4}}}}));
  EXPECT_EQ(b->received<UpdateGroups>(0).changes.parts, (Parts{{0, {TrialId{1}}}}));
  ASSERT_EQ(a->received<UpdateGroups>(0).allow.size(), 1U);
  EXPECT_EQ(a->received<UpdateGroups>(0).allow[0].epoch, 5);
  EXPECT_EQ(b->received<UpdateGroups>(0).allow[0].trial, TrialId{3});
}

TEST_F(DeviceExecutorsTest, NumbersWorkersAndReportsOnePause) {
  start(1, "b");
  b->reports.emplace_back(SpanReport{TrialId{1}, 1, 2, 0, 1});
  b->reports.emplace_back(AllPausedReport{});
  const auto span = all->next(0);
  ASSERT_TRUE(span);
  EXPECT_EQ(std::get<SpanReport>(*span).worker, 5);
  EXPECT_EQ(std::get<SpanReport>(*span).device, "b");
  all->command(PauseAll{});
  EXPECT_EQ(a->commands.size() + b->commands.size(), 2U);
  EXPECT_FALSE(all->next(0)) << "one of them has not paused";
  a->reports.emplace_back(AllPausedReport{});
  const auto paused = all->next(0);
  EXPECT_TRUE(paused && std::holds_alternative<AllPausedReport>(*paused));
  EXPECT_FALSE(all->next(0));
}

// As with one executor, unread reports of an earlier start are dropped, except files.
TEST_F(DeviceExecutorsTest, DropsReportsOfMovedTrials) {
  start(1, "a");
  a->reports.emplace_back(EpochReport{{TrialId{1}, 1, 10, {}}});
  a->reports.emplace_back(FailureReport{TrialId{1}, 1, "broke"});
  a->reports.emplace_back(CheckpointReport{TrialId{1}, 1, 10, "file"});
  a->reports.emplace_back(FinishedReport{TrialId{1}, {}, ""});
  a->reports.emplace_back(SpanReport{TrialId{1}, 1, 0, 0, 1});
  start(1, "b");
  ASSERT_EQ(a->commands.size(), 1U);
  EXPECT_TRUE(a->received<Finish>(0).abandon);
  b->reports.emplace_back(EpochReport{{TrialId{1}, 1, 10, {}}});
  std::vector<std::size_t> kinds;
  while (const auto report = all->next(0)) kinds.push_back(report->index());
  std::ranges::sort(kinds);
  EXPECT_EQ(kinds, (std::vector<std::size_t>{Report(EpochReport{}).index(), Report(CheckpointReport{}).index(),
                                             Report(SpanReport{}).index()}));
}

TEST_F(DeviceExecutorsTest, PollsDevicesInTurn) {
  start(1, "a");
  start(2, "b");
  for (int i = 0; i < 100; ++i) a->reports.emplace_back(SpanReport{TrialId{1}, 1, 0, 0, 1});
  b->reports.emplace_back(SpanReport{TrialId{2}, 1, 0, 0, 1});
  bool arrived = false;
  for (int i = 0; i < 2; ++i) arrived = arrived || trial_of(*all->next(0)) == TrialId{2};
  EXPECT_TRUE(arrived);
}

TEST_F(DeviceExecutorsTest, MeasuresOnCommonDeviceElseFirst) {
  EvaluatedMember one, other;
  one.job.device = "b";
  other.job.device = "a";
  EXPECT_TRUE(all->measure(std::vector{one, one}, data::Part::kTest)->contains("b"));
  EXPECT_TRUE(all->measure(std::vector{one, other}, data::Part::kTest)->contains("a"));
  a->cannot = Code::kUnimplemented;
  EXPECT_TRUE(all->measure(std::vector{one, other}, data::Part::kTest)->contains("b"));
  EXPECT_EQ(all->measure(std::vector{other}, data::Part::kTest).error().code, Code::kUnimplemented);
  a->cannot = Code::kResourceExhausted;
  EXPECT_EQ(all->measure(std::vector{one, other}, data::Part::kTest).error().code, Code::kResourceExhausted);
}

TEST_F(DeviceExecutorsTest, WaitsForReadySignal) {
  using Clock = std::chrono::steady_clock;
  const auto began = Clock::now();
  std::jthread later([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    ready_signal->set();
  });
  EXPECT_FALSE(all->next(0.02));
  ready_signal->wait(100);
  EXPECT_GE(Clock::now() - began, std::chrono::milliseconds(45));
  EXPECT_LT(Clock::now() - began, std::chrono::seconds(80));
  ready_signal->set();  // set before a thread waits
  const auto again = Clock::now();
  ready_signal->wait(100);
  EXPECT_LT(Clock::now() - again, std::chrono::seconds(80));
}

}  // namespace
}  // namespace lanista::engine
