#include "lanista/zoo/store.h"

#include <signal.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <charconv>
#include <set>
#include <utility>

#include "lanista/zoo/store_state.h"

namespace lanista::zoo {
namespace {

constexpr std::int64_t kApplication = 0x6c7a6f6f;  // "lzoo", in the file's header
constexpr std::int64_t kVersion = 1;
constexpr const char* kSchema = R"(
CREATE TABLE meta(name TEXT PRIMARY KEY, value INTEGER NOT NULL) WITHOUT ROWID;
CREATE TABLE signatures(number INTEGER PRIMARY KEY, text TEXT NOT NULL UNIQUE);
CREATE TABLE models(
  id TEXT PRIMARY KEY, task TEXT NOT NULL, family TEXT NOT NULL, state TEXT NOT NULL, why TEXT NOT NULL,
  graph_hash TEXT NOT NULL, relaxed_hash TEXT NOT NULL, graph TEXT NOT NULL, view BLOB NOT NULL,
  nodes INTEGER NOT NULL, params INTEGER NOT NULL, weights TEXT NOT NULL, bytes INTEGER NOT NULL,
  quality REAL NOT NULL, metric TEXT NOT NULL, origin TEXT NOT NULL, facts TEXT NOT NULL,
  added INTEGER NOT NULL, change INTEGER NOT NULL, pinned INTEGER NOT NULL DEFAULT 0, hits INTEGER NOT NULL DEFAULT 0
) WITHOUT ROWID;
CREATE INDEX models_task ON models(task, change);
CREATE INDEX models_family ON models(family, change);
CREATE INDEX models_relaxed ON models(task, relaxed_hash);
CREATE INDEX models_weights ON models(weights);
CREATE TABLE tensors(
  weights TEXT NOT NULL, place INTEGER NOT NULL, name TEXT NOT NULL, type INTEGER NOT NULL, shape TEXT NOT NULL,
  begin INTEGER NOT NULL, bytes INTEGER NOT NULL, sha256 TEXT NOT NULL, PRIMARY KEY(weights, place)
) WITHOUT ROWID;
CREATE TABLE outcomes(
  number INTEGER PRIMARY KEY, parent TEXT NOT NULL, task TEXT NOT NULL, child TEXT NOT NULL, steps REAL NOT NULL,
  reference REAL NOT NULL, source TEXT NOT NULL, change INTEGER NOT NULL);
CREATE INDEX outcomes_parent ON outcomes(parent);
CREATE TABLE leases(model TEXT NOT NULL, holder TEXT NOT NULL, until INTEGER NOT NULL, PRIMARY KEY(model, holder)
) WITHOUT ROWID;
CREATE TABLE queries(number INTEGER PRIMARY KEY, task TEXT NOT NULL, view BLOB NOT NULL);
INSERT INTO meta VALUES('change', 0), ('epoch', 0);
)";

/// Creates the tables of an empty file; of another the version must be ours.
Result<void> check_version(Database& index, const std::string& path, bool write) {
  std::int64_t application = 0, version = 0, tables = 0;
  const auto read = [&]() -> Result<void> {
    const auto into = [](std::int64_t& value) {
      return [&value](const SqlRow& row) -> Result<void> {
        value = row.integer(0);
        return {};
      };
    };
    LANISTA_TRY(index.each("PRAGMA application_id", {}, into(application)));
    LANISTA_TRY(index.each("PRAGMA user_version", {}, into(version)));
    return index.each("SELECT count(*) FROM sqlite_schema", {}, into(tables));
  };
  LANISTA_TRY(read());
  if (write && application == 0 && tables == 0) {
    const auto create = [&]() -> Result<void> {
      LANISTA_TRY(read());
      if (tables != 0) return {};  // another process was faster
      const std::string all = kSchema;
      for (std::size_t at = 0; at < all.size();) {
        const std::size_t end = all.find(';', at);
        if (end == std::string::npos) break;
        LANISTA_TRY(index.run(all.substr(at, end - at)));
        at = end + 1;
      }
      LANISTA_TRY(index.run("PRAGMA application_id = " + std::to_string(kApplication)));
      return index.run("PRAGMA user_version = " + std::to_string(kVersion));
    };
    LANISTA_TRY(index.change(create));
    LANISTA_TRY(read());
  }
  if (application != kApplication) {
    return Error{Code::kFailedPrecondition, "this SQLite file is no index of a zoo", path};
  }
  if (version != kVersion) {
    return Error{
        Code::kFailedPrecondition,
        "the zoo is of version " + std::to_string(version) + ", this build reads version " + std::to_string(kVersion),
        path};
  }
  return {};
}

/// Of a temporary file "tmp-<process>-<number>": whether its writer is no more.
bool writer_is_gone(const std::string& name) {
  long process = 0;
  const char* begin = name.data() + 4;
  const auto [end, error] = std::from_chars(begin, name.data() + name.size(), process);
  if (error != std::errc() || process <= 0) return true;
  return ::kill(static_cast<pid_t>(process), 0) != 0 && errno == ESRCH;
}

}  // namespace

