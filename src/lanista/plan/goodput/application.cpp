#include "lanista/plan/goodput/application.h"

#include <algorithm>
#include <limits>

#include "lanista/base/check.h"
#include "lanista/base/parse_number.h"
#include "lanista/plan/goodput/csv_columns.h"

namespace lanista::goodput {
namespace {

using Curve = std::vector<std::pair<std::int64_t, StepTimes>>;

double between(double below, double above, double from, double to, double at) {
  return ((at - from) * above + (to - at) * below) / (to - from);
}

/// Returns the run at a batch size, or the runs below and above it.
std::pair<const ValidationRun*, const ValidationRun*> neighbours(const std::vector<ValidationRun>& runs,
                                                                 std::int64_t batch) {
  const auto above = std::ranges::find_if(runs, [&](const ValidationRun& run) { return run.batch >= batch; });
  LANISTA_CHECK(above != runs.end(), "no validation run of batch " + std::to_string(batch) + " or more");
  if (above->batch == batch || above == runs.begin()) return {&*above, &*above};
  return {&*(above - 1), &*above};
}

/// Returns the rotation of the placement that is first in alphabetical order.
std::string smallest_rotation(std::span<const std::int32_t> placement) {
  std::string text;
  for (const std::int32_t count : placement) text += static_cast<char>('0' + count);
  std::string least = text;
  for (std::size_t i = 1; i < text.size(); ++i) {
    std::rotate(text.begin(), text.begin() + 1, text.end());
    least = std::min(least, text);
  }
  return least;
}

StepTimes on_curve(const Curve& curve, std::int64_t local) {
  if (local <= curve.front().first) return curve.front().second;
  if (local >= curve.back().first) return curve.back().second;
  const auto above = std::ranges::find_if(curve, [&](const auto& point) { return point.first >= local; });
  const auto below = above - 1;
  const double span = static_cast<double>(above->first - below->first);
  const double part = static_cast<double>(local - below->first);
  const auto line = [&](double lo, double hi) { return (hi - lo) / span * part + lo; };
  return {line(below->second.step, above->second.step), line(below->second.sync, above->second.sync)};
}

}  // namespace

Application::Application(std::string name, std::vector<ValidationRun> runs, std::map<std::string, Curve> placed,
                         ScatteredTable scattered, BatchLimits limits)
    : name_(std::move(name)),
      runs_(std::move(runs)),
      placed_(std::move(placed)),
      scattered_(std::move(scattered)),
      limits_(limits) {
  std::ranges::sort(runs_, {}, &ValidationRun::batch);
  std::size_t epochs = std::numeric_limits<std::size_t>::max();
  for (const ValidationRun& run : runs_) epochs = std::min(epochs, run.progress.size());
  epochs_ = static_cast<std::int64_t>(epochs);
  for (std::size_t e = 0; e < epochs; ++e) {
    double least = std::numeric_limits<double>::infinity();
    for (const ValidationRun& run : runs_) least = std::min(least, run.progress[e]);
    least_progress_.push_back(least);
  }
}

double Application::progress_after(std::int64_t epochs) const {
  return epochs == 0 ? 0 : least_progress_[static_cast<std::size_t>(epochs - 1)];
}

double Application::iterations(std::int64_t batch, std::int64_t epoch) const {
  const auto [lower, upper] = neighbours(runs_, batch);
  const auto e = static_cast<std::size_t>(epoch);
  if (lower == upper) return lower->iterations[e];
  return between(lower->iterations[e], upper->iterations[e], static_cast<double>(lower->batch),
                 static_cast<double>(upper->batch), static_cast<double>(batch));
}

GradientStats Application::gradients(std::int64_t batch, std::int64_t epoch) const {
  const auto [lower, upper] = neighbours(runs_, batch);
  const GradientStats &a = lower->gradients[static_cast<std::size_t>(epoch)],
                      &b = upper->gradients[static_cast<std::size_t>(epoch)];
  if (lower == upper) return a;
  const auto mix = [&](double below, double above) {
    return between(below, above, static_cast<double>(lower->batch), static_cast<double>(upper->batch),
                   static_cast<double>(batch));
  };
  return {mix(a.sqr, b.sqr), mix(a.var, b.var)};
}

StepTimes Application::step_times(std::span<const std::int32_t> placement, std::int64_t local_batch) const {
  const std::string ring = smallest_rotation(placement);
  const auto key = std::pair(ring, local_batch);
  if (const auto found = known_.find(key); found != known_.end()) return found->second;
  std::int32_t replicas = 0;
  for (const std::int32_t count : placement) replicas += count;
  const StepTimes times = look_up(ring, static_cast<std::int32_t>(placement.size()), replicas, local_batch);
  known_.emplace(key, times);
  return times;
}

StepTimes Application::look_up(const std::string& placement, std::int32_t nodes, std::int32_t replicas,
                               std::int64_t local) const {
  if (const auto found = placed_.find(placement); found != placed_.end()) return on_curve(found->second, local);
  const GridPoint here{std::min(nodes, 16), replicas, static_cast<std::int32_t>(local)};
  if (const auto exact = exact_times_.find(here); exact != exact_times_.end()) return exact->second;
  const auto at = [&](std::int64_t m) {
    return scattered_.at({std::min(nodes, 16), replicas, static_cast<std::int32_t>(m)});
  };
  if (const auto times = at(local)) return *times;
  // Outside the measured range, the nearest batch size inside it counts. If there is none, the measured point with the
  // nearest number of replicas counts.
  for (std::int64_t step = 1; step <= limits_.max_local; step = step + 1 + step / 16) {
    if (local - step >= limits_.min_local) {
      if (const auto times = at(local - step)) return *times;
    }
    if (local + step <= limits_.max_local) {
      if (const auto times = at(local + step)) return *times;
    }
  }
  GridPoint nearest = scattered_.points().front();
  const auto distance = [&](const GridPoint& p) {
    return std::tuple(std::abs(p[1] - replicas), std::abs(p[0] - nodes),
                      std::abs(p[2] - static_cast<std::int32_t>(local)));
  };
  for (const GridPoint& p : scattered_.points()) {
    if (distance(p) < distance(nearest)) nearest = p;
  }
  return *scattered_.at(nearest);
}

namespace {

struct Measured {
  std::map<std::string, Curve> placed;
  ScatteredTable scattered;
  std::int64_t min_local = 0, max_local = 0;
};

Result<std::map<GridPoint, StepTimes>> read_grid(FileSystem& fs, const std::string& path) {
  LANISTA_ASSIGN(const CsvColumns table,
                 CsvColumns::read(fs, path, {"num_nodes", "num_replicas", "local_bsz", "step_time", "sync_time"}));
  std::map<GridPoint, StepTimes> grid;
  for (std::size_t row = 0; row < table.rows(); ++row) {
    GridPoint point{};
    for (std::size_t i = 0; i < 3; ++i) {
      LANISTA_ASSIGN(const std::int64_t value, table.integer(row, i, 1));
      point[i] = static_cast<std::int32_t>(value);
    }
    LANISTA_ASSIGN(const double step, table.number(row, 3, 1e-9));
    LANISTA_ASSIGN(const double sync, table.number(row, 4, 0));
    grid.emplace(point, StepTimes{step, sync});
  }
  return grid;
}

Result<Measured> read_times(FileSystem& fs, const std::string& folder) {
  Measured all;
  LANISTA_ASSIGN(const CsvColumns placements, CsvColumns::read(fs, folder + "/placements.csv",
                                                               {"placement", "local_bsz", "step_time", "sync_time"}));
  std::map<GridPoint, std::pair<StepTimes, std::int64_t>> sums;
  for (std::size_t row = 0; row < placements.rows(); ++row) {
    const std::string placement(placements.text(row, 0));
    std::int32_t replicas = 0;
    for (const char c : placement) replicas += c - '0';
    if (placement.empty() || placement.find_first_not_of("123456789") != std::string::npos) {
      return placements.cell_error(row, 0, "a digit from 1 to 9 for every node");
    }
    LANISTA_ASSIGN(const std::int64_t local, placements.integer(row, 1, 1));
    LANISTA_ASSIGN(const double step, placements.number(row, 2, 1e-9));
    LANISTA_ASSIGN(const double sync, placements.number(row, 3, 0));
    Curve& curve = all.placed[placement];
    curve.emplace_back(local, StepTimes{step, sync});
    auto& [sum, count] =
        sums[{static_cast<std::int32_t>(placement.size()), replicas, static_cast<std::int32_t>(local)}];
    sum.step += step;
    sum.sync += sync;
    ++count;
    all.min_local = all.min_local == 0 ? local : std::min(all.min_local, local);
    all.max_local = std::max(all.max_local, local);
  }
  for (auto& [placement, curve] : all.placed) std::ranges::stable_sort(curve, {}, &Curve::value_type::first);
  if (sums.empty()) return Error{Code::kDataLoss, "no placement was measured", folder + "/placements.csv"};
  std::vector<GridPoint> points;
  std::vector<StepTimes> values;
  for (const auto& [point, entry] : sums) {
    const double count = static_cast<double>(entry.second);
    points.push_back(point);
    values.push_back({entry.first.step / count, entry.first.sync / count});
  }
  LANISTA_ASSIGN(const auto scaled, read_grid(fs, folder + "/scalability.csv"));
  for (const auto& [point, times] : scaled) {
    if (sums.contains(point)) continue;
    points.push_back(point);
    values.push_back(times);
  }
  all.scattered = ScatteredTable(std::move(points), std::move(values));
  return all;
}

Result<ValidationRun> read_run(FileSystem& fs, const std::string& path, std::int64_t batch) {
  LANISTA_ASSIGN(const CsvColumns table, CsvColumns::read(fs, path, {"progress", "iteration", "grad_sqr", "grad_var"}));
  ValidationRun run;
  run.batch = batch;
  for (std::size_t row = 0; row < table.rows(); ++row) {
    LANISTA_ASSIGN(const double progress, table.number(row, 0, 1e-9));
    LANISTA_ASSIGN(const double iteration, table.number(row, 1, 1e-9));
    LANISTA_ASSIGN(const double sqr, table.number(row, 2, 0));
    LANISTA_ASSIGN(const double var, table.number(row, 3, 0));
    if (!run.progress.empty() && progress <= run.progress.back()) {
      return table.cell_error(row, 0, "more progress than in the row before");
    }
    run.progress.push_back(progress);
    run.iterations.push_back(iteration);
    run.gradients.push_back({sqr, var});
  }
  if (run.progress.empty()) return Error{Code::kDataLoss, "the file has no epoch", path};
  return run;
}

}  // namespace

Result<Application> read_application(FileSystem& fs, const std::string& folder, const std::string& name) {
  const std::string path = folder + "/" + name;
  LANISTA_ASSIGN(Measured times, read_times(fs, path));
  LANISTA_ASSIGN(const std::vector<std::string> files, fs.list(path));
  std::vector<ValidationRun> runs;
  for (const std::string& file : files) {
    constexpr std::string_view kBefore = "validation-", kBehind = ".csv";
    if (!file.starts_with(kBefore) || !file.ends_with(kBehind)) continue;
    const auto middle = std::string_view(file).substr(kBefore.size(), file.size() - kBefore.size() - kBehind.size());
    const auto batch = parse_number<std::int64_t>(middle);
    if (!batch || *batch < 1) {
      return Error{Code::kDataLoss, "validation-BATCH.csv needs a batch size in its name", path + "/" + file};
    }
    LANISTA_ASSIGN(ValidationRun run, read_run(fs, path + "/" + file, *batch));
    runs.push_back(std::move(run));
  }
  if (runs.empty()) return Error{Code::kNotFound, "the folder has no validation-BATCH.csv", path};
  BatchLimits limits{runs.front().batch, runs.front().batch, times.min_local, times.max_local};
  for (const ValidationRun& run : runs) {
    limits.initial = std::min(limits.initial, run.batch);
    limits.most = std::max(limits.most, run.batch);
  }
  Application application(name, std::move(runs), std::move(times.placed), std::move(times.scattered), limits);
  if (const std::string between = path + "/between.csv"; fs.exists(between)) {
    LANISTA_ASSIGN(auto grid, read_grid(fs, between));
    application.set_exact_times(std::move(grid));
  }
  return application;
}

}  // namespace lanista::goodput
