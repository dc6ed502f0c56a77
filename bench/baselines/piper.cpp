#include <algorithm>

#include "bench/baselines/chains.h"
#include "bench/baselines/closed_sets.h"

namespace lanista::pipeline {
namespace {

/// The dynamic programme: dp[set][s] is the least time of the slowest stage for the operators of a set with s devices.
/// Without tensor parallelism, data-parallel degrees and devices are the same, so the table has no third axis.
class Downsets {
 public:
  Downsets(const Problem& problem, const std::vector<OperatorSet>& sets, std::int64_t micro_batch)
      : problem_(problem),
        sets_(sets),
        neighbours_(problem.model),
        micro_batch_(micro_batch),
        devices_(static_cast<std::size_t>(problem.devices.count())),
        micro_batches_(static_cast<std::size_t>(problem.model.batch / micro_batch)),
        most_(std::min(devices_, micro_batches_)) {
    for (const Operator& op : problem.model.operators) work_.push_back(work_at(op, micro_batch));
    for (std::size_t d = 1; d <= devices_ && d <= static_cast<std::size_t>(micro_batch); ++d) {
      if (micro_batches_ % d == 0) degrees_.push_back(d);
    }
  }

  std::vector<ChainPart> run() {
    table_.assign(sets_.size() * (most_ + 1), {});
    at(0, 0).seconds = 0;
    for (std::size_t i = 1; i < sets_.size(); ++i) {
      for (std::size_t j = 0; j < i; ++j) {
        if (contains(sets_[i], sets_[j])) add_stage(i, j);
      }
    }
    std::vector<ChainPart> parts;
    std::size_t set = sets_.size() - 1, s = 0;
    for (std::size_t each = 1; each <= most_; ++each) {
      if (s == 0 || at(set, each).seconds < at(set, s).seconds) s = each;
    }
    if (s == 0 || at(set, s).seconds >= 1e300) return parts;
    while (set != 0) {
      const Cell& cell = at(set, s);
      ChainPart part{{}, static_cast<std::int64_t>(cell.degree)};
      for (std::uint32_t op = 0; op < work_.size(); ++op) {
        if (has(sets_[set], op) && !has(sets_[cell.before], op)) part.operators.push_back(op);
      }
      parts.push_back(std::move(part));
      set = cell.before;
      s -= cell.degree;
    }
    return parts;
  }

 private:
  struct Cell {
    double seconds = 1e300;
    std::uint32_t before = 0, degree = 0;
  };
  Cell& at(std::size_t set, std::size_t s) { return table_[set * (most_ + 1) + s]; }

  /// The sums over the operators of a stage, for any degree.
  struct Sums {
    double work = 0, cut = 0, parameters = 0, kept = 0;
  };
  Sums sums_of(const OperatorSet& large, const OperatorSet& small) const {
    Sums sums;
    for (std::size_t w = 0; w < large.size(); ++w) {
      for (std::uint64_t bits = large[w] & ~small[w]; bits != 0; bits &= bits - 1) {
        const auto op = static_cast<std::uint32_t>(w * 64 + static_cast<std::size_t>(__builtin_ctzll(bits)));
        const Operator& its = problem_.model.operators[op];
        sums.work += work_[op];
        sums.parameters += its.parameter_bytes;
        sums.kept += its.activation_bytes;
        if (std::ranges::any_of(neighbours_.next[op], [&](std::uint32_t n) { return has(small, n); })) {
          sums.cut += its.output_bytes;
        }
        for (const std::uint32_t before : neighbours_.previous[op]) {
          if (!has(large, before)) sums.cut += problem_.model.operators[before].output_bytes;
        }
      }
    }
    return sums;
  }

  void add_stage(std::size_t i, std::size_t j) {
    const Sums sums = sums_of(sets_[i], sets_[j]);
    const double rate = problem_.devices.links[0][0].bytes_per_second;
    const double memory = problem_.devices.classes[0].memory_bytes;
    const auto batch = static_cast<double>(micro_batch_);
    for (const std::size_t degree : degrees_) {
      const auto d = static_cast<double>(degree), n = static_cast<double>(micro_batches_);
      // The cut is sent forward and backward. Each c counts both ways already.
      const double seconds =
          sums.work / d + (2 * sums.cut * batch / d + 4 * (d - 1) * sums.parameters / (d * n)) / rate;
      for (std::size_t s = degree; s <= most_; ++s) {
        const auto in_flight = static_cast<double>((s + degree - 1) / degree);
        if (in_flight * batch * sums.kept + problem_.model.parameter_copies * sums.parameters > memory) break;
        const double slowest = std::max(at(j, s - degree).seconds, seconds);
        Cell& cell = at(i, s);
        if (slowest < cell.seconds) {
          cell = {slowest, static_cast<std::uint32_t>(j), static_cast<std::uint32_t>(degree)};
        }
      }
    }
  }

  const Problem& problem_;
  const std::vector<OperatorSet>& sets_;
  const Neighbours neighbours_;
  const std::int64_t micro_batch_;
  const std::size_t devices_, micro_batches_, most_;
  std::vector<double> work_;
  std::vector<std::size_t> degrees_;
  std::vector<Cell> table_;
};

}  // namespace

Result<Baseline> piper(const Problem& problem, std::int64_t micro_batch) {
  LANISTA_TRY(check(problem));
  const auto sets = closed_sets(Neighbours(problem.model).next, kMaxSets);
  if (sets.empty()) {
    return Error{Code::kResourceExhausted,
                 "Piper's planner gives up: more than " + std::to_string(kMaxSets) + " downsets", ""};
  }
  LANISTA_ASSIGN(auto best, best_chain(problem, micro_batch, "Piper's planner",
                                       [&](std::int64_t b) { return Downsets(problem, sets, b).run(); }));
  best.num_sets = sets.size();
  return best;
}

}  // namespace lanista::pipeline
