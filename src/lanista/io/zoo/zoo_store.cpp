#include "lanista/io/zoo/zoo_store.h"

#include <utility>

#include "lanista/io/zoo/store_state.h"

namespace lanista::zoo {

Store::Store(std::unique_ptr<State> state) : state_(std::move(state)) {}
Store::Store(Store&&) noexcept = default;
Store& Store::operator=(Store&&) noexcept = default;
Store::~Store() = default;

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

Result<void> Store::State::mark_removed(const std::string& id, const std::string& state, const std::string& why) {
  LANISTA_ASSIGN(const std::int64_t change, next_change());
  LANISTA_TRY(index.run("UPDATE models SET state = ?2, why = ?3, change = ?4 WHERE id = ?1 AND state <> 'removed'",
                        {id, state, why.substr(0, kMaxText), change}));
  if (index.changed_rows() == 0) return Error{Code::kNotFound, "the zoo has no model " + id, folder};
  return {};
}

Result<void> Store::State::drop_files(const std::vector<std::string>& ids) {
  // It is a change of its own: a crash in between leaves an orphan, never a model without weights. No other process can
  // add the same weights during the check.
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
      if (is_sha256(weights)) LANISTA_TRY(remove_file(file_name(weights)));
    }
    return {};
  });
}

Result<void> Store::remove(const std::string& id) {
  const std::scoped_lock lock(state_->mutex);
  LANISTA_TRY(state_->index.change([&] { return state_->mark_removed(id, "removed", ""); }));
  return state_->drop_files({id});
}

Result<void> Store::quarantine(const std::string& id, const std::string& why) {
  const std::scoped_lock lock(state_->mutex);
  return state_->index.change([&] { return state_->mark_removed(id, "quarantined", why); });
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
