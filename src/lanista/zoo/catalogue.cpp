#include "lanista/zoo/catalogue.h"

#include <algorithm>
#include <cmath>
#include <tuple>
#include <utility>

namespace lanista::zoo {
namespace {

/// Steps of similarity; what is below the first is no candidate.
int step_of(double sim) { return static_cast<int>(std::floor(sim * 20)); }

bool preferred(const CatalogueEntry& a, const CatalogueEntry& b) {
  return std::tuple(a.quality, a.age, std::string_view(b.id)) > std::tuple(b.quality, b.age, std::string_view(a.id));
}

}  // namespace

Result<void> Catalogue::add(CatalogueEntry entry) {
  if (entry.id.empty()) return Error{Code::kInvalidArgument, "a model of the zoo needs an id", ""};
  if (!std::isfinite(entry.quality)) {
    return Error{Code::kInvalidArgument, "model " + entry.id + ": its quality is no finite number", ""};
  }
  std::string id = entry.id;
  const auto [it, fresh] = entries_.emplace(std::move(id), std::move(entry));
  if (!fresh) return Error{Code::kAlreadyExists, "model " + it->first + " is in the zoo already", ""};
  const CatalogueEntry& stored = it->second;
  by_task_[stored.task].push_back(&stored);
  by_hash_[{stored.task, stored.model.hash}].push_back(&stored);
  return {};
}

std::optional<Offer> Catalogue::best(const MatchModel& child, const std::string& task, const SearchOptions& options,
                                     SearchCount* count) const {
  SearchCount counted;
  std::optional<Offer> best;
  const auto consider = [&](const CatalogueEntry& entry) {
    ++counted.aligned;
    Match one = match(entry.model, child, options.match);
    const int step = step_of(one.sim);
    if (step < 1) return;
    const int known = best ? step_of(best->match.sim) : 0;
    if (!best || step > known || (step == known && preferred(entry, *best->entry))) {
      best = Offer{&entry, std::move(one)};
    }
  };
  const auto of_task = by_task_.find(task);
  if (of_task != by_task_.end()) {
    counted.candidates = static_cast<std::int64_t>(of_task->second.size());
    if (const auto same = by_hash_.find({task, child.hash}); same != by_hash_.end()) {
      consider(**std::ranges::max_element(same->second, [](auto* a, auto* b) { return preferred(*b, *a); }));
    } else {
      std::vector<std::pair<double, const CatalogueEntry*>> order;
      for (const CatalogueEntry* entry : of_task->second) {
        order.emplace_back(options.exhaustive ? 1.0 : sim_bound(entry->model, child), entry);
      }
      std::ranges::stable_sort(order, [](const auto& a, const auto& b) { return a.first > b.first; });
      for (const auto& [bound, entry] : order) {
        if (!options.exhaustive && step_of(bound) < (best ? step_of(best->match.sim) : 1)) break;
        consider(*entry);
      }
    }
  }
  if (count != nullptr) *count = counted;
  return best;
}

}  // namespace lanista::zoo
