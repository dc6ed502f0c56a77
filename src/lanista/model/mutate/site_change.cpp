#include "lanista/model/mutate/site_change.h"

#include <algorithm>
#include <utility>

namespace lanista::mutate {

bool any_can_apply(std::span<const Result<SiteChange>> changes, std::string& why) {
  if (std::ranges::any_of(changes, [](const auto& change) { return change.ok() && change->is_type_safe; })) return true;
  for (const Result<SiteChange>& change : changes) {
    const auto made = change ? change->make() : Result<graph::Edited>(change.error());
    if (made) return true;
    why = made.error().message;
  }
  return false;
}

std::vector<SiteChange> applicable_changes(std::vector<Result<SiteChange>> changes) {
  std::vector<SiteChange> all;
  for (Result<SiteChange>& change : changes) {
    if (change && (change->is_type_safe || change->make().ok())) all.push_back(*std::move(change));
  }
  return all;
}

bool leads_to(const ModelView& view, graph::ValueType from, std::span<const Replacement> layers,
              const graph::ValueType& to) {
  for (const Replacement& layer : layers) {
    auto next = result_type(view.ops(), layer.op, layer.attrs, {&from, 1});
    if (!next) return false;
    from = *std::move(next);
  }
  return from == to && view.reads_first_outputs();
}

}  // namespace lanista::mutate
