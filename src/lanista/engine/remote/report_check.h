#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "lanista/base/digest.h"
#include "lanista/base/file_system.h"
#include "lanista/base/id.h"
#include "lanista/base/result.h"
#include "lanista/engine/core/executor.h"
#include "lanista/engine/remote/leases.h"
#include "lanista/io/data/spec.h"
#include "lanista/io/store/checkpoints.h"

namespace lanista::engine {

/// What every measurement of a study must have, for checks of reports.
struct ReportRules {
  std::vector<std::int64_t> rows = {};  ///< Number of training rows of the one split, or of each fold; empty: unknown.
  /// Names of metrics that every measurement has in addition to "train_loss", such as "val_loss"; it may have no
  /// others. Empty: unknown.
  std::vector<std::string> metrics = {};
  bool stores_no_weights = false;  ///< True: the workers store no weights, as those of a benchmark.
};
/// The rules for a study with these metrics (names as in its study file) on these data. Without metrics they are the
/// default metrics for the targets.
ReportRules report_rules(const std::vector<std::string>& metrics, const data::DataSpec& data);

/// The error for a message that cannot be read, from the error of its reader, in the form of ReportCheck's errors.
Error unreadable_message(const Error& error);

/// At most `max_bytes` bytes of `text`, in which '?' replaces every character that is not visible ASCII.
std::string visible_text(std::string_view text, std::size_t max_bytes);

/// Checks messages from worker processes against the leases that the engine gave them.
///
/// A worker is not trusted: its process may be damaged, and its host may be wrong. Every report passes here before it
/// changes any state. A failed check means that the worker is dropped. So a correct worker never fails one, in any
/// order of messages and however late its reports arrive. Not thread-safe.
///
/// Errors of all checks: kDataLoss (the message is invalid); the text continues "the worker was dropped: it ...".
class ReportCheck {
 public:
  /// No lease is sent yet. `fs` and `files` are the study's file system and checkpoint store; both outlive this.
  ReportCheck(ReportRules rules, std::size_t workers, FileSystem& fs, const store::CheckpointStore& files)
      : rules_(std::move(rules)), progress_by_token_(workers), fs_(&fs), files_(&files) {}

  /// Adds a file that the engine has or has had. If it is missing later, no worker is blamed. An empty address has no
  /// effect.
  void add_known_file(const std::string& address);
  /// Adds a lease that the present process of its worker receives.
  void on_lease_sent(const Lease& lease) { progress_by_token_[lease.worker][lease.token] = {lease.job.trial}; }
  /// Removes the leases of a worker with a process that has ended.
  void on_worker_lost(std::size_t worker) { progress_by_token_[worker].clear(); }

  /// Checks a report of one trial, and stores its epoch or end as progress under this token. `lease` is the trial's
  /// present lease, or null. A report with an older token is checked less. If a report of the present lease names a
  /// file of weights, the file is read.
  Result<void> on_report(std::size_t worker, std::uint64_t token, const Report& report, const Lease* lease);
  /// Checks the message that the worker cannot start the trial of a lease.
  Result<void> on_refusal(std::size_t worker, std::uint64_t token, TrialId trial);
  /// Checks a list of active trials: the worker has leases of them.
  Result<void> on_active_trials(std::size_t worker, const std::vector<TrialId>& trials) const;
  /// Checks the report that a worker has lost a pipeline stage process of its own.
  Result<void> on_stage_loss(const WorkerReport& report) const;
  /// Checks the metrics that answer a measurement request for this part of the data.
  static Result<void> on_answer(const std::map<std::string, double>& metrics, data::Part part);

 private:
  /// A lease that the worker's present process received, and what it reported under it.
  struct LeaseProgress {
    TrialId trial;
    std::int64_t epochs = 0, step = 0;
    bool has_ended = false;
  };
  Result<LeaseProgress*> find_progress(std::size_t worker, std::uint64_t token, TrialId trial);
  Result<void> check_epoch(LeaseProgress& progress, const EpochReport& epoch, const Lease* lease) const;
  Result<void> check_measurement(const study::Measurement& measurement, const Lease& lease) const;
  /// The rest of a measurement: metrics and branches.
  Result<void> check_contents(const study::Measurement& measurement, const Job& job) const;
  Result<void> check_saved(const CheckpointReport& saved, const Lease* lease);
  Result<void> check_end(const LeaseProgress& progress, const Report& report, const Lease* lease);
  /// Every named file has an address; one of a present lease (not null) is in the study's folder.
  Result<void> check_file(const std::string& address, const Lease* lease);
  /// Checks a file of weights: it also belongs to the trial, after as many epochs as it has reported.
  Result<void> check_weights_file(const std::string& address, const LeaseProgress& progress, const Lease* lease);
  /// Steps through an epoch of the job; 0: unknown.
  std::int64_t steps_through(const Job& job, std::int64_t epoch) const;

  ReportRules rules_;
  std::vector<std::map<std::uint64_t, LeaseProgress>>
      progress_by_token_;         // Leases of each worker's present process, by token.
  std::set<Digest> known_files_;  // Addresses.
  FileSystem* fs_;
  const store::CheckpointStore* files_;
};

/// The measurements that a checkpoint carries, as hashes in the order of their epochs. A job with a fork reports the
/// fork's own measurements if the checkpoint is another trial's. Empty: it carries none that can be read.
std::vector<Digest> stored_measurement_hashes(const store::Checkpoint& checkpoint, const Job& job);

}  // namespace lanista::engine
