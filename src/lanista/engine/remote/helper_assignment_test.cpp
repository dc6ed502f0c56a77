// Assignment of helpers by run.width, and the commands to worker processes.
#include "lanista/engine/remote/helper_assignment.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "lanista/base/digest.h"
#include "lanista/base/private_folder.h"
#include "lanista/model/graph/text.h"
#include "lanista/search/study/config.h"

namespace lanista::engine {
namespace {

using Assigned = std::map<std::size_t, TrialId>;

Job job_to_send(std::uint32_t id, std::int64_t shards = 4) {
  Job job;
  job.trial = TrialId{id};
  job.model =
      *graph::parse("%0 = input(shape=[64])\n%1 = linear(%0, out=512)\n%2 = linear(%1, out=10)\n%3 = output(%2)\n");
  job.recipe.epochs = 100;
  job.recipe.batch = 128;
  job.recipe.lr = 0.001 * id;
  job.recipe.shards = shards;
  return job;
}

/// The parts of an executor, without processes.
class HelperAssignmentTest : public ::testing::Test {
 protected:
  void begin(std::int64_t width, std::size_t workers) {
    leases.emplace(workers);
    assignment.emplace(width, workers, "no such socket", nullptr);
    ready.assign(workers, true);
  }
  /// Starts a trial, which may train so many epochs.
  void start(std::uint32_t id, std::int64_t allowed, std::int64_t shards = 4) {
    const Job job = job_to_send(id, shards);
    assignment->note(job);
    Lease& lease = leases->grant(job);
    leases->send(lease, 0);
    lease.allowed = allowed;
  }
  std::vector<std::pair<std::size_t, Command>> sent_commands() {
    std::vector<std::pair<std::size_t, Command>> commands;
    assignment->send(*leases, ready, now,
                     [&](std::size_t worker, const Command& command) { commands.emplace_back(worker, command); });
    return commands;
  }
  /// An epoch of ten steps.
  void span(std::uint32_t id, std::int64_t width, double step) {
    SpanReport span;
    span.trial = TrialId{id};
    span.width = width;
    span.costs.steps = 10;
    span.costs.stepping = 10 * step;
    assignment->note(span);
  }

