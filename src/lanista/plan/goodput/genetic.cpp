#include "lanista/plan/goodput/genetic.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "lanista/base/rng.h"

namespace lanista::goodput {
namespace {

using Cells = std::vector<std::uint8_t>;  ///< Devices of each node; one row for each job.

/// Random numbers of 16 bits, four from each random word.
class FastRng {
 public:
  explicit FastRng(Rng rng) : rng_(rng) {}
  std::uint32_t bits() {
    if (left_ == 0) {
      word_ = rng_.next();
      left_ = 4;
    }
    const auto result = static_cast<std::uint32_t>(word_ & 0xFFFFU);
    word_ >>= 16U;
    --left_;
    return result;
  }
  std::uint32_t below(std::uint32_t n) { return bits() * n >> 16U; }
  bool chance(std::uint32_t part) { return bits() < part; }  ///< `part` of 65536.

 private:
  Rng rng_;
  std::uint64_t word_ = 0;
  int left_ = 0;
};

struct Individual {
  Cells cells;
  double cost = 0;  ///< Mean of 1 / speed-up; smaller is better.
};

/// The search of one decision.
class Search {
 public:
  Search(const AllocatorState& state, const std::vector<std::size_t>& order, const GeneticOptions& options, Rng rng)
      : jobs_(order.size()),
        nodes_(static_cast<std::size_t>(state.nodes.count)),
        devices_(static_cast<std::uint8_t>(state.nodes.devices)),
        options_(options),
        fast_rng_(rng),
        base_(jobs_ * nodes_, 0) {
    const std::int32_t total = state.nodes.total();
    const double fair = std::ceil(static_cast<double>(total) / static_cast<double>(jobs_));
    stride_ = static_cast<std::size_t>(total) + 1;
    cost_.resize(jobs_ * 4 * stride_);
    for (std::size_t j = 0; j < jobs_; ++j) {
      const JobView& job = state.jobs[order[j]];
      most_.push_back(job.most);
      for (const NodeShare& share : state.current[order[j]]) {
        base_[j * nodes_ + static_cast<std::size_t>(share.node)] = static_cast<std::uint8_t>(share.devices);
      }
      const double factor = restart_factor(job, state.restart_seconds);
      double unit = 0;
      if (job.goodput != nullptr) {
        const BatchLimits& limits = job.goodput->model().limits;
        const auto widest = static_cast<double>(std::max<std::int64_t>(1, limits.most / limits.min_local));
        unit = job.goodput->at(1, static_cast<std::int64_t>(std::min(fair, widest)));
      }
      for (std::int32_t k = 0; k <= total; ++k) {
        for (const std::size_t across : {0U, 1U}) {
          double speedup = k / fair;
          if (job.goodput != nullptr) {
            speedup = k <= job.most && unit > 0 ? job.goodput->at(across == 1 ? 2 : 1, k) / unit : 0;
          }
          // A share of a whole node counts as one.
          const double scaled = speedup * state.nodes.count / total;
          cost_[index(j, across, 0, k)] = 1 / (scaled + 1e-3);
          cost_[index(j, across, 1, k)] = 1 / (scaled * factor + 1e-3);
        }
      }
    }
  }

  std::vector<Individual> run(std::vector<Cells> begin) {
    std::vector<Individual> population;
    if (begin.empty()) begin.push_back(base_);
    for (Cells& cells : begin) add(population, std::move(cells));
    for (std::size_t tries = 0; population.size() < size() && tries < 4 * size(); ++tries) {
      Cells cells = population[fast_rng_.below(static_cast<std::uint32_t>(population.size()))].cells;
      mutate(cells);
      add(population, std::move(cells));
    }
    for (std::int32_t generation = 0; generation < options_.generations; ++generation) {
      const std::size_t parents = population.size();
      for (std::size_t pair = 0; pair < size() / 2; ++pair) {
        const Individual &a = tournament(population, parents), &b = tournament(population, parents);
        const std::size_t cut = fast_rng_.below(static_cast<std::uint32_t>(jobs_)) * nodes_;
        Cells left = a.cells, right = b.cells;
        std::swap_ranges(left.begin(), left.begin() + static_cast<std::ptrdiff_t>(cut), right.begin());
        mutate(left);
        mutate(right);
        add(population, std::move(left));
        add(population, std::move(right));
      }
      select(population);
    }
    select(population);
    return population;
  }

