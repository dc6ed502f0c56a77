#include "lanista/engine/local/ticket.h"

#include <algorithm>
#include <iterator>
#include <set>
#include <span>
#include <tuple>

#include "lanista/plan/grouping/plan.h"

namespace lanista::runtime {
namespace {

bool comes_before(const Ticket* a, const Ticket* b) {
  return std::tuple(-a->priority, a->next_time(), a->trial) < std::tuple(-b->priority, b->next_time(), b->trial);
}

/// Groups run whole, unless that would leave a free worker without any.
std::int64_t share_of_a_worker(std::span<const Ticket* const> ready, const Crew& crew) {
  std::set<std::int64_t> groups;
  std::int64_t alone = 0;
  for (const Ticket* ticket : ready) {
    if (ticket->group == 0) {
      ++alone;
    } else {
      groups.insert(ticket->group);
    }
  }
  if (crew.machines > 0) return std::ssize(ready);
  const std::int64_t free = crew.workers - crew.busy;
  return alone + std::ssize(groups) < free ? schedule::fair_share(std::ssize(ready), free) : std::ssize(ready);
}

/// Those that no machine may be had for: the program's are out, and none is left to be made.
void drop_without_machine(std::vector<const Ticket*>& ready, const Tickets& tickets, std::int64_t machines) {
  std::map<Digest, std::set<std::int64_t>> errands;
  for (const auto& [id, ticket] : tickets) {
    if (ticket.running) errands[ticket.key].insert(ticket.errand);
  }
  std::erase_if(ready, [&](const Ticket* ticket) {
    const auto out = errands.find(ticket->key);
    return ticket->takes_company() && ticket->group != 0 && out != errands.end() && std::ssize(out->second) >= machines;
  });
}

}  // namespace

Ticket::Ticket(const engine::Job& job, const Digest& program, bool without_company)
    : trial(job.trial),
      key(program),
      priority(job.priority),
      logical_start(job.logical_start),
      logical_epoch(job.logical_epoch),
      solo(without_company) {}

Work next_work(const Tickets& tickets, const Crew& crew) {
  std::vector<const Ticket*> ready;
  for (const auto& [id, ticket] : tickets) {
    const bool alone = ticket.signals.wants_to_be_alone;
    if (ticket.running && alone) return {};
    const bool must_wait = ticket.running || (alone && crew.busy > 0);
    if (!must_wait && ticket.has_work(crew.pausing)) ready.push_back(&ticket);
  }
  if (crew.machines > 0 && !crew.pausing) drop_without_machine(ready, tickets, crew.machines);
  if (ready.empty()) return {};
  std::ranges::sort(ready, comes_before);
  const Ticket& first = *ready.front();
  if (crew.pausing) return {WorkKind::kSave, {first.trial}};
  if (first.ends()) return {WorkKind::kFinish, {first.trial}, first.ending()};
  if (!first.takes_company() || first.group == 0) return {WorkKind::kTrain, {first.trial}};
  Work work{WorkKind::kTrain, {}};
  const std::int64_t most = std::min(share_of_a_worker(ready, crew), crew.lanes);
  for (const Ticket* ticket : ready) {
    const bool is_company = ticket->group == first.group && ticket->key == first.key && ticket->takes_company();
    if (is_company && std::ssize(work.trials) < most) work.trials.push_back(ticket->trial);
  }
  return work;
}

}  // namespace lanista::runtime
