#include "lanista/engine/core/engine.h"

#include <limits>

#include "lanista/base/real_json.h"
#include "lanista/engine/core/check_config.h"
#include "lanista/engine/core/frozen_part.h"
#include "lanista/engine/core/study_engine.h"
#include "lanista/engine/core/study_folder.h"
#include "lanista/engine/core/study_setup.h"
#include "lanista/engine/core/study_zoo.h"
#include "lanista/engine/core/warm_start.h"
#include "lanista/model/graph/op.h"

namespace lanista::engine {
namespace {

using store::RecordType;

constexpr std::int64_t kMaxTrials = std::numeric_limits<std::uint32_t>::max();  ///< A trial number has 32 bits.
constexpr std::int64_t kMaxSteps = std::int64_t{1} << 53;
constexpr double kMaxMinutes = 1e6;  ///< As in a study file.

Result<void> check_data(const StudyState& state, const data::DataSpec& data) {
  const std::string stored = state.view.data.at("hash").get<std::string>();
  if (stored == data.hash.hex()) return {};
  return Error{Code::kFailedPrecondition,
               "the data has changed: its hash is " + data.hash.hex() + ", the study was started with " + stored,
               data.source};
}

/// Checks that the data were opened with the study's form of targets.
Result<void> check_targets(const study::DataConfig& config, const data::DataSpec& data) {
  const bool standard = data.target_normalization.has_value();
  if (data.targets().kind != autodiff::TargetKind::kNumbers || standard == (config.targets == "standardize")) return {};
  return Error{Code::kInvalidArgument,
               "is " + config.targets + ", but the data were opened with targets " +
                   (standard ? "standardised" : "as they are") + " (resolve_from_data sets it)",
               "data.targets"};
}

/// Checks that the data have a fold for each training of a proposal.
Result<void> check_folds(const study::StudyConfig& config, const data::DataSpec& data) {
  const std::int64_t wanted = config.data.folds ? study::trainings_per_proposal(config) : 0;
  if (std::ssize(data.folds) == wanted) return {};
  return Error{Code::kInvalidArgument,
               "asks for " + std::to_string(wanted) + " trainings, but the data were opened with " +
                   std::to_string(data.folds.size()),
               "data.folds"};
}

/// Checks the range of an extension. Errors: kInvalidArgument.
Result<void> check_extension(const StudyState& state, const Engine::Extension& extension) {
  const auto refuse = [](const char* what, const std::string& seen, const std::string& allowed) {
    return Error{Code::kInvalidArgument, std::string("cannot extend by ") + seen + " " + what + "; allowed: " + allowed,
                 std::string("--") + what};
  };
  if (extension.trials) {
    const std::int64_t most = kMaxTrials - static_cast<std::int64_t>(state.view.trials.size());
    if (*extension.trials < 1 || *extension.trials > most) {
      return refuse("trials", std::to_string(*extension.trials), "1 to " + std::to_string(most));
    }
  }
  if (extension.steps && (*extension.steps < 1 || *extension.steps > kMaxSteps)) {
    return refuse("steps", std::to_string(*extension.steps), "1 to " + std::to_string(kMaxSteps));
  }
  if (extension.minutes && !(*extension.minutes > 0 && *extension.minutes <= kMaxMinutes)) {
    return refuse("minutes", real_json(*extension.minutes).dump(), "above 0, at most " + real_json(kMaxMinutes).dump());
  }
  return {};
}

Error nothing_to_extend(const std::string& spent, const std::string& option) {
  return Error{Code::kInvalidArgument, spent + ", so this extension trains nothing; add a number with " + option, ""};
}

/// Checks that an extension allows more training: it must raise each limit that is used up.
Result<void> check_extension_trains(const StudyState& state, const Engine::Extension& extension,
                                    std::int64_t steps_of_a_trial) {
  if (extension.empty()) return {};
  if (state.minutes && state.view.seconds >= *state.minutes * 60 && !extension.minutes) {
    return nothing_to_extend("the minutes of the budget are used up", "--minutes");
  }
  if (!state.open.empty() && state.pending_end_reason.empty()) return {};
  const auto trials = static_cast<std::int64_t>(state.view.trials.size());
  if (state.trials && trials >= *state.trials && !extension.trials) {
    return nothing_to_extend("all " + std::to_string(*state.trials) + " trials have been proposed", "--trials");
  }
  if (state.steps && state.view.steps + steps_of_a_trial > *state.steps && !extension.steps) {
    return nothing_to_extend("no trial fits into the budget of " + std::to_string(*state.steps) + " steps any more",
                             "--steps");
  }
  return {};
}

// The summation order over a batch is part of the numeric class.
nlohmann::json with_summation_order(nlohmann::json numerics, const study::TrainConfig& train) {
  const std::string sums = study::summation_text(train);
  if (!sums.empty()) numerics["class"] = numerics.at("class").get<std::string>() + "/sums " + sums;
  return numerics;
}

/// Adds several devices with their speeds: those of the log if the devices are the same, else measured now.
Result<nlohmann::json> with_devices(nlohmann::json numerics, const nlohmann::json& logged_numerics,
                                    const study::StudyConfig& config, const mutate::ModelSpace& models,
                                    const Services& services) {
  if (services.devices.size() < 2) return numerics;
  DeviceTable table;
  for (const TrainingDevice& device : services.devices) table.rows.push_back({device.name, device.numeric_class});
  LANISTA_ASSIGN(DeviceTable known, decode_device_table(logged_numerics));
  if (known.has_same_devices(table)) {
    table = std::move(known);
  } else if (services.measure_devices) {
    LANISTA_ASSIGN(const Job like, benchmark_job(config, *services.data, models));
    LANISTA_ASSIGN(const auto speeds, services.measure_devices(like));
    LANISTA_CHECK(speeds.size() == table.rows.size(), "each device has its speed");
    for (std::size_t i = 0; i < speeds.size(); ++i) table.rows[i].speed = speeds[i];
  }
  encode_device_table(table, numerics);
  return numerics;
}

/// Reads the frozen weights again from their source if the stored file is lost. Errors: kFailedPrecondition (the source
/// has changed).
Result<void> repair_frozen_weights(const StudyView& view, const graph::Graph& base, const data::DataSpec& data,
                                   const std::string& folder, FileSystem& fs, const graph::OpTable& ops) {
  store::CheckpointStore checkpoints(fs, folder);
  const auto stored = checkpoints.get(view.frozen);
  if (stored || (stored.error().code != Code::kNotFound && stored.error().code != Code::kDataLoss)) {
    return stored ? Result<void>() : Result<void>(stored.error());
  }
  LANISTA_ASSIGN(const store::Checkpoint again, frozen_weights(view.config, base, data, folder, fs, ops));
  LANISTA_ASSIGN(const std::string address, checkpoints.put(again));
  if (address == view.frozen) return {};
  LANISTA_TRY(checkpoints.remove(address));
  return Error{Code::kFailedPrecondition,
               "the weights of the frozen part have changed: their hash is " + address +
                   ", the study was started with " + view.frozen,
               view.config.model.frozen->weights};
}

}  // namespace

Result<std::unique_ptr<Engine>> Engine::create(const std::string& folder, const study::StudyConfig& config,
                                               const std::string& config_text, const nlohmann::json& of_machine,
                                               Services services) {
  const std::shared_ptr<FileSystem> files = services.fs->confined_to(folder);
  FileSystem& fs = *files;
  LANISTA_TRY(check_config(config));
  LANISTA_TRY(check_targets(config.data, *services.data));
  LANISTA_TRY(check_folds(config, *services.data));
  LANISTA_TRY(check_new_folder(fs, folder));
  LANISTA_TRY(check_own_paths(fs, folder));
  LANISTA_ASSIGN(auto models, make_model_space(config, *services.data, folder, fs, services.ops));
  LANISTA_ASSIGN(auto strategy, make_strategy(config, models, services.earlier));
  LANISTA_ASSIGN(nlohmann::json numerics, with_devices(of_machine, {}, config, *models, services));
  numerics = with_summation_order(std::move(numerics), config.train);
  std::optional<store::Checkpoint> frozen;
  if (config.model.frozen) {
    LANISTA_ASSIGN(frozen,
                   frozen_weights(config, models->bases().front().graph, *services.data, folder, fs, services.ops));
  }

  std::optional<ReadStart> start;
  if (config.train.start.from == study::kStartFile) {
    LANISTA_ASSIGN(start, read_start_file(config, folder, fs, services.ops));
  }

  LANISTA_ASSIGN(store::LogWriter log, store::LogWriter::open(fs, *services.clock, folder));
  log.set_body_check(check_body);
  if (!log.existing().empty()) {  // another process created it first
    return Error{Code::kAlreadyExists, "a study is already there; continue it with: lanista resume " + folder, folder};
  }
  // Written before the header, which names it. The study then does not need the source file any more.
  std::string weights;
  if (frozen) {
    LANISTA_ASSIGN(weights, store::CheckpointStore(fs, folder).put(*frozen));
  }
  std::optional<study::StartFile> start_file;
  if (start) {
    start_file = std::move(start->file);
    store::Checkpoint file;
    file.tensors = std::move(start->weights);
    file.facts["kind"] = "start";
    LANISTA_ASSIGN(start_file->address, store::CheckpointStore(fs, folder).put(file));
  }
  std::optional<study::ZooSnapshot> zoo;
  if (config.train.start.from == study::kStartZoo) {
    zoo = StudyZoo::begin(zoo_location(config, *services.data, folder),
                          config.train.start.zoo_tasks == study::kRelatedTasks,
                          static_cast<std::int64_t>(services.clock->unix_time()));
  }
  // The header is the first record: with it the study can be resumed.
  const nlohmann::json header = header_body(config, config_text, *services.data, *models, weights, services.baselines,
                                            services.earlier, start_file, zoo);
  LANISTA_TRY(log.append(RecordType::kHeader, header));
  LANISTA_TRY(log.append(RecordType::kNumerics, numerics));
  LANISTA_TRY(create_study_layout(fs, folder, config_text));

  StudyState state;
  state.schema = header.at("schema").get<std::int64_t>();
  state.view.config = config;
  state.view.config_text = config_text;
  state.view.data = header.at("data");
  state.view.models = header.at("models");
  state.view.frozen = weights;
  state.view.start_file = std::move(start_file);
  state.view.zoo = std::move(zoo);
  state.view.baselines = services.baselines;
  state.view.earlier = services.earlier;
  state.trials = config.budget.trials;
  state.steps = config.budget.steps;
  state.minutes = config.budget.guard_minutes;
  state.view.numerics = numerics;
  return std::unique_ptr<Engine>(std::make_unique<StudyEngine>(folder, services, std::move(log), std::move(state),
                                                               std::move(models), std::move(strategy)));
}

Result<std::unique_ptr<Engine>> Engine::resume(const std::string& folder, const Extension& extension,
                                               const nlohmann::json& of_machine, Services services) {
  const std::shared_ptr<FileSystem> files = services.fs->confined_to(folder);
  FileSystem& fs = *files;
  if (!fs.exists(folder + "/log")) return Error{Code::kNotFound, "there is no study in this folder", folder};
  LANISTA_TRY(check_own_paths(fs, folder));
  LANISTA_ASSIGN(store::LogWriter log, store::LogWriter::open(fs, *services.clock, folder));
  if (log.existing().empty()) {
    return Error{Code::kNotFound, "this study ended before its first record; start it again", folder};
  }
  log.set_body_check(check_body);
  StudyState state;
  std::vector<study::Event> events;
  LANISTA_TRY(replay_records(state, log.existing(), [&](const study::Event& event) { events.push_back(event); }));
  const auto warn = [&](const std::string& event, nlohmann::json fields) {
    if (services.sink) services.sink->write({services.clock->unix_time(), Level::kWarning, event, std::move(fields)});
  };
  if (log.cut_bytes() > 0) warn("log_tail_cut", {{"folder", folder}, {"bytes", log.cut_bytes()}});
  // An old build wrote null for values that JSON cannot hold.
  if (state.lost_null_metrics > 0)
    warn("nulls_read_as_nan", {{"folder", folder}, {"numbers", state.lost_null_metrics}});
  log.release_existing();

  if (!state.view.config.removed.empty() && (!state.view.end_reason || !extension.empty())) {
    return Error{Code::kFailedPrecondition,
                 "the study cannot be continued: " + state.view.config.removed.front() +
                     "; it can be shown, exported and used for prediction",
                 folder};
  }
  LANISTA_TRY(check_extension(state, extension));
  LANISTA_TRY(check_data(state, *services.data));
  LANISTA_TRY(check_folds(state.view.config, *services.data));
  LANISTA_ASSIGN(auto bases, stored_bases(state.view.models));
  LANISTA_ASSIGN(auto models, make_space_over(state.view.config, *services.data, std::move(bases), services.ops));
  LANISTA_ASSIGN(auto strategy, make_strategy(state.view.config, models, state.view.earlier));
  if (state.view.config.model.frozen) {
    LANISTA_TRY(
        repair_frozen_weights(state.view, models->bases().front().graph, *services.data, folder, fs, services.ops));
  }
  LANISTA_TRY(check_extension_trains(state, extension, min_trial_steps(state.view.config, *services.data)));

  const bool over = state.view.end_reason && extension.empty();
  if (!over) {
    LANISTA_ASSIGN(nlohmann::json numerics,
                   with_devices(of_machine, state.view.numerics, state.view.config, *models, services));
    numerics = with_summation_order(std::move(numerics), state.view.config.train);
    LANISTA_TRY(create_study_layout(fs, folder, state.view.config_text));
    if (state.view.numerics != numerics) {
      LANISTA_TRY(log.append(RecordType::kNumerics, numerics));
      if (!state.view.numerics.is_null()) {
        warn("numerics_changed", {{"before", state.view.numerics}, {"now", numerics}});
      }
      state.view.numerics = numerics;
    }
    LANISTA_TRY(log.sync());
  }
  auto engine = std::make_unique<StudyEngine>(folder, services, std::move(log), std::move(state), std::move(models),
                                              std::move(strategy), events);
  engine->extend(extension);
  return std::unique_ptr<Engine>(std::move(engine));
}

Result<study::StudyConfig> stored_config(FileSystem& fs, const std::string& folder) {
  LANISTA_ASSIGN(const std::vector<store::Record> records, store::read_log(fs, folder));
  if (records.empty()) return Error{Code::kDataLoss, "the study's log holds no header", folder};
  StudyState state;
  LANISTA_TRY(replay_records(state, {records.front()}, [](const study::Event&) {}));
  return std::move(state.view.config);
}

}  // namespace lanista::engine
