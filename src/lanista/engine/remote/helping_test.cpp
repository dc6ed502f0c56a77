// Who helps whom by run.width, as worker processes are told.
#include "lanista/engine/remote/helping.h"

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

Job job_of(std::uint32_t id, std::int64_t shards = 4) {
  Job job;
  job.trial = TrialId{id};
  job.model = *graph::parse(
      "%0 = input(shape=[64])\n%1 = linear(%0, out=512)\n%2 = linear(%1, out=10)\n%3 = output(%2)\n");
  job.recipe.epochs = 100;
  job.recipe.batch = 128;
  job.recipe.lr = 0.001 * id;
  job.recipe.shards = shards;
  return job;
}

/// What an executor has, without processes.
class HelpingTest : public ::testing::Test {
 protected:
  void begin(std::int64_t width, std::size_t workers) {
    leases.emplace(workers);
    helping.emplace(width, workers, "no such socket", nullptr);
    ready.assign(workers, true);
  }
  /// Starts a trial, which may train so many epochs.
  void start(std::uint32_t id, std::int64_t allowed, std::int64_t shards = 4) {
    const Job job = job_of(id, shards);
    helping->note(job);
    Lease& lease = leases->grant(job);
    leases->send(lease, 0);
    lease.allowed = allowed;
  }
  std::vector<std::pair<std::size_t, Command>> orders() {
    std::vector<std::pair<std::size_t, Command>> told;
    helping->send(*leases, ready, now,
                  [&](std::size_t worker, const Command& command) { told.emplace_back(worker, command); });
    return told;
  }
  /// An epoch of ten steps.
  void span(std::uint32_t id, std::int64_t width, double step) {
    SpanReport span;
    span.trial = TrialId{id};
    span.width = width;
    span.costs.steps = 10;
    span.costs.stepping = 10 * step;
    helping->note(span);
  }

  std::optional<Leases> leases;
  std::optional<Helping> helping;
  std::vector<bool> ready;
  double now = 0;
};

TEST_F(HelpingTest, SendsIdleWorkersToTheTrialThatTakesLongest) {
  begin(4, 4);
  start(1, 5), start(2, 50);

  const auto told = orders();

  EXPECT_EQ(helping->helping(), (Assigned{{2, TrialId{2}}, {3, TrialId{2}}}));
  ASSERT_EQ(told.size(), 3U);
  const auto* widen = std::get_if<Widen>(&told[0].second);
  ASSERT_TRUE(widen != nullptr && told[0].first == 1 && widen->trial == TrialId{2});
  for (std::size_t i = 1; i < 3; ++i) {
    const auto* help = std::get_if<Help>(&told[i].second);
    ASSERT_TRUE(help != nullptr);
    EXPECT_EQ(told[i].first, i + 1);
    EXPECT_EQ(help->session, widen->session);
    EXPECT_EQ(help->job.trial, TrialId{2});
  }
}

TEST_F(HelpingTest, AsksNobodyWhereNothingChanged) {
  begin(4, 4);
  start(1, 5), start(2, 50);
  orders();
  ASSERT_EQ(helping->times_asked(), 1);

  EXPECT_TRUE(orders().empty());
  leases->find(TrialId{2})->told = 3;  // epochs that it was allowed before
  EXPECT_TRUE(orders().empty());
  EXPECT_EQ(helping->times_asked(), 1);

  leases->find(TrialId{2})->allowed = 60;
  EXPECT_TRUE(orders().empty());  // as before
  EXPECT_EQ(helping->times_asked(), 2);
}

TEST_F(HelpingTest, AsksNobodyWhereNobodyIsIdleOrWidthsAreOne) {
  begin(2, 2);
  start(1, 5), start(2, 50);
  EXPECT_TRUE(orders().empty());
  EXPECT_EQ(helping->times_asked(), 0);

  begin(1, 4);
  start(1, 5);
  EXPECT_TRUE(orders().empty());
  EXPECT_EQ(helping->times_asked(), 0);
}

TEST_F(HelpingTest, CallsAHelperBackThatHasWorkOfItsOwn) {
  begin(4, 3);
  start(1, 5), start(2, 50);
  orders();
  ASSERT_EQ(helping->helping(), (Assigned{{2, TrialId{2}}}));
  start(3, 5);  // at home with worker 2

  const auto told = orders();

  ASSERT_EQ(told.size(), 1U);
  EXPECT_EQ(told.front().first, 2U);
  EXPECT_TRUE(std::get<Help>(told.front().second).session.empty());
  EXPECT_TRUE(helping->helping().empty());
}

TEST_F(HelpingTest, HasWhoeverEndedHelpTheOthers) {
  begin(8, 3);
  start(1, 5), start(2, 50, 8), start(3, 20, 1);
  EXPECT_TRUE(orders().empty());

  leases->end(TrialId{1});
  orders();
  EXPECT_EQ(helping->helping(), (Assigned{{0, TrialId{2}}}));
  leases->end(TrialId{3});
  orders();
  EXPECT_EQ(helping->helping(), (Assigned{{0, TrialId{2}}, {2, TrialId{2}}}));
}

TEST_F(HelpingTest, SendsNobodyWhoIsNotThere) {
  begin(4, 4);
  start(1, 5), start(2, 50);
  ready[3] = false;
  orders();
  EXPECT_EQ(helping->helping(), (Assigned{{2, TrialId{2}}}));

  helping->lose(2, *leases);
  ready[2] = false;
  orders();
  EXPECT_TRUE(helping->helping().empty());
  EXPECT_EQ(leases->find(TrialId{2})->helper_losses, 1);

  ready[2] = ready[3] = true;
  EXPECT_EQ(orders().size(), 2U);  // the session is there
  EXPECT_EQ(helping->helping(), (Assigned{{2, TrialId{2}}, {3, TrialId{2}}}));
}

