#include <cmath>

#include "lanista/io/zoo/packed_bytes.h"
#include "lanista/io/zoo/store_state.h"

namespace lanista::zoo {
Result<void> Store::report_hit(const std::string& id) {
  const std::scoped_lock lock(state_->mutex);
  return state_->index.change(
      [&] { return state_->index.run("UPDATE models SET hits = hits + 1 WHERE id = ?1", {id}); });
}

Result<void> Store::report_outcome(const WarmStartOutcome& outcome) {
  for (const double steps : {outcome.steps, outcome.reference}) {
    if (!std::isfinite(steps) || steps <= 0) {
      return Error{Code::kInvalidArgument, "steps of an outcome must be a number above 0", outcome.parent};
    }
  }
  const std::scoped_lock lock(state_->mutex);
  return state_->index.change([&]() -> Result<void> {
    LANISTA_ASSIGN(const std::int64_t num_reported,
                   state_->number("SELECT count(*) FROM outcomes WHERE parent = ?1 AND child = ?2 AND source = ?3",
                                  {outcome.parent, outcome.child, outcome.source}));
    if (num_reported > 0 && !outcome.source.empty()) return {};
    LANISTA_TRY(
        state_->index.run("INSERT INTO outcomes(parent, task, child, steps, reference, source, change) "
                          "SELECT id, task, ?2, ?3, ?4, ?5, (SELECT value FROM meta WHERE name = 'change') FROM models "
                          "WHERE id = ?1 AND state <> 'removed'",
                          {outcome.parent, outcome.child, outcome.steps, outcome.reference, outcome.source}));
    if (state_->index.changed_rows() == 0) {
      return Error{Code::kNotFound, "the zoo has no model " + outcome.parent, state_->folder};
    }
    return {};
  });
}

Result<std::optional<ExpectedSaving>> Store::expected_gain(const std::string& id) const {
  const std::scoped_lock lock(state_->mutex);
  ExpectedSaving own, task;
  LANISTA_TRY(state_->index.each(
      "SELECT parent = ?1, 1 - steps / reference FROM outcomes WHERE task = (SELECT task FROM models WHERE id = ?1) "
      "ORDER BY number",
      {id}, [&](const SqlRow& row) -> Result<void> {
        for (ExpectedSaving* expected_saving : {&own, &task}) {
          if ((expected_saving == &own && row.integer(0) == 0) || !std::isfinite(row.real(1))) continue;
          expected_saving->saving += row.real(1);
          ++expected_saving->outcomes;
        }
        return {};
      }));
  if (task.outcomes == 0) return std::optional<ExpectedSaving>();
  task.is_task_average = true;
  ExpectedSaving out = own.outcomes > 0 ? own : task;
  out.saving /= static_cast<double>(out.outcomes);
  return std::optional(out);
}

Result<void> Store::record_query(const TaskKey& task, const MatchModel& child) {
  const std::scoped_lock lock(state_->mutex);
  Database& index = state_->index;
  return index.change([&]() -> Result<void> {
    Signatures table;
    const PackedModel packed = pack_model(child, table);
    LANISTA_ASSIGN(const auto numbers, state_->signature_numbers(table));
    const std::string view = packed_bytes(packed, numbers);
    LANISTA_TRY(
        index.run("INSERT INTO queries(task, view) VALUES(?1, ?2)", {task.text(), std::as_bytes(std::span(view))}));
    return index.run(
        "DELETE FROM queries WHERE task = ?1 AND number NOT IN "
        "(SELECT number FROM queries WHERE task = ?1 ORDER BY number DESC LIMIT ?2)",
        {task.text(), kMaxQueriesPerTask});
  });
}

}  // namespace lanista::zoo