Store::Store(std::unique_ptr<State> state) : state_(std::move(state)) {}
Store::Store(Store&&) noexcept = default;
Store& Store::operator=(Store&&) noexcept = default;
Store::~Store() = default;

Result<Store> Store::open(const std::string& folder, Mode mode, const Options& options) {
  const bool write = mode == Mode::kWrite;
  const std::string path = folder + "/index.sqlite";
  FileSystem& files = *options.files;
  if (write) {
    LANISTA_TRY(make_durable_folder(files, folder));
    LANISTA_TRY(make_durable_folder(files, folder + "/weights"));
  } else if (!files.exists(path)) {
    return Error{Code::kNotFound, "there is no zoo here (it would have a file index.sqlite)", folder};
  }
  LANISTA_ASSIGN(Database index, Database::open(path, write));
  LANISTA_TRY(check_version(index, path, write));
  auto state = std::make_unique<State>();
  state->folder = folder;
  state->options = options;
  state->index = std::move(index);
  if (write) {
    LANISTA_TRY(files.sync_folder(folder));
    LANISTA_TRY(state->index.change([&]() -> Result<void> {
      LANISTA_ASSIGN([[maybe_unused]] const std::int64_t orphans, state->sweep());
      return {};
    }));
  }
  return Store(std::move(state));
}

Result<std::int64_t> Store::State::number(const std::string& sql, const std::vector<SqlValue>& values) {
  std::int64_t out = 0;
  LANISTA_TRY(index.each(sql, values, [&](const SqlRow& row) -> Result<void> {
    out = row.integer(0);
    return {};
  }));
  return out;
}

Result<std::int64_t> Store::State::next_change() {
  LANISTA_TRY(index.run("UPDATE meta SET value = value + 1 WHERE name = 'change'"));
  return number("SELECT value FROM meta WHERE name = 'change'");
}

Result<std::int64_t> Store::State::sweep() {
  std::set<std::string> wanted;
  LANISTA_TRY(index.each("SELECT DISTINCT weights FROM models WHERE state <> 'removed'", {},
                         [&](const SqlRow& row) -> Result<void> {
                           wanted.insert(file_name(row.text(0)));
                           return {};
                         }));
  LANISTA_ASSIGN(const auto names, files().list(weights_folder()));
  std::int64_t out = 0;
  for (const std::string& name : names) {
    if (wanted.contains(name) || (name.starts_with("tmp-") && !writer_is_gone(name))) continue;
    LANISTA_TRY(files().remove(weights_folder() + "/" + name));
    ++out;
  }
  return out;
}

Result<void> Store::State::retire(const std::string& id, const std::string& state, const std::string& why) {
  LANISTA_ASSIGN(const std::int64_t change, next_change());
  LANISTA_TRY(index.run("UPDATE models SET state = ?2, why = ?3, change = ?4 WHERE id = ?1 AND state <> 'removed'",
                        {id, state, why, change}));
  if (index.changed_rows() == 0) return Error{Code::kNotFound, "the zoo has no model " + id, folder};
  return {};
}

