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

/// A value for a parameter of a statement.
using SqlValue = std::variant<std::nullptr_t, std::int64_t, double, std::string, std::span<const std::byte>>;

/// A row of a result, valid until the visit returns. A column of another type is converted as SQLite does.
class SqlRow {
 public:
  explicit SqlRow(sqlite3_stmt* statement) : statement_(statement) {}
  std::int64_t integer(int column) const;   ///< a column as a whole number
  double real(int column) const;            ///< a column as a number
  std::string text(int column) const;       ///< a column as a text
  std::string_view blob(int column) const;  ///< a column as bytes

 private:
  sqlite3_stmt* statement_;
};

/// An SQLite file with a write-ahead log. Another user may have written it.
///
/// Triggers, views, extensions, attached files and functions with effects are off, and each statement has a limit
/// (kFixedQueryCost). Not thread-safe; any number of processes may use the file.
/// Errors: kUnavailable (other processes held it for longer than the busy timeout), kResourceExhausted (disk full; a
/// statement above the limit), kDataLoss (no database, or a damaged one), kIo; `where` is the path.
class Database {
 public:
  /// What statements may do.
  enum class Access {
    kRead,    ///< read; a folder without write permission is read as it is
    kWrite,   ///< read and write
    kCreate,  ///< read, write, and create the file
  };
  /// The limit of a statement, in steps of SQLite's virtual machine, pages and bytes of rows: this number plus the
  /// bytes of the file and its log. A zoo of 100,000 models needs a third of it at most.
  static constexpr std::int64_t kFixedQueryCost = 10'000'000;

  /// Opens a file.
  static Result<Database> open(const std::string& path, Access access, std::int64_t fixed_query_cost = kFixedQueryCost);
  /// Opens a new database in memory.
  static Result<Database> open_in_memory();
  /// Prepares a file that is known to be a zoo's for changes.
  Result<void> prepare_changes();
  /// Lets SQLite remove an empty write-ahead log when the file is closed. A log with changes stays, since a writer must
  /// merge it.
  void remove_empty_log();

  /// Runs a statement without results.
  Result<void> run(const std::string& sql, const std::vector<SqlValue>& values = {});
  /// Runs several statements. Each ends with ';', which must not occur in their texts.
  Result<void> run_all(std::string_view statements);
  /// Calls `visit` for every row of a result; an error of `visit` ends the statement.
  Result<void> each(const std::string& sql, const std::vector<SqlValue>& values,
                    const std::function<Result<void>(const SqlRow&)>& visit);
  /// Runs `change` as one transaction. If it fails, nothing is changed. It waits until no other change runs.
  Result<void> change(const std::function<Result<void>()>& change);
  /// Runs several reads on one state of the database.
  Result<void> read(const std::function<Result<void>()>& reads);
  std::int64_t changed_rows() const;  ///< rows that the last statement changed

 private:
  struct Close {
    void operator()(sqlite3* db) const;
  };
  /// The cost of the current statement.
  struct Meter {
    sqlite3* db = nullptr;
    std::string path;
    std::int64_t fixed = kFixedQueryCost, cost = 0, allowed = 0;
    bool is_exceeded = false;

    void start();
    /// Adds a cost; false above the limit.
    bool add(std::int64_t cost);
  };
  static int on_progress(void* meter);
  Result<void> open_file(const std::string& name, int flags);
  Result<void> harden();
  Result<void> within(const char* begin, const std::function<Result<void>()>& work);
  Error failed(const std::string& what) const;

  std::unique_ptr<Meter> meter_ = std::make_unique<Meter>();  // db_ has its address, so it is destroyed later
  std::unique_ptr<sqlite3, Close> db_;
  std::string path_;
};

}  // namespace lanista::zoo
