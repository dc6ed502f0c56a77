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

/// Types of records; numbers are stable on disk.
enum class RecordType : std::uint16_t {
  kHeader = 1,    ///< schema version, resolved configuration, data spec
  kNumerics = 2,  ///< ISA, library builds, class table, threads
  kProposed = 3,
  kMeasurement = 4,
  kVerdict = 5,  ///< only those that are not "continue"
  kOutcome = 6,
  kCheckpoint = 7,  ///< of a running trial
  kAttempt = 8,     ///< a process began to work on a study or a trial; crash marks
  kControl = 9,     ///< pause, stop, extend, stop-trial requests as they took effect
  kStudyEnd = 10,   ///< why the study ended, the winner, its test metrics
  kPlan = 11,
  kSpan = 12,
  kCostRows = 13,  ///< what calls of kernels cost on a machine
  kGroup = 14,     ///< what a strategy asked for, where it is more than one trial
  kPaused = 15,    ///< a trial gave its slot back and waits in the checkpoint store
  kResumed = 16,   ///< and goes on
  kWorker = 17,    ///< a worker process came or went
  kLast = kWorker,
};

/// The newest version of the records' layout that this build reads. It writes the oldest that says all, so that older
/// builds read what they can: 2 is for studies that took over an earlier one's trials, which older builds would resume
/// without them; 3 for those whose plans are logged as changes (several slots), which older builds cannot read; 4 for
/// those whose trials fork from each other, which older builds would resume from the wrong states; 5 for those with
/// rules of what one result says of others, whose outcomes and orders older builds do not know, and for those whose
/// starts race, which older builds would take as they are.
inline constexpr std::int64_t kImpliedSchema = 5, kRaceSchema = 5, kForkSchema = 4, kPlansSchema = 3,
                              kEarlierSchema = 2, kPlainSchema = 1;
inline constexpr std::int64_t kSchemaVersion = 5;

/// One record: type and JSON payload. Doubles round-trip.
struct Record {
  RecordType type;
  nlohmann::json body;
};

/// Reads a body as whoever opens the log later will.
using BodyCheck = std::function<Result<void>(RecordType, const nlohmann::json&)>;

/// The append-only truth of a study: `log/000001.log`, frames of JSON. One writer holds `log/lock`. What was synced is
/// never cut: see sync_mark.h.
class LogWriter {
 public:
  /// Opens a folder's log for writing (made if it is not there), cuts what a crash left of bytes that were not synced,
  /// reads what is there. Errors: kUnavailable (another process holds the lock), kDataLoss (damage before that),
  /// kFailedPrecondition (written by a newer version), kIo, kResourceExhausted.
  static Result<LogWriter> open(FileSystem& fs, const Clock& clock, const std::string& study_folder);
  LogWriter(LogWriter&&) noexcept;
  LogWriter& operator=(LogWriter&&) noexcept;
  ~LogWriter();

  const std::vector<Record>& existing() const;  ///< records found at opening
  std::uint64_t cut_bytes() const;              ///< so many were cut off at opening
  void release_existing();                       ///< frees them
  /// From now on nothing is appended that `check` refuses.
  void set_body_check(BodyCheck check);
  /// Writes at once, so that a killed process loses nothing; on disk (synced) at the latest one second of appending
  /// later, and at sync(). After a failed append every further one fails the same way: the file's end is unknown until
  /// it is opened again. The first record must be the header, which is synced; "schema" is added to it. Text that is
  /// not UTF-8 is replaced. Errors: kInvalidArgument (record above 64 MiB, of more than 500,000 JSON values, nested
  /// deeper than 64 levels, or with a number that is not finite), kInternal (a body that the check refuses; nothing was
  /// written), kFailedPrecondition (no header yet), kIo, kResourceExhausted.
  Result<void> append(RecordType type, const nlohmann::json& body);
  /// The same for a record on which nothing is built: it is written together with the next one, or synced with it, and
  /// a process that is killed before loses it.
  Result<void> append_deferred(RecordType type, const nlohmann::json& body);
  Result<void> sync();

 private:
  struct Impl;
  explicit LogWriter(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

/// All whole records, without the lock; stops at a torn tail. Errors: kNotFound (no study there), kDataLoss.
Result<std::vector<Record>> read_log(FileSystem& fs, const std::string& study_folder);

/// Reads a log as it grows, without the lock: what has been read is not read again.
class LogFollower {
 public:
  LogFollower(FileSystem& fs, const std::string& study_folder);

  /// All whole records behind those that were given before; a torn tail waits for its rest. Errors: kNotFound (no study
  /// there), kDataLoss (also: the log is shorter than what was read of it), kIo.
  Result<std::vector<Record>> read_new_records();

 private:
  std::shared_ptr<FileSystem> fs_;
  std::string path_;
  std::uint64_t bytes_ = 0;
  std::size_t frames_ = 0;
  bool has_marks_ = false;
};

/// The canonical export, one JSON object a line: header, numerics' class, proposed, measurement, verdict, outcome,
/// study end — without clock, host, attempt, plan, span, checkpoint and control. Equal for equal studies, whatever
/// happened on the way: of a header, schema, "config" (the engine writes there what identifies a study) and data stay;
/// of numerics, "class" alone, and repetitions are dropped; a study end that trials followed (the study was extended)
/// is none.
std::string canonical_export(const std::vector<Record>& records);

}  // namespace lanista::store
