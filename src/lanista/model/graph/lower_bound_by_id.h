#pragma once

#include <algorithm>
#include <cstddef>

#include "lanista/model/graph/graph.h"

namespace lanista::graph {

/// Returns the index of the first item with an id of at least `id`, in a vector sorted by id.
///
/// `items` is sorted by id, ascending, without equal ids; `id_of` returns the id of an item. The result is items.size()
/// if all ids are smaller. Ids are mostly dense, so the search is over few items: O(log of the number of ids up to the
/// largest that no item has).
template <class Items, class IdOf>
std::size_t lower_bound_by_id(const Items& items, NodeId id, IdOf id_of) {
  if (items.empty() || id_of(items.back()) < id) return items.size();
  const std::size_t gaps = std::size_t{id_of(items.back()).value} + 1 - items.size();
  std::size_t end = std::min<std::size_t>(id.value, items.size() - 1);
  std::size_t begin = id.value > gaps ? id.value - gaps : 0;
  while (begin < end) {
    const std::size_t middle = begin + (end - begin) / 2;
    if (id_of(items[middle]) < id) {
      begin = middle + 1;
    } else {
      end = middle;
    }
  }
  return begin;
}

}  // namespace lanista::graph
