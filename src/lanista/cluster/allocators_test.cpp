#include <cmath>
#include <deque>
#include <numeric>

#include <gtest/gtest.h>

#include "lanista/base/rng.h"
#include "lanista/cluster/barrier.h"
#include "lanista/cluster/baselines.h"
#include "lanista/cluster/bounds.h"
#include "lanista/cluster/genetic.h"
#include "lanista/cluster/knapsack.h"
#include "lanista/cluster/packing.h"
#include "lanista/cluster/separable.h"

namespace lanista::cluster {
namespace {

TEST(Packing, NeverPutsTwoDistributedJobsOnANodeAndKeepsWhoMayStay) {
  Rng rng(5);
  const Nodes nodes{8, 4};
  std::vector<Allocation> current(12);
  for (int round = 0; round < 500; ++round) {
    std::vector<std::int32_t> counts;
    std::int32_t left = nodes.total();
    for (std::size_t j = 0; j < current.size(); ++j) {
      std::int32_t k = std::vector<std::int32_t>{0, 1, 2, 4, 8, 12}[rng.below(6)];
      // Half of them as before, so that there is something to keep.
      if (rng.bernoulli(0.5)) k = devices_of(current[j]);
      counts.push_back(k <= left ? k : 0);
      left -= counts.back();
    }
    const auto packed = pack(counts, current, nodes);
    std::vector<std::int32_t> used(8, 0), spanning(8, 0);
    bool moved = false, grew = false;
    for (std::size_t j = 0; j < packed.size(); ++j) {
      EXPECT_EQ(devices_of(packed[j]), counts[j]);
      EXPECT_LE(packed[j].size(), static_cast<std::size_t>((counts[j] + 3) / 4));
      for (const Share& share : packed[j]) {
        used[static_cast<std::size_t>(share.node)] += share.devices;
        spanning[static_cast<std::size_t>(share.node)] += packed[j].size() > 1;
      }
      moved = moved || (counts[j] == devices_of(current[j]) && packed[j] != current[j]);
      grew = grew || counts[j] > devices_of(current[j]);
    }
    for (std::size_t n = 0; n < 8; ++n) {
      EXPECT_LE(used[n], 4);
      EXPECT_LE(spanning[n], 1);
    }
    EXPECT_TRUE(!moved || grew) << "nobody moves where nobody grows";
    current = packed;
  }
}

TEST(Packing, SendsAwayOnlyWhoIsOnTheEmptiestNode) {
  Rng rng(6);
  const Nodes nodes{8, 4};
  for (int round = 0; round < 50; ++round) {
    // Jobs of one device fill nodes to a half or so, and there comes one that needs a node.
    std::vector<Allocation> current;
    const auto least = static_cast<std::int32_t>(rng.below(8));
    for (std::int32_t n = 0; n < nodes.count; ++n) {
      const std::int64_t here = n == least ? 1 : rng.between(2, 3);
      for (std::int64_t i = 0; i < here; ++i) current.push_back({{n, 1}});
    }
    std::vector<std::int32_t> counts(current.size(), 1);
    const auto comes = static_cast<std::ptrdiff_t>(rng.below(counts.size() + 1));
    counts.insert(counts.begin() + comes, 4);
    current.insert(current.begin() + comes, Allocation{});
    const auto packed = pack(counts, current, nodes);
    for (std::size_t j = 0; j < packed.size(); ++j) {
      if (counts[j] == 4) {
        EXPECT_EQ(packed[j], (Allocation{{least, 4}}));
      } else if (current[j].front().node == least) {
        EXPECT_NE(packed[j].front().node, least);
      } else {
        EXPECT_EQ(packed[j], current[j]) << "who is not in the way stays";
      }
    }
  }
}

/// Jobs with models of their own.
struct Crowd {
  std::deque<GoodputTable> tables;
  std::vector<JobView> views;
  std::vector<Allocation> current;
  Nodes nodes{2, 4};

