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

/// Types of records. The numbers are stable on disk.
enum class RecordType : std::uint16_t {
  kHeader = 1,       ///< Schema version, resolved configuration, data spec.
  kNumerics = 2,     ///< ISA, library builds, class table, threads.
  kProposed = 3,     ///< A proposal with its trial number.
  kMeasurement = 4,  ///< The metrics of a trial after an epoch.
  kVerdict = 5,      ///< A verdict other than "continue".
  kOutcome = 6,      ///< How a trial ended.
  kCheckpoint = 7,   ///< A checkpoint of a running trial.
  kAttempt = 8,      ///< A process began to work on a study or a trial; crash marks.
  kControl = 9,      ///< A control request that took effect: pause, stop, extend, stop one trial.
  kStudyEnd = 10,    ///< Why the study ended, the winner, its test metrics.
  kPlan = 11,        ///< A plan, or its change.
  kSpan = 12,        ///< A span of a worker.
  kCostRows = 13,    ///< Measured costs of kernel calls on a machine.
  kGroup = 14,       ///< A suggestion of a strategy with more than one trial.
  kPaused = 15,      ///< A trial gave its slot back; its state is in the checkpoint store.
  kResumed = 16,     ///< A paused trial got a slot.
  kWorker = 17,      ///< A worker process started or ended.
  kLast = kWorker,   ///< The largest number.
};

/// Versions of the layout of records. A log has the oldest version that can express it, so that old builds read what
/// they can.
///
/// - 2 is for studies with trials of an earlier study, which older builds would resume without them.
/// - 3 is for plans that are logged as changes (several slots).
/// - 4 is for trials that fork from each other, which older builds would resume from the wrong states.
/// - 5 is for pruning rules and for start races. Older builds do not know their outcomes and orders.
inline constexpr std::int64_t kImpliedSchema = 5, kRaceSchema = 5, kForkSchema = 4, kPlansSchema = 3,
                              kEarlierSchema = 2, kPlainSchema = 1;
/// The newest version that this build reads.
inline constexpr std::int64_t kSchemaVersion = 5;

/// One record of a log. Doubles read back as the same number.
struct Record {
  RecordType type;      ///< what it is
  nlohmann::json body;  ///< its fields
};

/// Checks that a later reader of the log accepts a body.
using BodyCheck = std::function<Result<void>(RecordType, const nlohmann::json&)>;

/// The append-only log of a study: `log/000001.log`, frames of JSON. One writer holds `log/lock`. Synced bytes are
/// never cut: see sync_mark.h.
class LogWriter {
 public:
  /// Opens the log of a folder for writing and reads its records. It creates a missing log, and cuts bytes that a crash
  /// left and that were not synced. Errors: kUnavailable (another process holds the lock), kDataLoss (damage in synced
  /// bytes), kFailedPrecondition (written by a newer version), kIo, kResourceExhausted.
  static Result<LogWriter> open(FileSystem& fs, const Clock& clock, const std::string& study_folder);
  LogWriter(LogWriter&&) noexcept;
  LogWriter& operator=(LogWriter&&) noexcept;
  ~LogWriter();

  const std::vector<Record>& existing() const;  ///< records found by open()
  std::uint64_t cut_bytes() const;              ///< bytes that open() cut
  void release_existing();                      ///< frees the records of existing()
  /// Sets a check for bodies; append() refuses what it refuses.
  void set_body_check(BodyCheck check);
  /// Writes a record at once, so that a killed process does not lose it. It is synced at most one second of appending
  /// later, and at sync().
  ///
  /// After a failed append every later one fails alike, since the end of the file is unknown until it is opened again.
  /// The first record must be the header, which is synced; "schema" is added to it. Invalid UTF-8 is replaced. Errors:
  /// kInvalidArgument (above 64 MiB, more than 500,000 JSON values, more than 64 levels, or a number that is not
  /// finite), kInternal (the check refuses the body; nothing is written), kFailedPrecondition (no header yet), kIo,
  /// kResourceExhausted.
  Result<void> append(RecordType type, const nlohmann::json& body);
  /// Appends a record that may be lost. It is written with the next record, or by sync(); a process that is killed
  /// before loses it. Errors: those of append().
  Result<void> append_deferred(RecordType type, const nlohmann::json& body);
  /// Writes and syncs all records. Errors: kIo, kResourceExhausted.
  Result<void> sync();

 private:
  struct Impl;
  explicit LogWriter(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

/// All whole records of a log, read without the lock, up to a torn tail. Errors: kNotFound (no study), kDataLoss.
Result<std::vector<Record>> read_log(FileSystem& fs, const std::string& study_folder);

/// A reader of a log that grows, without the lock. It reads every byte once.
class LogFollower {
 public:
  /// A reader of the log in a folder; `fs` must outlive it.
  LogFollower(FileSystem& fs, const std::string& study_folder);

  /// The whole records after those of the last call. A torn tail is read again in the next call. Errors: kNotFound (no
  /// study), kDataLoss (also: the log became shorter than what was read), kIo.
  Result<std::vector<Record>> read_new_records();

 private:
  std::shared_ptr<FileSystem> fs_;
  std::string path_;
  std::uint64_t bytes_ = 0;
  std::size_t frames_ = 0;
  bool has_marks_ = false;
};

/// The canonical export, one JSON object in each line. It is equal for equal studies, whatever interrupted them.
///
/// It has these records: header, class of numerics, proposed, measurement, verdict, outcome, study end. It has no
/// clock, host, attempt, plan, span, checkpoint or control. Of the header it has schema, data and "config", in which
/// the engine writes what identifies a study. Of numerics it has "class", without repetitions. A study end before
/// further trials (the study was extended) is left out.
std::string canonical_export(const std::vector<Record>& records);

}  // namespace lanista::store