  std::optional<Leases> leases;
  std::optional<HelperAssignment> assignment;
  std::vector<bool> ready;
  double now = 0;
};

TEST_F(HelperAssignmentTest, AssignsIdleWorkersToLongestTrial) {
  begin(4, 4);
  start(1, 5), start(2, 50);

  const auto commands = sent_commands();

  EXPECT_EQ(assignment->trials_by_helper(), (Assigned{{2, TrialId{2}}, {3, TrialId{2}}}));
  ASSERT_EQ(commands.size(), 3U);
  const auto* widen = std::get_if<AcceptHelpers>(&commands[0].second);
  ASSERT_TRUE(widen != nullptr && commands[0].first == 1 && widen->trial == TrialId{2});
  for (std::size_t i = 1; i < 3; ++i) {
    const auto* help = std::get_if<HelpTrial>(&commands[i].second);
    ASSERT_TRUE(help != nullptr);
    EXPECT_EQ(commands[i].first, i + 1);
    EXPECT_EQ(help->session, widen->session);
    EXPECT_EQ(help->job.trial, TrialId{2});
  }
}

TEST_F(HelperAssignmentTest, DecidesNothingWithoutChange) {
  begin(4, 4);
  start(1, 5), start(2, 50);
  sent_commands();
  ASSERT_EQ(assignment->times_decided(), 1);

  EXPECT_TRUE(sent_commands().empty());
  leases->find(TrialId{2})->num_reported_epochs = 3;  // epochs that it was allowed before
  EXPECT_TRUE(sent_commands().empty());
  EXPECT_EQ(assignment->times_decided(), 1);

  leases->find(TrialId{2})->allowed = 60;
  EXPECT_TRUE(sent_commands().empty());  // as before
  EXPECT_EQ(assignment->times_decided(), 2);
}

TEST_F(HelperAssignmentTest, DecidesNothingWithoutIdleWorkers) {
  begin(2, 2);
  start(1, 5), start(2, 50);
  EXPECT_TRUE(sent_commands().empty());
  EXPECT_EQ(assignment->times_decided(), 0);

  begin(1, 4);
  start(1, 5);
  EXPECT_TRUE(sent_commands().empty());
  EXPECT_EQ(assignment->times_decided(), 0);
}

TEST_F(HelperAssignmentTest, RecallsHelperWithOwnWork) {
  begin(4, 3);
  start(1, 5), start(2, 50);
  sent_commands();
  ASSERT_EQ(assignment->trials_by_helper(), (Assigned{{2, TrialId{2}}}));
  start(3, 5);  // lent to worker 2

  const auto commands = sent_commands();

  ASSERT_EQ(commands.size(), 1U);
  EXPECT_EQ(commands.front().first, 2U);
  EXPECT_TRUE(std::get<HelpTrial>(commands.front().second).session.empty());
  EXPECT_TRUE(assignment->trials_by_helper().empty());
}

TEST_F(HelperAssignmentTest, AssignsFinishedWorkersAsHelpers) {
  begin(8, 3);
  start(1, 5), start(2, 50, 8), start(3, 20, 1);
  EXPECT_TRUE(sent_commands().empty());

  leases->end(TrialId{1});
  sent_commands();
  EXPECT_EQ(assignment->trials_by_helper(), (Assigned{{0, TrialId{2}}}));
  leases->end(TrialId{3});
  sent_commands();
  EXPECT_EQ(assignment->trials_by_helper(), (Assigned{{0, TrialId{2}}, {2, TrialId{2}}}));
}

TEST_F(HelperAssignmentTest, AssignsOnlyReadyWorkers) {
  begin(4, 4);
  start(1, 5), start(2, 50);
  ready[3] = false;
  sent_commands();
  EXPECT_EQ(assignment->trials_by_helper(), (Assigned{{2, TrialId{2}}}));

  assignment->mark_lost(2, *leases);
  ready[2] = false;
  sent_commands();
  EXPECT_TRUE(assignment->trials_by_helper().empty());
  EXPECT_EQ(leases->find(TrialId{2})->helper_losses, 1);

  ready[2] = ready[3] = true;
  EXPECT_EQ(sent_commands().size(), 2U);  // the session is there
  EXPECT_EQ(assignment->trials_by_helper(), (Assigned{{2, TrialId{2}}, {3, TrialId{2}}}));
}

// Its worker did not receive the old session, because it starts the trial again.
TEST_F(HelperAssignmentTest, GivesRestartedTrialNewSession) {
  begin(2, 2);
  start(1, 50);
  Lease& lease = *leases->find(TrialId{1});
  lease.checkpoint = "lost";
  sent_commands();
  const std::string before = lease.session;
  ASSERT_FALSE(before.empty());

  ASSERT_TRUE(leases->retry_from_older(TrialId{1}, lease.token, {Code::kNotFound, "", ""}));
  leases->send(lease, 1);
  const auto commands = sent_commands();

  ASSERT_EQ(commands.size(), 2U);
  EXPECT_EQ(std::get<AcceptHelpers>(commands[0].second).session, lease.session);
  EXPECT_EQ(std::get<HelpTrial>(commands[1].second).session, lease.session);
  EXPECT_NE(lease.session, before);
}

// Measured times of steps decide which trial needs most time.
TEST_F(HelperAssignmentTest, DecidesAgainWhenStepTimesChange) {
  begin(4, 3);
  Job heavy = job_to_send(2);
  heavy.recipe.optimizer = "adam";  // another program
  start(1, 50), start(2, 20);
  assignment->note(heavy);
  span(1, 1, 0.001), span(2, 1, 0.001);
  sent_commands();
  ASSERT_EQ(assignment->trials_by_helper(), (Assigned{{2, TrialId{1}}}));
  const auto times_before = assignment->times_decided();
  leases->end(TrialId{1});
  start(1, 50);
  sent_commands();
  for (int i = 0; i < 3; ++i) span(2, 1, 0.00105);
  EXPECT_TRUE(sent_commands().empty());
  const auto before = assignment->times_decided();
  EXPECT_GT(before, times_before);

  for (int i = 0; i < 5; ++i) span(2, 1, 0.1);
  sent_commands();
  EXPECT_EQ(assignment->times_decided(), before + 1);
}

TEST_F(HelperAssignmentTest, MeasuresWidthOneFirst) {
  begin(study::kAutoWidth, 2);
  start(1, 100);
  sent_commands();
  EXPECT_TRUE(assignment->trials_by_helper().empty());

  span(1, 1, 0.002), span(1, 1, 0.002);
  sent_commands();
  EXPECT_EQ(assignment->trials_by_helper(), (Assigned{{1, TrialId{1}}}));

  span(1, 2, 0.003), span(1, 2, 0.003);  // shared they are longer
  const auto commands = sent_commands();
  EXPECT_TRUE(assignment->trials_by_helper().empty());
  ASSERT_EQ(commands.size(), 1U);
  EXPECT_TRUE(std::get<HelpTrial>(commands.front().second).session.empty());
}

TEST_F(HelperAssignmentTest, KeepsFasterMeasuredWidth) {
  begin(study::kAutoWidth, 2);
  start(1, 100);
  span(1, 1, 0.002), span(1, 1, 0.002);
  sent_commands();
  for (int i = 0; i < 10; ++i) {
    span(1, 2, 0.0012);
    sent_commands();
    EXPECT_EQ(assignment->trials_by_helper(), (Assigned{{1, TrialId{1}}}));
  }
}

// Sessions lie in a folder that only this user can enter; what a killed executor of the name left goes, no more.
TEST(HelperAssignment, KeepsSessionsInAPrivateFolderWithARandomName) {
  namespace fs = std::filesystem;
  const std::string socket = "of helping_test " + std::to_string(::getpid());
  const std::string prefix = "/dev/shm/lanista-" + hash_text(socket).hex() + "-";
  const auto left = *PrivateFolder::create(prefix);
  ::close(*left.create_file("7"));
  ::close(*left.create_file("8.new"));
  const auto used = *PrivateFolder::create(prefix);
  ::close(*used.create_file("7"));
  ::close(*used.create_file("notes"));
  const std::string named = prefix + "0";  // as earlier versions named their files
  std::ofstream(named) << "not ours";

  std::set<std::string> folders;
  for (int i = 0; i < 3; ++i) {
    HelperAssignment assignment(2, 2, socket, nullptr);
    EXPECT_FALSE(fs::exists(left.path()) || fs::exists(used.path() + "/7"));
    EXPECT_TRUE(fs::exists(used.path() + "/notes") && fs::exists(named));
    Leases leases(2);
    const Job job = job_to_send(1);
    assignment.note(job);
    Lease& lease = leases.grant(job);
    leases.send(lease, 0);
    lease.allowed = 50;
    assignment.send(leases, {true, true}, 0, [](std::size_t, const Command&) {});
    const std::string folder = fs::path(lease.session).parent_path();
    EXPECT_TRUE(folder.starts_with(prefix)) << folder;
    folders.insert(folder);
    const auto opened = PrivateFolder::open(folder);
    ASSERT_TRUE(opened.ok()) << opened.error().text();
    const std::string name = fs::path(lease.session).filename();
    ::close(*opened->create_file(name));
    ::close(*opened->create_file("99"));
    assignment.mark_lost(lease.worker, leases);
    EXPECT_EQ(opened->open_file(name).error().code, Code::kNotFound);
  }
  EXPECT_EQ(folders.size(), 3U);
  for (const std::string& folder : folders) EXPECT_FALSE(fs::exists(folder)) << folder;
  fs::remove_all(used.path());
  fs::remove(named);
}

// Hundreds of workers are dealt without looking ahead.
TEST_F(HelperAssignmentTest, HandlesManyWorkers) {
  begin(2, 100);
  for (std::uint32_t id = 1; id <= 60; ++id) start(id, id == 7 ? 500 : 100);
  sent_commands();

  std::set<TrialId> helped;
  for (const auto& [worker, trial] : assignment->trials_by_helper()) {
    EXPECT_GE(worker, 60U);
    EXPECT_TRUE(helped.insert(trial).second);
  }
  EXPECT_EQ(helped.size(), 40U);
  EXPECT_TRUE(helped.contains(TrialId{7}));
}

}  // namespace
}  // namespace lanista::engine
