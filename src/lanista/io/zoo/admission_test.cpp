#include "lanista/io/zoo/admission.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "lanista/base/rng.h"

namespace lanista::zoo {
namespace {

TEST(Admission, RejectsModelsAtChanceOrFarBelowMedian) {
  const std::vector<double> others{0.90, 0.91, 0.92, 0.93, 0.94};  // median 0.92, deviation 0.0148

  EXPECT_NE(admission_refusal(0.1, 0.1, {}), "");
  EXPECT_EQ(admission_refusal(0.11, 0.1, {}), "");
  EXPECT_EQ(admission_refusal(0.876, std::nullopt, others), "");
  EXPECT_NE(admission_refusal(0.875, std::nullopt, others), "");
  EXPECT_EQ(admission_refusal(0.5, std::nullopt, {0.90, 0.91, 0.92, 0.93}), "") << "four are too few";
  EXPECT_EQ(admission_refusal(0.5, std::nullopt, std::vector(9, 0.9)), "") << "nothing is known of how they differ";
}

TEST(Admission, KeepsBestNewestAndHeldReplicas) {
  const std::vector<Replica> all{
      {"old best", 0.9, 1}, {"held", 0.1, 2, true}, {"poor", 0.2, 3}, {"fair", 0.5, 4}, {"new", 0.3, 5}};

  EXPECT_EQ(surplus_replicas(all, 5), std::vector<std::string>{});
  EXPECT_EQ(surplus_replicas(all, 4), std::vector<std::string>{"poor"});
  EXPECT_EQ(surplus_replicas(all, 3), (std::vector<std::string>{"poor", "fair"}));
  EXPECT_EQ(surplus_replicas({{"a", 0.9, 1}, {"b", 0.5, 2}}, 1), std::vector<std::string>{"b"});
  EXPECT_EQ(surplus_replicas({{"a", 0.5, 1}, {"b", 0.9, 2}}, 1), std::vector<std::string>{"a"});
  EXPECT_EQ(surplus_replicas({{"a", 0.9, 1}, {"b", 0.5, 2, true}, {"c", 0.4, 3, true}}, 1), std::vector<std::string>{})
      << "the best stays together with those that are held";
}

/// The value of a set.
double value_of(const std::vector<EvictionCandidate>& all, const std::vector<bool>& stays) {
  double out = 0;
  for (std::size_t k = 0; k < all.size(); ++k) out += stays[k] ? all[k].value : 0;
  for (std::size_t q = 0; q < all.front().serves.size(); ++q) {
    double best = 0;
    for (std::size_t k = 0; k < all.size(); ++k) best = std::max(best, stays[k] ? all[k].serves[q] : 0);
    out += best;
  }
  return out;
}

std::vector<bool> staying(const std::vector<EvictionCandidate>& all, const std::vector<std::string>& gone) {
  std::vector<bool> out;
  for (const EvictionCandidate& one : all) out.push_back(std::ranges::find(gone, one.id) == gone.end());
  return out;
}

// Of equal sizes greedy reaches 1 - 1/e of the best set (Nemhauser, Wolsey and Fisher 1978).
TEST(Eviction, IsNearOptimalSet) {
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    Rng rng = Rng(61).split(seed);
    std::vector<EvictionCandidate> all(8);
    for (std::size_t k = 0; k < all.size(); ++k) {
      all[k] = {std::to_string(k), 10, rng.bernoulli(0.3) ? rng.uniform() : 0, false, {}};
      for (int q = 0; q < 5; ++q) all[k].serves.push_back(rng.uniform());
    }
    const double ours = value_of(all, staying(all, choose_evicted(all, 35)));
    double best = 0;
    for (std::uint32_t set = 0; set < 256; ++set) {
      if (std::popcount(set) > 3) continue;
      std::vector<bool> stays;
      for (std::size_t k = 0; k < all.size(); ++k) stays.push_back((set >> k & 1) != 0);
      best = std::max(best, value_of(all, stays));
    }
    EXPECT_GE(ours, best * (1 - std::exp(-1.0))) << seed;
    EXPECT_LE(ours, best + 1e-12);
  }
}

TEST(Eviction, KeepsHeldAndComplementaryModels) {
  const std::vector<EvictionCandidate> all{{"held", 50, 0, true, {0, 0}},
                                           {"first", 50, 0, false, {0.9, 0}},
                                           {"like the first", 50, 0, false, {0.8, 0.1}},
                                           {"other", 50, 0, false, {0, 0.5}}};

  EXPECT_EQ(choose_evicted(all, 150), std::vector<std::string>{"like the first"});
  EXPECT_EQ(choose_evicted(all, 0), (std::vector<std::string>{"first", "like the first", "other"}));
  EXPECT_EQ(choose_evicted(all, 200), std::vector<std::string>{});
}

}  // namespace
}  // namespace lanista::zoo