  Crowd(std::size_t jobs, Rng rng, Nodes where) : nodes(where) {
    for (std::size_t j = 0; j < jobs; ++j) {
      JobModel model;
      model.throughput = {
          rng.uniform(0.05, 0.2), 0.01, rng.uniform(0.05, 0.5), 0.002, rng.uniform(0.01, 0.1), 0.001, 1};
      model.gradients = {1, rng.uniform(1, 100)};
      model.limits = {32, 2048, 8, 128};
      tables.emplace_back(model);
      JobView view;
      view.id = static_cast<std::int64_t>(j);
      view.age = rng.uniform(100, 5000);
      view.most = 8;
      view.wanted = 2;
      view.service = rng.uniform(0, 1000);
      view.goodput = &tables.back();
      views.push_back(view);
    }
    current.resize(jobs);
  }
  Situation situation() const { return {1000, nodes, 30, views, current}; }
  /// Pollux's fitness of device counts, packed, everybody new.
  double cost(const std::vector<std::int32_t>& counts) const {
    const double fair = std::ceil(static_cast<double>(nodes.total()) / static_cast<double>(views.size()));
    double sum = 0;
    for (std::size_t j = 0; j < views.size(); ++j) {
      const double unit = tables[j].at(1, static_cast<std::int64_t>(fair));
      double s = tables[j].packed(counts[j], nodes.devices) / unit * nodes.count / nodes.total();
      if (counts[j] != devices_of(current[j])) s *= views[j].age / (views[j].age + 30);
      sum += 1 / (s + 1e-3);
    }
    return sum / static_cast<double>(views.size());
  }
};

std::vector<std::int32_t> counts_of(const std::vector<Allocation>& all) {
  std::vector<std::int32_t> counts;
  for (const Allocation& allocation : all) counts.push_back(devices_of(allocation));
  return counts;
}

TEST(Separable, IsTheBestOfAllPackedCounts) {
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    const Crowd crowd(4, Rng(seed), {2, 4});
    double best = 1e300;
    const std::int32_t options[] = {0, 1, 2, 4, 8};
    for (const auto a : options) {
      for (const auto b : options) {
        for (const auto c : options) {
          for (const auto d : options) {
            if (a + b + c + d <= 8) best = std::min(best, crowd.cost({a, b, c, d}));
          }
        }
      }
    }
    const auto decided = separable()->allocate(crowd.situation());
    ASSERT_TRUE(check_allocations(crowd.situation(), decided));
    EXPECT_NEAR(crowd.cost(counts_of(decided)), best, 1e-9 * best);
  }
}

TEST(BarrierGroup, EndsAsSoonAsAnyPackedCountsLet) {
  Rng rng(8);
  for (std::uint64_t seed = 0; seed < 40; ++seed) {
    Crowd crowd(3, Rng(seed), {2, 4});
    // Short enough that a restart decides, or long.
    for (JobView& view : crowd.views) view.left = rng.uniform(1e3, seed % 2 == 0 ? 1e5 : 1e6);
    const auto options = {1, 2, 4, 8};
    const auto policy = barrier();
    // The second time it starts from devices that it dealt to other lengths.
    for (int time = 0; time < 2; ++time) {
      const auto end_of = [&](const std::vector<std::int32_t>& counts) {
        double end = 0;
        for (std::size_t j = 0; j < 3; ++j) {
          const double wait = counts[j] == devices_of(crowd.current[j]) ? 0 : 30;
          end = std::max(end, *crowd.views[j].left / crowd.tables[j].packed(counts[j], 4) + wait);
        }
        return end;
      };
      double best = 1e300;
      for (const auto a : options) {
        for (const auto b : options) {
          for (const auto c : options) {
            if (a + b + c <= 8) best = std::min(best, end_of({a, b, c}));
          }
        }
      }
      const auto decided = policy->allocate(crowd.situation());
      ASSERT_TRUE(check_allocations(crowd.situation(), decided));
      EXPECT_DOUBLE_EQ(end_of(counts_of(decided)), best);
      crowd.current = decided;
      EXPECT_EQ(policy->allocate(crowd.situation()), decided) << "nobody moves for nothing";
      for (JobView& view : crowd.views) *view.left *= rng.uniform(0.3, 0.9);
    }
  }
}

TEST(BarrierGroup, LeavesDevicesToWhoEndsInTimeWithThem) {
  Crowd crowd(2, Rng(1), {2, 4});
  JobModel model;
  // Eight devices are slower than four: the link between nodes costs more than they save.
  model.throughput = {0.1, 0.005, 0.4, 0.0001, 0.01, 0.0001, 1};
  model.gradients = {1, 100};
  model.limits = {32, 2048, 8, 256};
  model.rule = BatchRule::kFixed;
  model.fixed_batch = 256;
  crowd.tables.clear();
  for (JobView& view : crowd.views) {
    crowd.tables.emplace_back(model);
    view.goodput = &crowd.tables.back();
  }
  crowd.views[0].left = 1e4;
  crowd.views[1].left = 1e6;
  crowd.views[1].most = 2;
  crowd.current = {{{0, 4}}, {}};
  EXPECT_EQ(counts_of(barrier()->allocate(crowd.situation())), (std::vector<std::int32_t>{4, 2}))
      << "nobody needs what the short one has";
  crowd.views[1].most = 8;
  crowd.views[1].left = 1e4;
  crowd.views[0].left = 1e6;
  crowd.current = {{{0, 4}, {1, 4}}, {}};
  const GoodputTable& table = crowd.tables.front();
  ASSERT_GT(table.at(1, 4), 1.3 * table.at(2, 8));
  ASSERT_LT(table.at(1, 4), 1.9 * table.at(2, 8));
  EXPECT_EQ(counts_of(barrier()->allocate(
                {1000, crowd.nodes, 30, std::span(crowd.views).first(1), std::span(crowd.current).first(1)})),
            (std::vector<std::int32_t>{4}))
      << "what is too slow is not kept";
}

TEST(BarrierGroup, BeginsWithTheLongestWhereDevicesAreFew) {
  Crowd crowd(10, Rng(1), {2, 4});
  for (JobView& view : crowd.views) {
    view.goodput = nullptr;
    view.left = 1000.0 * static_cast<double>(1 + view.id);
  }
  EXPECT_EQ(counts_of(barrier()->allocate(crowd.situation())),
            (std::vector<std::int32_t>{0, 0, 1, 1, 1, 1, 1, 1, 1, 1}));
}

TEST(Genetic, ComesNearTheExactAnswerAndKeepsItsRules) {
  for (std::uint64_t seed = 0; seed < 5; ++seed) {
    Crowd crowd(6, Rng(seed), {4, 4});
    const auto search = genetic({.population = 40, .generations = 40, .seed = seed});
    std::vector<Allocation> decided;
    for (int i = 0; i < 2; ++i) decided = search->allocate(crowd.situation());
    ASSERT_TRUE(check_allocations(crowd.situation(), decided));
    std::vector<int> spanning(4, 0);
    for (std::size_t j = 0; j < decided.size(); ++j) {
      EXPECT_LE(devices_of(decided[j]), crowd.views[j].most);
      if (!is_distributed(decided[j])) continue;
      for (const Share& share : decided[j]) EXPECT_LE(++spanning[static_cast<std::size_t>(share.node)], 1);
    }
    const double exact = crowd.cost(counts_of(separable()->allocate(crowd.situation())));
    EXPECT_LE(crowd.cost(counts_of(decided)), 1.1 * exact);
    EXPECT_EQ(genetic({.population = 40, .generations = 40, .seed = seed})->allocate(crowd.situation()),
              genetic({.population = 40, .generations = 40, .seed = seed})->allocate(crowd.situation()));
  }
}

TEST(Genetic, KeepsDistributedJobsApartWhereMeetingWouldBeFaster) {
  // Two jobs that are much faster on six devices than on four: on three nodes they would have to share one.
  for (std::uint64_t seed = 0; seed < 10; ++seed) {
    Crowd crowd(2, Rng(1), {3, 4});
    crowd.tables.clear();
    for (JobView& view : crowd.views) {
      JobModel model;
      model.throughput = {0.1, 0.05, 0.001, 0.0001, 0.001, 0.0001, 1};
      model.gradients = {1, 1000};
      model.limits = {32, 4096, 8, 128};
      crowd.tables.emplace_back(model);
      view.goodput = &crowd.tables.back();
      view.most = 6;
      view.age = 1e6;
    }
    const GoodputTable& table = crowd.tables.back();
    ASSERT_GT(table.at(2, 6), 1.2 * table.at(1, 4));
    const auto search = genetic({.population = 30, .generations = 30, .seed = seed});
    // The second time they are told to have met.
    for (int i = 0; i < 2; ++i) {
      const auto decided = search->allocate(crowd.situation());
      ASSERT_TRUE(check_allocations(crowd.situation(), decided));
      std::vector<int> spanning(3, 0);
      for (const Allocation& allocation : decided) {
        EXPECT_FALSE(allocation.empty());
        if (!is_distributed(allocation)) continue;
        for (const Share& share : allocation) EXPECT_LE(++spanning[static_cast<std::size_t>(share.node)], 1);
      }
      crowd.current = {{{0, 4}, {1, 2}}, {{1, 2}, {2, 4}}};
    }
  }
}

TEST(Separable, IsTheSameWhetherNewcomersAreAlike) {
  // A thousand that wait, of two kinds, beside four that are known; the oracle deals to each on its own.
  for (std::uint64_t seed = 0; seed < 5; ++seed) {
    Crowd crowd(4, Rng(seed), {4, 4});
    Rng rng(seed + 100);
    for (int i = 0; i < 1000; ++i) {
      JobView view;
      view.id = 4 + i;
      view.age = rng.uniform(0, 100);
      view.most = i % 2 == 0 ? 1 : 2;
      crowd.views.push_back(view);
    }
    crowd.current.resize(crowd.views.size());
    const double fair = 1;
    std::vector<std::vector<Choice>> choices;
    for (std::size_t j = 0; j < crowd.views.size(); ++j) {
      const JobView& view = crowd.views[j];
      const double unit = j < 4 ? crowd.tables[j].at(1, 1) : fair;
      choices.push_back({{0, -1000}});
      for (std::int32_t k = 1; k <= view.most; k *= 2) {
        const double rate = j < 4 ? crowd.tables[j].packed(k, 4) : k;
        choices.back().push_back({k, -1 / (rate / unit * 4 / 16 * view.age / (view.age + 30) + 1e-3)});
      }
    }
    EXPECT_EQ(counts_of(separable()->allocate(crowd.situation())), best_counts(choices, 16));
    // Above, each differs by its age. Where that does not count they are equal, and the first of them enter.
    const auto decided = counts_of(separable({.goal = Goal::kFinish})->allocate(crowd.situation()));
    std::int32_t last = 1 << 30;
    for (std::size_t j = 4; j < decided.size(); j += 2) {
      EXPECT_LE(decided[j], last) << "in the order of their coming";
      last = decided[j];
    }
  }
}

TEST(Separable, DoesNotMoveAJobForLessThanItCosts) {
  Crowd crowd(3, Rng(9), {2, 4});
  const auto policy = separable({.goal = Goal::kFinish});
  crowd.current = policy->allocate(crowd.situation());
  EXPECT_EQ(policy->allocate(crowd.situation()), crowd.current);
}

/// What is left of a job by the jobs of its kind, once more: those that finished, or the one that got furthest.
double guessed_left(const JobView& job, std::span<const JobView> under_way, const std::vector<double>& finished) {
  double most = 0, sum = 0;
  for (const JobView& other : under_way) most = other.kind == job.kind ? std::max(most, other.goodput_service) : most;
  for (const double size : finished) sum += size;
  const double one = job.goodput->packed(1, 4),
               mean = sum / static_cast<double>(std::max<std::size_t>(finished.size(), 1));
  if (job.goodput_service < 1.05 * mean) return std::max(mean - job.goodput_service, 60 * one);
  return std::max(2 * most - job.goodput_service, 3600 * one);
}

TEST(Separable, GuessesWhatIsLeftByJobsOfTheKind) {
  constexpr SeparableOptions kOptions{
      .goal = Goal::kFinish, .guess = SizeGuess::kKind, .newcomer = 3600, .power = 0.5, .horizon = 240};
  int by_finished = 0, by_furthest = 0;
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    Rng rng(seed);
    Crowd crowd(6, rng.split(1), {2, 4});
    for (JobView& view : crowd.views) {
      view.kind = rng.between(0, 1);
      view.goodput_service = std::exp(rng.uniform(5, 16));
    }
    const auto policy = separable(kOptions);
    policy->allocate(crowd.situation());
    std::vector<std::vector<double>> finished(2);
    while (crowd.views.size() > 3) {
      const auto ends = static_cast<std::ptrdiff_t>(rng.below(crowd.views.size()));
      const JobView& view = crowd.views[static_cast<std::size_t>(ends)];
      if (view.kind == 0) finished[0].push_back(view.goodput_service);
      if (view.kind == 1) finished[1].push_back(view.goodput_service);
      crowd.views.erase(crowd.views.begin() + ends);
    }
    for (JobView& view : crowd.views) {  // some are about to end
      const auto& sizes = finished[static_cast<std::size_t>(view.kind)];
      if (sizes.empty() || rng.bernoulli(0.5)) continue;
      const double sum = std::accumulate(sizes.begin(), sizes.end(), 0.0);
      view.goodput_service = sum / static_cast<double>(sizes.size()) * rng.uniform(1, 1.04);
    }
    crowd.current = {{{0, 1}}, {}, {{1, 4}}};
    const auto worth = [&](const std::vector<std::int32_t>& counts) {
      double sum = 0;
      for (std::size_t j = 0; j < counts.size(); ++j) {
        if (counts[j] == 0) continue;
        const JobView& view = crowd.views[j];
        const double left = guessed_left(view, crowd.views, finished[static_cast<std::size_t>(view.kind)]);
        double rate = view.goodput->packed(counts[j], 4);
        if (counts[j] != devices_of(crowd.current[j]))
          rate *= std::max(0.0, 1 - 30 / std::min(240.0, left / rate + 30));
        sum += std::sqrt(rate / left);
      }
      return sum;
    };
    double best = 0;
    for (const std::int32_t a : {0, 1, 2, 4, 8}) {
      for (const std::int32_t b : {0, 1, 2, 4, 8}) {
        for (const std::int32_t c : {0, 1, 2, 4, 8}) best = a + b + c <= 8 ? std::max(best, worth({a, b, c})) : best;
      }
    }
    EXPECT_NEAR(worth(counts_of(policy->allocate(crowd.situation()))), best, 1e-9 * best) << seed;
    for (const JobView& view : crowd.views)
      ++(finished[static_cast<std::size_t>(view.kind)].empty() ? by_furthest : by_finished);
  }
  EXPECT_GT(by_finished, 20);
  EXPECT_GT(by_furthest, 20);
}

