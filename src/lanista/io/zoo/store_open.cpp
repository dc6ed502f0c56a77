#include <algorithm>
#include <set>
#include <tuple>
#include <utility>
#include <vector>

#include "lanista/base/printable.h"
#include "lanista/io/zoo/store_state.h"

// Store::open, and the removal of what crashed writers left.
namespace lanista::zoo {
namespace {

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

/// The identity in the file.
struct Identity {
  std::int64_t application = 0, version = 0, objects = 0;
};

Result<Identity> read_identity(Database& index) {
  Identity out;
  const auto into = [](std::int64_t& value) {
    return [&value](const SqlRow& row) -> Result<void> {
      value = row.integer(0);
      return {};
    };
  };
  LANISTA_TRY(index.each("PRAGMA application_id", {}, into(out.application)));
  LANISTA_TRY(index.each("PRAGMA user_version", {}, into(out.version)));
  LANISTA_TRY(index.each("SELECT count(*) FROM sqlite_schema", {}, into(out.objects)));
  return out;
}

Result<void> create_tables(Database& index) {
  return index.change([&]() -> Result<void> {
    LANISTA_ASSIGN(const Identity now, read_identity(index));
    if (now.objects != 0) return {};  // another process was faster
    LANISTA_TRY(index.run_all(kSchema));
    LANISTA_TRY(index.run("PRAGMA application_id = " + std::to_string(kApplicationId)));
    return index.run("PRAGMA user_version = " + std::to_string(kVersion));
  });
}

using SchemaObject = std::tuple<std::string, std::string, std::string, std::string>;  // type, name, table, text

Result<std::vector<SchemaObject>> schema_of(Database& index, std::set<std::int64_t>* roots) {
  std::vector<SchemaObject> out;
  LANISTA_TRY(index.each("SELECT type, name, tbl_name, sql, rootpage FROM sqlite_schema", {},
                         [&](const SqlRow& row) -> Result<void> {
                           out.emplace_back(row.text(0), row.text(1), row.text(2), row.text(3));
                           if (roots != nullptr) roots->insert(row.integer(4));
                           return {};
                         }));
  std::ranges::sort(out);
  return out;
}

/// Checks that tables and indexes are exactly those of create_tables(). Anything else, such as a view, a trigger, a
/// check or an expression, would run together with the program's statements.
Result<void> check_schema(Database& index, const std::string& path) {
  LANISTA_ASSIGN(Database fresh, Database::open_in_memory());
  LANISTA_TRY(create_tables(fresh));
  LANISTA_ASSIGN(const auto allowed, schema_of(fresh, nullptr));
  std::set<std::int64_t> roots;
  LANISTA_ASSIGN(const auto found, schema_of(index, &roots));
  const auto refused = [&](const std::string& what) { return Error{Code::kFailedPrecondition, what, path}; };
  for (const SchemaObject& one : found) {
    if (std::ranges::binary_search(allowed, one)) continue;
    return refused("the index has the " + printable(std::get<0>(one)) + " '" + printable(std::get<1>(one)) +
                   "', which no zoo of version " + std::to_string(kVersion) + " has in this form");
  }
  for (const SchemaObject& one : allowed) {
    if (!std::ranges::binary_search(found, one)) {
      return refused("the index lacks the " + std::get<0>(one) + " '" + std::get<1>(one) + "'");
    }
  }
  if (found.size() != allowed.size() || roots.size() != found.size() || *roots.begin() < 2) {
    return refused("two tables or indexes of the index share a page");
  }
  return {};
}

/// Creates the tables if that is allowed and none exist. Otherwise the file must be a zoo of this version.
Result<void> check_version(Database& index, const std::string& folder, const std::string& path, bool create) {
  Identity now;
  // One transaction: another process may create the tables meanwhile.
  LANISTA_TRY(index.read([&]() -> Result<void> {
    LANISTA_ASSIGN(now, read_identity(index));
    return {};
  }));
  if (create && now.application == 0 && now.version == 0 && now.objects == 0) {
    LANISTA_TRY(index.prepare_changes());
    LANISTA_TRY(create_tables(index));
    LANISTA_ASSIGN(now, read_identity(index));
  }
  if (now.application != kApplicationId) return not_a_zoo(folder);
  if (now.version != kVersion) {
    return Error{Code::kFailedPrecondition,
                 "the zoo is of version " + std::to_string(now.version) + ", this build reads version " +
                     std::to_string(kVersion),
                 path};
  }
  return check_schema(index, path);
}

}  // namespace

Result<Store> Store::open(const std::string& given, Mode mode, const Options& options) {
  std::string folder = given;
  while (folder.size() > 1 && folder.ends_with('/')) folder.pop_back();  // "zoo/" would follow a link
  const bool write = mode != Mode::kRead;
  const std::string path = folder + "/" + std::string(kIndexName);
  LANISTA_ASSIGN(const FolderFacts facts, examine_folder(folder));
  if (mode != Mode::kWrite && !facts.has_index) {
    return Error{Code::kNotFound, "there is no zoo here (it would have a file index.sqlite)", folder};
  }
  const bool create = mode == Mode::kWrite && facts.may_create;
  if (create) LANISTA_TRY(make_durable_folder(*options.files, folder));
  auto state = std::make_unique<State>();
  state->folder = folder;
  state->options = options;
  state->confined = options.files->confined_to(folder);
  LANISTA_ASSIGN(Database index, Database::open(path, create  ? Database::Access::kCreate
                                                      : write ? Database::Access::kWrite
                                                              : Database::Access::kRead));
  LANISTA_TRY(check_version(index, folder, path, create));
  state->index = std::move(index);
  if (!write) {
    state->index.remove_empty_log();
    return Store(std::move(state));
  }
  LANISTA_TRY(make_durable_folder(state->files(), state->weights_folder()));
  LANISTA_TRY(state->index.prepare_changes());
  LANISTA_TRY(state->files().sync_folder(folder));
  LANISTA_TRY(state->index.change([&]() -> Result<void> {
    LANISTA_ASSIGN([[maybe_unused]] const std::int64_t orphans, state->sweep());
    return {};
  }));
  return Store(std::move(state));
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
    if (!is_sweepable(name) || wanted.contains(name)) continue;
    LANISTA_TRY(files().remove(weights_folder() + "/" + name));
    ++out;
  }
  return out;
}

bool Store::State::is_sweepable(const std::string& name) const {
  const bool is_leftover = is_temporary_weights_name(name) && has_writer_ended(name);
  if (!is_leftover && !is_weights_file_name(name)) return false;
  return files().kind(weights_folder() + "/" + name) == FileKind::kFile;
}

Result<void> Store::State::remove_file(const std::string& name) {
  if (!is_sweepable(name)) return {};
  return files().remove(weights_folder() + "/" + name);
}

}  // namespace lanista::zoo