// Its worker heard nothing of the session that was, since it begins with the trial anew.
TEST_F(HelpingTest, GivesATrialThatBeginsAnewAnotherSession) {
  begin(2, 2);
  start(1, 50);
  Lease& lease = *leases->find(TrialId{1});
  lease.checkpoint = "lost";
  orders();
  const std::string before = lease.session;
  ASSERT_FALSE(before.empty());

  ASSERT_TRUE(leases->try_older(TrialId{1}, lease.token, {Code::kNotFound, "", ""}));
  leases->send(lease, 1);
  const auto told = orders();

  ASSERT_EQ(told.size(), 2U);
  EXPECT_EQ(std::get<Widen>(told[0].second).session, lease.session);
  EXPECT_EQ(std::get<Help>(told[1].second).session, lease.session);
  EXPECT_NE(lease.session, before);
}

// What steps take, once they were measured, says who takes longest.
TEST_F(HelpingTest, AsksAgainWhereStepsTakeOtherThanWasThought) {
  begin(4, 3);
  Job heavy = job_of(2);
  heavy.recipe.optimizer = "adam";  // another program
  start(1, 50), start(2, 20);
  helping->note(heavy);
  span(1, 1, 0.001), span(2, 1, 0.001);
  orders();
  ASSERT_EQ(helping->helping(), (Assigned{{2, TrialId{1}}}));
  const auto asked = helping->times_asked();
  leases->end(TrialId{1});
  start(1, 50);
  orders();
  for (int i = 0; i < 3; ++i) span(2, 1, 0.00105);
  EXPECT_TRUE(orders().empty());
  const auto before = helping->times_asked();
  EXPECT_GT(before, asked);

  for (int i = 0; i < 5; ++i) span(2, 1, 0.1);
  orders();
  EXPECT_EQ(helping->times_asked(), before + 1);
}

TEST_F(HelpingTest, MeasuresAloneFirstAndSharedThen) {
  begin(study::kAutoWidth, 2);
  start(1, 100);
  orders();
  EXPECT_TRUE(helping->helping().empty());

  span(1, 1, 0.002), span(1, 1, 0.002);
  orders();
  EXPECT_EQ(helping->helping(), (Assigned{{1, TrialId{1}}}));

  span(1, 2, 0.003), span(1, 2, 0.003);  // shared they are longer
  const auto told = orders();
  EXPECT_TRUE(helping->helping().empty());
  ASSERT_EQ(told.size(), 1U);
  EXPECT_TRUE(std::get<Help>(told.front().second).session.empty());
}

TEST_F(HelpingTest, KeepsAWidthThatIsMeasuredToPay) {
  begin(study::kAutoWidth, 2);
  start(1, 100);
  span(1, 1, 0.002), span(1, 1, 0.002);
  orders();
  for (int i = 0; i < 10; ++i) {
    span(1, 2, 0.0012);
    orders();
    EXPECT_EQ(helping->helping(), (Assigned{{1, TrialId{1}}}));
  }
}

// Sessions lie in a folder that only this user can enter; what a killed executor of the name left goes, no more.
TEST(Helping, KeepsSessionsInAPrivateFolderWithARandomName) {
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
    Helping helping(2, 2, socket, nullptr);
    EXPECT_FALSE(fs::exists(left.path()) || fs::exists(used.path() + "/7"));
    EXPECT_TRUE(fs::exists(used.path() + "/notes") && fs::exists(named));
    Leases leases(2);
    const Job job = job_of(1);
    helping.note(job);
    Lease& lease = leases.grant(job);
    leases.send(lease, 0);
    lease.allowed = 50;
    helping.send(leases, {true, true}, 0, [](std::size_t, const Command&) {});
    const std::string folder = fs::path(lease.session).parent_path();
    EXPECT_TRUE(folder.starts_with(prefix)) << folder;
    folders.insert(folder);
    const auto opened = PrivateFolder::open(folder);
    ASSERT_TRUE(opened.ok()) << opened.error().text();
    const std::string name = fs::path(lease.session).filename();
    ::close(*opened->create_file(name));
    ::close(*opened->create_file("99"));
    helping.lose(lease.worker, leases);
    EXPECT_EQ(opened->open_file(name).error().code, Code::kNotFound);
  }
  EXPECT_EQ(folders.size(), 3U);
  for (const std::string& folder : folders) EXPECT_FALSE(fs::exists(folder)) << folder;
  fs::remove_all(used.path());
  fs::remove(named);
}

// Hundreds of workers are dealt without looking ahead.
TEST_F(HelpingTest, ServesManyHomesAsWell) {
  begin(2, 100);
  for (std::uint32_t id = 1; id <= 60; ++id) start(id, id == 7 ? 500 : 100);
  orders();

  std::set<TrialId> helped;
  for (const auto& [worker, trial] : helping->helping()) {
    EXPECT_GE(worker, 60U);
    EXPECT_TRUE(helped.insert(trial).second);
  }
  EXPECT_EQ(helped.size(), 40U);
  EXPECT_TRUE(helped.contains(TrialId{7}));
}

}  // namespace
}  // namespace lanista::engine
