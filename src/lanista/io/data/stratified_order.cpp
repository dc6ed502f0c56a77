#include "lanista/io/data/stratified_order.h"

#include <set>
#include <utility>

#include "lanista/base/rng.h"

namespace lanista::data {
namespace {

struct Stratum {
  std::vector<std::int64_t> rows;
  std::int64_t next = 0;   ///< first row without a position
  std::uint32_t rank = 0;  ///< among strata of equal urgency
};

}  // namespace

std::vector<std::int64_t> stratified_order(std::span<const std::int64_t> rows, std::span<const std::int32_t> labels,
                                           std::int64_t classes, std::uint64_t seed) {
  std::vector<Stratum> strata(static_cast<std::size_t>(labels.empty() ? 1 : classes));
  for (const std::int64_t row : rows) {
    strata[labels.empty() ? 0 : static_cast<std::size_t>(labels[static_cast<std::size_t>(row)])].rows.push_back(row);
  }
  const Rng rng = Rng(seed).split("share");
  Rng ties = rng.split("ties");
  const auto ranks = ties.permutation(static_cast<std::uint32_t>(strata.size()));

  const std::int64_t all = std::ssize(rows);
  using Deadline = std::pair<std::int64_t, std::uint32_t>;    // a position, then the rank of the stratum
  std::set<std::pair<Deadline, std::size_t>> waiting, ready;  // by the first allowed position; by the last
  const auto enter = [&](std::size_t s) {
    const Stratum& of = strata[s];
    const std::int64_t size = std::ssize(of.rows);
    if (of.next < size) waiting.insert({{of.next * all / size, of.rank}, s});
  };
  for (std::size_t s = 0; s < strata.size(); ++s) {
    Stratum& of = strata[s];
    of.rank = ranks[s];
    std::vector<std::int64_t> random_order;
    random_order.reserve(of.rows.size());
    Rng inside = rng.split(s);
    for (const std::uint32_t i : inside.permutation(static_cast<std::uint32_t>(of.rows.size()))) {
      random_order.push_back(of.rows[i]);
    }
    of.rows = std::move(random_order);
    enter(s);
  }
  std::vector<std::int64_t> order;
  order.reserve(rows.size());
  while (std::ssize(order) < all) {
    while (!waiting.empty() && waiting.begin()->first.first <= std::ssize(order)) {
      const std::size_t s = waiting.begin()->second;
      waiting.erase(waiting.begin());
      const std::int64_t size = std::ssize(strata[s].rows);
      const std::int64_t last = ((strata[s].next + 1) * all + size - 1) / size;
      ready.insert({{last, strata[s].rank}, s});
    }
    const std::size_t s = ready.begin()->second;
    ready.erase(ready.begin());
    order.push_back(strata[s].rows[static_cast<std::size_t>(strata[s].next++)]);
    enter(s);
  }
  return order;
}

}  // namespace lanista::data
