#include "lanista/io/zoo/database.h"

#include <sqlite3.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <filesystem>
#include <thread>
#include <utility>

#include "lanista/base/file_system.h"
#include "lanista/base/paths.h"

namespace lanista::zoo {
namespace {

constexpr int kBusyMilliseconds = 30'000;
constexpr int kMillisecondsBetweenTries = 5;
constexpr int kMaxValueBytes = 64 << 20;
constexpr int kStepsBetweenChecks = 1000;

struct Setting {
  int id, value;
};
/// The index has tables and indexes only, and its statements are this program's.
constexpr std::array<Setting, 8> kConfig{{{SQLITE_DBCONFIG_DEFENSIVE, 1},
                                          {SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0},
                                          {SQLITE_DBCONFIG_ENABLE_TRIGGER, 0},
                                          {SQLITE_DBCONFIG_ENABLE_VIEW, 0},
                                          {SQLITE_DBCONFIG_ENABLE_LOAD_EXTENSION, 0},
                                          {SQLITE_DBCONFIG_ENABLE_FTS3_TOKENIZER, 0},
                                          {SQLITE_DBCONFIG_WRITABLE_SCHEMA, 0},
                                          {SQLITE_DBCONFIG_DQS_DDL, 0}}};
constexpr std::array<Setting, 10> kLimits{{{SQLITE_LIMIT_LENGTH, kMaxValueBytes},
                                           {SQLITE_LIMIT_SQL_LENGTH, 100'000},
                                           {SQLITE_LIMIT_COLUMN, 64},
                                           {SQLITE_LIMIT_EXPR_DEPTH, 64},
                                           {SQLITE_LIMIT_COMPOUND_SELECT, 8},
                                           {SQLITE_LIMIT_VDBE_OP, 25'000},
                                           {SQLITE_LIMIT_ATTACHED, 0},
                                           {SQLITE_LIMIT_VARIABLE_NUMBER, 64},
                                           {SQLITE_LIMIT_TRIGGER_DEPTH, 1},
                                           {SQLITE_LIMIT_WORKER_THREADS, 0}}};

Code code_of(int sqlite) {
  switch (sqlite & 0xff) {
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
      return Code::kUnavailable;
    case SQLITE_FULL:
    case SQLITE_NOMEM:
      return Code::kResourceExhausted;
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB:
    case SQLITE_TOOBIG:
      return Code::kDataLoss;
    default:
      return Code::kIo;
  }
}

constexpr const char* kVfs = "lanista-zoo";

/// Opens a file as SQLite does, but never a super-journal. A rollback journal of another user can name any file as one.
/// SQLite would open that file, wait for it if it is a FIFO, and delete it. The index has no attached databases, so it
/// has no super-journal.
int open_without_super_journals(sqlite3_vfs* self, const char* name, sqlite3_file* file, int flags, int* opened) {
  file->pMethods = nullptr;
  if ((flags & SQLITE_OPEN_SUPER_JOURNAL) != 0) return SQLITE_CANTOPEN;
  return sqlite3_vfs_find("unix")->xOpen(self, name, file, flags, opened);
}

/// The name of SQLite's file system for the index. It is registered once and has no state.
const char* index_vfs() {
  static sqlite3_vfs vfs = [] {
    sqlite3_initialize();
    sqlite3_vfs own = *sqlite3_vfs_find("unix");
    own.pNext = nullptr;
    own.zName = kVfs;
    own.xOpen = open_without_super_journals;
    return own;
  }();
  static const int registered = sqlite3_vfs_register(&vfs, 0);
  return registered == SQLITE_OK ? kVfs : nullptr;
}

struct Finalize {
  void operator()(sqlite3_stmt* statement) const { sqlite3_finalize(statement); }
};

std::int64_t bytes_of_row(sqlite3_stmt* statement) {
  std::int64_t out = 0;
  for (int column = 0; column < sqlite3_data_count(statement); ++column) {
    const int type = sqlite3_column_type(statement, column);
    if (type == SQLITE_TEXT || type == SQLITE_BLOB) out += sqlite3_column_bytes(statement, column);
  }
  return out;
}

/// A path in a URI, with special bytes escaped.
std::string uri_path(const std::string& path) {
  constexpr std::string_view kPlain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789/-_.";
  constexpr std::string_view kHex = "0123456789abcdef";
  std::string out;
  for (const char c : path) {
    const auto byte = static_cast<unsigned char>(c);
    if (kPlain.find(c) != std::string_view::npos) {
      out += c;
    } else {
      out += {'%', kHex[byte >> 4], kHex[byte & 15]};
    }
  }
  return out;
}

int bind(sqlite3_stmt* statement, int place, const SqlValue& value) {
  if (const auto* number = std::get_if<std::int64_t>(&value)) return sqlite3_bind_int64(statement, place, *number);
  if (const auto* real = std::get_if<double>(&value)) return sqlite3_bind_double(statement, place, *real);
  if (const auto* text = std::get_if<std::string>(&value)) {
    return sqlite3_bind_text(statement, place, text->data(), static_cast<int>(text->size()), SQLITE_STATIC);
  }
  if (const auto* bytes = std::get_if<std::span<const std::byte>>(&value)) {
    return sqlite3_bind_blob(statement, place, bytes->data(), static_cast<int>(bytes->size()), SQLITE_STATIC);
  }
  return sqlite3_bind_null(statement, place);
}

}  // namespace

std::int64_t SqlRow::integer(int column) const { return sqlite3_column_int64(statement_, column); }
bool SqlRow::is_number(int column) const {
  const int type = sqlite3_column_type(statement_, column);
  return type == SQLITE_INTEGER || type == SQLITE_FLOAT;
}
double SqlRow::real(int column) const { return sqlite3_column_double(statement_, column); }
std::string SqlRow::text(int column) const { return std::string(blob(column)); }
std::string_view SqlRow::blob(int column) const {
  const void* data = sqlite3_column_blob(statement_, column);
  const auto size = static_cast<std::size_t>(sqlite3_column_bytes(statement_, column));
  return data == nullptr ? std::string_view() : std::string_view(static_cast<const char*>(data), size);
}

void Database::Close::operator()(sqlite3* db) const { sqlite3_close(db); }

void Database::Meter::start() {
  cost = 0;
  is_exceeded = false;
  int now = 0, peak = 0;
  for (const int which : {SQLITE_DBSTATUS_CACHE_HIT, SQLITE_DBSTATUS_CACHE_MISS}) {
    sqlite3_db_status(db, which, &now, &peak, 1);
  }
}

bool Database::Meter::add(std::int64_t more) {
  cost += more;
  if (cost <= allowed) return true;
  allowed = fixed;
  for (const char* suffix : {"", "-wal"}) {  // they may have grown
    std::error_code none;
    const auto bytes = std::filesystem::file_size(path + suffix, none);
    if (!none) allowed += static_cast<std::int64_t>(bytes);
  }
  is_exceeded = cost > allowed;
  return !is_exceeded;
}

int Database::on_progress(void* meter) {
  Meter& self = *static_cast<Meter*>(meter);
  std::int64_t pages = 0;
  for (const int which : {SQLITE_DBSTATUS_CACHE_HIT, SQLITE_DBSTATUS_CACHE_MISS}) {
    int now = 0, peak = 0;
    sqlite3_db_status(self.db, which, &now, &peak, 1);
    pages += now;
  }
  return self.add(kStepsBetweenChecks + pages) ? 0 : 1;
}

Error Database::failed(const std::string& what) const {
  if (meter_->is_exceeded) {
    return {Code::kResourceExhausted,
            what + ": a statement costs more than " + std::to_string(meter_->allowed) +
                " steps, which is the limit for a file of this size; the file is damaged",
            path_};
  }
  return {code_of(sqlite3_errcode(db_.get())), what + ": " + sqlite3_errmsg(db_.get()), path_};
}

Result<void> Database::open_file(const std::string& name, int flags) {
  sqlite3* raw = nullptr;
  const int opened =
      sqlite3_open_v2(name.c_str(), &raw, flags | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE, index_vfs());
  db_.reset(raw);
  meter_->db = raw;
  if (raw == nullptr) return Error{Code::kResourceExhausted, "no memory to open the index", path_};
  if (opened != SQLITE_OK) return failed("cannot open " + what_);
  return harden();
}

Result<void> Database::harden() {
  sqlite3* db = db_.get();
  sqlite3_busy_timeout(db, kBusyMilliseconds);
  for (const Setting& one : kConfig) {
    int now = -1;
    if (sqlite3_db_config(db, one.id, one.value, &now) != SQLITE_OK || now != one.value) {
      return Error{Code::kUnimplemented,
                   "this SQLite, " + std::string(sqlite3_libversion()) + ", cannot disable what an index must not have",
                   path_};
    }
  }
  // Before the file is known to be a zoo's, closing it must not change its log.
  sqlite3_db_config(db, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, nullptr);
  for (const Setting& one : kLimits) sqlite3_limit(db, one.id, one.value);
  sqlite3_progress_handler(db, kStepsBetweenChecks, on_progress, meter_.get());
  return run("PRAGMA cell_size_check = ON");
}

Result<Database> Database::open(const std::string& path, Access access, std::int64_t fixed_query_cost) {
  Database out;
  out.path_ = path;
  // SQLite refuses links in the whole path. Those above the zoo's folder are the user's.
  std::error_code none;
  const auto folder = std::filesystem::canonical(parent_of(path), none);
  if (none) return Error{Code::kIo, "cannot open folder: " + none.message(), parent_of(path)};
  const std::string name = (folder / std::filesystem::path(path).filename()).string();
  out.meter_->path = name;
  out.meter_->fixed = out.meter_->allowed = fixed_query_cost;
  const int create = access == Access::kCreate ? SQLITE_OPEN_CREATE : 0;
  LANISTA_TRY(out.open_file(name, SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOFOLLOW | create));
  if (access != Access::kRead) return out;
  Result<void> first = out.run("SELECT count(*) FROM sqlite_schema");
  const int code = sqlite3_errcode(out.db_.get());
  if (!first && (code & 0xff) == SQLITE_READONLY) {
    // Without write permission SQLite cannot make its shared memory. A file without a log is complete.
    if (std::filesystem::exists(name + "-wal", none) && std::filesystem::file_size(name + "-wal", none) > 0) {
      return Error{Code::kFailedPrecondition,
                   "its last changes are in index.sqlite-wal, and reading them needs write permission for the folder; "
                   "copy the zoo, or let its owner run `lanista zoo gc` once",
                   path};
    }
    LANISTA_TRY(out.open_file("file:" + uri_path(name) + "?immutable=1",
                              SQLITE_OPEN_READONLY | SQLITE_OPEN_NOFOLLOW | SQLITE_OPEN_URI));
    first = {};
  }
  LANISTA_TRY(std::move(first));
  LANISTA_TRY(out.run("PRAGMA query_only = ON"));
  return out;
}

Result<Database> Database::open_immutable(const std::string& path, const std::string& what) {
  Database out;
  out.path_ = path;
  out.what_ = what;
  std::error_code none;
  const std::string name = std::filesystem::canonical(path, none).string();
  if (none) return Error{Code::kIo, "cannot open " + what + ": " + none.message(), path};
  for (const char* suffix : {"-wal", "-journal"}) {
    if (!std::filesystem::exists(name + suffix, none) || std::filesystem::file_size(name + suffix, none) == 0) continue;
    return Error{Code::kFailedPrecondition,
                 "its last changes are in " + name + suffix +
                     "; close the program that writes it, and open it once "
                     "with sqlite3 to merge them",
                 path};
  }
  out.meter_->path = name;
  out.meter_->allowed = out.meter_->fixed;
  LANISTA_TRY(out.open_file("file:" + uri_path(name) + "?immutable=1",
                            SQLITE_OPEN_READONLY | SQLITE_OPEN_NOFOLLOW | SQLITE_OPEN_URI));
  LANISTA_TRY(out.run("PRAGMA query_only = ON"));
  return out;
}

Result<Database> Database::open_in_memory() {
  Database out;
  out.path_ = ":memory:";
  out.meter_->allowed = out.meter_->fixed;
  LANISTA_TRY(out.open_file(out.path_, SQLITE_OPEN_READWRITE | SQLITE_OPEN_MEMORY));
  return out;
}

// While several processes create an index, SQLite refuses this switch at once, without its busy timeout, since a lock
// that waits for another upgrade could wait for ever. So this waits and tries again.
Result<void> Database::use_write_ahead_log() {
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::milliseconds(kBusyMilliseconds);
  while (true) {
    Result<void> done = run("PRAGMA journal_mode = WAL");
    const bool is_late = std::chrono::steady_clock::now() >= deadline;
    if (done || done.error().code != Code::kUnavailable || is_late) return done;
    std::this_thread::sleep_for(std::chrono::milliseconds(kMillisecondsBetweenTries));
  }
}

Result<void> Database::prepare_changes() {
  sqlite3_db_config(db_.get(), SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 0, nullptr);
  LANISTA_TRY(use_write_ahead_log());
  return run("PRAGMA synchronous = FULL");  // acknowledged changes survive a power loss
}

void Database::remove_empty_log() {
  std::error_code none;
  const auto bytes = std::filesystem::file_size(meter_->path + "-wal", none);
  if (none || bytes == 0) sqlite3_db_config(db_.get(), SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 0, nullptr);
}

Result<void> Database::run_all(std::string_view statements) {
  for (std::size_t end = 0; (end = statements.find(';')) != std::string_view::npos;) {
    LANISTA_TRY(run(std::string(statements.substr(0, end))));
    statements.remove_prefix(end + 1);
  }
  return {};
}

Result<void> Database::run(const std::string& sql, const std::vector<SqlValue>& values) {
  return each(sql, values, [](const SqlRow&) -> Result<void> { return {}; });
}

Result<void> Database::each(const std::string& sql, const std::vector<SqlValue>& values,
                            const std::function<Result<void>(const SqlRow&)>& visit) {
  meter_->start();
  sqlite3_stmt* raw = nullptr;
  if (sqlite3_prepare_v2(db_.get(), sql.c_str(), -1, &raw, nullptr) != SQLITE_OK) return failed(what_);
  const std::unique_ptr<sqlite3_stmt, Finalize> statement(raw);
  for (std::size_t k = 0; k < values.size(); ++k) {
    if (bind(raw, static_cast<int>(k) + 1, values[k]) != SQLITE_OK) return failed(what_);
  }
  while (true) {
    const int step = sqlite3_step(raw);
    if (step == SQLITE_DONE) return {};
    if (step != SQLITE_ROW || !meter_->add(bytes_of_row(raw))) return failed(what_);
    LANISTA_TRY(visit(SqlRow(raw)));
  }
}

Result<void> Database::within(const char* begin, const std::function<Result<void>()>& work) {
  LANISTA_TRY(run(begin));
  Result<void> done = work();
  if (done.ok()) done = run("COMMIT");
  if (!done.ok() && sqlite3_get_autocommit(db_.get()) == 0) {
    const Result<void> undone = run("ROLLBACK");  // fails where SQLite has rolled back by itself
    if (!undone.ok() && sqlite3_get_autocommit(db_.get()) == 0) return undone;
  }
  return done;
}

Result<void> Database::change(const std::function<Result<void>()>& change) { return within("BEGIN IMMEDIATE", change); }
Result<void> Database::read(const std::function<Result<void>()>& reads) { return within("BEGIN", reads); }

std::int64_t Database::changed_rows() const { return sqlite3_changes(db_.get()); }

}  // namespace lanista::zoo
