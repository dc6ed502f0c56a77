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
/// Number of new trials that the engine requests at a time: strategy.group if it is above 0, else 64 or 1. It is 64
/// if groups are ordered by cost (strategy.order, with implied rules), there is no stopping rule, and the strategy does
/// not learn from results.
std::int64_t trials_per_request(const study::StudyConfig& config);

/// The model space of a configuration over these base models. With a blueprint, `bases` is empty for a new study and
/// holds the stored base for a study that has begun. Errors: kInvalidArgument with the configuration key in `where` (a
/// mutator or its options, a blueprint, or a base that does not fit).
Result<std::shared_ptr<const mutate::ModelSpace>> make_space_over(const study::StudyConfig& config,
                                                                  const data::DataSpec& data,
                                                                  std::vector<mutate::BaseModel> bases,
                                                                  const graph::OpTable& ops);
/// The path of a file that a study file names as `source`. A relative name starts at `folder`; with an empty `folder`
/// it stays relative. If no such file exists, "." and ".." are resolved in the text.
std::string path_of(const std::string& source, const std::string& folder, FileSystem& fs);
/// The base models of a log header (HeaderRecord::models), in order. Errors: kDataLoss (a graph cannot be read). It
/// throws nlohmann::json::exception if an element lacks the texts `name` and `graph`.
Result<std::vector<mutate::BaseModel>> stored_bases(const nlohmann::json& models);

/// What a strategy of this study is made from: model space, hyper-parameters, goals, constraints, epochs and random
/// numbers. Errors: kInvalidArgument (a choice of the blueprint has the name of another parameter).
Result<search::Context> strategy_context(const study::StudyConfig& config,
                                         std::shared_ptr<const mutate::ModelSpace> models);

/// The strategy of a configuration, with its sampler and stopping rule. The sampler observes the `earlier` trials
/// first; the halving does not, because its rungs compare trials of this study only. Errors: kInvalidArgument and
/// kNotFound with the configuration key in `where` (a strategy, a rule or an option that is not allowed).
Result<std::unique_ptr<search::Strategy>> make_strategy(const study::StudyConfig& config,
                                                        std::shared_ptr<const mutate::ModelSpace> models,
                                                        const std::optional<study::Earlier>& earlier = {});

/// Number of samples in a training step: from the hyper-parameter sample or the study file, at most the number of
/// training rows.
std::int64_t batch_size_of(const study::StudyConfig& config, const data::DataSpec& data, const space::Sample& sample);
/// The steps of each epoch of a trial with this hyper-parameter sample.
study::EpochSchedule epoch_schedule_of(const study::StudyConfig& config, const data::DataSpec& data,
                                       const space::Sample& sample);
/// Number of training steps of a trial with all its epochs. If trials sample their batch size, it is a lower bound: one
/// step for each epoch, unless train.steps_per_epoch is set.
std::int64_t min_trial_steps(const study::StudyConfig& config, const data::DataSpec& data);

}  // namespace lanista::engine
