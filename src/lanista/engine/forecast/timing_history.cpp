#include "lanista/engine/forecast/timing_history.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <set>
#include <tuple>
#include <utility>

#include "lanista/engine/core/executor.h"
#include "lanista/search/study/program_key.h"
#include "lanista/search/study/worker_usage.h"

namespace lanista::engine {
namespace {

using study::Profile;

constexpr std::size_t kMaxProfiledTrials = 1000;  // trials of a study that give rows
constexpr double kBestTolerance = 0.02;           // relative distance from the best value that counts as reached
constexpr double kMinSeconds = 1e-9;              // seconds, positive for the logarithm

double median(std::vector<double> values) {
  if (values.empty()) return 0;
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::ranges::nth_element(values, middle);
  return *middle;
}

/// Weighted median: half of the weight is on each side.
double weighted_median(std::vector<std::pair<double, double>> values) {
  std::ranges::sort(values);
  double whole = 0, sum = 0;
  for (const auto& [value, weight] : values) whole += weight;
  for (const auto& [value, weight] : values) {
    sum += weight;
    if (2 * sum >= whole) return value;
  }
  return 0;
}

/// Epochs until the trial was within 2 % of its best value; 0: it has no finite value.
std::int64_t epochs_to_best(const study::StudyConfig& config, const study::TrialView& trial) {
  const study::Goal& goal = config.goals.front();
  const double sign = goal.maximize ? 1 : -1;
  std::optional<double> best;
  for (const auto& m : trial.measurements) {
    const auto value = m.metrics.find(goal.metric);
    if (value == m.metrics.end() || !std::isfinite(value->second)) continue;
    best = std::max(best.value_or(sign * value->second), sign * value->second);
  }
  if (!best) return 0;
  for (const auto& m : trial.measurements) {
    const auto value = m.metrics.find(goal.metric);
    if (value == m.metrics.end() || !std::isfinite(value->second)) continue;
    if (sign * value->second >= *best - kBestTolerance * std::abs(*best)) return m.epoch;
  }
  return 0;
}

/// The mean of the values up to twenty times the median. Longer values are not times of an epoch, but for example waits
/// for a rung.
double without_outliers(const std::vector<double>& values) {
  constexpr double kWait = 20;
  const double most = kWait * median(values);
  double sum = 0, count = 0;
  for (const double value : values) {
    if (value > most) continue;
    sum += value;
    ++count;
  }
  return count > 0 ? sum / count : 0;
}

/// For each span, the idle seconds since the last span of its worker.
std::vector<double> seconds_between(const std::vector<study::Span>& spans) {
  std::vector<double> out(spans.size(), 0);
  std::map<std::int64_t, std::vector<std::size_t>> of_worker;
  for (std::size_t i = 0; i < spans.size(); ++i) of_worker[spans[i].worker].push_back(i);
  for (auto& [worker, all] : of_worker) {
    std::ranges::sort(all, {}, [&](std::size_t i) { return std::pair(spans[i].began, spans[i].ended); });
    for (std::size_t k = 1; k < all.size(); ++k) {
      const study::Span& span = spans[all[k]];
      const double known = span.costs.set_up + span.costs.restoring + span.costs.saving;
      out[all[k]] = std::max(0.0, span.began - spans[all[k - 1]].ended - known);
    }
  }
  return out;
}

/// Times of a program at one width, from spans.
struct SpanTimes {
  study::StepShape shape;
  std::int64_t width = 1, lanes = 1, spans = 0, bytes = 0;
  double steps = 0, stepping = 0, rows = 0, evaluating = 0;
  std::vector<double> between = {}, set_up = {}, save = {}, restore = {}, epochs = {};
};

/// Adds a value if it is large enough to be a measurement. Very short set-up times mean that the program existed.
void add_if_measured(std::vector<double>& values, double seconds, double least = 0) {
  if (seconds > least) values.push_back(seconds);
}

Profile profile_of(const SpanTimes& span_times, const std::string& device, std::int64_t residents) {
  constexpr double kMade = 1e-4;  // seconds; less is not enough to make a program
  std::vector<double> made;
  for (const double seconds : span_times.set_up) add_if_measured(made, seconds, kMade);
  return {.shape = span_times.shape,
          .device = device,
          .width = span_times.width,
          .lanes = span_times.lanes,
          .residents = residents,
          .spans = span_times.spans,
          .step = span_times.stepping / span_times.steps,
          .evaluation_row = span_times.rows > 0 ? span_times.evaluating / span_times.rows : 0,
          .between = without_outliers(span_times.between),
          .set_up = median(std::move(made)),
          .save = median(span_times.save),
          .restore = median(span_times.restore),
          .bytes = span_times.bytes,
          .epochs_to_best = static_cast<std::int64_t>(median(span_times.epochs))};
}

/// Facts of a trial that its spans need.
struct ProfiledTrial {
  study::StepShape shape;
  double validation_rows = 0;
};

/// Facts of a trial; nullopt: its steps differ from those of its model.
Result<std::optional<ProfiledTrial>> profiled_trial(const study::StudyView& view, const study::TrialView& trial,
                                                    const data::DataSpec& data, const graph::OpTable& ops) {
  LANISTA_ASSIGN(graph::Graph model, study::trial_model(view, trial, ops));
  LANISTA_ASSIGN(const Job job, make_job(view.config, data, trial, std::move(model)));
  if (!job.recipe.select.name.empty() || !job.recipe.tune.name.empty()) return std::optional<ProfiledTrial>();
  LANISTA_ASSIGN(study::StepShape shape, study::step_shape(job.model, ops, job.recipe));
  LANISTA_ASSIGN(const data::DataSpec of_fold, data::training_spec(data, job.fold));
  return std::optional(ProfiledTrial{std::move(shape), static_cast<double>(of_fold.split_rows[1])});
}

std::vector<double> features_of(const study::StepShape& shape, std::int64_t width, std::int64_t lanes,
                                std::int64_t residents) {
  const auto of_shape = shape.features();
  std::vector<double> out(of_shape.begin(), of_shape.end());
  for (const std::int64_t each : {width, lanes, residents}) out.push_back(std::log(static_cast<double>(each)));
  return out;
}

double nominal_row(const study::StepShape& shape) { return shape.nominal_step() / static_cast<double>(shape.batch); }

/// A count with its noun: 8 gives "8 programs".
std::string count_text(std::size_t number, const char* what, const char* several) {
  return std::to_string(number) + " " + (number == 1 ? what : several);
}

}  // namespace

std::string device_description(const std::string& cpu, const std::string& numeric_class) {
  return cpu + ", " + numeric_class;
}

std::string profile_folder_of(const study::StudyConfig& config, const std::string& study_folder) {
  namespace fs = std::filesystem;
  if (config.run.profiles == study::kNoProfiles) return "";
  const fs::path study(study_folder);
  if (config.run.profiles != study::kAutoProfiles) {
    const fs::path named(config.run.profiles);
    return (named.is_absolute() ? named : study / named).lexically_normal().string();
  }
  fs::path parent = (study.has_filename() ? study : study.parent_path()).parent_path();
  return parent.filename() == study::kStudiesFolder ? (parent / study::kProfilesFolder).string() : "";
}

Result<std::vector<Profile>> profiles_of_study(const study::StudyView& view, const data::DataSpec& data,
                                               const graph::OpTable& ops, const std::string& device) {
  if (!view.frozen.empty()) return std::vector<Profile>();
  std::set<TrialId> worked;
  for (const study::Span& span : view.spans) {
    if (span.costs.steps > 0) worked.insert(span.trial);
  }
  while (worked.size() > kMaxProfiledTrials) worked.erase(worked.begin());
  std::map<TrialId, ProfiledTrial> known;
  for (const TrialId id : worked) {
    LANISTA_ASSIGN(auto of_trial, profiled_trial(view, view.trials.at(id.value - 1), data, ops));
    if (of_trial) known.emplace(id, *std::move(of_trial));
  }
  std::vector<SpanTimes> all;
  std::map<std::tuple<std::string, std::int64_t, std::int64_t>, std::size_t> indices;
  const std::vector<double> between = seconds_between(view.spans);
  for (std::size_t i = 0; i < view.spans.size(); ++i) {
    const study::Span& span = view.spans[i];
    const auto trial = known.find(span.trial);
    if (trial == known.end() || span.costs.steps < 1) continue;
    const study::SpanCosts& costs = span.costs;
    const auto [index, fresh] = indices.try_emplace({trial->second.shape.program, span.width, span.lanes}, all.size());
    if (fresh) all.push_back({.shape = trial->second.shape, .width = span.width, .lanes = span.lanes});
    SpanTimes& span_times = all[index->second];
    ++span_times.spans;
    span_times.bytes = std::max(span_times.bytes, costs.bytes);
    span_times.steps += static_cast<double>(costs.steps);
    span_times.stepping += costs.stepping;
    if (costs.evaluating > 0) {
      span_times.evaluating += costs.evaluating;
      span_times.rows += trial->second.validation_rows;
    }
    span_times.between.push_back(between[i]);
    add_if_measured(span_times.set_up, costs.set_up);
    add_if_measured(span_times.save, costs.saving);
    add_if_measured(span_times.restore, costs.restoring);
  }
  for (const auto& [id, trial] : known) {
    const std::int64_t epochs = epochs_to_best(view.config, view.trials[id.value - 1]);
    for (SpanTimes& span_times : all) {
      if (span_times.shape.program == trial.shape.program)
        add_if_measured(span_times.epochs, static_cast<double>(epochs));
    }
  }
  const study::WorkerUsage use = study::worker_usage(view);
  const double together = use.seconds > 0 ? use.busy_seconds() / use.seconds : 1;
  const auto residents = std::max<std::int64_t>(1, std::llround(together));
  std::vector<Profile> rows;
  for (const SpanTimes& span_times : all) {
    Profile row = profile_of(span_times, device, residents);
    if (row.step > kMinSeconds) rows.push_back(std::move(row));
  }
  return rows;
}

Result<void> save_timings(const study::StudyView& view, const data::DataSpec& data, const graph::OpTable& ops,
                          const ProfileLocation& location, FileSystem& fs) {
  if (location.folder.empty()) return {};
  LANISTA_ASSIGN(auto rows, profiles_of_study(view, data, ops, location.device));
  if (rows.empty()) return {};
  const std::string what = view.config_text + data.hash.hex() + std::to_string(view.began);
  return store::ProfileStore(fs, location.folder)
      .put({store::profile_file_name(view.began, what), view.config.name, view.began, std::move(rows)});
}

TimingHistory::TimingHistory(const std::vector<store::StudyProfiles>& studies, const std::string& device) {
  std::set<std::string> programs;
  for (const store::StudyProfiles& of_study : studies) {
    bool counts = false;
    for (const Profile& row : of_study.rows) {
      if (row.device != device || row.step <= kMinSeconds) {
        ++rows_of_other_devices_;
        continue;
      }
      counts = true;
      programs.insert(row.shape.program);
      rows_.push_back(row);
    }
    studies_ += counts ? 1 : 0;
  }
  programs_ = programs.size();
  std::vector<plan::TimedRow> steps, evaluations;
  std::vector<double> between, set_up, save, restore, serial;
  for (const Profile& row : rows_) {
    auto features = features_of(row.shape, row.width, row.lanes, row.residents);
    steps.push_back({row.shape.program, features, std::log(row.step / row.shape.nominal_step())});
    if (row.evaluation_row > kMinSeconds) {
      const double value = std::log(row.evaluation_row / nominal_row(row.shape));
      evaluations.push_back({row.shape.program, std::move(features), value});
    }
    add_if_measured(between, row.between);
    add_if_measured(set_up, row.set_up);
    add_if_measured(save, row.save);
    add_if_measured(restore, row.restore);
  }
  std::vector<double> interference;
  for (const std::string& program : programs) {
    const auto shared = step_seconds_by_lanes(program);
    if (shared.size() < 2 || shared.begin()->first != 1) continue;
    const auto& [trials, seconds] = *shared.rbegin();
    interference.push_back(std::max(0.0, (seconds / shared.begin()->second - 1) / static_cast<double>(trials - 1)));
  }
  if (!interference.empty()) interference_fraction_ = median(std::move(interference));
  for (const std::string& program : programs) {
    const auto at = step_seconds_by_width(program);
    if (at.size() < 2 || at.begin()->first != 1) continue;
    const auto& [width, seconds] = *at.rbegin();
    const auto workers = static_cast<double>(width);
    serial.push_back(std::clamp((workers * seconds / at.begin()->second - 1) / (workers - 1), 0.0, 1.0));
  }
  if (!steps.empty()) step_ = plan::TimeModel::fit(std::move(steps));
  if (!evaluations.empty()) evaluation_ = plan::TimeModel::fit(std::move(evaluations));
  if (!serial.empty()) serial_fraction_ = median(std::move(serial));
  between_ = median(std::move(between));
  set_up_ = median(std::move(set_up));
  save_ = median(std::move(save));
  restore_ = median(std::move(restore));
}

TimingHistory TimingHistory::read(FileSystem& fs, const std::string& folder, const std::string& device,
                                  std::vector<Error>& skipped) {
  if (folder.empty()) return {};
  auto content = store::ProfileStore(fs, folder).read();
  if (!content) {
    skipped.push_back(content.error());
    return {};
  }
  skipped.insert(skipped.end(), content->skipped.begin(), content->skipped.end());
  return {content->studies, device};
}

std::optional<ExpectedTimes> TimingHistory::expected(const study::StepShape& shape, std::int64_t width,
                                                     std::int64_t lanes, std::int64_t residents) const {
  if (!step_) return std::nullopt;
  const auto features = features_of(shape, width, lanes, residents);
  ExpectedTimes out{.step = shape.nominal_step() * std::exp(step_->predict(features)),
                    .between = between_,
                    .set_up = set_up_,
                    .resize = save_ + set_up_ + restore_};
  if (evaluation_) out.evaluation_row = nominal_row(shape) * std::exp(evaluation_->predict(features));
  // Among rows of this program, the nearest ones in lanes and in number of residents.
  const auto distance_to = [&](const Profile& row) {
    const auto apart = [](std::int64_t a, std::int64_t b) {
      return std::abs(std::log(static_cast<double>(a) / static_cast<double>(b)));
    };
    return apart(row.lanes, lanes) + apart(row.residents, residents);
  };
  std::optional<double> nearest;
  std::vector<std::pair<double, double>> step, evaluation, between;
  for (const Profile& row : rows_) {
    if (row.shape.program != shape.program || row.width != width) continue;
    const double distance = distance_to(row);
    if (nearest && distance > *nearest) continue;
    if (!nearest || distance < *nearest) {
      nearest = distance;
      step.clear();
      evaluation.clear();
      between.clear();
    }
    const auto weight = static_cast<double>(row.spans);
    step.emplace_back(row.step, weight);
    between.emplace_back(row.between, weight);
    if (row.evaluation_row > 0) evaluation.emplace_back(row.evaluation_row, weight);
  }
  if (!nearest) return out;
  out.measured = true;
  out.step = weighted_median(std::move(step));
  out.between = weighted_median(std::move(between));
  if (!evaluation.empty()) out.evaluation_row = weighted_median(std::move(evaluation));
  return out;
}

std::map<std::int64_t, double> TimingHistory::step_seconds_by_width(const std::string& program) const {
  // A trial with helpers is alone in its steps, so only such rows are compared.
  return step_seconds_by(program, [](const Profile& row) { return row.lanes == 1 ? row.width : 0; });
}

std::map<std::int64_t, double> TimingHistory::step_seconds_by_lanes(const std::string& program) const {
  return step_seconds_by(program, [](const Profile& row) { return row.width == 1 ? row.lanes : 0; });
}

/// Seconds of a step of a program, by the value of `group_by`; rows with the value 0 are left out.
std::map<std::int64_t, double> TimingHistory::step_seconds_by(const std::string& program,
                                                              std::int64_t (*group_by)(const study::Profile&)) const {
  std::map<std::int64_t, std::vector<std::pair<double, double>>> span_times;
  for (const Profile& row : rows_) {
    const std::int64_t number = row.shape.program == program ? group_by(row) : 0;
    if (number > 0) span_times[number].emplace_back(row.step, static_cast<double>(row.spans));
  }
  std::map<std::int64_t, double> out;
  for (auto& [number, steps] : span_times) out[number] = weighted_median(std::move(steps));
  return out;
}

std::optional<double> TimingHistory::resize_seconds() const {
  const double seconds = save_ + set_up_ + restore_;
  return save_ > 0 && seconds > 0 ? std::optional(seconds) : std::nullopt;
}

const plan::TimeError& TimingHistory::error() const {
  static const plan::TimeError kNone;
  return step_ ? step_->error() : kNone;
}

std::string TimingHistory::text() const {
  std::string out = count_text(programs_, "program", "programs") + " of " + count_text(studies_, "study", "studies");
  if (error().num_things > 0) {
    char numbers[96];
    std::snprintf(numbers, sizeof numbers,
                  "; of one that is left out the prediction is off by %.0f %% (9 of 10: %.0f %%)", error().median,
                  error().p90);
    out += numbers;
  }
  return out;
}

}  // namespace lanista::engine
