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
/// is sent to a worker it gets a new token; messages with an old token are ignored.
struct Lease {
  Job job;  ///< The job, as the engine gave it.
  /// Token of the last send, valid only if `is_sent`; 0: never sent, or its worker was lost or changed.
  std::uint64_t token = 0;
  std::size_t worker = 0;  ///< Index of the worker that has it.
  bool is_sent = false;    ///< True: it was sent to the worker's present process.

  std::int64_t allowed = 0;       ///< Last epoch that it may train; 0: none.
  std::optional<Finish> finish;   ///< The engine's command to end it; absent: none.
  bool is_pausing_trial = false;  ///< True: the engine's command to pause it was received.

  /// Hashes of the measurements in the job's checkpoint, from epoch 1 on, which the worker repeats first.
  std::vector<Digest> carried_epochs = {};
  std::int64_t num_reported_epochs = 0;  ///< Number of epochs that the engine has received.
  std::string checkpoint;                ///< Address of the newest checkpoint, at first the job's; empty: none.
  std::int64_t saved_step = 0;           ///< Number of complete steps in the newest checkpoint.
  double saved_at_seconds = 0;           ///< Clock seconds when it was saved, or when the lease was sent.
  int crashes = 0;        ///< Number of crashes of a worker while the trial was active, since its last new epoch.
  int losses = 0;         ///< Number of other losses of a worker while the trial was active, since its last progress.
  std::string session;    ///< AcceptHelpers::session; empty: no helpers.
  int helper_losses = 0;  ///< Number of workers that were lost while they helped it, since its last new epoch.
  /// True if helpers may share its steps: it is at a worker, its recipe has several shards, and it does not train
  /// alone. False also after kMaxHelperLosses lost helpers.
  bool accepts_helpers() const {
    return is_sent && job.recipe.shards > 1 && !job.alone && !trains_alone() && helper_losses < kMaxHelperLosses;
  }
  /// True if its worker has to train, end or pause it; false: it waits for the engine.
  bool has_work() const { return num_reported_epochs < allowed || finish || is_pausing_trial; }
  /// True if it shares no steps with other trials, because workers were lost with it.
  bool trains_alone() const { return crashes > 0 || losses >= kMaxLossesTogether; }

  static constexpr int kMaxHelperLosses = 3;    ///< Value of helper_losses from which it gets no helpers.
  static constexpr int kMaxLossesTogether = 3;  ///< Value of losses from which it trains alone.
  static constexpr int kMaxLosses = 6;          ///< Value of losses at which it fails, if it was the only active trial.
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
  /// No trial is lent yet; workers have the indices 0 to `workers` - 1.
  explicit Leases(std::size_t workers) : active_trials_(workers) {}

  /// Assigns a trial to the worker with the fewest trials, and replaces an earlier lease of the trial. Workers for
  /// which `excluded_workers` is true are avoided, unless all are excluded. The lease is not sent yet. The reference is
  /// valid until the lease ends.
  Lease& grant(const Job& job, const std::vector<bool>& excluded_workers = {});
  /// The lease of a trial, or null. The pointer is valid until the lease ends.
  Lease* find(TrialId trial);
  /// Removes the lease of a trial. Without one it has no effect.
  void end(TrialId trial) { leases_.erase(trial); }
  /// Marks a lease as sent at `now` (clock seconds), and returns its new token. The caller sends the message.
  std::uint64_t send(Lease& lease, double now);
  /// The job as the worker receives it: with the newest checkpoint, and alone if workers were lost with it.
  static Job job_to_send(const Lease& lease);

  /// Checks a report against the leases and updates them. Returns the report that the engine receives; nullopt: none.
  /// Epochs that the engine already has, reports with an old token and reports of no trial are dropped. A span gets the
  /// index of the worker.
  ///
  /// For a trial without a lease only the address of a file is passed on, as a CheckpointReport, so that the engine
  /// removes the file. A report that ends or pauses a trial ends its lease. `now` is in clock seconds. Errors:
  /// kInternal (an epoch out of order).
  Result<std::optional<Report>> accept_report(std::size_t worker, std::uint64_t token, Report report, double now);
  /// Handles that the worker could not start a trial because of `error`. If the error is kDataLoss or kNotFound and the
  /// lease has a checkpoint, the trial can start again, from the job's checkpoint or else from the beginning. Then the
  /// lease is unsent, and the result is true. False: the error stands, or the token is old; accept_report() drops a
  /// FailureReport with an old token.
  bool retry_from_older(TrialId trial, std::uint64_t token, const Error& error);
  /// Stores the active trials of a worker: those in the steps that it computes now.
  void on_active_trials(std::size_t worker, std::vector<TrialId> trials) { active_trials_[worker] = std::move(trials); }

  /// What the loss of a worker means for its trials.
  struct Loss {
    std::vector<TrialId> restarted_trials;  ///< Trials to send again, by id.
    /// Trials that failed, because they were active in too many losses; their leases are removed.
    std::vector<FailureReport> failed;
    double seconds = 0;  ///< Largest loss of one trial: seconds since its last checkpoint.
    /// Seconds since the last checkpoint of each restarted trial that the worker had received.
    std::map<TrialId, double> costs = {};
  };
  /// Handles the loss of a worker at `now` (clock seconds). `own_fault`: true if it crashed by itself. `reason` becomes
  /// part of the failure texts. The leases stay with this worker until move_from().
  Loss mark_lost(std::size_t worker, bool own_fault, const std::string& reason, double now);
  /// Moves the leases of a worker to the other workers that are not excluded, the least loaded first. If all others are
  /// excluded, they stay.
  void move_from(std::size_t worker, const std::vector<bool>& excluded_workers);

  /// A trial that rebalance_to() moved to the new worker.
  struct Reassignment {
    TrialId trial;  ///< The trial.
    /// Index of the worker that had received it and must drop it; absent: it was not sent.
    std::optional<std::size_t> from;
  };
  /// Moves trials to a worker that started late, if that loses no work, and returns them. From excluded workers it
  /// moves leases that were not sent, evenly over the others, and returns those for this worker. From workers with at
  /// least two more trials it moves trials that have no epoch, no checkpoint and no active step.
  std::vector<Reassignment> rebalance_to(std::size_t worker, const std::vector<bool>& excluded_workers);

  /// The trials of a worker, by id.
  std::vector<TrialId> of(std::size_t worker) const;
  /// The number of trials of each worker, by its index.
  std::vector<std::int64_t> trials_per_worker() const;
  /// All leases by trial.
  const std::map<TrialId, Lease>& all() const { return leases_; }

 private:
  std::size_t least_loaded(const std::vector<bool>& excluded_workers) const;
  bool is_active(std::size_t worker, TrialId trial) const;

  std::map<TrialId, Lease> leases_;
  std::vector<std::vector<TrialId>> active_trials_;  // Active trials of each worker, by its last message.
  std::uint64_t tokens_ = 0;
};

}  // namespace lanista::engine
