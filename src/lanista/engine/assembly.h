#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "lanista/engine/engine.h"

namespace lanista::engine {

/// After so many proposals in a row that repeat earlier ones, a strategy has nothing left.
inline constexpr int kMaxDuplicatesInARow = 1000;

/// The model space of a configuration over given base models; where it has a space of models, over that: the base is
/// then that of a study that has begun, or absent.
Result<std::shared_ptr<const mutate::ModelSpace>> space_over(const study::StudyConfig& config,
                                                             const data::DataSpec& data,
                                                             std::vector<mutate::BaseModel> bases,
                                                             const graph::OpTable& ops);
/// The base models as the header stored them. Errors: kDataLoss.
Result<std::vector<mutate::BaseModel>> stored_bases(const nlohmann::json& models);

/// Strategy and stopping rule of a configuration. Errors: kInvalidArgument, kNotFound with the configuration key.
Result<std::unique_ptr<strategy::Strategy>> make_strategy(const study::StudyConfig& config,
                                                          std::shared_ptr<const mutate::ModelSpace> models);

/// Steps of one epoch of every trial.
inline std::int64_t steps_per_epoch(const study::StudyConfig& config, const data::DataSpec& data) {
  return (data.split_rows[0] + config.data.batch - 1) / config.data.batch;
}

/// Whether the engine can work with the configuration: counts and names. Errors: kInvalidArgument.
Result<void> check_config(const study::StudyConfig& config);

}  // namespace lanista::engine