 private:
  std::size_t size() const { return static_cast<std::size_t>(options_.population); }
  std::size_t index(std::size_t j, std::size_t across, std::size_t changed, std::int32_t k) const {
    return (j * 4 + across * 2 + changed) * stride_ + static_cast<std::size_t>(k);
  }

  const Individual& tournament(const std::vector<Individual>& population, std::size_t parents) {
    const auto n = static_cast<std::uint32_t>(parents);
    const Individual &a = population[fast_rng_.below(n)], &b = population[fast_rng_.below(n)];
    return a.cost <= b.cost ? a : b;
  }

  void add(std::vector<Individual>& population, Cells cells) {
    repair(cells);
    const double cost = cost_of(cells);
    population.push_back({std::move(cells), cost});
  }

  double cost_of(const Cells& cells) const {
    double sum = 0;
    for (std::size_t j = 0; j < jobs_; ++j) {
      const std::uint8_t *row = &cells[j * nodes_], *before = &base_[j * nodes_];
      std::int32_t k = 0, across = 0, changed = 0;
      for (std::size_t n = 0; n < nodes_; ++n) {
        k += row[n];
        across += row[n] != 0;
        changed |= row[n] != before[n];
      }
      sum += cost_[index(j, across > 1, static_cast<std::size_t>(changed), k)];
    }
    return sum / static_cast<double>(jobs_);
  }

  void select(std::vector<Individual>& population) const {
    std::ranges::stable_sort(population, [](const Individual& a, const Individual& b) {
      return a.cost != b.cost ? a.cost < b.cost : a.cells < b.cells;
    });
    const auto same = [](const Individual& a, const Individual& b) { return a.cost == b.cost && a.cells == b.cells; };
    population.erase(std::unique(population.begin(), population.end(), same), population.end());
    if (population.size() > size()) population.resize(size());
  }

  void mutate(Cells& cells) {
    constexpr std::uint32_t kTenth = 6554;
    for (std::size_t j = 0; j < jobs_; ++j) {
      if (fast_rng_.chance(kTenth)) std::copy_n(&base_[j * nodes_], nodes_, &cells[j * nodes_]);
      if (!fast_rng_.chance(kTenth)) continue;
      for (std::size_t n = 0; n < nodes_; ++n) {
        if (fast_rng_.chance(kTenth)) cells[j * nodes_ + n] = 0;
      }
    }
    // On a node with free devices, one of J jobs is sampled again, and one of the jobs on the node.
    const double one = 1.0 / static_cast<double>(jobs_);
    for (std::size_t n = 0; n < nodes_; ++n) {
      std::int32_t used = 0, present = 0;
      for (std::size_t j = 0; j < jobs_; ++j) {
        used += cells[j * nodes_ + n];
        present += cells[j * nodes_ + n] != 0;
      }
      if (used >= devices_) continue;
      const double two = present > 0 ? 1.0 / present : 0;
      const auto rare = static_cast<std::uint32_t>(one * 65536),
                 often = static_cast<std::uint32_t>((one + two - one * two) * 65536);
      for (std::size_t j = 0; j < jobs_; ++j) {
        std::uint8_t& cell = cells[j * nodes_ + n];
        if (!fast_rng_.chance(cell != 0 ? often : rare)) continue;
        cell = static_cast<std::uint8_t>(cell + fast_rng_.below(static_cast<std::uint32_t>(devices_ - cell + 1)));
      }
    }
  }

  void repair(Cells& cells) {
    std::vector<std::uint8_t>& taken = scratch_;
    taken.assign(nodes_, 0);
    for (std::size_t j = 0; j < jobs_; ++j) {
      std::uint8_t* row = &cells[j * nodes_];
      std::int32_t k = 0, across = 0;
      for (std::size_t n = 0; n < nodes_; ++n) {
        k += row[n];
        across += row[n] != 0;
      }
      if (across > 1) {
        for (std::size_t n = 0; n < nodes_; ++n) {
          if (row[n] == 0) continue;
          if (taken[n] != 0) {
            k -= row[n];
            --across;
            row[n] = 0;
          }
          taken[n] = 1;
        }
      }
      if (k > most_[j] || across > options_.widest) cap(row, most_[j]);
    }
    for (std::size_t n = 0; n < nodes_; ++n) {
      std::uint8_t left = devices_;
      for (std::size_t j = 0; j < jobs_; ++j) {
        std::uint8_t& cell = cells[j * nodes_ + n];
        cell = std::min(cell, left);
        left = static_cast<std::uint8_t>(left - cell);
      }
    }
  }

