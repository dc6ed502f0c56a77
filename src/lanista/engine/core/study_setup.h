#pragma once

#include <cstdint>
#include <memory>
#include <optional>

#include "lanista/engine/core/engine.h"
#include "lanista/search/study/epoch_schedule.h"

namespace lanista::engine {

/// After this many consecutive duplicates, a strategy counts as exhausted.
inline constexpr int kMaxDuplicatesInARow = 1000;

/// After this many consecutive trials that a rule pruned, the search counts as exhausted.
inline constexpr int kMaxRulePrunedInARow = 10'000;
/// Number of new trials that the engine requests at a time.
std::int64_t trials_per_request(const study::StudyConfig& config);

/// The model space of a configuration over these base models. If the configuration has a blueprint, `bases` is empty
/// for a new study and holds the stored base of a study that has begun.
Result<std::shared_ptr<const mutate::ModelSpace>> make_space_over(const study::StudyConfig& config,
                                                                  const data::DataSpec& data,
                                                                  std::vector<mutate::BaseModel> bases,
                                                                  const graph::OpTable& ops);
/// The path of a file that a study names as `source`. Relative names start at `folder`.
std::string path_of(const std::string& source, const std::string& folder, FileSystem& fs);
/// The base models of a log header. Errors: kDataLoss.
Result<std::vector<mutate::BaseModel>> stored_bases(const nlohmann::json& models);

/// The input from which the strategy of this study is made. Errors: kInvalidArgument.
Result<strategy::Context> strategy_context(const study::StudyConfig& config,
                                           std::shared_ptr<const mutate::ModelSpace> models);

/// The strategy and the stopping rule of a configuration. The sampler observes the `earlier` trials first; the halving
/// does not, because its rungs compare trials of this study only. Errors: kInvalidArgument and kNotFound with the
/// configuration key.
Result<std::unique_ptr<strategy::Strategy>> make_strategy(const study::StudyConfig& config,
                                                          std::shared_ptr<const mutate::ModelSpace> models,
                                                          const std::optional<study::Earlier>& earlier = {});

/// Samples in a training step: from the hyper-parameter sample or the study, at most the number of training rows.
std::int64_t batch_size_of(const study::StudyConfig& config, const data::DataSpec& data, const space::Sample& sample);
/// The first and last step of each epoch of a trial.
study::EpochSchedule epoch_schedule_of(const study::StudyConfig& config, const data::DataSpec& data,
                                       const space::Sample& sample);
/// Steps of a whole trial; the smallest number if trials sample their batch size.
std::int64_t min_trial_steps(const study::StudyConfig& config, const data::DataSpec& data);

}  // namespace lanista::engine
