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

/// A value for a parameter of a statement: null, integer, real, text or bytes. Bytes must live until the call returns.
using SqlValue = std::variant<std::nullptr_t, std::int64_t, double, std::string, std::span<const std::byte>>;

/// A row of a result, valid until the visit returns. Columns are indices from 0; a value of another type is converted
/// as SQLite does.
class SqlRow {
 public:
  explicit SqlRow(sqlite3_stmt* statement) : statement_(statement) {}
  std::int64_t integer(int column) const;  ///< a column as an integer; 0 for null
  /// True if a column has an integer or a real number.
  bool is_number(int column) const;
  double real(int column) const;            ///< a column as a real number; 0 for null
  std::string text(int column) const;       ///< a copy of a column as text; empty for null
  std::string_view blob(int column) const;  ///< the bytes of a column, valid as long as the row

 private:
  sqlite3_stmt* statement_;
};

/// An SQLite file with a write-ahead log. Another user may have written it.
///
/// Triggers, views, extensions, attached files and functions with effects are off, and each statement has a limit
/// (kFixedQueryCost). Not thread-safe; any number of processes may use the file at a time. Errors of all calls:
/// kUnavailable (other processes locked it for 30 seconds), kResourceExhausted (disk or memory full; a statement above
/// the limit), kDataLoss (no database, or a damaged one), kIo. Their `where` is the path.
class Database {
 public:
  /// What statements on an open file may do.
  enum class Access {
    kRead,    ///< read; also a folder without write permission
    kWrite,   ///< read and write
    kCreate,  ///< read, write, and create the file
  };
  /// The default of `fixed_query_cost`. The cost limit of a statement is that number plus the bytes of the file and its
  /// log. The cost is the sum of steps
  /// of SQLite's virtual machine, pages read, and bytes of rows. A zoo of 100,000 models needs a third of it at most.
  static constexpr std::int64_t kFixedQueryCost = 10'000'000;

  /// Opens the file `path`; a link as its last component is refused. Errors: also kFailedPrecondition (kRead without
  /// write permission, while changes are only in the log), kUnimplemented (an SQLite that cannot switch off what the
  /// index must not have).
  static Result<Database> open(const std::string& path, Access access, std::int64_t fixed_query_cost = kFixedQueryCost);
  /// Opens a file of SQLite that is no index of a zoo, to read it only: nothing is written or locked. Another user may
  /// have written it. `what` names it in messages. Errors: also kFailedPrecondition (changes are in a log or journal
  /// next to it).
  static Result<Database> open_immutable(const std::string& path, const std::string& what);
  /// Opens a new, empty database in memory.
  static Result<Database> open_in_memory();
  /// Sets write-ahead log and full sync, so that a change is on disk when its call returns. Precondition: the file was
  /// checked to be the index of a zoo.
  Result<void> prepare_changes();
  /// If the write-ahead log is empty, SQLite removes it when this object closes the file. A log with changes stays,
  /// since only a writer may merge it.
  void remove_empty_log();

  /// Runs one statement and ignores its rows. `values` replace its parameters ?1, ?2 and so on.
  Result<void> run(const std::string& sql, const std::vector<SqlValue>& values = {});
  /// Runs several statements in order, up to the first error. Each ends with ';', which must not occur inside them.
  Result<void> run_all(std::string_view statements);
  /// Runs one statement and calls `visit` for every row of its result. An error of `visit` ends it and is returned.
  Result<void> each(const std::string& sql, const std::vector<SqlValue>& values,
                    const std::function<Result<void>(const SqlRow&)>& visit);
  /// Runs `change` as one transaction, after those of other processes. An error of `change` is returned, and nothing is
  /// changed. Must not be nested.
  Result<void> change(const std::function<Result<void>()>& change);
  /// Runs `reads` as one read transaction: changes of other processes in the meantime are not visible. Must not be
  /// nested.
  Result<void> read(const std::function<Result<void>()>& reads);
  std::int64_t changed_rows() const;  ///< number of rows that the last changing statement changed

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
  Result<void> use_write_ahead_log();
  Result<void> within(const char* begin, const std::function<Result<void>()>& work);
  Error failed(const std::string& what) const;

  std::unique_ptr<Meter> meter_ = std::make_unique<Meter>();  // db_ has its address, so it is destroyed later
  std::unique_ptr<sqlite3, Close> db_;
  std::string path_;
  std::string what_ = "the index of the zoo";  // in messages
};

}  // namespace lanista::zoo