TEST(Baselines, GiveWhatUsersAskForInTheirOrder) {
  Crowd crowd(5, Rng(1), {2, 4});
  for (auto& view : crowd.views) view.wanted = 3;
  EXPECT_EQ(counts_of(first_come()->allocate(crowd.situation())), (std::vector<std::int32_t>{3, 3, 0, 0, 0}));
  crowd.views[3].wanted = 2;
  EXPECT_EQ(counts_of(tiresias()->allocate(crowd.situation())), (std::vector<std::int32_t>{3, 3, 0, 2, 0}))
      << "who fits into what is left is let past";
}

TEST(Baselines, TiresiasDemotesWhoHadSixteenDeviceHours) {
  Crowd crowd(2, Rng(1), {1, 4});
  for (auto& view : crowd.views) view.wanted = 4;
  const auto policy = tiresias();
  Situation situation = crowd.situation();
  situation.now = 0;
  crowd.current = policy->allocate(situation);
  ASSERT_EQ(counts_of(crowd.current), (std::vector<std::int32_t>{4, 0}));
  situation.current = crowd.current;
  situation.now = 4 * 3600 - 1;
  EXPECT_EQ(counts_of(policy->allocate(situation)), (std::vector<std::int32_t>{4, 0}));
  situation.now = 4 * 3600;
  EXPECT_EQ(counts_of(policy->allocate(situation)), (std::vector<std::int32_t>{0, 4}));
}