Result<void> Store::State::drop_files(const std::vector<std::string>& ids) {
  // In a change of its own: a crash between leaves an orphan, never a model without weights; and nobody can add the
  // same weights while it looks.
  return index.change([&]() -> Result<void> {
    for (const std::string& id : ids) {
      std::string weights;
      LANISTA_TRY(
          index.each("SELECT weights FROM models AS gone WHERE id = ?1 AND weights <> '' AND NOT EXISTS "
                     "(SELECT 1 FROM models WHERE weights = gone.weights AND state <> 'removed')",
                     {id}, [&](const SqlRow& row) -> Result<void> {
                       weights = row.text(0);
                       return {};
                     }));
      if (!weights.empty()) LANISTA_TRY(files().remove(weights_folder() + "/" + file_name(weights)));
    }
    return {};
  });
}

Result<void> Store::remove(const std::string& id) {
  const std::scoped_lock lock(state_->mutex);
  LANISTA_TRY(state_->index.change([&] { return state_->retire(id, "removed", ""); }));
  return state_->drop_files({id});
}

Result<void> Store::quarantine(const std::string& id, const std::string& why) {
  const std::scoped_lock lock(state_->mutex);
  return state_->index.change([&] { return state_->retire(id, "quarantined", why); });
}

Result<void> Store::pin(const std::string& id, bool pinned) {
  const std::scoped_lock lock(state_->mutex);
  return state_->index.change([&]() -> Result<void> {
    LANISTA_TRY(state_->index.run("UPDATE models SET pinned = ?2 WHERE id = ?1 AND state = 'live'",
                                  {id, std::int64_t{pinned ? 1 : 0}}));
    if (state_->index.changed_rows() == 0) return Error{Code::kNotFound, "the zoo has no model " + id, state_->folder};
    return {};
  });
}

Result<void> Store::lease(const std::string& id, const std::string& holder, std::int64_t until) {
  const std::scoped_lock lock(state_->mutex);
  return state_->index.change([&]() -> Result<void> {
    LANISTA_ASSIGN(const std::int64_t live,
                   state_->number("SELECT count(*) FROM models WHERE id = ?1 AND state = 'live'", {id}));
    if (live == 0) return Error{Code::kNotFound, "the zoo has no model " + id, state_->folder};
    return state_->index.run("INSERT OR REPLACE INTO leases VALUES(?1, ?2, ?3)", {id, holder, until});
  });
}

Result<void> Store::release(const std::string& id, const std::string& holder) {
  const std::scoped_lock lock(state_->mutex);
  return state_->index.change([&] {
    return state_->index.run("DELETE FROM leases WHERE model = ?1 AND holder = ?2", {id, holder});
  });
}

Result<std::int64_t> Store::lease_all(const TaskKey& task, Scope scope, std::int64_t newest, const std::string& holder,
                                      std::int64_t until) {
  const std::scoped_lock lock(state_->mutex);
  const bool family = scope == Scope::kFamily;
  std::int64_t out = 0;
  const auto insert = [&]() -> Result<void> {
    LANISTA_TRY(state_->index.run(
        std::string("INSERT OR REPLACE INTO leases SELECT id, ?2, ?3 FROM models WHERE state = 'live' AND ") +
            (family ? "family" : "task") + " = ?1 AND added <= ?4",
        {family ? task.family() : task.text(), holder, until, newest}));
    out = state_->index.changed_rows();
    return {};
  };
  LANISTA_TRY(state_->index.change(insert));
  return out;
}

Result<void> Store::release_all(const std::string& holder) {
  const std::scoped_lock lock(state_->mutex);
  return state_->index.change([&] { return state_->index.run("DELETE FROM leases WHERE holder = ?1", {holder}); });
}

Result<std::int64_t> Store::last_change() const {
  const std::scoped_lock lock(state_->mutex);
  return state_->number("SELECT value FROM meta WHERE name = 'change'");
}

}  // namespace lanista::zoo
