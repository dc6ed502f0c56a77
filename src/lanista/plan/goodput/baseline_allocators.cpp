#include "lanista/plan/goodput/baseline_allocators.h"

#include <algorithm>
#include <map>
#include <set>

#include "lanista/base/check.h"

namespace lanista::goodput {
namespace {

/// The free devices of each node.
class FreeDevices {
 public:
  FreeDevices(const Nodes& nodes, std::span<const Allocation> used)
      : free_(static_cast<std::size_t>(nodes.count), nodes.devices) {
    for (const Allocation& allocation : used) {
      for (const NodeShare& share : allocation) free_[static_cast<std::size_t>(share.node)] -= share.devices;
    }
  }
  std::int32_t total() const {
    std::int32_t sum = 0;
    for (const std::int32_t f : free_) sum += f;
    return sum;
  }
  /// Removes `devices` free devices, from the node with the most on. There must be enough.
  Allocation take(std::int32_t devices) {
    Allocation taken;
    while (devices > 0) {
      const auto most = std::ranges::max_element(free_);
      const std::int32_t here = std::min(*most, devices);
      LANISTA_CHECK(here > 0, "there are too few free devices");
      taken.push_back({static_cast<std::int32_t>(most - free_.begin()), here});
      *most -= here;
      devices -= here;
    }
    return taken;
  }

 private:
  std::vector<std::int32_t> free_;
};

std::vector<Allocation> current_of(const AllocatorState& state) { return {state.current.begin(), state.current.end()}; }

class FirstCome : public Allocator {
 public:
  std::string_view name() const override { return "static"; }
  std::vector<Allocation> allocate(const AllocatorState& state) override {
    std::vector<Allocation> all = current_of(state);
    FreeDevices free(state.nodes, all);
    for (std::size_t j = 0; j < all.size(); ++j) {
      if (!all[j].empty()) continue;
      const std::int32_t wanted = std::min(state.jobs[j].wanted, state.nodes.total());
      if (wanted > free.total()) break;
      all[j] = free.take(wanted);
    }
    return all;
  }
};

class Tiresias : public Allocator {
 public:
  std::string_view name() const override { return "tiresias"; }

  std::vector<Allocation> allocate(const AllocatorState& state) override {
    account(state);
    std::vector<Allocation> all = current_of(state);
    std::map<std::int64_t, std::size_t> index;
    for (std::size_t j = 0; j < state.jobs.size(); ++j) index[state.jobs[j].id] = j;
    std::int32_t left = state.nodes.total();
    for (const auto& queue : queues_) {
      for (const std::int64_t id : queue) {
        const std::size_t j = index.at(id);
        const std::int32_t wanted = std::min(state.jobs[j].wanted, state.nodes.total());
        DemotionState& job = demotion_states_.at(id);
        job.runs = wanted <= left;
        if (job.runs) left -= wanted;
        if (!job.runs) all[j].clear();
      }
    }
    FreeDevices free(state.nodes, all);
    for (const auto& queue : queues_) {
      for (const std::int64_t id : queue) {
        const std::size_t j = index.at(id);
        if (!demotion_states_.at(id).runs || !all[j].empty()) continue;
        all[j] = free.take(std::min(state.jobs[j].wanted, state.nodes.total()));
      }
    }
    return all;
  }

 private:
  static constexpr double kDemotedAt = 16 * 3600;  ///< Device-seconds of a job with low priority.

  struct DemotionState {
    bool runs = false;
    double executed = 0;  ///< Seconds with devices.
  };

  /// Removes ended jobs, adds new ones, and demotes jobs with much service.
  void account(const AllocatorState& state) {
    std::set<std::int64_t> there;
    for (const JobView& job : state.jobs) there.insert(job.id);
    for (auto& queue : queues_) std::erase_if(queue, [&](std::int64_t id) { return !there.contains(id); });
    std::erase_if(demotion_states_, [&](const auto& entry) { return !there.contains(entry.first); });
    for (const JobView& job : state.jobs) {
      if (demotion_states_.try_emplace(job.id).second) queues_[0].push_back(job.id);
    }
    const double passed = state.now - last_;
    last_ = state.now;
    for (const JobView& job : state.jobs) {
      DemotionState& known = demotion_states_.at(job.id);
      if (!known.runs) continue;
      known.executed += passed;
      const auto queued = std::ranges::find(queues_[0], job.id);
      if (queued == queues_[0].end() || known.executed * job.wanted < kDemotedAt) continue;
      queues_[0].erase(queued);
      queues_[1].push_back(job.id);
    }
  }

  std::array<std::vector<std::int64_t>, 2> queues_;
  std::map<std::int64_t, DemotionState> demotion_states_;
  double last_ = 0;
};

class Optimus : public Allocator {
 public:
  std::string_view name() const override { return "optimus"; }

  std::vector<Allocation> allocate(const AllocatorState& state) override {
    const std::vector<std::int32_t> replicas = replicas_of(state);
    std::vector<Allocation> all = current_of(state);
    std::vector<std::size_t> order(all.size());
    for (std::size_t j = 0; j < all.size(); ++j) {
      order[j] = j;
      if (devices_of(all[j]) != replicas[j]) all[j].clear();
    }
    std::ranges::stable_sort(order, {}, [&](std::size_t j) { return replicas[j]; });
    FreeDevices free(state.nodes, all);
    for (const std::size_t j : order) {
      if (replicas[j] > 0 && all[j].empty()) all[j] = free.take(replicas[j]);
    }
    return all;
  }

 private:
  static std::vector<std::int32_t> replicas_of(const AllocatorState& state) {
    const std::size_t n = state.jobs.size();
    std::vector<std::int32_t> replicas(n, 0);
    std::vector<double> gain(n, 0);
    std::int32_t left = state.nodes.total();
    const auto gain_of_one = [&](std::size_t j) {
      const JobView& job = state.jobs[j];
      if (replicas[j] + 1 > job.most || left < 1) return 0.0;
      return (job.true_costs->step_seconds(replicas[j]) - job.true_costs->step_seconds(replicas[j] + 1)) *
             job.true_costs->steps_left;
    };
    for (std::size_t j = 0; j < n && left > 0; ++j) {
      LANISTA_CHECK(state.jobs[j].true_costs != nullptr, "optimus needs the true costs of each job");
      replicas[j] = 1;
      --left;
      gain[j] = gain_of_one(j);
    }
    while (left > 0 && n > 0) {
      const auto most = std::ranges::max_element(gain);
      if (*most <= 0) break;
      const auto j = static_cast<std::size_t>(most - gain.begin());
      ++replicas[j];
      gain[j] = gain_of_one(j);
      --left;
    }
    return replicas;
  }
};

}  // namespace

std::unique_ptr<Allocator> first_come() { return std::make_unique<FirstCome>(); }
std::unique_ptr<Allocator> tiresias() { return std::make_unique<Tiresias>(); }
std::unique_ptr<Allocator> optimus() { return std::make_unique<Optimus>(); }

}  // namespace lanista::goodput
