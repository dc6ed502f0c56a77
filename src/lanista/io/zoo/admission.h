#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace lanista::zoo {

/// The reason why the zoo refuses a new model with this quality, as text for users; empty: it keeps it. `others` are
/// the qualities of live models of the same task; larger is better.
///
/// The quality must exceed `chance`, the quality of a guess, if it is known. From five other models on it must be at
/// least their median less three deviations (1.4826 times the median deviation from the median), unless the deviation
/// is 0.
std::string admission_refusal(double quality, const std::optional<double>& chance, std::vector<double> others);

/// One of several models of a task with one structure (relaxed_hash()), of which the zoo keeps a limited number.
struct Replica {
  std::string id;          ///< id of the model
  double quality = 0;      ///< result of the model; larger is better
  std::int64_t added = 0;  ///< number of the zoo's change that added the model
  bool held = false;       ///< true: pinned or leased, so it stays
};
/// The ids of replicas to remove so that at most `most` stay, worst first. The best one and held ones are never
/// removed, nor the newest one if `most` is above 1; so more than `most` may stay.
std::vector<std::string> surplus_replicas(std::vector<Replica> replicas, std::size_t most);

/// A model that may be evicted for lack of space.
struct EvictionCandidate {
  std::string id;          ///< Id of the model.
  std::int64_t bytes = 0;  ///< Size of its file of weights.
  double value = 0;        ///< Saving by starts from it, as a number of trainings; older ones count less.
  bool held = false;       ///< True: pinned or leased, so it stays.
  /// For each recent query: similarity times rank of quality, in [0, 1]. Equally long for all candidates.
  std::vector<double> serves;
};
/// The ids of models to evict so that the others have at most `budget` bytes, in the order of `residents`. If held
/// models have more, all others are evicted.
///
/// Held models stay. The others are kept greedily by their gain for each byte, as far as they fit. A set is worth the
/// values of its models and, for each query, the best `serves` (facility location). O(residents^2 x queries) at worst;
/// a gain that fell is computed again only when it is the largest.
std::vector<std::string> choose_evicted(std::span<const EvictionCandidate> residents, std::int64_t budget);

}  // namespace lanista::zoo
