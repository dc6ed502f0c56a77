#include "lanista/io/store/log.h"

#include <algorithm>
#include <span>
#include <utility>

#include "lanista/base/json_text.h"
#include "lanista/base/real_json.h"
#include "lanista/io/store/record_json.h"
#include "lanista/io/store/sync_mark.h"

namespace lanista::store {
namespace {

constexpr std::size_t kMaxRecord = std::size_t{64} << 20;
constexpr double kSyncPeriodSeconds = 1;
constexpr const char* kMarksKey = "marks";  // of a header: the log has marks

std::string log_folder(const std::string& study_folder) { return study_folder + "/log"; }
std::string log_path(const std::string& study_folder) { return log_folder(study_folder) + "/000001.log"; }

std::string record_name(std::size_t number) { return "record " + std::to_string(number); }

/// Checks the header first, since it decides whether this build can read the rest. Returns whether the log has marks
/// from its first sync on.
Result<bool> check_header(const Frame& frame, const std::string& path) {
  const auto body = parse_record_json(frame.payload);
  if (frame.type != static_cast<std::uint16_t>(RecordType::kHeader) || !body || !body->is_object()) {
    return Error{Code::kDataLoss, "the log does not begin with a header", path};
  }
  const auto schema = body->find("schema");
  if (schema == body->end() || !schema->is_number_integer() || *schema < 1) {
    return Error{Code::kDataLoss, "the log's header names no schema version", path};
  }
  if (*schema > kSchemaVersion) {
    return Error{Code::kFailedPrecondition,
                 "the log was written by a newer version (schema " + schema->dump() + ", this build knows up to " +
                     std::to_string(kSchemaVersion) + ")",
                 path};
  }
  return body->contains(kMarksKey);
}

/// How much of a log was read.
struct Read {
  std::uint64_t bytes = 0;
  std::size_t frames = 0;
  bool has_marks = false;  ///< its build writes marks
};

/// The whole frames of the rest of a log, and their end. Errors: kDataLoss (damage in synced bytes).
struct Scan {
  DecodedFrames frames;
  bool has_marks = false;
  bool ends_with_mark = false;
  std::vector<bool> is_mark;  ///< for each frame
};
Result<Scan> scan_log(std::string_view bytes, const Read& before, const std::string& path) {
  Scan scan;
  scan.frames = decode_frames(bytes);
  scan.has_marks = before.has_marks;
  const auto& frames = scan.frames.frames;
  if (!frames.empty() && before.frames == 0) {
    LANISTA_ASSIGN(scan.has_marks, check_header(frames.front(), path));
  }
  for (const Frame& frame : frames) {
    const auto offset = static_cast<std::uint64_t>(frame.payload.data() - bytes.data()) - kFrameHeader;
    scan.ends_with_mark = is_mark(frame, before.bytes + offset);
    scan.is_mark.push_back(scan.ends_with_mark);
    scan.has_marks |= scan.ends_with_mark;
  }
  if (!scan.frames.torn) return scan;
  // Without marks, any whole record after the damage may have been synced.
  const bool damaged = scan.has_marks ? has_mark_after(bytes, scan.frames.num_valid_bytes, before.bytes)
                                      : scan.frames.has_data_after_damage;
  if (!damaged) return scan;
  return Error{Code::kDataLoss,
               record_name(before.frames + frames.size()) + " at byte " +
                   std::to_string(before.bytes + scan.frames.num_valid_bytes) +
                   " is damaged, and whole records follow it",
               path};
}

struct LogFiles {
  std::vector<Record> records;
  std::uint64_t num_valid_bytes = 0, cut_bytes = 0;
  std::size_t frames = 0;
  bool has_marks = false, ends_with_mark = false;
};

/// Reads the part of a log after what was read before.
Result<LogFiles> read_records(FileSystem& fs, const std::string& path, const Read& before = {}) {
  LANISTA_ASSIGN(const std::string bytes, fs.read(path, before.bytes));
  LANISTA_ASSIGN(const Scan scan, scan_log(bytes, before, path));
  LogFiles found{.records = {},
                 .num_valid_bytes = scan.frames.num_valid_bytes,
                 .cut_bytes = bytes.size() - scan.frames.num_valid_bytes,
                 .frames = scan.frames.frames.size(),
                 .has_marks = scan.has_marks,
                 .ends_with_mark = scan.ends_with_mark};
  found.records.reserve(scan.frames.frames.size());
  for (std::size_t i = 0; i < scan.frames.frames.size(); ++i) {
    if (scan.is_mark[i]) continue;
    const Frame& frame = scan.frames.frames[i];
    const std::string name = record_name(before.frames + i);
    if (frame.type < static_cast<std::uint16_t>(RecordType::kHeader) ||
        frame.type > static_cast<std::uint16_t>(RecordType::kLast)) {
      return Error{Code::kDataLoss, name + " has the unknown type " + std::to_string(frame.type), path};
    }
    auto body = parse_record_json(frame.payload);
    if (!body) return Error{Code::kDataLoss, name + " " + body.error().message, path};
    found.records.push_back({static_cast<RecordType>(frame.type), *std::move(body)});
  }
  return found;
}

/// The text of a record. Errors: kInvalidArgument (a record that a reader would refuse).
Result<std::string> payload_of(RecordType type, const nlohmann::json& body, const std::string& path) {
  if (has_non_finite_number(body)) {
    return Error{Code::kInvalidArgument,
                 "a record of type " + std::to_string(static_cast<int>(type)) +
                     " holds a number that JSON cannot: nan and infinities must be texts",
                 path};
  }
  std::string payload;
  if (type == RecordType::kHeader) {
    LANISTA_CHECK(body.is_object(), "a header record must be a JSON object");
    nlohmann::json stamped = body;
    if (!stamped.contains("schema")) stamped["schema"] = kPlainSchema;
    stamped[kMarksKey] = true;
    payload = json_text(stamped);
  } else {
    payload = json_text(body);
  }
  if (payload.size() > kMaxRecord) {
    return Error{Code::kInvalidArgument,
                 "a record takes " + std::to_string(payload.size()) + " bytes, at most " + std::to_string(kMaxRecord) +
                     " are allowed",
                 path};
  }
  // A value has at least two bytes, a level one bracket. Shorter texts cannot hold too many.
  const auto brackets = std::count_if(payload.begin(), payload.end(), [](char c) { return c == '[' || c == '{'; });
  if (payload.size() > kMaxRecordValues || brackets > static_cast<std::ptrdiff_t>(kMaxRecordDepth)) {
    if (const auto readable = check_record_json(payload); !readable) {
      return Error{Code::kInvalidArgument, "a record " + readable.error().message, path};
    }
  }
  return payload;
}

}  // namespace

struct LogWriter::Impl {
  std::unique_ptr<FileLock> lock;  // first member, so that it is released last
  const Clock* clock = nullptr;
  std::string path;
  std::unique_ptr<AppendFile> file;
  std::vector<Record> existing;
  std::uint64_t size = 0;  ///< of the file
  std::uint64_t cut_bytes = 0;
  bool has_header = false;
  bool unsynced = false;
  bool has_marks = true;
  bool needs_mark = false;  ///< everything is synced, and no mark states it
  BodyCheck check;
  double last_sync = 0;
  std::optional<Error> failed;
  std::string buffer;  ///< frames that wait for the next write

