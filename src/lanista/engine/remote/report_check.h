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

/// What the engine knows about the measurements of a study before they arrive.
struct ReportRules {
  std::vector<std::int64_t> rows = {};    ///< Training rows of the one split or of each fold; empty: unknown.
  std::vector<std::string> metrics = {};  ///< Metrics that every measurement has; empty: unknown.
  bool stores_no_weights = false;         ///< The workers keep no weights, as those of a benchmark.
};
/// The rules for a study with these metrics (as in the study file) on these data.
ReportRules report_rules(const std::vector<std::string>& metrics, const data::DataSpec& data);

/// Why a message cannot be read, in the form of ReportCheck's errors.
Error unreadable_message(const Error& error);

/// `text` with every character that is not visible ASCII replaced by '?', and with at most `max_bytes` bytes.
std::string visible_text(std::string_view text, std::size_t max_bytes);

/// Checks what arrives from worker processes against what the engine knows of their leases.
///
/// A worker is not trusted: its process may be damaged, and its host may be wrong. Every report passes here before it
/// changes any state. A failed check means that the worker is dropped, so an honest worker never fails one, whatever it
/// was sent and however late its reports arrive. Not thread-safe.
///
/// Errors of all checks: kDataLoss; the message continues "the worker was dropped: it ...".
class ReportCheck {
 public:
  /// `fs` and `files` are of the study; both outlive this.
  ReportCheck(ReportRules rules, std::size_t workers, FileSystem& fs, const store::CheckpointStore& files)
      : rules_(std::move(rules)), progress_by_token_(workers), fs_(&fs), files_(&files) {}

  /// The engine knows this file, and may have removed it since: that it is missing is then no worker's fault. An empty
  /// address is no file.
  void add_known_file(const std::string& address);
  /// The worker's present process receives this lease.
  void on_lease_sent(const Lease& lease) { progress_by_token_[lease.worker][lease.token] = {lease.job.trial}; }
  /// The worker's process is gone.
  void on_worker_lost(std::size_t worker) { progress_by_token_[worker].clear(); }

  /// A report of one trial. `lease`: the trial's lease, or null. Reads the file of weights that the report names.
  Result<void> on_report(std::size_t worker, std::uint64_t token, const Report& report, const Lease* lease);
  /// The refusal of a lease.
  Result<void> on_refusal(std::size_t worker, std::uint64_t token, TrialId trial);
  /// The trials that the worker trains from now on.
  Result<void> on_active_trials(std::size_t worker, const std::vector<TrialId>& trials) const;
  /// A process of the worker's own that it lost, a stage of a pipeline.
  Result<void> on_stage_loss(const WorkerReport& report) const;
  /// The answer to a question about this part of the data.
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
  /// The rest of a measurement: metrics, branches, races.
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
