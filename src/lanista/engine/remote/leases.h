#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "lanista/base/digest.h"
#include "lanista/engine/core/executor.h"

namespace lanista::engine {

/// A trial that is lent to a worker process: its job, the engine's commands for it, and its progress. Each time that it
/// is sent it gets a new token; messages with an old token are ignored.
struct Lease {
  Job job;                  ///< As the engine gave it.
  std::uint64_t token = 0;  ///< Valid token; 0: none.
  std::size_t worker = 0;   ///< The worker that has it.
  bool is_sent = false;     ///< The worker has received it.

  std::int64_t allowed = 0;       ///< Last epoch that it may train.
  std::optional<Finish> finish;   ///< The engine's command to end it.
  bool is_pausing_trial = false;  ///< The engine's command to pause it.

  /// Hashes of the measurements in the job's checkpoint, which the worker repeats first.
  std::vector<Digest> carried_epochs = {};
  std::int64_t num_reported_epochs = 0;  ///< Epochs that the engine has received.
  std::string checkpoint;                ///< Newest checkpoint; at first the job's.
  std::int64_t saved_step = 0;           ///< Complete steps in the newest checkpoint.
  double saved_at_seconds = 0;           ///< Clock seconds when it was saved, or when the lease was sent.
  int crashes = 0;                       ///< Crashes of a worker while the trial was active, since its last new epoch.
  int losses = 0;         ///< Other losses of a worker while the trial was active, since its last progress.
  std::string session;    ///< Shared-memory path at which helpers meet the worker; empty: no helpers.
  int helper_losses = 0;  ///< Workers that were lost while they helped.
  /// Whether helpers may share its steps. A trial with crashes or repeated losses has none.
  bool accepts_helpers() const {
    return is_sent && job.recipe.shards > 1 && !job.alone && !trains_alone() && helper_losses < kMaxHelperLosses;
  }
  /// Whether its worker trains, ends or pauses it; otherwise it waits.
  bool has_work() const { return num_reported_epochs < allowed || finish || is_pausing_trial; }
  /// Whether it shares no steps with other trials, because workers were lost with it.
  bool trains_alone() const { return crashes > 0 || losses >= kMaxLossesTogether; }

  static constexpr int kMaxHelperLosses = 3;    ///< Limit of helper_losses for new helpers.
  static constexpr int kMaxLossesTogether = 3;  ///< Losses after which it trains alone.
  static constexpr int kMaxLosses = 6;          ///< Losses after which it fails.
};

/// The leases of all trials, and what happens to trials of a lost worker. A fold over messages, without processes or
/// clock. Not thread-safe.
///
/// A worker that crashes by itself, for example in a user's operator, takes its active trials along: the lanes of one
/// step. Each of them resumes from its last checkpoint and trains alone. If the crash repeats, its cause is the one
/// active trial, and that trial fails. A worker that was killed or became silent is weaker evidence, so trials then
/// have more attempts.
class Leases {
 public:
  /// Leases for this number of workers.
  explicit Leases(std::size_t workers) : active_trials_(workers) {}

  /// Lends a trial to the worker with the fewest trials. Excluded workers are avoided unless all are excluded. An
  /// earlier lease of the trial is removed.
  Lease& grant(const Job& job, const std::vector<bool>& excluded_workers = {});
  /// The lease of a trial, or null.
  Lease* find(TrialId trial);
  /// Removes the lease of a trial.
  void end(TrialId trial) { leases_.erase(trial); }
  /// Marks a lease as sent at clock second `now`, and returns its new token.
  std::uint64_t send(Lease& lease, double now);
  /// The job as the worker receives it, with the newest checkpoint.
  static Job job_to_send(const Lease& lease);

  /// Checks a report against the leases and updates them. Returns the report that the engine receives; nullopt: none.
  /// Epochs that the engine already has, and reports with an old token, are dropped. For a trial without a lease only
  /// the names of files are passed on, so that the engine removes the files. A report that ends or pauses a trial ends
  /// its lease. Errors: kInternal (an epoch out of order).
  Result<std::optional<Report>> accept_report(std::size_t worker, std::uint64_t token, Report report, double now);
  /// The worker could not start the trial. Returns true if the trial can start again from an older checkpoint or from
  /// the beginning.
  bool retry_from_older(TrialId trial, std::uint64_t token, const Error& error);
  /// Stores the trials in the steps that the worker computes now.
  void on_active_trials(std::size_t worker, std::vector<TrialId> trials) { active_trials_[worker] = std::move(trials); }

  /// Result of the loss of a worker.
  struct Loss {
    std::vector<TrialId> restarted_trials;  ///< Trials to send again.
    std::vector<FailureReport> failed;      ///< Trials that failed, because they were active in too many losses.
    double seconds = 0;                     ///< Most seconds of work that one trial lost.
    std::map<TrialId, double> costs = {};   ///< Seconds of work lost by each restarted trial that was sent.
  };
  /// Handles the loss of a worker. `own_fault`: it crashed by itself. `reason` becomes part of the failure text.
  Loss mark_lost(std::size_t worker, bool own_fault, const std::string& reason, double now);
  /// Moves the leases of a worker to other workers that are not excluded, if there are any.
  void move_from(std::size_t worker, const std::vector<bool>& excluded_workers);

  /// A trial that moved to another worker.
  struct Reassignment {
    TrialId trial;                    ///< The trial.
    std::optional<std::size_t> from;  ///< The worker that had received it and must drop it.
  };
  /// Moves trials to a worker that started late, if that costs nothing. From excluded workers it moves leases that were
  /// not sent, evenly over the others. From workers with at least two more trials it moves trials without a completed
  /// step.
  std::vector<Reassignment> rebalance_to(std::size_t worker, const std::vector<bool>& excluded_workers);

  /// The trials of a worker.
  std::vector<TrialId> of(std::size_t worker) const;
  /// The number of trials of each worker.
  std::vector<std::int64_t> trials_per_worker() const;
  /// All leases.
  const std::map<TrialId, Lease>& all() const { return leases_; }

 private:
  std::size_t least_loaded(const std::vector<bool>& excluded_workers) const;
  bool is_active(std::size_t worker, TrialId trial) const;

  std::map<TrialId, Lease> leases_;
  std::vector<std::vector<TrialId>> active_trials_;  // Active trials of each worker, by its last message.
  std::uint64_t tokens_ = 0;
};

}  // namespace lanista::engine
