#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace lanista::zoo {

/// Why a model is not worth keeping beside others of its task; empty: it is. `others`: what those reached, larger is
/// better. It must be better than chance, where that is known, and no worse than their median less three deviations
/// (1.4826 times the median deviation from the median), once there are five and they are not all alike.
std::string admission_refusal(double quality, const std::optional<double>& chance, std::vector<double> others);

/// One of several models of one structure.
struct Replica {
  std::string id;
  double quality = 0;
  std::int64_t added = 0;
  bool held = false;  ///< pinned or leased
};
/// Those beyond `most`, worst first. The best, the newest and those that are held stay.
std::vector<std::string> surplus_replicas(std::vector<Replica> replicas, std::size_t most);

/// A model that may have to go for want of room.
struct EvictionCandidate {
  std::string id;
  std::int64_t bytes = 0;
  double value = 0;  ///< savings it brought, in trainings
  bool held = false;
  std::vector<double> serves;  ///< of each recent query: similarity times quality in [0, 1]
};
/// Which to keep under a budget of bytes: held ones; of the others by what they add a byte, greedily, where a set is
/// worth its values and, of each query, its best answer (facility location). Returns
/// who goes, in the order of `residents`. O(residents^2 x queries) at worst; gains that fell are looked at again only
/// when they come first.
std::vector<std::string> choose_evicted(std::span<const EvictionCandidate> residents, std::int64_t budget);

}  // namespace lanista::zoo
