#include "lanista/app/report/tensorboard.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <limits>
#include <set>
#include <span>
#include <utility>

#include "lanista/base/crc32c.h"
#include "lanista/io/formats/onnx/wire.h"

namespace lanista::report {
namespace {

using formats::WireWriter;

// Numbers of fields and enumerators: tensorflow's event.proto and summary.proto, and TensorBoard's hparams plugin,
// plugin_data.proto and api.proto.
enum class DataType { kText = 1, kBool = 2, kNumber = 3 };
enum class Status { kUnknown = 0, kSuccess = 1, kFailure = 2 };

constexpr std::string_view kBaseAxis = "base";

void put_u32(std::string& out, std::uint32_t value) {
  for (int shift = 0; shift < 32; shift += 8) out += static_cast<char>(value >> shift & 0xff);
}

// A CRC of data that contains CRCs is weak, so it is masked.
std::uint32_t masked_crc(std::string_view data) {
  const std::uint32_t crc = crc32c(std::as_bytes(std::span(data)));
  return (crc >> 15 | crc << 17) + 0xa282ead8U;
}

// Records of one event file in the order of time.
class EventFile {
 public:
  explicit EventFile(double wall_time) : time_(wall_time) {
    add(wall_time, WireWriter().bytes(3, "brain.Event:2"));  // file_version
  }

  void add_scalar(double wall_time, std::int64_t step, std::string_view tag, double value) {
    WireWriter scalar;
    scalar.bytes(1, valid_utf8(tag)).fixed_float(2, static_cast<float>(value));
    add(wall_time, WireWriter().signed_varint(2, step).message(5, WireWriter().message(1, scalar)));
  }

  /// A record of the HParams plugin. A summary must have a value, so it has a zero that no reader uses.
  void add_hparams(double wall_time, std::string_view tag, int field, const WireWriter& content) {
    const WireWriter data = WireWriter().message(field, content);
    WireWriter plugin, zero, value;
    plugin.bytes(1, "hparams").message(2, data);
    zero.varint(1, 1).message(2, WireWriter().message(2, WireWriter().varint(1, 1))).fixed_float(5, 0);
    value.bytes(1, tag).message(8, zero);
    value.message(9, WireWriter().message(1, plugin).varint(4, 2));
    add(wall_time, WireWriter().message(5, WireWriter().message(1, value)));
  }

  std::string take_bytes() && { return std::move(bytes_); }

 private:
  void add(double wall_time, const WireWriter& event) {
    time_ = std::max(time_, wall_time);
    bytes_ += tf_record(WireWriter().fixed_double(1, time_).str() + event.str());
  }

