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
#include "lanista/io/data/spec.h"
#include "lanista/engine/core/executor.h"
#include "lanista/engine/remote/leases.h"
#include "lanista/io/store/checkpoints.h"

namespace lanista::engine {

/// What the engine knows about the measurements of a study before they arrive.
struct ReportRules {
  std::vector<std::int64_t> rows = {};    ///< training rows of the one split or of each fold; empty: unknown
  std::vector<std::string> metrics = {};  ///< metrics that every measurement has; empty: unknown
  bool keeps_nothing = false;             ///< the workers keep no weights, as those of a benchmark
};
/// The rules for a study with these metrics (as in the study file) on these data.
ReportRules report_rules(const std::vector<std::string>& metrics, const data::DataSpec& data);

/// Why a message cannot be read, as the errors of ReportCheck say it.
Error unreadable(const Error& error);

/// `text` with every character that is not visible ASCII replaced by '?', and with at most `most` bytes.
std::string visible_text(std::string_view text, std::size_t most);

/// Checks what arrives from worker processes against what the engine knows of their leases.
///
/// A worker is not trusted: its process may be damaged, and its host may be wrong. Every report passes here before it
/// changes any state. A failed check means that the worker is dropped, so an honest worker never fails one, whatever
/// it was sent and however late its reports arrive. Not thread-safe.
///
/// Errors of all checks: kDataLoss; the message continues "the worker was dropped: it ...".
class ReportCheck {
 public:
  /// `fs` and `files` are of the study; both outlive this.
  ReportCheck(ReportRules rules, std::size_t workers, FileSystem& fs, const store::CheckpointStore& files)
      : rules_(std::move(rules)), given_(workers), fs_(&fs), files_(&files) {}

  /// The engine knows this file, and may have removed it since: that it is missing is then no worker's fault. An empty
  /// address is no file.
  void know(const std::string& address);
  /// The worker's present process receives this lease.
  void sent(const Lease& lease) { given_[lease.worker][lease.token] = {lease.job.trial}; }
  /// The worker's process is gone.
  void lost(std::size_t worker) { given_[worker].clear(); }

  /// A report of one trial. `lease`: the trial's lease, or null. Reads the file of weights that the report names.
  Result<void> report(std::size_t worker, std::uint64_t token, const Report& report, const Lease* lease);
  /// The refusal of a lease.
  Result<void> refusal(std::size_t worker, std::uint64_t token, TrialId trial);
  /// The trials that the worker trains from now on.
  Result<void> in_hand(std::size_t worker, const std::vector<TrialId>& trials) const;
  /// A process of the worker's own that it lost, a stage of a pipeline.
  Result<void> place(const WorkerReport& report) const;
  /// The answer to a question about this part of the data.
  static Result<void> answer(const std::map<std::string, double>& metrics, data::Part part);

 private:
  /// A lease that the worker's present process received, and what it reported under it.
  struct Given {
    TrialId trial;
    std::int64_t epochs = 0, step = 0;
    bool has_ended = false;
  };
  Result<Given*> given(std::size_t worker, std::uint64_t token, TrialId trial);
  Result<void> check(Given& given, const EpochReport& epoch, const Lease* lease) const;
  Result<void> check_measured(const study::Measurement& measurement, const Lease& lease) const;
  /// The rest of a measurement: metrics, branches, races.
  Result<void> check_contents(const study::Measurement& measurement, const Job& job) const;
  Result<void> check_saved(const CheckpointReport& saved, const Lease* lease);
  Result<void> check_end(const Given& given, const Report& report, const Lease* lease);
  /// Every named file has an address; one of a present lease (not null) is in the study's folder.
  Result<void> check_file(const std::string& address, const Lease* lease);
  /// Of weights also: the file is the trial's, after as many epochs as it has reported.
  Result<void> check_kept(const std::string& address, const Given& given, const Lease* lease);
  /// Steps through an epoch of the job; 0: unknown.
  std::int64_t steps_through(const Job& job, std::int64_t epoch) const;

  ReportRules rules_;
  std::vector<std::map<std::uint64_t, Given>> given_;  // of each worker's present process, by token
  std::set<Digest> known_;                             // addresses
  FileSystem* fs_;
  const store::CheckpointStore* files_;
};

/// The measurements that a checkpoint carries, as hashes in the order of their epochs. A job with a fork reports the
/// fork's own measurements if the checkpoint is another trial's. Empty: it carries none that can be read.
std::vector<Digest> carried_measurements(const store::Checkpoint& checkpoint, const Job& job);

}  // namespace lanista::engine