  /// After a failed write or sync the content of the file is unknown, so every later call returns the first error.
  Result<void> keep_first_error(Result<void> result) {
    if (!result) failed = result.error();
    return result;
  }

  /// The text of a record, if it may be written now.
  Result<std::string> payload(RecordType type, const nlohmann::json& body) const;

  /// Writes a record together with deferred ones.
  Result<void> write(RecordType type, std::string_view payload) {
    encode_frame(static_cast<std::uint16_t>(type), payload, buffer);
    return flush();
  }

  Result<void> flush() {
    if (buffer.empty()) return {};
    LANISTA_TRY(keep_first_error(file->append(std::as_bytes(std::span(buffer)))));
    size += buffer.size();
    buffer.clear();
    return {};
  }

  Result<void> mark() {
    needs_mark = false;
    LANISTA_CHECK(buffer.empty(), "a mark contains its offset");
    LANISTA_TRY(write(RecordType::kAttempt, mark_payload(size)));
    if (has_marks) return {};
    // The first mark decides how the whole log is read, so it must be on disk before anything that follows.
    has_marks = true;
    return keep_first_error(file->sync());
  }

  Result<void> sync() {
    if (failed) return *failed;
    if (!unsynced) return {};
    LANISTA_TRY(flush());
    LANISTA_TRY(keep_first_error(file->sync()));
    unsynced = false;
    last_sync = clock->now();
    return mark();
  }
};

LogWriter::LogWriter(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
LogWriter::LogWriter(LogWriter&&) noexcept = default;
LogWriter& LogWriter::operator=(LogWriter&&) noexcept = default;
LogWriter::~LogWriter() = default;

Result<LogWriter> LogWriter::open(FileSystem& fs, const Clock& clock, const std::string& study_folder) {
  auto impl = std::make_unique<Impl>();
  const std::string folder = log_folder(study_folder);
  impl->clock = &clock;
  impl->path = log_path(study_folder);
  const std::shared_ptr<FileSystem> files = fs.confined_to(study_folder);
  LANISTA_TRY(make_durable_folder(*files, folder));
  LANISTA_ASSIGN(impl->lock, files->lock(folder + "/lock"));

  if (files->exists(impl->path)) {
    LANISTA_ASSIGN(LogFiles found, read_records(*files, impl->path));
    if (found.cut_bytes > 0) LANISTA_TRY(files->truncate(impl->path, found.num_valid_bytes));
    impl->size = found.num_valid_bytes;
    impl->cut_bytes = found.cut_bytes;
    impl->existing = std::move(found.records);
    impl->has_header = !impl->existing.empty();
    impl->has_marks = found.has_marks || !impl->has_header;
    impl->needs_mark = impl->has_header && !found.ends_with_mark;
  }
  LANISTA_ASSIGN(impl->file, files->open_append(impl->path));
  if (impl->has_header) {
    // The records found may be in memory only, since a killed process never synced them. The same holds for the end of
    // the file. Later records must not survive without them.
    LANISTA_TRY(impl->file->sync());
  } else {
    LANISTA_TRY(files->sync_folder(folder));
  }
  impl->last_sync = clock.now();
  return LogWriter(std::move(impl));
}

const std::vector<Record>& LogWriter::existing() const { return impl_->existing; }
std::uint64_t LogWriter::cut_bytes() const { return impl_->cut_bytes; }
void LogWriter::release_existing() { std::vector<Record>().swap(impl_->existing); }

void LogWriter::set_body_check(BodyCheck check) { impl_->check = std::move(check); }

Result<std::string> LogWriter::Impl::payload(RecordType type, const nlohmann::json& body) const {
  if (failed) return *failed;
  if (!has_header && type != RecordType::kHeader) {
    return Error{Code::kFailedPrecondition, "the first record of a log must be its header", path};
  }
  if (check) {
    if (const auto read = check(type, body); !read) {
      return Error{Code::kInternal, "a record that could not be read again was not written: " + read.error().text(),
                   path};
    }
  }
  return payload_of(type, body, path);
}

Result<void> LogWriter::append_deferred(RecordType type, const nlohmann::json& body) {
  LANISTA_ASSIGN(const std::string payload, impl_->payload(type, body));
  if (impl_->needs_mark) LANISTA_TRY(impl_->mark());
  encode_frame(static_cast<std::uint16_t>(type), payload, impl_->buffer);
  impl_->unsynced = true;
  return {};
}

Result<void> LogWriter::append(RecordType type, const nlohmann::json& body) {
  Impl& log = *impl_;
  LANISTA_ASSIGN(const std::string payload, log.payload(type, body));
  if (log.needs_mark) LANISTA_TRY(log.mark());
  LANISTA_TRY(log.write(type, payload));
  log.unsynced = true;
  if (!log.has_header) {
    // Nothing follows a header that is not on disk, since the rest cannot be read without it.
    log.has_header = true;
    return log.sync();
  }
  if (log.clock->now() - log.last_sync >= kSyncPeriodSeconds) return log.sync();
  return {};
}

Result<void> LogWriter::sync() { return impl_->sync(); }

Result<std::vector<Record>> read_log(FileSystem& fs, const std::string& study_folder) {
  const std::string path = log_path(study_folder);
  const std::shared_ptr<FileSystem> files = fs.confined_to(study_folder);
  auto found = read_records(*files, path);
  const bool is_none = !found && found.error().code == Code::kNotFound;
  if (is_none) return Error{Code::kNotFound, "no study here: there is no log", path};
  if (!found) return found.error();
  return std::move(found->records);
}

LogFollower::LogFollower(FileSystem& fs, const std::string& study_folder)
    : fs_(fs.confined_to(study_folder)), path_(log_path(study_folder)) {}

Result<std::vector<Record>> LogFollower::read_new_records() {
  if (bytes_ == 0 && !fs_->exists(path_)) return Error{Code::kNotFound, "no study here: there is no log", path_};
  LANISTA_ASSIGN(const std::uint64_t size, fs_->size(path_));
  if (size < bytes_) {
    return Error{Code::kDataLoss,
                 "the log has " + std::to_string(size) + " bytes, of which " + std::to_string(bytes_) +
                     " have been read: it is another one",
                 path_};
  }
  if (size == bytes_) return std::vector<Record>();
  LANISTA_ASSIGN(LogFiles found, read_records(*fs_, path_, {bytes_, frames_, has_marks_}));
  bytes_ += found.num_valid_bytes;
  frames_ += found.frames;
  has_marks_ = found.has_marks;
  return std::move(found.records);
}

}  // namespace lanista::store
