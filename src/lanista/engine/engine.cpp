#include "lanista/engine/engine.h"

#include "lanista/engine/assembly.h"
#include "lanista/engine/folder.h"
#include "lanista/engine/study_engine.h"
#include "lanista/engine/study_file.h"
#include "lanista/graph/op.h"

namespace lanista::engine {
namespace {

using store::RecordType;

Result<void> check_data(const StudyState& state, const data::DataSpec& data) {
  const std::string stored = state.view.data.at("hash").get<std::string>();
  if (stored == data.hash.hex()) return {};
  return Error{Code::kFailedPrecondition,
               "the data has changed: its hash is " + data.hash.hex() + ", the study was started with " + stored,
               data.source};
}

Error nothing_to_gain(const std::string& spent, const std::string& option) {
  return Error{Code::kInvalidArgument,
               spent + ", so this extension would train nothing; say how many more with " + option, ""};
}

/// Whether an extension lets anything be trained: whatever has ended the study must be among what it names.
Result<void> check_extension(const StudyState& state, const Engine::Extension& extension,
                             std::int64_t steps_of_a_trial) {
  if (extension.empty()) return {};
  constexpr double kMost = 1e9;  // far beyond any study, far below where sums overflow
  const auto trials = static_cast<std::int64_t>(state.view.trials.size());
  for (const double asked : {static_cast<double>(extension.trials.value_or(1)),
                             static_cast<double>(extension.steps.value_or(1)) / 1e6, extension.minutes.value_or(1)}) {
    if (asked > 0 && asked <= kMost) continue;
    return Error{Code::kInvalidArgument,
                 "an extension must be above 0 and at most 1e9 trials, 1e15 steps or 1e9 minutes", ""};
  }
  if (state.minutes && state.view.seconds >= *state.minutes * 60 && !extension.minutes) {
    return nothing_to_gain("the guard's minutes have been worked", "--minutes");
  }
  if (!state.open.empty() && state.ending.empty()) return {};
  if (state.trials && trials >= *state.trials && !extension.trials) {
    return nothing_to_gain("all " + std::to_string(*state.trials) + " trials have been proposed", "--trials");
  }
  if (state.steps && state.view.steps + steps_of_a_trial > *state.steps && !extension.steps) {
    return nothing_to_gain("no trial fits into the budget of " + std::to_string(*state.steps) + " steps any more",
                           "--steps");
  }
  return {};
}

}  // namespace

Result<std::unique_ptr<Engine>> Engine::create(const std::string& folder, const study::StudyConfig& config,
                                               const std::string& config_text, const nlohmann::json& numerics,
                                               Services services) {
  FileSystem& fs = *services.fs;
  LANISTA_TRY(check_config(config));
  LANISTA_TRY(check_new_folder(fs, folder));
  LANISTA_ASSIGN(auto models, make_model_space(config, *services.data, folder, fs, services.ops));
  LANISTA_ASSIGN(auto strategy, make_strategy(config, models));

  LANISTA_TRY(fs.make_folder(folder));
  LANISTA_ASSIGN(store::LogWriter log, store::LogWriter::open(fs, *services.clock, folder));
  if (!log.existing().empty()) {  // somebody was faster
    return Error{Code::kAlreadyExists, "a study is already there; continue it with: lanista resume " + folder, folder};
  }
  // The header first: with it the study can be resumed, whatever happens to the rest.
  const nlohmann::json header = header_body(config, config_text, *services.data, *models);
  LANISTA_TRY(log.append(RecordType::kHeader, header));
  LANISTA_TRY(log.append(RecordType::kNumerics, numerics));
  LANISTA_TRY(log.sync());
  LANISTA_TRY(furnish_folder(fs, folder, config_text));

  StudyState state;
  state.view.config = config;
  state.view.config_text = config_text;
  state.view.data = header.at("data");
  state.view.models = header.at("models");
  state.trials = config.budget.trials;
  state.steps = config.budget.steps;
  state.minutes = config.budget.guard_minutes;
  state.view.numerics = numerics;
  return std::unique_ptr<Engine>(std::make_unique<StudyEngine>(folder, services, std::move(log), std::move(state),
                                                               std::move(models), std::move(strategy)));
}

Result<std::unique_ptr<Engine>> Engine::resume(const std::string& folder, const Extension& extension,
                                               const nlohmann::json& numerics, Services services) {
  FileSystem& fs = *services.fs;
  if (!fs.exists(folder + "/log")) return Error{Code::kNotFound, "there is no study in this folder", folder};
  LANISTA_ASSIGN(store::LogWriter log, store::LogWriter::open(fs, *services.clock, folder));
  if (log.existing().empty()) {
    return Error{Code::kNotFound, "this study ended before its first record; start it anew", folder};
  }
  StudyState state;
  std::vector<study::Event> events;
  LANISTA_TRY(fold_all(state, log.existing(), [&](const study::Event& event) { events.push_back(event); }));
  if (log.cut_tail() && services.sink) {
    services.sink->write({services.clock->now(), Level::kWarning, "log_tail_cut", {{"folder", folder}}});
  }
  log.forget_existing();

  LANISTA_TRY(check_data(state, *services.data));
  LANISTA_ASSIGN(auto bases, stored_bases(state.view.models));
  LANISTA_ASSIGN(auto models, space_over(state.view.config, *services.data, std::move(bases), services.ops));
  LANISTA_ASSIGN(auto strategy, make_strategy(state.view.config, models));
  const std::int64_t steps_of_a_trial =
      state.view.config.train.epochs * steps_per_epoch(state.view.config, *services.data);
  LANISTA_TRY(check_extension(state, extension, steps_of_a_trial));

  const bool over = state.view.end_reason && extension.empty();
  if (!over) {
    LANISTA_TRY(furnish_folder(fs, folder, state.view.config_text));
    if (state.view.numerics != numerics) {
      LANISTA_TRY(log.append(RecordType::kNumerics, numerics));
      if (!state.view.numerics.is_null() && services.sink) {
        services.sink->write({services.clock->now(),
                              Level::kWarning,
                              "numerics_changed",
                              {{"before", state.view.numerics}, {"now", numerics}}});
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
  LANISTA_TRY(fold_all(state, {records.front()}, [](const study::Event&) {}));
  return std::move(state.view.config);
}

}  // namespace lanista::engine