  /// Removes replicas and nodes above the limits, in random order of the nodes.
  void cap(std::uint8_t* row, std::int32_t most) {
    shuffled_.resize(nodes_);
    for (std::size_t n = 0; n < nodes_; ++n) shuffled_[n] = static_cast<std::uint8_t>(n);
    for (std::size_t n = nodes_; n > 1; --n) {
      std::swap(shuffled_[n - 1], shuffled_[fast_rng_.below(static_cast<std::uint32_t>(n))]);
    }
    std::int32_t across = 0;
    for (const std::uint8_t n : shuffled_) {
      if (row[n] == 0) continue;
      const std::int32_t here = across < options_.widest ? std::min<std::int32_t>(row[n], most) : 0;
      row[n] = static_cast<std::uint8_t>(here);
      most -= here;
      if (here > 0) ++across;
    }
  }

  std::size_t jobs_, nodes_;
  std::uint8_t devices_;
  const GeneticOptions& options_;
  FastRng fast_rng_;
  Cells base_;
  std::size_t stride_ = 0;
  std::vector<double> cost_;
  std::vector<std::int32_t> most_;
  std::vector<std::uint8_t> scratch_, shuffled_;
};

class Genetic : public Allocator {
 public:
  explicit Genetic(const GeneticOptions& options) : options_(options) {}
  std::string_view name() const override { return "pollux"; }

  std::vector<Allocation> allocate(const AllocatorState& state) override {
    const std::size_t jobs = state.jobs.size();
    if (jobs == 0) return {};
    std::vector<std::size_t> order(jobs);
    for (std::size_t j = 0; j < jobs; ++j) order[j] = j;
    std::ranges::stable_sort(order, {},
                             [&](std::size_t j) { return std::pair(state.jobs[j].service, state.jobs[j].submitted); });
    const auto nodes = static_cast<std::size_t>(state.nodes.count);
    Search search(state, order, options_, Rng(options_.seed).split(decisions_++));
    const auto population = search.run(adapted(state, order));
    before_.clear();
    rows_.clear();
    for (std::size_t j = 0; j < jobs; ++j) rows_[state.jobs[order[j]].id] = j;
    for (const Individual& individual : population) before_.push_back(individual.cells);
    std::vector<Allocation> all(jobs);
    for (std::size_t j = 0; j < jobs; ++j) {
      for (std::size_t n = 0; n < nodes; ++n) {
        const std::int32_t devices = population.front().cells[j * nodes + n];
        if (devices > 0) all[order[j]].push_back({static_cast<std::int32_t>(n), devices});
      }
      // A permutation of the nodes is not a change.
      Allocation current = state.current[order[j]];
      std::ranges::sort(current, {}, &NodeShare::node);
      if (current == all[order[j]]) all[order[j]] = state.current[order[j]];
    }
    return all;
  }

 private:
  /// Returns the last population without the rows of ended jobs.
  std::vector<Cells> adapted(const AllocatorState& state, const std::vector<std::size_t>& order) const {
    const auto nodes = static_cast<std::size_t>(state.nodes.count);
    std::vector<Cells> all;
    for (const Cells& old : before_) {
      Cells cells(order.size() * nodes, 0);
      for (std::size_t j = 0; j < order.size(); ++j) {
        const auto row = rows_.find(state.jobs[order[j]].id);
        if (row == rows_.end()) continue;
        std::copy_n(old.begin() + static_cast<std::ptrdiff_t>(row->second * nodes), nodes,
                    cells.begin() + static_cast<std::ptrdiff_t>(j * nodes));
      }
      all.push_back(std::move(cells));
    }
    return all;
  }

  GeneticOptions options_;
  std::uint64_t decisions_ = 0;
  std::vector<Cells> before_;
  std::map<std::int64_t, std::size_t> rows_;
};

}  // namespace

std::unique_ptr<Allocator> genetic(const GeneticOptions& options) { return std::make_unique<Genetic>(options); }

}  // namespace lanista::goodput