TEST(Allocations, AreRefusedWhereTheyGiveWhatIsNotThere) {
  const Crowd crowd(2, Rng(1), {2, 4});
  const auto code = [&](std::vector<Allocation> all) {
    const auto checked = check_allocations(crowd.situation(), all);
    return checked ? Code::kCancelled : checked.error().code;
  };
  EXPECT_EQ(code({{{0, 4}}, {{1, 4}}}), Code::kCancelled);
  EXPECT_EQ(code({{{0, 3}}, {{0, 2}}}), Code::kInvalidArgument);
  EXPECT_EQ(code({{{2, 1}}, {}}), Code::kInvalidArgument);
  EXPECT_EQ(code({{{0, 1}, {0, 1}}, {}}), Code::kInvalidArgument);
  EXPECT_EQ(code({{}}), Code::kInvalidArgument);
}

TEST(Bounds, OfShortestFirstAreThoseOfAHandWorkedCase) {
  // 4 devices: jobs of 8, 4 and 12 device-seconds at 0, 1 and 100: [0,1] first, [1,2] second, [2,3] first, [100,103].
  const std::vector<double> arrivals{0, 1, 100}, work{8, 3.9, 12};
  EXPECT_NEAR(shortest_first_mean(arrivals, work, 4), (2.975 + 0.975 + 3) / 3, 1e-12);
}

}  // namespace
}  // namespace lanista::cluster
