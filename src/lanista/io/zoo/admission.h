#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace lanista::zoo {

/// Why the zoo does not keep a model; empty: it keeps it. `others` are the qualities of other models of its task;
/// larger is better.
///
/// The quality must exceed that of chance, if it is known. From five other models on it must be at least their median
/// less three deviations (1.4826 times the median deviation from the median), unless the deviation is 0.
std::string admission_refusal(double quality, const std::optional<double>& chance, std::vector<double> others);

/// One of several models with one structure.
struct Replica {
  std::string id;          ///< of the model
  double quality = 0;      ///< larger is better
  std::int64_t added = 0;  ///< number of the change that added it
  bool held = false;       ///< pinned or leased
};
/// The replicas above the number `most`, worst first. The best, the newest and held ones stay.
std::vector<std::string> surplus_replicas(std::vector<Replica> replicas, std::size_t most);

/// A model that may be evicted for lack of space.
struct EvictionCandidate {
  std::string id;              ///< of the model
  std::int64_t bytes = 0;      ///< of its weights
  double value = 0;            ///< what its use saved, in trainings
  bool held = false;           ///< pinned or leased
  std::vector<double> serves;  ///< for each recent query: similarity times quality in [0, 1]
};
/// The models to evict so that the others fit a budget of bytes, in the order of `residents`.
///
/// Held models stay. The others are kept greedily by their gain for each byte. A set is worth the values of its models
/// and, for each query, the best `serves` (facility location). O(residents^2 x queries) at worst; a gain that fell is
/// computed again only when it is the largest.
std::vector<std::string> choose_evicted(std::span<const EvictionCandidate> residents, std::int64_t budget);

}  // namespace lanista::zoo
