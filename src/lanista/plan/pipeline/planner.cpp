#include "lanista/plan/pipeline/planner.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <string>

#include "lanista/plan/pipeline/plan_improvement.h"
#include "lanista/plan/pipeline/simulate.h"

namespace lanista::pipeline {
namespace {

constexpr double kParts = 16;          ///< Parts of a device's fair share; smaller parts are not cut.
constexpr std::size_t kWhole = 256;    ///< Up to this many operators, none are combined.
constexpr std::size_t kNumScored = 6;  ///< Results of a probe that are simulated.
constexpr std::size_t kImproved = 4;   ///< Finalists that are improved.
constexpr std::size_t kEnlarged = 4;   ///< Finalists that are tried with larger micro-batches.
constexpr std::size_t kSplit = 20;     ///< Finalists that are tried with split backward passes.
constexpr double kTrialWork = 6e6;     ///< Operators, edges and passes that all improvements may read.
constexpr std::int64_t kMaxTrials = 6000;

std::vector<std::int64_t> sizes_of(const Problem& problem, const PlanOptions& options) {
  if (options.micro_batch) return {*options.micro_batch};
  std::vector<std::int64_t> sizes;
  for (std::int64_t b = 1; b <= problem.model.batch && problem.model.batch % b == 0; b *= 2) sizes.push_back(b);
  return sizes;
}

/// A search over all micro-batch sizes.
class Planner {
 public:
  Planner(const Problem& problem, const PlanOptions& options, Planned& out)
      : problem_(problem), options_(options), out_(out) {
    const Tree tree = decompose(problem.model);
    out.loss = tree.loss;
    double work = 0;
    for (const Operator& op : problem.model.operators) work += work_at(op, problem.model.batch);
    const bool few = problem.model.operators.size() <= kWhole;
    tree_ = outline_of(tree, problem.model, few ? 0 : work / (kParts * static_cast<double>(problem.devices.count())));
    row_ = as_chain(tree_, problem.model);
    branches_ = tree_.nodes[tree_.root].parts.size() != row_.nodes[row_.root].parts.size();
    few_ = few;
    allows_colocation_ = options.allows_colocation && few && branches_;
  }

  /// Sorts the finalists, the best first.
  std::vector<ScoredDraft> run() {
    struct Size {
      double least;
      std::int64_t micro_batch;
      std::unique_ptr<ParetoSearch> row;
    };
    std::vector<Size> sizes;
    for (const std::int64_t b : sizes_of(problem_, options_)) {
      auto row = std::make_unique<ParetoSearch>(problem_, row_, b);
      sizes.push_back({row->least_seconds_per_sample(), b, std::move(row)});
    }
    std::ranges::stable_sort(sizes, {}, &Size::least);
    for (Size& size : sizes) {
      const auto batch = static_cast<double>(problem_.model.batch);
      if (best_seconds() <= size.least * batch) continue;  // It is slower even without idle time at the start.
      if (branches_) {
        ParetoSearch tree(problem_, tree_, size.micro_batch);
        search(tree, tree_, size.micro_batch);
      }
      if (allows_colocation_) {
        ParetoSearch tree(problem_, tree_, size.micro_batch, true);
        search(tree, tree_, size.micro_batch);
      }
      search(*size.row, row_, size.micro_batch);
      size.row.reset();
    }
    sort();
    improve();
    enlarge();
    return std::move(candidates_);
  }

 private:
  double best_seconds() const {
    double best = 1e300;
    for (const ScoredDraft& each : candidates_) best = std::min(best, each.seconds);
    return best;
  }

  void sort() {
    std::ranges::stable_sort(candidates_, [](const ScoredDraft& a, const ScoredDraft& b) {
      return a.seconds != b.seconds ? a.seconds < b.seconds : a.imbalance < b.imbalance;
    });
    const auto same =
        std::ranges::unique(candidates_, [](const ScoredDraft& a, const ScoredDraft& b) { return a.draft == b.draft; });
    candidates_.erase(same.begin(), same.end());
  }

  /// Returns the seconds of m + depth - 1 micro-batches in the slowest stage.
  double estimate(const ParetoSearch::ParetoPoint& found, std::int64_t micro_batch) const {
    return found.seconds_per_sample * static_cast<double>(problem_.model.batch + (found.depth - 1) * micro_batch);
  }

