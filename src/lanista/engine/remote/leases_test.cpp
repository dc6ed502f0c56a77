#include "lanista/engine/remote/leases.h"

#include <gtest/gtest.h>

#include <map>
#include <set>
#include <string>
#include <vector>

#include "lanista/base/rng.h"

namespace lanista::engine {
namespace {

Job job(std::uint32_t id, const std::string& checkpoint = "") {
  Job job;
  job.trial = TrialId{id};
  job.checkpoint = checkpoint;
  return job;
}

Report epoch(std::uint32_t id, std::int64_t number) { return EpochReport{{TrialId{id}, number, 10 * number, {}}}; }

/// Whether it is passed on.
bool accepts(Leases& leases, std::size_t worker, std::uint64_t token, const Report& report) {
  const auto accepted = leases.accept_report(worker, token, report, 0);
  return accepted && accepted->has_value();
}

TEST(Leases, AreSpreadOverWorkersEvenly) {
  Leases leases(3);
  for (std::uint32_t id = 1; id <= 7; ++id) leases.grant(job(id));

  EXPECT_EQ(leases.trials_per_worker(), (std::vector<std::int64_t>{3, 2, 2}));
  leases.end(TrialId{2});
  EXPECT_EQ(leases.grant(job(8)).worker, 1U);
}

TEST(Leases, IgnoresReportsWithOtherTokens) {
  Leases leases(2);
  Lease& lease = leases.grant(job(1));
  const std::uint64_t lost = leases.send(lease, 0);
  ASSERT_TRUE(accepts(leases, 0, lost, epoch(1, 1)));
  leases.mark_lost(0, false, "was killed", 1);
  EXPECT_FALSE(accepts(leases, 0, lost, epoch(1, 2))) << "no worker has it";
  const std::uint64_t token = leases.send(*leases.find(TrialId{1}), 2);

  EXPECT_FALSE(accepts(leases, 0, lost, epoch(1, 2)));
  EXPECT_FALSE(accepts(leases, 0, lost, FailureReport{TrialId{1}, 2, "late"}));
  EXPECT_FALSE(accepts(leases, 0, lost, FinishedReport{TrialId{1}, {}, "abc"}));
  EXPECT_FALSE(accepts(leases, 1, token, epoch(1, 2))) << "of another worker";
  EXPECT_FALSE(accepts(leases, 0, token, epoch(1, 1))) << "reported before";

  EXPECT_TRUE(accepts(leases, 0, token, epoch(1, 2)));
  EXPECT_TRUE(accepts(leases, 0, token, FinishedReport{TrialId{1}, {}, "abc"}));
  EXPECT_EQ(leases.find(TrialId{1}), nullptr);
}

TEST(Leases, ReportsFilesOfAbandonedTrials) {
  Leases leases(1);
  const std::uint64_t token = leases.send(leases.grant(job(1)), 0);
  leases.end(TrialId{1});

  const auto late = leases.accept_report(0, token, FinishedReport{TrialId{1}, {}, "abc"}, 0);

  ASSERT_TRUE(late && *late);
  const auto* file = std::get_if<CheckpointReport>(&**late);
  ASSERT_NE(file, nullptr);
  EXPECT_EQ(file->address, "abc");
  EXPECT_FALSE(accepts(leases, 0, token, epoch(1, 1)));
}

TEST(Leases, RefusesUnexpectedEpoch) {
  Leases leases(1);
  const std::uint64_t token = leases.send(leases.grant(job(1)), 0);

  const auto accepted = leases.accept_report(0, token, epoch(1, 2), 0);

  ASSERT_FALSE(accepted);
  EXPECT_EQ(accepted.error().code, Code::kInternal);
}

TEST(Leases, ResumesFromLastThenOlderCheckpoints) {
  Leases leases(1);
  Lease& lease = leases.grant(job(1, "first"));
  std::uint64_t token = leases.send(lease, 5);
  EXPECT_EQ(Leases::job_to_send(lease).checkpoint, "first");
  ASSERT_TRUE(accepts(leases, 0, token, CheckpointReport{TrialId{1}, 0, 3, "second"}));

  const Leases::Loss loss = leases.mark_lost(0, false, "was killed", 7);

  EXPECT_EQ(loss.restarted_trials, std::vector<TrialId>{TrialId{1}});
  EXPECT_EQ(loss.seconds, 7) << "it was safe at 0, when it was saved";
  EXPECT_EQ(loss.costs, (std::map<TrialId, double>{{TrialId{1}, 7.0}}));
  EXPECT_EQ(Leases::job_to_send(lease).checkpoint, "second");
  const Error lost{Code::kNotFound, "", ""}, full{Code::kResourceExhausted, "", ""};
  token = leases.send(lease, 0);
  EXPECT_FALSE(leases.retry_from_older(TrialId{1}, token, full));
  EXPECT_FALSE(leases.retry_from_older(TrialId{1}, token + 1, lost));
  EXPECT_TRUE(leases.retry_from_older(TrialId{1}, token, lost));
  EXPECT_EQ(Leases::job_to_send(lease).checkpoint, "first");
  token = leases.send(lease, 0);
  EXPECT_TRUE(leases.retry_from_older(TrialId{1}, token, lost));
  EXPECT_EQ(Leases::job_to_send(lease).checkpoint, "");
  token = leases.send(lease, 0);
  EXPECT_FALSE(leases.retry_from_older(TrialId{1}, token, lost)) << "there is nothing older than the beginning";
}

TEST(Leases, ReportsLostSecondsPerTrial) {
  Leases leases(1);
  leases.send(leases.grant(job(1)), 2);
  const std::uint64_t token = leases.send(leases.grant(job(2)), 3);
  leases.grant(job(3));
  ASSERT_TRUE(accepts(leases, 0, token, CheckpointReport{TrialId{2}, 0, 3, "saved"}));

  const Leases::Loss loss = leases.mark_lost(0, false, "was killed", 10);

  EXPECT_EQ(loss.restarted_trials.size(), 3U);
  EXPECT_EQ(loss.costs, (std::map<TrialId, double>{{TrialId{1}, 8.0}, {TrialId{2}, 10.0}}))
      << "no worker had received trial 3, and the reports arrive at time 0";
  EXPECT_EQ(loss.seconds, 10);
}

// The cause is known when a trial crashes a process a second time, alone; the other trials continue.
TEST(Leases, FailsOnlyCrashingTrial) {
  Leases leases(1);
  for (const std::uint32_t id : {1U, 2U, 3U}) leases.send(leases.grant(job(id)), 0);
  leases.on_active_trials(0, {TrialId{1}, TrialId{2}});
  Leases::Loss loss = leases.mark_lost(0, true, "was killed by signal 11 (Segmentation fault)", 0);
  EXPECT_TRUE(loss.failed.empty());
  EXPECT_EQ(loss.restarted_trials.size(), 3U);
  EXPECT_TRUE(Leases::job_to_send(*leases.find(TrialId{1})).alone);
  EXPECT_TRUE(Leases::job_to_send(*leases.find(TrialId{2})).alone);
  EXPECT_FALSE(Leases::job_to_send(*leases.find(TrialId{3})).alone) << "it was not active";

  for (const std::uint32_t id : {1U, 2U, 3U}) leases.send(*leases.find(TrialId{id}), 0);
  leases.on_active_trials(0, {TrialId{2}});
  loss = leases.mark_lost(0, true, "was killed by signal 11 (Segmentation fault)", 0);

  ASSERT_EQ(loss.failed.size(), 1U);
  EXPECT_EQ(loss.failed.front().trial, TrialId{2});
  EXPECT_NE(loss.failed.front().reason.find("signal 11 (Segmentation fault)"), std::string::npos);
  EXPECT_EQ(loss.restarted_trials, (std::vector<TrialId>{TrialId{1}, TrialId{3}}));
  EXPECT_EQ(loss.costs, (std::map<TrialId, double>{{TrialId{1}, 0.0}, {TrialId{3}, 0.0}})) << "trial 2 has ended";
  const std::uint64_t token = leases.send(*leases.find(TrialId{1}), 0);
  ASSERT_TRUE(accepts(leases, 0, token, epoch(1, 1)));
  EXPECT_FALSE(Leases::job_to_send(*leases.find(TrialId{1})).alone) << "it came through";
}

TEST(Leases, ToleratesSingleAndSharedCrashes) {
  Leases leases(1);
  for (const std::uint32_t id : {1U, 2U}) leases.send(leases.grant(job(id)), 0);
  leases.on_active_trials(0, {TrialId{1}});
  EXPECT_TRUE(leases.mark_lost(0, true, "was killed", 0).failed.empty()) << "the first time";
  for (const std::uint32_t id : {1U, 2U}) leases.send(*leases.find(TrialId{id}), 0);
  leases.on_active_trials(0, {TrialId{1}, TrialId{2}});
  EXPECT_TRUE(leases.mark_lost(0, true, "was killed", 0).failed.empty()) << "the other one may be to blame";
}

// A kill from outside (by a user, or by the system for lack of memory) is weak evidence against a trial. Only a trial
// without any progress, alone, fails.
TEST(Leases, FailsTrialWithoutProgressBetweenKills) {
  Leases leases(1);
  leases.grant(job(1));
  const auto fail_worker = [&] {
    leases.send(*leases.find(TrialId{1}), 0);
    leases.on_active_trials(0, {TrialId{1}});
    return leases.mark_lost(0, false, "was killed by signal 9 (Killed)", 0);
  };
  for (int i = 1; i < Lease::kMaxLosses; ++i) {
    EXPECT_EQ(Leases::job_to_send(*leases.find(TrialId{1})).alone, i > Lease::kMaxLossesTogether);
    ASSERT_TRUE(fail_worker().failed.empty()) << i;
  }
  const std::uint64_t token = leases.send(*leases.find(TrialId{1}), 0);
  ASSERT_TRUE(accepts(leases, 0, token, CheckpointReport{TrialId{1}, 0, 1, "further"}));
  for (int i = 1; i < Lease::kMaxLosses; ++i) ASSERT_TRUE(fail_worker().failed.empty()) << i;

  const Leases::Loss last = fail_worker();

  ASSERT_EQ(last.failed.size(), 1U);
  EXPECT_TRUE(last.restarted_trials.empty());
  EXPECT_EQ(leases.find(TrialId{1}), nullptr);
}

TEST(Leases, MovesToReadyWorkers) {
  Leases leases(3);
  for (std::uint32_t id = 1; id <= 6; ++id) leases.grant(job(id));
  leases.mark_lost(0, false, "was killed", 0);

  leases.move_from(0, {false, true, false});
  EXPECT_EQ(leases.trials_per_worker(), (std::vector<std::int64_t>{0, 2, 4}));
  leases.mark_lost(2, false, "was killed", 0);
  leases.move_from(2, {true, true, true});
  EXPECT_EQ(leases.trials_per_worker(), (std::vector<std::int64_t>{0, 2, 4})) << "no worker is ready, so they wait";
}

// With random reports and losses of workers, the engine receives every epoch of a trial once and in order, and its end
// once. A plain list is the oracle.
TEST(Leases, ReportsEveryEpochOnce) {
  const Rng root(11);
  for (std::uint64_t number = 0; number < 300; ++number) {
    Rng rng = root.split(number);
    Leases leases(2);
    std::map<std::uint32_t, std::int64_t> accepted;  // epochs of each trial
    std::set<std::uint32_t> ended;
    struct ReportCase {
      std::size_t worker;
      std::uint64_t token;
      std::uint32_t trial;
      std::int64_t at;  // epochs that it reported
    };
    std::vector<ReportCase> cases;  // of every lease that ever was
    const auto send_trial = [&](std::uint32_t id) {
      Lease& lease = *leases.find(TrialId{id});
      const std::uint64_t token = leases.send(lease, 0);
      cases.push_back({lease.worker, token, id,
                       static_cast<std::int64_t>(rng.below(1 + static_cast<std::uint64_t>(accepted[id])))});
    };
    for (std::uint32_t id = 1; id <= 4; ++id) leases.grant(job(id)), send_trial(id);
    for (int turn = 0; turn < 120; ++turn) {
      if (rng.below(12) == 0) {
        const std::size_t worker = rng.below(2);
        for (const TrialId id : leases.mark_lost(worker, false, "was killed", 0).restarted_trials) send_trial(id.value);
        continue;
      }
      ReportCase& report_case = cases[rng.below(cases.size())];
      const bool is_valid = !ended.contains(report_case.trial) && leases.find(TrialId{report_case.trial}) != nullptr &&
                            leases.find(TrialId{report_case.trial})->token == report_case.token;
      const bool ends = rng.below(20) == 0;
      const Report report = ends ? Report(FinishedReport{TrialId{report_case.trial}, {}, ""})
                                 : epoch(report_case.trial, ++report_case.at);
      const auto num_reported_epochs = leases.accept_report(report_case.worker, report_case.token, report, 0);
      const bool is_new = is_valid && (ends || report_case.at == accepted[report_case.trial] + 1);
      ASSERT_TRUE(num_reported_epochs) << num_reported_epochs.error().text();
      ASSERT_EQ(num_reported_epochs->has_value(), is_new) << number << " " << turn;
      if (!is_new) continue;
      if (ends) ended.insert(report_case.trial);
      if (!ends) accepted[report_case.trial] = report_case.at;
    }
  }
}

}  // namespace
}  // namespace lanista::engine
