#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "lanista/base/result.h"

struct sqlite3;
struct sqlite3_stmt;

namespace lanista::zoo {

/// What a statement takes.
using SqlValue = std::variant<std::nullptr_t, std::int64_t, double, std::string, std::span<const std::byte>>;

/// A row of an answer; valid until the visit returns. A column of another type reads as SQLite converts it.
class SqlRow {
 public:
  explicit SqlRow(sqlite3_stmt* statement) : statement_(statement) {}
  std::int64_t integer(int column) const;
  double real(int column) const;
  std::string text(int column) const;
  std::string_view blob(int column) const;

 private:
  sqlite3_stmt* statement_;
};

/// An SQLite file with a write-ahead log. Not thread-safe; any number of processes.
/// Errors: kUnavailable (others held it for longer than the busy timeout), kResourceExhausted (disk full), kDataLoss
/// (no database, or a damaged one), kIo; `where` is the path.
class Database {
 public:
  /// Opens the file, with `write` creates it.
  static Result<Database> open(const std::string& path, bool write);

  Result<void> run(const std::string& sql, const std::vector<SqlValue>& values = {});
  /// Calls `visit` for every row; its error ends the statement.
  Result<void> each(const std::string& sql, const std::vector<SqlValue>& values,
                    const std::function<Result<void>(const SqlRow&)>& visit);
  /// Everything that `change` does, or, where it fails, nothing. Waits for its turn: one change at a time.
  Result<void> change(const std::function<Result<void>()>& change);
  /// Several reads of one state.
  Result<void> read(const std::function<Result<void>()>& reads);
  std::int64_t changed_rows() const;

 private:
  struct Close {
    void operator()(sqlite3* db) const;
  };
  Result<void> within(const char* begin, const std::function<Result<void>()>& work);
  Error failed(const std::string& what) const;

  std::unique_ptr<sqlite3, Close> db_;
  std::string path_;
};

}  // namespace lanista::zoo
