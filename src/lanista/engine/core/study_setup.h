#pragma once

#include <cstdint>
#include <memory>
#include <optional>

#include "lanista/engine/core/engine.h"
#include "lanista/search/study/epoch_schedule.h"

namespace lanista::engine {

/// After so many proposals in a row that repeat earlier ones, a strategy has nothing left.
inline constexpr int kMaxDuplicatesInARow = 1000;

/// After so many implied trials in a row, whatever else a strategy may propose is implied, too.
inline constexpr int kMaxRulePrunedInARow = 10'000;
/// New trials that are asked for at a time.
std::int64_t trials_per_request(const study::StudyConfig& config);

/// The model space of a configuration over given base models; where it has a space of models, over that: the base is
/// then that of a study that has begun, or absent.
Result<std::shared_ptr<const mutate::ModelSpace>> make_space_over(const study::StudyConfig& config,
                                                             const data::DataSpec& data,
                                                             std::vector<mutate::BaseModel> bases,
                                                             const graph::OpTable& ops);
/// Where a file of a study is that the study names so.
std::string path_of(const std::string& source, const std::string& folder, FileSystem& fs);
/// The base models as the header stored them. Errors: kDataLoss.
Result<std::vector<mutate::BaseModel>> stored_bases(const nlohmann::json& models);

/// What a strategy of this study is made from. Errors: kInvalidArgument.
Result<strategy::Context> strategy_context(const study::StudyConfig& config,
                                           std::shared_ptr<const mutate::ModelSpace> models);

/// Strategy and stopping rule of a configuration; what to try is told of `earlier` trials first, how far to train is
/// not: rungs compare what this study trains. Errors: kInvalidArgument, kNotFound with the configuration key.
Result<std::unique_ptr<strategy::Strategy>> make_strategy(const study::StudyConfig& config,
                                                          std::shared_ptr<const mutate::ModelSpace> models,
                                                          const std::optional<study::Earlier>& earlier = {});

/// Samples of a training step of a trial: what it has drawn or the study's, at most all rows there are.
std::int64_t batch_size_of(const study::StudyConfig& config, const data::DataSpec& data, const space::Sample& sample);
/// Where the epochs of a trial begin and end.
study::EpochSchedule epoch_schedule_of(const study::StudyConfig& config, const data::DataSpec& data, const space::Sample& sample);
/// Steps of a whole trial; of the shortest where trials draw their batches.
std::int64_t min_trial_steps(const study::StudyConfig& config, const data::DataSpec& data);

}  // namespace lanista::engine
