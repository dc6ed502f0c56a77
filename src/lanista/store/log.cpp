#include "lanista/store/log.h"

#include <span>
#include <utility>

#include "lanista/store/record_json.h"

namespace lanista::store {
namespace {

constexpr std::size_t kMaxRecord = std::size_t{64} << 20;
constexpr double kSecondsBetweenSyncs = 1;

std::string log_folder(const std::string& study_folder) { return study_folder + "/log"; }
std::string log_path(const std::string& study_folder) { return log_folder(study_folder) + "/000001.log"; }

std::string record_name(std::size_t number) { return "record " + std::to_string(number); }

/// The header says who may read the rest, so it is looked at before anything else is judged.
Result<void> check_header(const Frame& frame, const std::string& path) {
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
  return {};
}

struct Found {
  std::vector<Record> records;
  std::uint64_t good_bytes = 0;
  bool torn = false;
};

Result<Found> read_records(FileSystem& fs, const std::string& path) {
  LANISTA_ASSIGN(const std::string bytes, fs.read(path));
  const FrameScan scan = decode_frames(bytes);
  if (!scan.frames.empty()) LANISTA_TRY(check_header(scan.frames.front(), path));
  if (scan.damaged_middle) {
    return Error{Code::kDataLoss,
                 record_name(scan.frames.size()) + " at byte " + std::to_string(scan.good_bytes) +
                     " is damaged, and whole records follow it",
                 path};
  }
  Found found{.records = {}, .good_bytes = scan.good_bytes, .torn = scan.torn};
  found.records.reserve(scan.frames.size());
  for (const Frame& frame : scan.frames) {
    const std::string name = record_name(found.records.size());
    if (frame.type < static_cast<std::uint16_t>(RecordType::kHeader) ||
        frame.type > static_cast<std::uint16_t>(RecordType::kCostRows)) {
      return Error{Code::kDataLoss, name + " has the unknown type " + std::to_string(frame.type), path};
    }
    auto body = parse_record_json(frame.payload);
    if (!body) return Error{Code::kDataLoss, name + " " + body.error().message, path};
    found.records.push_back({static_cast<RecordType>(frame.type), *std::move(body)});
  }
  return found;
}

}  // namespace

struct LogWriter::Impl {
  std::unique_ptr<FileLock> lock;  // first, so that it is given back last
  const Clock* clock = nullptr;
  std::string path;
  std::unique_ptr<AppendFile> file;
  std::vector<Record> existing;
  bool cut_tail = false;
  bool has_header = false;
  bool unsynced = false;
  double last_sync = 0;
  std::optional<Error> failed;
  std::string buffer;

  /// After a failed write or sync nobody knows what is in the file, so the first failure is the last word.
  Result<void> remember(Result<void> result) {
    if (!result) failed = result.error();
    return result;
  }

  Result<void> sync() {
    if (failed) return *failed;
    if (!unsynced) return {};
    LANISTA_TRY(remember(file->sync()));
    unsynced = false;
    last_sync = clock->now();
    return {};
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
  LANISTA_TRY(fs.make_folder(folder));
  LANISTA_ASSIGN(impl->lock, fs.lock(folder + "/lock"));

  if (fs.exists(impl->path)) {
    LANISTA_ASSIGN(Found found, read_records(fs, impl->path));
    if (found.torn) LANISTA_TRY(fs.truncate(impl->path, found.good_bytes));
    impl->cut_tail = found.torn;
    impl->existing = std::move(found.records);
    impl->has_header = !impl->existing.empty();
  }
  LANISTA_ASSIGN(impl->file, fs.open_append(impl->path));
  if (impl->has_header) {
    // What was found may stand in memory alone (a killed process never synced it); what is built on it must not outlive
    // it.
    LANISTA_TRY(impl->file->sync());
  } else {
    LANISTA_TRY(fs.sync_folder(folder));
    LANISTA_TRY(fs.sync_folder(study_folder));
  }
  impl->last_sync = clock.now();
  return LogWriter(std::move(impl));
}

const std::vector<Record>& LogWriter::existing() const { return impl_->existing; }
bool LogWriter::cut_tail() const { return impl_->cut_tail; }
void LogWriter::forget_existing() { std::vector<Record>().swap(impl_->existing); }

Result<void> LogWriter::append(RecordType type, const nlohmann::json& body) {
  using Handler = nlohmann::json::error_handler_t;
  Impl& log = *impl_;
  if (log.failed) return *log.failed;
  if (!log.has_header && type != RecordType::kHeader) {
    return Error{Code::kFailedPrecondition, "the first record of a log must be its header", log.path};
  }
  std::string payload;
  if (type == RecordType::kHeader) {
    LANISTA_CHECK(body.is_object(), "a header record must be a JSON object");
    nlohmann::json stamped = body;
    stamped["schema"] = kSchemaVersion;
    payload = stamped.dump(-1, ' ', false, Handler::replace);
  } else {
    payload = body.dump(-1, ' ', false, Handler::replace);
  }
  if (payload.size() > kMaxRecord) {
    return Error{Code::kInvalidArgument,
                 "a record takes " + std::to_string(payload.size()) + " bytes, at most " + std::to_string(kMaxRecord) +
                     " are allowed",
                 log.path};
  }
  // Two bytes a value at least: what is shorter cannot hold too many.
  if (payload.size() > kMaxRecordValues) {
    if (const auto readable = check_record_json(payload); !readable) {
      return Error{Code::kInvalidArgument, "a record " + readable.error().message, log.path};
    }
  }
  log.buffer.clear();
  encode_frame(static_cast<std::uint16_t>(type), payload, log.buffer);
  LANISTA_TRY(log.remember(log.file->append(std::as_bytes(std::span(log.buffer)))));
  log.has_header = true;
  log.unsynced = true;

  const double now = log.clock->now();
  if (now - log.last_sync >= kSecondsBetweenSyncs) return log.sync();
  if (now < log.last_sync) log.last_sync = now;  // the clock was set back
  return {};
}

Result<void> LogWriter::sync() { return impl_->sync(); }

Result<std::vector<Record>> read_log(FileSystem& fs, const std::string& study_folder) {
  const std::string path = log_path(study_folder);
  if (!fs.exists(path)) return Error{Code::kNotFound, "no study here: there is no log", path};
  LANISTA_ASSIGN(Found found, read_records(fs, path));
  return std::move(found.records);
}

}  // namespace lanista::store
