#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "lanista/base/clock.h"
#include "lanista/base/file_system.h"
#include "lanista/base/frame.h"
#include "lanista/base/result.h"
#include "lanista/search/study/trial.h"

namespace lanista::store {

/// Types of log records. The numbers are on disk and never change.
enum class RecordType : std::uint16_t {
  kHeader = 1,       ///< Schema version, resolved configuration, data spec.
  kNumerics = 2,     ///< ISA, library builds, class table, threads.
  kProposed = 3,     ///< A proposal with its trial number.
  kMeasurement = 4,  ///< The metrics of a trial after an epoch.
  kVerdict = 5,      ///< A verdict of the strategy other than "continue".
  kOutcome = 6,      ///< The outcome of a trial.
  kCheckpoint = 7,   ///< A running trial stored its state in the checkpoint store.
  kAttempt = 8,      ///< A process began to work on a study or a trial; also crash marks and sync marks.
  kControl = 9,      ///< A control request that took effect: pause, stop, extend, stop one trial.
  kStudyEnd = 10,    ///< Why the study ended, the winner, its test metrics.
  kPlan = 11,        ///< A plan of trials and devices, or a change of it.
  kSpan = 12,        ///< The time that a worker spent on a trial without a break.
  kCostRows = 13,    ///< Measured costs of kernel calls on a machine.
  kGroup = 14,       ///< A suggestion of a strategy with more than one trial.
  kPaused = 15,      ///< A trial gave its slot back; its state is in the checkpoint store.
  kResumed = 16,     ///< A paused trial got a slot.
  kWorker = 17,      ///< A worker process started or ended.
  kLast = kWorker,   ///< The largest number that a record may have.
};

/// Schema versions of a log, by the feature that needs them. A header has the oldest version that can express the log,
/// so that older builds can read it.
///
/// - 2 is for studies with trials of an earlier study, which older builds would resume without them.
/// - 3 is for plans that are logged as changes (several slots).
/// - 4 is for trials that fork from each other, which older builds would resume from the wrong states.
/// - 5 is for pruning rules and for start races. Older builds do not know their outcomes and orders.
/// - 6 is for studies of later rules (study::kLatestRules). Older builds would read their data and ranges differently.
inline constexpr std::int64_t kRulesSchema = 6, kImpliedSchema = 5, kForkSchema = 4, kPlansSchema = 3,
                              kEarlierSchema = 2, kPlainSchema = 1;
/// The newest schema version that this build reads.
inline constexpr std::int64_t kSchemaVersion = 6;

/// One record of a log. Real numbers in it read back with the same bits.
struct Record {
  RecordType type;      ///< its type
  nlohmann::json body;  ///< its fields
};

/// A check that a later reader of the log will accept a body. It returns an error if not.
using BodyCheck = std::function<Result<void>(RecordType, const nlohmann::json&)>;

/// Writes the append-only log of a study: `log/000001.log`, frames of JSON. One writer at a time holds `log/lock`,
/// until it is destroyed. Bytes that were synced are never cut: see sync_mark.h. Not thread-safe.
class LogWriter {
 public:
  /// Opens the log of the study in `study_folder` for writing and reads its records. It creates a missing log. It cuts
  /// unfinished bytes at the end that a crash left. `fs` and `clock` must outlive the writer. Errors: kUnavailable
  /// (another process holds the lock), kDataLoss (damage in synced bytes), kFailedPrecondition (written by a newer
  /// version), kIo, kResourceExhausted.
  static Result<LogWriter> open(FileSystem& fs, const Clock& clock, const std::string& study_folder);
  LogWriter(LogWriter&&) noexcept;
  LogWriter& operator=(LogWriter&&) noexcept;
  ~LogWriter();

  const std::vector<Record>& existing() const;  ///< records that open() read, until release_existing()
  std::uint64_t cut_bytes() const;              ///< number of bytes that open() cut
  void release_existing();                      ///< frees the records of existing()
  /// Sets a check that every later body must pass; append() returns kInternal for others.
  void set_body_check(BodyCheck check);
  /// Writes a record to the file at once, so that a killed process does not lose it. sync() protects it from a power
  /// loss. An append at least one second after the last sync calls sync() itself.
  ///
  /// After a failed write or sync every later call returns that error, since the end of the file is unknown until it is
  /// opened again. The first record must be the header, an object, which is synced; it gets "marks", and "schema" 1 if
  /// it has none. Invalid UTF-8 is replaced. Errors: kInvalidArgument (above 64 MiB, more than 500,000 JSON values,
  /// more than 64 levels, or a number that is not finite), kInternal (the check refuses the body; nothing is written),
  /// kFailedPrecondition (no header yet), kIo, kResourceExhausted.
  Result<void> append(RecordType type, const nlohmann::json& body);
  /// Adds a record, but not the header, to a buffer in memory. The next append() or sync() writes it. A process that is
  /// killed before, or destroys the writer, loses it. Errors: those of append().
  Result<void> append_deferred(RecordType type, const nlohmann::json& body);
  /// Writes buffered records and syncs the file, so that all records survive a power loss, and then writes a sync mark.
  /// Does nothing if all is synced. Errors: kIo, kResourceExhausted; after a failed write or sync, that error again.
  Result<void> sync();

 private:
  struct Impl;
  explicit LogWriter(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

/// All whole records of the log in `study_folder`, in order, up to a torn tail. It needs no lock, so a writer may run.
/// Errors: kNotFound (no log), kDataLoss (damage before the tail), kFailedPrecondition (a newer schema version), kIo.
Result<std::vector<Record>> read_log(FileSystem& fs, const std::string& study_folder);

/// Reads a log while it grows, without the lock. It reads every whole record once. Not thread-safe.
class LogFollower {
 public:
  /// A reader of the log of the study in `study_folder`, which need not exist yet. `fs` must outlive it.
  LogFollower(FileSystem& fs, const std::string& study_folder);

  /// The whole records after those of the last call, in order; empty: none. A torn tail is read again in the next call.
  /// Errors: kNotFound (no log), kDataLoss (also a log that is shorter than what was read), kFailedPrecondition, kIo.
  Result<std::vector<Record>> read_new_records();

 private:
  std::shared_ptr<FileSystem> fs_;
  std::string path_;
  std::uint64_t bytes_ = 0;
  std::size_t frames_ = 0;
  bool has_marks_ = false;
};

/// The canonical export of the records of a log: one JSON object in each line. It is equal for equal studies, also if
/// some were interrupted.
///
/// It has these records: header, numerics, proposed, group, measurement, verdict, paused, resumed, outcome, study end.
/// An object has "record" with this name, and the record's fields without clock and host: no "time", "seconds",
/// "wall_seconds", "host", "pid", "workers". Of the header it has "schema", "data", "earlier" and "config", in which
/// the engine writes what identifies a study. Of numerics it has "class", without repetitions. Of paused it has
/// "trial", "epoch", "logical_time" and "weights_hash". A study end before further records (the study was extended) is
/// left out.
std::string canonical_export(const std::vector<Record>& records);

}  // namespace lanista::store
