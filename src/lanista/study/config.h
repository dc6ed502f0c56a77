#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "lanista/base/options.h"
#include "lanista/base/result.h"
#include "lanista/space/domain.h"
#include "lanista/study/constraint.h"

namespace lanista::study {

// The resolved study file: plain structs, defaults in the initialisers.

/// A plug-in by name with its options.
struct PluginConfig {
  std::string name;
  Options options = Options::object();
};
inline constexpr std::int64_t kMaxBatch = 65536;

struct DataConfig {
  std::string source = "builtin:digits";  ///< kind:argument, e.g. "csv:iris.csv?target=species"
  std::int64_t batch = 32;
  std::array<double, 3> split{0.7, 0.15, 0.15};  ///< train, validation, test
  std::string normalize = "auto";                ///< auto | none
  std::vector<PluginConfig> augment;             ///< of training samples, in this order
};
struct ModelConfig {
  std::vector<std::string> base{"builtin:small-mlp", "builtin:small-cnn"};
  /// A space of models in place of bases: a tree of blocks (docs/study-file.md), "builtin:NAME?option=value", or null.
  nlohmann::json space;
};
struct SpaceConfig {
  std::vector<PluginConfig> mutate;
  std::string repair_channels = "project";
  std::string repair_spatial = "pool";
  space::SearchSpace params;  ///< "optimizer" and its conditional hyper-parameters, among others
  std::optional<double> limit_params, limit_flops;
};
struct TrainConfig {
  std::string loss = "auto";  ///< auto | cross_entropy | mse; auto: by the kind of target
  std::int64_t epochs = 9;
  std::string optimizer = "sgd";      ///< where the space does not choose one: sgd | adam | adamw
  std::string schedule = "constant";  ///< constant | step | cosine
  std::int64_t step_every = 3;        ///< step: epochs between drops
  double step_factor = 0.1;
  double warmup_epochs = 0;  ///< linear, from lr/steps
  double clip_norm = 0;
  double label_smoothing = 0;
  double lr = 0.05, momentum = 0.9, weight_decay = 0, beta1 = 0.9, beta2 = 0.999, eps = 1e-8;
  bool nesterov = false;
  std::vector<std::string> metrics;   ///< empty: accuracy for classes, mae for numbers; loss is always there
  std::string precision = "float32";  ///< float32 | float64
};
struct Goal {
  bool maximize = true;
  std::string metric = "val_accuracy";
};
struct StrategyConfig {
  std::string name = "random";
  std::int64_t slots = 16;
  Options options = Options::object();
  std::int64_t repeat = 1;       ///< trainings of every proposal, each with its own seed
  std::string average = "mean";  ///< mean | median: what the strategy learns of them
  std::int64_t retry = 0;        ///< failed trainings of a proposal that are done again with another seed
};
struct StopConfig {
  std::string rule = "none";  ///< none | asha
  Options options = Options::object();
};
struct BudgetConfig {
  std::optional<std::int64_t> trials = 60;
  std::optional<std::int64_t> steps;    ///< training steps over all trials
  std::optional<double> guard_minutes;  ///< wall clock; a study it ends says so
};
struct RunConfig {
  std::int64_t workers = 0;  ///< 0: one per core
  std::int64_t lanes = 0;    ///< trials of one program that a worker trains together; 0: as suits the machine
  std::uint64_t seed = 1;
  double memory_gib = 0;  ///< of all programs together; 0: three quarters of the machine's
};
struct KeepConfig {
  std::int64_t top = 5;
  double checkpoint_every = 30;  ///< seconds
};
struct StudyConfig {
  std::string name = "digits";
  DataConfig data;
  ModelConfig model;
  SpaceConfig space;
  TrainConfig train;
  std::vector<Goal> goals{Goal{}};
  std::vector<Constraint> subject_to;  ///< what trials must keep to
  StrategyConfig strategy;
  StopConfig stop;
  BudgetConfig budget;
  RunConfig run;
  KeepConfig keep;
};

/// A trial's own numbers: train's values and data's batch, overridden by the sample. Names a sample may
/// use: optimizer, lr, momentum, nesterov, weight_decay, beta1, beta2, eps, clip_norm, label_smoothing, schedule,
/// warmup_epochs, batch; choices of the model are passed over.
struct Recipe {
  std::string loss, optimizer, schedule, precision;
  std::int64_t epochs = 0, batch = 0, step_every = 0;
  double step_factor = 0, warmup_epochs = 0, clip_norm = 0, label_smoothing = 0;
  double lr = 0, momentum = 0, weight_decay = 0, beta1 = 0, beta2 = 0, eps = 0;
  bool nesterov = false;
  std::vector<PluginConfig> augment = {};
};
const std::vector<std::string>& sample_names();  ///< what a sample may set
/// Errors: kInvalidArgument for a name or a type a recipe does not know.
Result<Recipe> make_recipe(const StudyConfig& config, const std::string& loss, const space::Sample& sample);
nlohmann::json recipe_json(const Recipe& recipe);

}  // namespace lanista::study