  double time_;
  std::string bytes_;
};

std::string file_name(double wall_time) {
  std::array<char, 64> name{};
  std::snprintf(name.data(), name.size(), "events.out.tfevents.%010lld.lanista.0.0",
                static_cast<long long>(std::clamp(wall_time, 0.0, 9e9)));
  return name.data();
}

std::string folder_name(TrialId id, std::size_t trials) {
  std::string number = std::to_string(id.value);
  const std::size_t width = std::max<std::size_t>(4, std::to_string(trials).size());
  return "trial_" + std::string(width - std::min(width, number.size()), '0') + number;
}

DataType type_of(const space::Domain& domain) {
  const auto* choice = std::get_if<space::Categorical>(&domain);
  if (choice == nullptr) return DataType::kNumber;
  const auto all = [&](auto is) { return std::all_of(choice->values.begin(), choice->values.end(), is); };
  if (all([](const space::Value& value) { return std::holds_alternative<bool>(value); })) return DataType::kBool;
  const bool numbers = all([](const space::Value& value) {
    return std::holds_alternative<std::int64_t>(value) || std::holds_alternative<double>(value);
  });
  return numbers ? DataType::kNumber : DataType::kText;
}

/// google.protobuf.Value of the column's type.
WireWriter typed_value(DataType type, const space::Value& value) {
  WireWriter out;
  if (type == DataType::kBool) return out.varint(4, std::get<bool>(value) ? 1 : 0);
  if (type == DataType::kText) return out.bytes(3, valid_utf8(space::value_text(value)));
  const auto* whole = std::get_if<std::int64_t>(&value);
  return out.fixed_double(2, whole != nullptr ? static_cast<double>(*whole) : std::get<double>(value));
}

WireWriter hparam_info(std::string_view name, const space::Domain& domain) {
  const DataType type = type_of(domain);
  WireWriter info;
  info.bytes(1, valid_utf8(name)).varint(4, static_cast<std::uint64_t>(type));
  if (const auto* choice = std::get_if<space::Categorical>(&domain)) {
    WireWriter list;
    for (const space::Value& value : choice->values) list.message(1, typed_value(type, value));
    return info.message(5, list);
  }
  WireWriter interval;
  if (const auto* whole = std::get_if<space::IntRange>(&domain)) {
    interval.fixed_double(1, static_cast<double>(whole->lo)).fixed_double(2, static_cast<double>(whole->hi));
  } else {
    const auto& real = std::get<space::FloatRange>(domain);
    interval.fixed_double(1, real.lo).fixed_double(2, real.hi);
  }
  return info.message(6, interval);
}

/// The axes of the space and, as one more, the base model.
std::vector<Axis> all_axes(const study::StudyView& view) {
  std::set<std::string> bases;
  for (const study::TrialView& trial : view.trials) bases.insert(base_name(view, trial.proposal));
  std::vector<Axis> out;
  if (!bases.empty()) out.push_back({std::string(kBaseAxis), space::Categorical{{bases.begin(), bases.end()}}});
  for (Axis& axis : axes(view)) out.push_back(std::move(axis));
  return out;
}

// Only metrics that the trials have as scalars, since TensorBoard makes a column for each.
std::set<std::string> scalar_names(const study::StudyView& view, const std::vector<TrialId>& ids) {
  std::set<std::string> names;
  for (const TrialId id : ids) {
    for (const study::Measurement& measurement : view.trials[id.value - 1].measurements) {
      for (const auto& [name, value] : measurement.metrics) names.insert(name);
    }
  }
  return names;
}

WireWriter experiment(const study::StudyView& view, const std::vector<Axis>& all, const std::set<std::string>& metrics,
                      double wall_time) {
  WireWriter out;
  out.fixed_double(3, wall_time);
  for (const Axis& axis : all) out.message(4, hparam_info(axis.name, axis.domain));
  for (const std::string& metric : metrics) {
    out.message(5, WireWriter().message(1, WireWriter().bytes(2, valid_utf8(metric))));
  }
  return out.bytes(6, valid_utf8(view.config.name));
}

WireWriter session_start(const study::StudyView& view, const study::TrialView& trial, const std::vector<Axis>& all,
                         const std::string& group, double wall_time) {
  space::Sample sample = trial.proposal.sample;
  sample.emplace(kBaseAxis, base_name(view, trial.proposal));
  WireWriter out;
  for (const Axis& axis : all) {
    const auto found = sample.find(axis.name);
    if (found == sample.end()) continue;
    WireWriter entry;
    entry.bytes(1, valid_utf8(axis.name)).message(2, typed_value(type_of(axis.domain), found->second));
    out.message(1, entry);
  }
  return out.bytes(4, group).fixed_double(5, wall_time);
}

Status status_of(study::OutcomeKind kind) {
  switch (kind) {
    case study::OutcomeKind::kFailed:
      return Status::kFailure;
    case study::OutcomeKind::kCancelled:
    case study::OutcomeKind::kPrunedByRule:  // it did not train, so it has no end
      return Status::kUnknown;
    default:
      return Status::kSuccess;
  }
}

std::string trial_events(const study::StudyView& view, const study::TrialView& trial, const TrialTimes& times,
                         const std::vector<Axis>& all, const std::string& group, double base_time) {
  EventFile file(base_time + times.began);
  file.add_hparams(base_time + times.began, "_hparams_/session_start_info", 3,
                   session_start(view, trial, all, group, base_time + times.began));
  std::int64_t last_step = -1;
  for (const study::Measurement& measurement : trial.measurements) {
    // TensorBoard drops earlier points if a step does not increase.
    if (measurement.step <= last_step) continue;
    last_step = measurement.step;
    const auto over = times.epochs.find(measurement.epoch);
    const double when = base_time + (over == times.epochs.end() ? times.began : over->second);
    for (const auto& [name, value] : measurement.metrics) file.add_scalar(when, measurement.step, name, value);
  }
  if (trial.outcome) {
    WireWriter end;
    end.varint(1, static_cast<std::uint64_t>(status_of(trial.outcome->kind))).fixed_double(2, base_time + times.ended);
    file.add_hparams(base_time + times.ended, "_hparams_/session_end_info", 4, end);
  }
  return std::move(file).take_bytes();
}

std::vector<TrialId> chosen(const study::StudyView& view, const TensorboardOptions& options) {
  std::vector<TrialId> ids = study::ranking(view);
  const auto trial_ranks = ranks(view);
  for (const study::TrialView& trial : view.trials) {
    if (!trial_ranks[trial.id.value - 1]) ids.push_back(trial.id);
  }
  if (!options.all && ids.size() > options.trials) ids.resize(options.trials);
  return ids;
}

}  // namespace

std::string tf_record(std::string_view payload) {
  std::string out;
  put_u32(out, static_cast<std::uint32_t>(payload.size()));
  put_u32(out, static_cast<std::uint32_t>(std::uint64_t{payload.size()} >> 32));
  put_u32(out, masked_crc(out));
  out += payload;
  put_u32(out, masked_crc(payload));
  return out;
}

FilesByPath tensorboard_files(const study::StudyView& view, const TensorboardOptions& options) {
  const std::vector<Axis> all = all_axes(view);
  const std::vector<TrialTimes> times = trial_times(view);
  const std::string name = file_name(options.base_time);

  const std::vector<TrialId> ids = chosen(view, options);

  EventFile root(options.base_time);
  root.add_hparams(options.base_time, "_hparams_/experiment", 2,
                   experiment(view, all, scalar_names(view, ids), options.base_time));
  FilesByPath files{{name, std::move(root).take_bytes()}};
  for (const TrialId id : ids) {
    const study::TrialView& trial = view.trials[id.value - 1];
    const std::string folder = folder_name(id, view.trials.size());
    files[folder + "/" + name] = trial_events(view, trial, times[id.value - 1], all, folder, options.base_time);
  }
  return files;
}

}  // namespace lanista::report
