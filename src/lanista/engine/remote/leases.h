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

/// A trial that is lent to a worker process: what the engine asked of it, and how far it is. What is lent again gets a
/// new token, and what is said under the old one is void.
struct Lease {
  Job job;  ///< as the engine gave it
  std::uint64_t token = 0;
  std::size_t worker = 0;
  bool is_sent = false;  ///< the worker knows of it

  std::int64_t allowed = 0;
  std::optional<Finish> finish;
  bool is_pausing_trial = false;

  std::vector<Digest> carried_epochs = {};  ///< hashes of the measurements in the job's checkpoint, which are repeated first
  std::int64_t num_reported_epochs = 0;        ///< epochs that the engine has heard of
  std::string checkpoint;       ///< newest; at first the job's
  std::int64_t saved_step = 0;  ///< of that
  double saved_at_seconds = 0;           ///< clock seconds: when it was saved, or sent
  int crashes = 0;              ///< of a worker that had it in hand, since its last new epoch
  int losses = 0;               ///< of a worker otherwise, since it last came further
  std::string session;    ///< where helpers meet the worker, in shared memory; empty: none have been sent for
  int helper_losses = 0;  ///< workers that were lost while they helped
  /// May others share its steps? Only of one that has been no trouble.
  bool accepts_helpers() const {
    return is_sent && job.recipe.shards > 1 && !job.alone && !trains_alone() && helper_losses < kMaxHelperLosses;
  }
  /// Does its worker train it, or wait?
  bool has_work() const { return num_reported_epochs < allowed || finish || is_pausing_trial; }
  bool trains_alone() const { return crashes > 0 || losses >= kMaxLossesTogether; }

  static constexpr int kMaxHelperLosses = 3;    ///< then nobody helps it any more
  static constexpr int kMaxLossesTogether = 3;  ///< then it is tried alone
  static constexpr int kMaxLosses = 6;          ///< then it is given up
};

/// Which worker has which trial, and what becomes of trials whose worker is lost. No process and no clock in here: a
/// fold over what is told.
///
/// A worker that dies of its own doing (a wild pointer in a user's operator, say) takes the trials along that it had in
/// hand, the lanes of one step. Each of them goes on from its last checkpoint, alone in its steps; which of them is the
/// culprit shows when it happens again. So a trial that crashes costs itself, and its neighbours some time. A worker
/// that was killed or fell silent says less about its trials, so they have more tries.
class Leases {
 public:
  explicit Leases(std::size_t workers) : active_trials_(workers) {}

  /// Lends a trial to the worker that has the fewest, of those that are not kept away, or of all where all are; what
  /// was known of it is forgotten.
  Lease& grant(const Job& job, const std::vector<bool>& excluded_workers = {});
  Lease* find(TrialId trial);
  void end(TrialId trial) { leases_.erase(trial); }
  /// A new token, for the worker that is told now.
  std::uint64_t send(Lease& lease, double now);
  /// The job as a worker has to be told it.
  static Job job_to_send(const Lease& lease);

  /// Whether the engine is to hear this. EpochSchedule that it knows are none; a report under another token is none either,
  /// save that of a trial that nobody trains any more the files are told, so that the engine clears them away.
  /// Ends the lease with the trial. Error: kInternal (an epoch that is not due).
  Result<std::optional<Report>> accept_report(std::size_t worker, std::uint64_t token, Report report, double now);
  /// The worker could not start it. True: it goes on from an older checkpoint, or anew.
  bool retry_from_older(TrialId trial, std::uint64_t token, const Error& error);
  void on_active_trials(std::size_t worker, std::vector<TrialId> trials) { active_trials_[worker] = std::move(trials); }

  struct Loss {
    std::vector<TrialId> restarted_trials;         ///< are to be sent anew, to whom it may be
    std::vector<FailureReport> failed;  ///< have cost a worker too often
    double seconds = 0;                 ///< of work, that is lost at most with one of them
    std::map<TrialId, double> costs = {};  ///< that, of each that the worker had heard of and that goes on
  };
  /// The worker is gone. `reason` goes into the failure of whoever is to blame.
  Loss mark_lost(std::size_t worker, bool own_fault, const std::string& reason, double now);
  /// Gives them to other workers, those apart that `excluded_workers` says.
  void move_from(std::size_t worker, const std::vector<bool>& excluded_workers);

  struct Reassignment {
    TrialId trial;
    std::optional<std::size_t> from;  ///< who had heard of it, and is to forget it
  };
  /// The worker has come late, and takes over what costs nothing to move: of workers who are kept away, so that each of
  /// the others has as many, what they have not heard of; of whoever has two more, trials of which no step is done.
  std::vector<Reassignment> rebalance_to(std::size_t worker, const std::vector<bool>& excluded_workers);

  std::vector<TrialId> of(std::size_t worker) const;
  std::vector<std::int64_t> trials_per_worker() const;  ///< trials of each worker
  const std::map<TrialId, Lease>& all() const { return leases_; }

 private:
  std::size_t least_loaded(const std::vector<bool>& excluded_workers) const;
  bool is_active(std::size_t worker, TrialId trial) const;

  std::map<TrialId, Lease> leases_;
  std::vector<std::vector<TrialId>> active_trials_;  // of each worker, as it last said
  std::uint64_t tokens_ = 0;
};

}  // namespace lanista::engine
