#include "lanista/engine/local/dispatch.h"

#include <algorithm>
#include <iterator>
#include <set>
#include <span>
#include <tuple>

#include "lanista/plan/grouping/plan.h"

namespace lanista::runtime {
namespace {

bool comes_before(const DispatchEntry* a, const DispatchEntry* b) {
  return std::tuple(-a->priority, a->next_logical_time(), a->trial) <
         std::tuple(-b->priority, b->next_logical_time(), b->trial);
}

/// Lanes of a work item: a whole group, or less if a free worker would have no work otherwise.
std::int64_t lanes_per_worker(std::span<const DispatchEntry* const> ready, const DispatchCapacity& capacity) {
  std::set<std::int64_t> groups;
  std::int64_t alone = 0;
  for (const DispatchEntry* entry : ready) {
    if (entry->group == 0) {
      ++alone;
    } else {
      groups.insert(entry->group);
    }
  }
  if (capacity.max_executables > 0) return std::ssize(ready);
  const std::int64_t free = capacity.workers - capacity.busy;
  return alone + std::ssize(groups) < free ? plan::fair_share(std::ssize(ready), free) : std::ssize(ready);
}

/// Removes trials that need another copy of their program when all allowed copies are in use.
void drop_without_executable(std::vector<const DispatchEntry*>& ready, const DispatchEntries& entries,
                             std::int64_t max_executables) {
  std::map<Digest, std::set<std::int64_t>> work_items;
  for (const auto& [id, entry] : entries) {
    if (entry.running) work_items[entry.key].insert(entry.work_item_id);
  }
  std::erase_if(ready, [&](const DispatchEntry* entry) {
    const auto out = work_items.find(entry->key);
    return entry->can_share_program() && entry->group != 0 && out != work_items.end() &&
           std::ssize(out->second) >= max_executables;
  });
}

}  // namespace

DispatchEntry::DispatchEntry(const engine::Job& job, const Digest& program, bool trains_alone)
    : trial(job.trial),
      key(program),
      priority(job.priority),
      logical_start(job.logical_start),
      logical_epoch(job.logical_epoch),
      runs_alone(trains_alone) {}

Work next_work(const DispatchEntries& entries, const DispatchCapacity& capacity) {
  std::vector<const DispatchEntry*> ready;
  for (const auto& [id, entry] : entries) {
    const bool alone = entry.signals.needs_exclusive_memory;
    if (entry.running && alone) return {};
    const bool must_wait = entry.running || (alone && capacity.busy > 0);
    if (!must_wait && entry.has_work(capacity.pausing)) ready.push_back(&entry);
  }
  if (capacity.max_executables > 0 && !capacity.pausing)
    drop_without_executable(ready, entries, capacity.max_executables);
  if (ready.empty()) return {};
  std::ranges::sort(ready, comes_before);
  const DispatchEntry& first = *ready.front();
  if (capacity.pausing) return {WorkKind::kSave, {first.trial}};
  if (first.is_ready_to_end()) return {WorkKind::kFinish, {first.trial}, first.end_request()};
  if (!first.can_share_program() || first.group == 0) return {WorkKind::kTrain, {first.trial}};
  Work work{WorkKind::kTrain, {}};
  const std::int64_t most = std::min(lanes_per_worker(ready, capacity), capacity.lanes);
  for (const DispatchEntry* entry : ready) {
    const bool shares_program = entry->group == first.group && entry->key == first.key && entry->can_share_program();
    if (shares_program && std::ssize(work.trials) < most) work.trials.push_back(entry->trial);
  }
  return work;
}

}  // namespace lanista::runtime
