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

/// An SQLite file with a write-ahead log, which another user may have written: triggers, views, extensions, attached
/// files and functions with effects are off, and each statement has a limit (kFixedQueryCost). Not thread-safe; any
/// number of processes.
/// Errors: kUnavailable (others held it for longer than the busy timeout), kResourceExhausted (disk full; a statement
/// above the limit), kDataLoss (no database, or a damaged one), kIo; `where` is the path.
class Database {
 public:
  enum class Access {
    kRead,    ///< statements change nothing; a folder without write permission is read as it is
    kWrite,
    kCreate,  ///< writes, and makes the file
  };
  /// What a statement may cost, in steps of SQLite's virtual machine, pages and bytes of rows: this, and one for each
  /// byte of the file and its log. A zoo of 100,000 models needs a third of that at most.
  static constexpr std::int64_t kFixedQueryCost = 10'000'000;

  static Result<Database> open(const std::string& path, Access access, std::int64_t fixed_query_cost = kFixedQueryCost);
  /// The same in memory.
  static Result<Database> open_in_memory();
  /// Sets a file that is known to be a zoo's up for changes.
  Result<void> prepare_changes();
  /// Closing the file removes its empty log, as SQLite does. A log with changes stays: merging it is a writer's task.
  void remove_empty_log();

  Result<void> run(const std::string& sql, const std::vector<SqlValue>& values = {});
  /// Runs statements that end with ';', which no text in them holds.
  Result<void> run_all(std::string_view statements);
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
  /// What the current statement has cost.
  struct Meter {
    sqlite3* db = nullptr;
    std::string path;
    std::int64_t fixed = kFixedQueryCost, cost = 0, allowed = 0;
    bool is_exceeded = false;

    void start();
    /// False above the limit.
    bool add(std::int64_t cost);
  };
  static int on_progress(void* meter);
  Result<void> open_file(const std::string& name, int flags);
  Result<void> harden();
  Result<void> within(const char* begin, const std::function<Result<void>()>& work);
  Error failed(const std::string& what) const;

  std::unique_ptr<Meter> meter_ = std::make_unique<Meter>();  // outlives db_, which has its address
  std::unique_ptr<sqlite3, Close> db_;
  std::string path_;
};

}  // namespace lanista::zoo
