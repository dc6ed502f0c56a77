#include "lanista/plan/pipeline/pareto_search.h"

#include <algorithm>
#include <cmath>

#include "lanista/plan/pipeline/step_state.h"

namespace lanista::pipeline {
namespace {

/// Up to this number of devices a stage may have any number. Above it, it has a power of two.
constexpr std::int64_t kAllDegrees = 8;
/// Shorter runs that are tried if memory or a link forbids the longest one.
constexpr std::size_t kShorterRuns = 24;

}  // namespace

ParetoSearch::ParetoSearch(const Problem& problem, const Outline& outline, std::int64_t micro_batch, bool colocated)
    : problem_(problem), outline_(outline), micro_batch_(micro_batch), allows_colocation_(colocated), link_{0, 1e300} {
  const Devices& devices = problem.devices;
  std::map<std::int64_t, std::size_t> tables;
  for (std::size_t c = 0; c < devices.classes.size(); ++c) {
    const std::int64_t most = std::min(devices.classes[c].count, micro_batch);
    for (std::int64_t d = 1; d <= most; ++d) {
      if (d > kAllDegrees && (d & (d - 1)) != 0) continue;
      const std::int64_t samples = (micro_batch + d - 1) / d;
      const auto [at, fresh] = tables.emplace(samples, times_.size());
      const DeviceClass& its = devices.classes[c];
      const Link& link = d <= its.per_machine ? its.inside : devices.links[c][c];
      const auto batch = static_cast<double>(problem.model.batch);
      const double wait = d > 1 ? reduce_seconds(0, d, link) / batch : 0;
      degrees_.push_back({c, d, at->second, 1 / its.speed / static_cast<double>(micro_batch), wait,
                          d > 1 ? reduce_seconds(1, d, link) / batch - wait : 0});
      if (!fresh) continue;
      std::vector<double> sum{0};
      for (const std::uint32_t op : outline.order)
        sum.push_back(sum.back() + work_at(problem.model.operators[op], samples));
      times_.push_back(std::move(sum));
    }
    for (const Link& link : devices.links[c]) {
      link_.seconds = std::max(link_.seconds, link.seconds);
      link_.bytes_per_second = std::min(link_.bytes_per_second, link.bytes_per_second);
    }
  }
  parameters_ = kept_ = {0};
  for (const std::uint32_t op : outline.order) {
    parameters_.push_back(parameters_.back() + problem.model.operators[op].parameter_bytes);
    kept_.push_back(kept_.back() + problem.model.operators[op].activation_bytes);
  }
  received_.assign(outline.nodes.size(), 0);
  for (const Outline::Node& node : outline.nodes) {
    double sum = 0;
    for (const std::uint32_t part : node.parts) {
      const Outline::Node& its = outline.nodes[part];
      received_[part] = sum += node.shape == Tree::Shape::kSeries ? its.received_from_outside : its.received;
    }
  }
  parts_.emplace_back();  // Part 0 is empty.
}

double ParetoSearch::least_seconds_per_sample() const {
  double work = 1e300;
  for (const Degree& degree : degrees_) {
    work = std::min(work, times_[degree.table].back() * static_cast<double>(degree.devices));
  }
  return work / static_cast<double>(micro_batch_) / problem_.devices.speed();
}

double ParetoSearch::rate(std::uint32_t begin, std::uint32_t end, const Degree& degree) const {
  const std::vector<double>& times = times_[degree.table];
  const double bytes = parameters_[end] - parameters_[begin];
  return (times[end] - times[begin]) * degree.per_second + (bytes > 0 ? degree.reduce + bytes * degree.reduce_byte : 0);
}

bool ParetoSearch::fits(std::uint32_t begin, std::uint32_t end, const Degree& degree, double received,
                        std::int32_t height) const {
  const std::int64_t samples = std::min(height * micro_batch_, problem_.model.batch);
  const double own = static_cast<double>((samples + degree.devices - 1) / degree.devices);
  return problem_.model.parameter_copies * (parameters_[end] - parameters_[begin]) +
             own * (kept_[end] - kept_[begin] + received) <=
         problem_.devices.classes[degree.device_class].memory_bytes;
}

bool ParetoSearch::is_affordable(const Counts& devices) const {
  for (std::size_t c = 0; c < problem_.devices.classes.size(); ++c) {
    if (devices[c] > problem_.devices.classes[c].count) return false;
  }
  return true;
}

bool ParetoSearch::dominates(const Value& a, const Value& b) {
  for (std::size_t c = 0; c < kMaxDeviceClasses; ++c) {
    if (a.devices[c] > b.devices[c]) return false;
  }
  return a.height <= b.height;
}

bool ParetoSearch::is_non_dominated(const Front& front, const Value& value) const {
  if (!is_affordable(value.devices)) return false;
  return std::ranges::none_of(front, [&](const Value& each) {
    return dominates(each, value) && !(dominates(value, each) && value.slowest < each.slowest);
  });
}

void ParetoSearch::insert(Front& front, const Value& value) {
  std::erase_if(front, [&](const Value& each) { return dominates(value, each); });
  const auto fewer = [](const Value& a, const Value& b) {
    std::int32_t x = 0, y = 0;
    for (std::size_t c = 0; c < kMaxDeviceClasses; ++c) x += a.devices[c], y += b.devices[c];
    return x != y ? x < y : a.height < b.height;
  };
  front.insert(std::ranges::upper_bound(front, value, fewer), value);
  // If there are too many, one in the middle is dropped. Values with the fewest devices or the fewest samples stay.
  if (front.size() > kMaxValues) front.erase(front.begin() + kMaxValues - 2);
}

ParetoSearch::Value ParetoSearch::sum_of(const Value& first, const Value& second, std::int32_t height) {
  Value sum{{}, height, 0, std::max(first.slowest, second.slowest), first.colocated + second.colocated};
  sum.slowest = std::max(sum.slowest, sum.colocated / kMaxColocatedTotal);
  for (std::size_t c = 0; c < kMaxDeviceClasses; ++c) sum.devices[c] = first.devices[c] + second.devices[c];
  return sum;
}

void ParetoSearch::add_combined(const Value& first, const Value& second, std::int32_t height, std::uint32_t shift,
                                Front& out) {
  Value sum = sum_of(first, second, height);
  if (sum.slowest > limit_ || !is_non_dominated(out, sum)) return;
  sum.part = static_cast<std::uint32_t>(parts_.size());
  parts_.push_back({{}, first.part, second.part, shift});
  insert(out, sum);
}

/// Adds parts i to j-1 as a stage before all values of `rest`. Returns false if memory forbids it for one of them.
bool ParetoSearch::add_run(const Outline::Node& node, std::size_t i, std::size_t j, const Degree& degree,
                           const Front& rest, Front& out) {
  const std::uint32_t begin = outline_.nodes[node.parts[i]].begin, end = outline_.nodes[node.parts[j - 1]].end;
  const double received =
      outline_.nodes[node.parts[i]].received + received_[node.parts[j - 1]] - received_[node.parts[i]];
  const auto batch = static_cast<double>(micro_batch_);
  if (received > 0 && link_.of(batch * received / static_cast<double>(degree.devices)) > limit_ * batch) return false;
  bool all = true;
  for (const Value& value : rest) {
    if (!fits(begin, end, degree, received, value.height + 1)) {
      all = false;
      continue;
    }
    Value stage{{}, 0, 0, rate(begin, end, degree), 0};
    stage.devices[degree.device_class] = static_cast<std::int32_t>(degree.devices);
    Value sum = sum_of(stage, value, value.height + 1);
    if (!is_non_dominated(out, sum)) continue;
    sum.part = static_cast<std::uint32_t>(parts_.size());
    parts_.push_back({{begin, end, degree.device_class, degree.devices}, 0, value.part, 0});
    insert(out, sum);
  }
  return all;
}

/// Adds the operators as a co-located stage, before `rest` or parallel to it.
void ParetoSearch::add_colocated(std::uint32_t begin, std::uint32_t end, const Value& rest, std::int32_t height,
                                 Front& out) {
  const double seconds = rate(begin, end, degrees_.front());
  if (seconds > kMaxColocatedShare * limit_) return;
  Value sum = sum_of({{}, 0, 0, seconds / kMaxColocatedShare, seconds}, rest, height);
  if (sum.slowest > limit_ || !is_non_dominated(out, sum)) return;
  sum.part = static_cast<std::uint32_t>(parts_.size());
  parts_.push_back({{begin, end, 0, 0}, 0, rest.part, 0});
  insert(out, sum);
}

/// `ends` has the end of the longest run of each degree that begins at the next part. A run that begins earlier does
/// not end later.
void ParetoSearch::add_runs(const Outline::Node& node, std::size_t i, const std::vector<Front>& best,
                            std::vector<std::size_t>& ends, Front& out) {
  const std::uint32_t begin = outline_.nodes[node.parts[i]].begin;
  for (std::size_t d = 0; d < degrees_.size(); ++d) {
    const Degree& degree = degrees_[d];
    // The longest run within the limit leaves the least work for the others.
    std::size_t& end = ends[d];
    while (end > i && rate(begin, outline_.nodes[node.parts[end - 1]].end, degree) > limit_) --end;
    std::size_t step = 1;
    for (std::size_t j = end, tries = 0; j > i && tries < kShorterRuns; ++tries) {
      if (!best[j].empty() && add_run(node, i, j, degree, best[j], out)) break;
      if (tries >= kShorterRuns / 2) step = std::max<std::size_t>(1, (j - i) / 3);
      j = j > i + step ? j - step : i;
    }
  }
}

ParetoSearch::Front ParetoSearch::solve_series(const Outline::Node& node, std::int32_t height) {
  const std::size_t count = node.parts.size();
  std::vector<Front> best(count + 1);
  best[count] = {Value{{}, height, 0, 0, 0}};
  std::vector<std::size_t> ends(degrees_.size(), count);
  for (std::size_t i = count; i-- > 0;) {
    add_runs(node, i, best, ends, best[i]);
    const Outline::Node& part = outline_.nodes[node.parts[i]];
    if (part.parts.empty()) {
      const auto branches = [&](std::size_t at) { return at < count && !outline_.nodes[node.parts[at]].parts.empty(); };
      if (!allows_colocation_ || (!branches(i - 1) && !branches(i + 1))) continue;
      for (const Value& rest : best[i + 1]) add_colocated(part.begin, part.end, rest, rest.height + 1, best[i]);
      continue;
    }
    const std::uint32_t shift = part.begin - outline_.nodes[part.first_equal].begin;
    for (const Value& rest : best[i + 1]) {
      for (const Value& mine : solve(part.first_equal, rest.height))
        add_combined(mine, rest, mine.height, shift, best[i]);
    }
  }
  return std::move(best[0]);
}

/// Solves parallel branches one by one. Several whole branches may form a stage. All have the same successor.
ParetoSearch::Front ParetoSearch::solve_parallel(const Outline::Node& node, std::int32_t height) {
  const std::size_t count = node.parts.size();
  std::vector<Front> best(count + 1);
  best[count] = {Value{}};
  for (std::size_t i = count; i-- > 0;) {
    // Several whole branches have the height of one stage.
    const Front alone{Value{{}, height, 0, 0, 0}};
    for (const Degree& degree : degrees_) {
      std::size_t j = i;
      while (j < count &&
             rate(outline_.nodes[node.parts[i]].begin, outline_.nodes[node.parts[j]].end, degree) <= limit_)
        ++j;
      for (std::size_t tries = 0; j > i && tries < kShorterRuns; ++tries, --j) {
        Front stage;
        if (!add_run(node, i, j, degree, alone, stage) || stage.empty()) continue;
        for (const Value& rest : best[j]) {
          for (const Value& mine : stage) add_combined(mine, rest, std::max(mine.height, rest.height), 0, best[i]);
        }
        if (!best[j].empty()) break;
      }
    }
    const Outline::Node& part = outline_.nodes[node.parts[i]];
    if (allows_colocation_) {
      for (const Value& rest : best[i + 1]) {
        add_colocated(part.begin, part.end, rest, std::max(height + 1, rest.height), best[i]);
      }
    }
    if (part.parts.empty()) continue;
    const std::uint32_t shift = part.begin - outline_.nodes[part.first_equal].begin;
    for (const Value& mine : solve(part.first_equal, height)) {
      for (const Value& rest : best[i + 1])
        add_combined(mine, rest, std::max(mine.height, rest.height), shift, best[i]);
    }
  }
  return std::move(best[0]);
}

const ParetoSearch::Front& ParetoSearch::solve(std::uint32_t node, std::int32_t height) {
  CachedFront& known = memo_[{node, height}];
  if (known.from <= limit_ && limit_ <= known.to) {
    ++num_cached;
    return known.front;
  }
  ++states;
  const Outline::Node& its = outline_.nodes[node];
  Front front = its.shape == Tree::Shape::kSeries ? solve_series(its, height) : solve_parallel(its, height);
  double from = 0;
  for (const Value& value : front) from = std::max(from, value.slowest);
  CachedFront& mine = memo_[{node, height}];
  mine = {from, limit_, std::move(front)};
  return mine.front;
}

void ParetoSearch::gather(std::uint32_t part, std::vector<StageRange>& stage_ranges) const {
  std::vector<std::pair<std::uint32_t, std::uint32_t>> open{{part, 0}};
  while (!open.empty()) {
    const auto [number, shift] = open.back();
    open.pop_back();
    const Part& at = parts_[number];
    if (at.stage_range.end > 0) {
      stage_ranges.push_back(at.stage_range);
      stage_ranges.back().begin += shift;
      stage_ranges.back().end += shift;
    }
    if (at.second != 0) open.push_back({at.second, shift});
    if (at.first != 0) open.push_back({at.first, shift + at.shift});
  }
}

std::vector<ParetoSearch::ParetoPoint> ParetoSearch::probe(double seconds_per_sample) {
  limit_ = seconds_per_sample;
  std::vector<ParetoPoint> all;
  for (const Value& value : solve(outline_.root, 0)) {
    ParetoPoint& found = all.emplace_back();
    gather(value.part, found.stage_ranges);
    found.seconds_per_sample = value.slowest;
    found.depth = value.height;
  }
  return all;
}

}  // namespace lanista::pipeline
