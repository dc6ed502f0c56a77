#include "lanista/app/cli/resolved_request.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "lanista/app/cli/devices.h"
#include "lanista/app/cli/load.h"
#include "lanista/app/cli/terminal.h"
#include "lanista/base/printable.h"
#include "lanista/engine/core/check_config.h"
#include "lanista/engine/core/idle_settings.h"
#include "lanista/engine/core/resolve_from_data.h"
#include "lanista/engine/core/study_limits.h"
#include "lanista/engine/core/study_setup.h"
#include "lanista/engine/core/warm_start.h"
#include "lanista/io/data/dataset.h"
#include "lanista/io/data/readers.h"
#include "lanista/io/data/source.h"
#include "lanista/io/data/undefined_metrics.h"
#include "lanista/io/formats/signature.h"
#include "lanista/io/studyfile/blueprint.h"
#include "lanista/io/studyfile/space_preview.h"
#include "lanista/io/studyfile/study_file.h"
#include "lanista/io/studyfile/tuning.h"
#include "lanista/io/studyfile/yaml_guard.h"
#include "lanista/model/graph/infer.h"

namespace lanista::cli {
namespace {

Error one_line_error(Error error) {
  error.message = printable(error.message);
  error.where = printable(error.where);
  return error;
}

/// Refuses data, a model or the folder of a study as a study file. Names the command to write.
Result<void> check_is_study_file(const std::string& path) {
  FileSystem& fs = real_file_system();
  const auto refuse = [&](const std::string& what, const std::string& command) {
    return Error{Code::kInvalidArgument, "is " + what + ", not a study file; write" + command, path};
  };
  const auto run_with = [](const std::string& setting) { return ": lanista run --set " + shell_word(setting); };
  if (fs.exists(path + "/log")) return refuse("the folder of a study", ": lanista resume " + shell_word(path));
  if (fs.exists(path) && fs.list(path).ok())
    return refuse("a folder", ", for a folder of images" + run_with("data.source=folder:" + path));
  if (const std::string source = data::source_of_path(path); !source.empty()) {
    return refuse("data", run_with("data.source=" + source));
  }
  if (path.ends_with(".onnx") || path.ends_with(".graph")) {
    return refuse("a model", run_with("model.base=" + path));
  }
  const auto source = data::parse_source(path);
  const bool is_kind = source && std::ranges::count(data::source_kinds(), source->kind, &data::SourceKind::name) > 0;
  if (is_kind && !fs.exists(path)) return refuse("data", run_with("data.source=" + path));
  return {};
}

Result<StudySource> read_source(const RunRequest& request) {
  StudySource out{std::string(studyfile::default_study()), "default study", ".", request.overrides};
  if (!request.study_file.empty()) {
    LANISTA_TRY(check_is_study_file(request.study_file));
    LANISTA_ASSIGN(out.text, studyfile::read_yaml(real_file_system(), request.study_file));
    if (const auto foreign = formats::unsupported_format_error(out.text, request.study_file)) return *foreign;
    out.name = request.study_file;
    out.folder = folder_of(request.study_file);
  }
  if (!request.enqueue.empty()) {
    LANISTA_ASSIGN(std::string list, studyfile::read_yaml(real_file_system(), request.enqueue));
    out.overrides.push_back({"strategy.enqueue", std::move(list), request.enqueue});
  }
  return out;
}

Result<data::Dataset> open_data(const StudySource& source, const study::StudyConfig& config) {
  auto data = data::open(config.data, source.folder, real_file_system(), config.strategy.repeat);
  if (data) return data;
  // The error is at a setting, or at the source of the data with the file.
  const std::string where = data.error().where;
  const bool of_setting = where == "data.folds" || where == study::kClassWeightsKey;
  return source.with_location(data.error(), of_setting ? where : "data.source", of_setting ? "" : where);
}

// Adds a note on the share of the weights of each base model that the file of train.start fills.
Result<std::vector<std::string>> start_notes(const StudySource& source, const study::StudyConfig& config,
                                             const data::DataSpec& data, const mutate::ModelSpace& models) {
  std::vector<std::string> notes;
  if (config.train.start.from != study::kStartFile) return notes;
  const auto ops = graph::builtin_ops();
  const auto start = engine::read_start_file(config, source.folder, real_file_system(), ops);
  if (!start) return source.with_location(start.error(), start.error().where);
  for (const auto& base : models.bases()) {
    const auto located = engine::describe_start(*start, base, data, ops);
    if (!located) return source.with_location(located.error(), located.error().where);
    notes.push_back("starts from " + start->file.name + ": " + *located);
  }
  return notes;
}

// Adds a note for settings that have no effect together.
void add_idle_settings(const study::StudyConfig& config, std::vector<std::string>& notes) {
  if (!config.cluster.places.empty() && config.run.pipeline == 1) {
    notes.push_back(
        "cluster.places has no effect, because run.pipeline is 1; set run.pipeline: 0 (automatic), or remove "
        "cluster.places");
  }
  const std::vector<std::string> idle = engine::idle_settings(config);
  notes.insert(notes.end(), idle.begin(), idle.end());
}

// Raises the limits of the default study to twice the largest base model where the data make it larger. Returns a note
// for each limit.
Result<std::vector<std::string>> raise_default_limits(const StudySource& source, const data::DataSpec& data,
                                                      study::StudyConfig& config) {
  std::vector<std::string> notes;
  const auto sets_limits = [](const studyfile::Override& each) {
    return each.key == "space" || each.key.starts_with("space.limits");
  };
  if (source.text != studyfile::default_study() || std::ranges::any_of(source.overrides, sets_limits)) return notes;
  study::StudyConfig unlimited = config;
  unlimited.space.limit_params = unlimited.space.limit_flops = std::nullopt;
  LANISTA_ASSIGN(const auto models, engine::make_model_space(unlimited, data, source.folder, real_file_system()));
  double params = 0, flops = 0;
  for (const mutate::BaseModel& base : models->bases()) {
    LANISTA_ASSIGN(const auto cost, graph::model_cost(base.graph, models->ops()));
    params = std::max(params, static_cast<double>(cost.parameters));
    flops = std::max(flops, cost.forward.flops);
  }
  const auto raise = [&](std::optional<double>& limit, double seen, const char* key) {
    if (!limit || seen <= *limit) return;
    limit = 2 * seen;
    notes.push_back(std::string("space.limits.") + key + " is " + space::value_text(*limit) +
                    ", twice that of the largest base model; set it for another limit");
  };
  raise(config.space.limit_params, params, "params");
  raise(config.space.limit_flops, flops, "flops");
  return notes;
}

}  // namespace

Error StudySource::with_location(Error error, const std::string& key, const std::string& detail) const {
  error.where = studyfile::location_in_study(text, name, overrides, key) + (detail.empty() ? "" : ": " + detail);
  return one_line_error(std::move(error));
}

Result<ResolvedRequest> resolve_request(const RunRequest& request) {
  auto found = read_source(request);
  if (!found) return one_line_error(found.error());
  return resolve_source(*found, request.worker_overrides);
}

Result<ResolvedRequest> resolve_source(const StudySource& source, const WorkerOverrides& worker_overrides) {
  auto read = studyfile::read_study(source.text, source.name, source.overrides);
  // Without a location it is the list of the file's mistakes, which is printable.
  if (!read) return read.error().where.empty() ? read.error() : one_line_error(read.error());
  study::StudyConfig config = *std::move(read);
  if (auto whole = studyfile::embed_model_space(config, source.folder, real_file_system()); !whole) {
    return source.with_location(whole.error(), "model.space");
  }
  if (auto whole = studyfile::embed_schedule(config, source.folder, real_file_system()); !whole) {
    return source.with_location(whole.error(), "train.schedule");
  }
  LANISTA_ASSIGN(data::Dataset data, open_data(source, config));
  const auto refuse = [&](const Error& error) { return source.with_location(error, error.where); };
  if (auto fitted = engine::resolve_from_data(config, data.spec()); !fitted) return refuse(fitted.error());
  auto raised = raise_default_limits(source, data.spec(), config);
  if (!raised) return refuse(raised.error());
  // Reads the data before the paths become relative to the study's folder, which does not exist yet.
  auto models = engine::make_model_space(config, data.spec(), source.folder, real_file_system());
  if (!models) return refuse(models.error());
  // Checks the strategy's options and the enqueued trials while their line is known and before anything is written.
  if (auto strategy = engine::make_strategy(config, *models); !strategy) return refuse(strategy.error());
  if (auto good = engine::check_config(config); !good) return refuse(good.error());
  if (auto good = engine::check_steps_budget(config, data.spec()); !good) return refuse(good.error());
  if (auto where = launchers_of(worker_overrides, config); !where) return refuse(where.error());
  auto devices = devices_of(config, worker_overrides);
  if (!devices) return source.with_location(devices.error(), "run.devices");
  std::vector<std::string> notes = data.data_warnings();
  std::ranges::move(data::part_class_warnings(data), std::back_inserter(notes));
  auto undefined = engine::check_metrics_defined(config, data);
  if (!undefined) return refuse(undefined.error());
  notes.insert(notes.end(), undefined->begin(), undefined->end());
  LANISTA_ASSIGN(const auto of_start, start_notes(source, config, data.spec(), **models));
  notes.insert(notes.end(), of_start.begin(), of_start.end());
  notes.insert(notes.end(), raised->begin(), raised->end());
  add_idle_settings(config, notes);
  return ResolvedRequest{source,          std::move(config), std::move(data), *std::move(models), *std::move(devices),
                         std::move(notes)};
}

}  // namespace lanista::cli
