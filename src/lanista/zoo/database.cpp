#include "lanista/zoo/database.h"

#include <sqlite3.h>

#include <utility>

namespace lanista::zoo {
namespace {

constexpr int kBusyMilliseconds = 30'000;
constexpr int kMostBytesOfAValue = 64 << 20;

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

struct Finalize {
  void operator()(sqlite3_stmt* statement) const { sqlite3_finalize(statement); }
};

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
double SqlRow::real(int column) const { return sqlite3_column_double(statement_, column); }
std::string SqlRow::text(int column) const { return std::string(blob(column)); }
std::string_view SqlRow::blob(int column) const {
  const void* data = sqlite3_column_blob(statement_, column);
  const auto size = static_cast<std::size_t>(sqlite3_column_bytes(statement_, column));
  return data == nullptr ? std::string_view() : std::string_view(static_cast<const char*>(data), size);
}

void Database::Close::operator()(sqlite3* db) const { sqlite3_close(db); }

Error Database::failed(const std::string& what) const {
  return {code_of(sqlite3_errcode(db_.get())), what + ": " + sqlite3_errmsg(db_.get()), path_};
}

Result<Database> Database::open(const std::string& path, bool write) {
  Database out;
  out.path_ = path;
  sqlite3* raw = nullptr;
  const int flags = (write ? SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE : SQLITE_OPEN_READWRITE) | SQLITE_OPEN_NOMUTEX |
                    SQLITE_OPEN_NOFOLLOW | SQLITE_OPEN_EXRESCODE;
  const int opened = sqlite3_open_v2(path.c_str(), &raw, flags, nullptr);
  out.db_.reset(raw);
  if (raw == nullptr) return Error{Code::kResourceExhausted, "no memory to open the index", path};
  if (opened != SQLITE_OK) return out.failed("cannot open the index of the zoo");
  sqlite3_busy_timeout(raw, kBusyMilliseconds);
  sqlite3_limit(raw, SQLITE_LIMIT_LENGTH, kMostBytesOfAValue);
  // A schema that a stranger wrote may name functions; they get none with effects.
  LANISTA_TRY(out.run("PRAGMA trusted_schema = OFF"));
  if (write) {
    LANISTA_TRY(out.run("PRAGMA journal_mode = WAL"));
    LANISTA_TRY(out.run("PRAGMA synchronous = FULL"));  // what is acknowledged outlives a power cut
  }
  return out;
}

Result<void> Database::run(const std::string& sql, const std::vector<SqlValue>& values) {
  return each(sql, values, [](const SqlRow&) -> Result<void> { return {}; });
}

Result<void> Database::each(const std::string& sql, const std::vector<SqlValue>& values,
                            const std::function<Result<void>(const SqlRow&)>& visit) {
  sqlite3_stmt* raw = nullptr;
  if (sqlite3_prepare_v2(db_.get(), sql.c_str(), -1, &raw, nullptr) != SQLITE_OK) return failed("the index of the zoo");
  const std::unique_ptr<sqlite3_stmt, Finalize> statement(raw);
  for (std::size_t k = 0; k < values.size(); ++k) {
    if (bind(raw, static_cast<int>(k) + 1, values[k]) != SQLITE_OK) return failed("the index of the zoo");
  }
  while (true) {
    const int step = sqlite3_step(raw);
    if (step == SQLITE_DONE) return {};
    if (step != SQLITE_ROW) return failed("the index of the zoo");
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