  void take(std::vector<ParetoSearch::ParetoPoint> all, const Outline& outline, std::int64_t micro_batch) {
    std::ranges::stable_sort(all, {},
                             [&](const ParetoSearch::ParetoPoint& found) { return estimate(found, micro_batch); });
    if (all.size() > kNumScored) all.resize(kNumScored);
    for (const ParetoSearch::ParetoPoint& found : all) {
      if (found.seconds_per_sample * static_cast<double>(problem_.model.batch) > best_seconds()) continue;
      ++out_.simulations;
      ScoredDraft judged = score_draft(draft_of(found.stage_ranges, outline.order, micro_batch, problem_), problem_);
      if (judged.seconds < 1e300) candidates_.push_back(std::move(judged));
    }
  }

  void search(ParetoSearch& fronts, const Outline& outline, std::int64_t micro_batch) {
    double low = fronts.least_seconds_per_sample(), high = low;
    std::vector<ParetoSearch::ParetoPoint> found;
    const auto probe = [&](double t) {
      ++out_.probes;
      auto all = fronts.probe(t);
      if (all.empty()) return false;
      found = std::move(all);
      return true;
    };
    // Steps from the bound grow until a probe succeeds. Then bisection follows.
    double step = 0.02;
    while (!probe(high)) {
      low = high;
      high *= 1 + step;
      step *= 2;
      if (!(high < 1e30) || high <= 0) {
        out_.states += fronts.states;
        return;
      }
    }
    const double meets = high;
    while (high > low * (1 + options_.precision)) {
      const double middle = (low + high) / 2;
      if (probe(middle)) {
        high = 0;
        for (const ParetoSearch::ParetoPoint& each : found) high = std::max(high, each.seconds_per_sample);
        high = std::min(high, middle);
      } else {
        low = middle;
      }
    }
    take(std::move(found), outline, micro_batch);
    // A slower stage may save more at the start and end than it costs, until it alone exceeds the best plan.
    const double most = best_seconds() / static_cast<double>(problem_.model.batch) * (1 - 1e-9);
    for (const double slack : {1.08, 1.25}) {
      if (high * slack < meets * 4 && high * slack < most && probe(high * slack))
        take(std::move(found), outline, micro_batch);
    }
    for (const double part : {0.5, 1.0}) {
      if (few_ && most > high * 1.25 && probe(high + part * (most - high)))
        take(std::move(found), outline, micro_batch);
    }
    out_.states += fronts.states;
    out_.num_cached += fronts.num_cached;
  }

  void improve() {
    std::vector<ScoredDraft> starts;
    for (const ScoredDraft& each : candidates_) {
      // At most two of each size, so that different sizes are tried.
      const auto alike = std::ranges::count_if(
          starts, [&](const ScoredDraft& other) { return other.draft.micro_batch == each.draft.micro_batch; });
      if (alike < 2 && starts.size() < kImproved && each.seconds < candidates_[0].seconds * 1.3) starts.push_back(each);
    }
    improve(std::move(starts));
  }

  void improve(std::vector<ScoredDraft> starts) {
    if (starts.empty()) return;
    const Model& model = problem_.model;
    const auto looked = static_cast<double>(model.operators.size() + model.edges.size()) +
                        4.0 * static_cast<double>(model.batch / starts[0].draft.micro_batch) *
                            static_cast<double>(starts[0].draft.parts.size());
    auto left = static_cast<std::int64_t>(
        std::min(options_.improvement * kTrialWork / looked, options_.improvement * static_cast<double>(kMaxTrials)));
    const std::int64_t all = left;
    for (std::size_t i = 0; i < starts.size() && left > 0; ++i) {
      std::int64_t mine = left / static_cast<std::int64_t>(starts.size() - i);
      left -= mine;
      candidates_.push_back(improve_draft(std::move(starts[i]), problem_, mine, options_.allows_colocation));
      left += mine;
    }
    out_.simulations += all - left;
    sort();
  }

