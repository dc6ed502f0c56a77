#include "lanista/model/mutate/change.h"

#include <algorithm>
#include <utility>

namespace lanista::mutate {

bool any_applies(std::span<const Result<Change>> changes, std::string& why) {
  if (std::ranges::any_of(changes, [](const auto& change) { return change.ok() && change->is_sure; })) return true;
  for (const Result<Change>& change : changes) {
    const auto made = change ? change->make() : Result<graph::Edited>(change.error());
    if (made) return true;
    why = made.error().message;
  }
  return false;
}

std::vector<Change> applying(std::vector<Result<Change>> changes) {
  std::vector<Change> all;
  for (Result<Change>& change : changes) {
    if (change && (change->is_sure || change->make().ok())) all.push_back(*std::move(change));
  }
  return all;
}

bool lead(const View& view, graph::ValueType from, std::span<const Replacement> layers, const graph::ValueType& to) {
  for (const Replacement& layer : layers) {
    auto next = result_type(view.ops(), layer.op, layer.attrs, {&from, 1});
    if (!next) return false;
    from = *std::move(next);
  }
  return from == to && view.reads_first_outputs();
}

}  // namespace lanista::mutate