  /// Tries micro-batches of which memory holds fewer than set_in_flight needs. Larger passes may save more than the
  /// wait costs.
  void enlarge() {
    if (options_.micro_batch || !few_) return;
    std::vector<ScoredDraft> larger;
    for (std::size_t i = 0; i < std::min(candidates_.size(), kEnlarged); ++i) {
      for (const std::int64_t times : {2, 4}) {
        Draft draft = candidates_[i].draft;
        draft.micro_batch *= times;
        draft.limits_in_flight = true;
        if (problem_.model.batch % draft.micro_batch != 0) break;
        ++out_.simulations;
        ScoredDraft judged = score_draft(std::move(draft), problem_);
        if (judged.seconds < candidates_[0].seconds * 1.3) larger.push_back(std::move(judged));
      }
    }
    std::ranges::stable_sort(larger, {}, &ScoredDraft::seconds);
    candidates_.insert(candidates_.end(), larger.begin(), larger.end());
    if (larger.size() > kImproved / 2) larger.resize(kImproved / 2);
    improve(std::move(larger));
  }

  const Problem& problem_;
  const PlanOptions& options_;
  Planned& out_;
  Outline tree_, row_;
  bool branches_ = false;  ///< False: tree and chain are the same.
  bool few_ = false, allows_colocation_ = false;
  std::vector<ScoredDraft> candidates_;
};

/// Returns the error for a model that does not fit, with a rough least memory: the largest operator with one sample.
Error nothing_fits(const Problem& problem) {
  double most = 0, parameters = 0, largest = 0;
  std::string name;
  for (const Operator& op : problem.model.operators) {
    const double bytes = problem.model.parameter_copies * op.parameter_bytes + op.activation_bytes;
    parameters += problem.model.parameter_copies * op.parameter_bytes;
    if (bytes >= largest) largest = bytes, name = op.name;
  }
  double memory = 0;
  for (const DeviceClass& each : problem.devices.classes) {
    most = std::max(most, each.memory_bytes);
    memory += each.memory_bytes * static_cast<double>(each.count);
  }
  const auto mb = [](double bytes) { return std::to_string(static_cast<std::int64_t>(bytes / 1e6)) + " MB"; };
  return {Code::kResourceExhausted,
          "no stages fit: parameters with their copies need " + mb(parameters) + " of " + mb(memory) +
              " on all devices, and operator " + name + " alone " + mb(largest) + " of a device's " + mb(most),
          ""};
}

/// Chooses the finalist with the shortest step under split backward passes.
void split_finalists(const std::vector<ScoredDraft>& all, const Problem& problem, Planned& planned) {
  for (std::size_t i = 0; i < all.size() && i < kSplit; ++i) {
    auto plan = plan_of(all[i].draft, problem);
    if (!plan) continue;
    Schedule schedule = split_backward(*plan, problem);
    const auto simulation = simulate(schedule, *plan, problem, false);
    if (!simulation || simulation->seconds >= planned.seconds) continue;
    planned.plan = *std::move(plan);
    planned.schedule = std::move(schedule);
    planned.seconds = simulation->seconds;
  }
}

}  // namespace

Result<Planned> make_plan(const Problem& problem, const PlanOptions& options) {
  LANISTA_TRY(check(problem));
  if (options.micro_batch && (*options.micro_batch < 1 || problem.model.batch % *options.micro_batch != 0)) {
    return Error{Code::kInvalidArgument,
                 "a micro-batch of " + std::to_string(*options.micro_batch) + " does not divide the batch of " +
                     std::to_string(problem.model.batch),
                 ""};
  }
  Planned planned;
  const auto all = Planner(problem, options, planned).run();
  if (all.empty()) return nothing_fits(problem);
  LANISTA_ASSIGN(planned.plan, plan_of(all.front().draft, problem));
  LANISTA_TRY(check(planned.plan, problem));
  planned.seconds = all.front().seconds;
  planned.schedule = kfkb(planned.plan, problem);
  if (options.split) split_finalists(all, problem, planned);
  for (std::size_t i = 0; i < all.size() && i < 12; ++i) {
    LANISTA_ASSIGN(const PipelinePlan plan, plan_of(all[i].draft, problem));
    double slowest = 0;
    for (const StageTimes& times : times_of(plan, problem)) {
      slowest = std::max(slowest, (times.forward + times.backward()) / static_cast<double>(all[i].draft.micro_batch) +
                                      times.reduce / static_cast<double>(problem.model.batch));
    }
    planned.finalists.push_back(
        {all[i].draft.micro_batch, plan.stages.size(), depth_of(plan), slowest, all[i].seconds});
  }
  return planned;
}

}  // namespace lanista::pipeline
