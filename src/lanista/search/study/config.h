#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "lanista/base/options.h"
#include "lanista/base/result.h"
#include "lanista/ipc/cluster_config.h"
#include "lanista/model/graph/graph.h"
#include "lanista/model/space/domain.h"
#include "lanista/search/study/constraint.h"
#include "lanista/search/study/pruning_rules.h"

namespace lanista::study {

// The resolved study file: plain structs, defaults in the initialisers.

/// A plug-in by name with its options.
struct PluginConfig {
  std::string name;
  Options options = Options::object();
};
inline constexpr std::int64_t kMaxBatch = 65536;
inline constexpr std::int64_t kMaxFolds =
    1000;  ///< times strategy.repeat: trainings of a proposal on rows of their own
inline constexpr std::int64_t kMaxBatchParts = 4096;  ///< shards of a batch, and parts of a shard
inline constexpr std::int64_t kMaxEpochs = 1'000'000;
inline constexpr std::int64_t kMaxStepsPerEpoch = 1'000'000'000;
inline constexpr std::int64_t kMaxSteps = 1'000'000'000'000;  ///< of a trial
inline constexpr std::string_view kKeepBestEpoch = "best_epoch", kKeepLast = "last";
/// Random values; what the parent was; else what of the study's best fits best; that, or what a zoo has, if it fits
/// better; the weights of a file.
inline constexpr std::string_view kStartOff = "off", kStartParent = "parent", kStartStudy = "study", kStartZoo = "zoo",
                                  kStartFile = "file";
inline constexpr std::string_view kZooFolder = "zoo";                             ///< where no other is named
inline constexpr std::string_view kSameTask = "same", kRelatedTasks = "related";  ///< train.zoo_tasks
inline constexpr std::string_view kStartFromBase = "base";                        ///< the file of the first base model
inline constexpr std::string_view kFullRate = "full", kEasedRate = "eased";
inline constexpr double kEasedShare = 0.05;
/// Parts of a model that have names without being one node and what it reads (train.rates): the last layers with
/// weights, and the rest.
inline constexpr std::string_view kHeadPart = "head", kBasePart = "base";
inline constexpr std::string_view kRatesKey = "train.rates";
inline constexpr double kMaxRateFactor = 1e6;
/// A factor of train.rates. Errors: kInvalidArgument, without a place.
Result<void> check_rate(double factor);
inline constexpr std::int64_t kMaxRaceSteps = 1'000'000;
inline constexpr std::int64_t kMaxStartBatches = 1'000'000;
/// The first of them; those that the loss, to first order, would miss most.
inline constexpr std::string_view kShrinkFirst = "first", kShrinkByLoss = "loss";
/// Slots of the optimiser are zeros; those of the parent where its elements are the child's, one by one.
inline constexpr std::string_view kFreshOptimizer = "fresh", kCarryOptimizer = "carry";
inline constexpr std::int64_t kMaxRaceParents = 2;  ///< of a race, at most; random values beside them
inline constexpr std::string_view kTiesByLoss = "loss", kTiesToEarlier = "earlier";

inline constexpr double kMaxClassWeight = 1e6;
inline constexpr std::string_view kClassWeightsKey = "train.class_weights";  ///< where a study file says them

/// How much the rows of each class count in the training loss; neither: all alike.
struct ClassWeights {
  bool balanced = false;             ///< each class as much as any other
  std::map<std::string, double> of;  ///< by the class's name; 1 of those that are not named

  explicit operator bool() const { return balanced || !of.empty(); }
  bool operator==(const ClassWeights&) const = default;
};
/// "balanced", an object of numbers by name, or null for neither.
nlohmann::json class_weights_json(const ClassWeights& weights);
/// The inverse; "none" is null. Errors: kInvalidArgument (something else, a weight outside of 0 to kMaxClassWeight).
Result<ClassWeights> read_class_weights(const nlohmann::json& json);

struct DataConfig {
  std::string source = "builtin:digits";  ///< kind:argument, e.g. "csv:iris.csv?target=species"
  std::int64_t batch = 32;
  std::array<double, 3> split{0.7, 0.15, 0.15};  ///< train, validation, test
  std::string normalize = "auto";                ///< auto | none
  std::string targets = "auto";       ///< auto | standardize | raw; auto: standardised where they are numbers
  std::vector<PluginConfig> augment;  ///< of training samples, in this order
  ClassWeights class_weights = {};  ///< a study file's train.class_weights: the data set makes weights of rows of them
  /// Cross-validation: training and validation part are dealt into so many folds, and a proposal is trained on each of
  /// the ways to leave one out (strategy.repeat times, each with another dealing). None: one split. From 2.
  std::optional<std::int64_t> folds = {};
};
/// The part of a base model that is not trained.
struct FrozenConfig {
  std::string through;  ///< its last node, "%4" or a label: all that the node reads is frozen with it
  std::string weights;  ///< of a safetensors file, or "base": those that the base model brings
  static constexpr std::string_view kOfTheBase = "base";
};
struct ModelConfig {
  std::vector<std::string> base{"builtin:small-mlp", "builtin:small-cnn"};
  /// A space of models instead of bases: a tree of blocks (docs/reference/study-file/model.md),
  /// "builtin:NAME?option=value", or null.
  nlohmann::json space;
  std::optional<FrozenConfig> frozen;
};
struct SpaceConfig {
  std::vector<PluginConfig> mutate;
  std::string repair_channels = "project";
  std::string repair_spatial = "pool";
  space::SearchSpace params;  ///< "optimizer" and its conditional hyper-parameters, among others
  std::optional<double> limit_params, limit_flops;
};
/// The loss that training minimises.
struct LossConfig {
  std::string name = "auto";  ///< auto, or one of step::losses(); auto: by the kind of target
  double label_smoothing = 0;
};
/// What is measured after each epoch, and which epoch gives a trial's result.
struct MeasurementConfig {
  std::vector<std::string> metrics;  ///< empty: accuracy for classes, mae for numbers; the loss is always measured
  std::string keep{kKeepBestEpoch};  ///< which epoch gives the result (study/keep.h): best_epoch | last
  std::string ties{kTiesByLoss};     ///< choice among epochs with equal goals: loss (the smaller val_loss) | earlier
};
/// Length of an epoch and of a trial.
struct LengthConfig {
  std::int64_t epochs = 9;
  /// Training steps of an epoch, independent of passes over the rows; none: an epoch is one pass. From 1.
  std::optional<std::int64_t> steps_per_epoch;
  /// Budget in steps. The last step ends an epoch, and resolve_epochs computes `epochs` from it. From 1.
  std::optional<std::int64_t> steps;
  /// First epoch that reads all training rows. An earlier epoch e reads a stratified share e / all_rows_at of them, and
  /// later epochs contain the rows of earlier ones. None, or 1: every epoch reads all rows.
  std::optional<std::int64_t> all_rows_at;
};
/// The update rule and its hyper-parameters, where the space does not vary them.
struct OptimizerConfig {
  std::string name = "sgd";  ///< one of step::optimizers()
  double lr = 0.05;
  double weight_decay = 0;
  std::optional<double> momentum, beta1, beta2, eps;  ///< none: the default of the optimiser
  bool nesterov = false;
  double clip_norm = 0;  ///< limit of the gradient's L2 norm; 0: no limit
  /// Factors of the learning rate by part of the model: kBasePart, kHeadPart, or a node ("%4", a label) with all nodes
  /// that it reads. Other nodes have the full rate. Above 0, at most kMaxRateFactor.
  std::map<std::string, double> rates = {};
};
/// The schedule of the learning rate.
struct ScheduleConfig {
  std::string name = "constant";  ///< constant | step | cosine
  std::int64_t step_every = 3;    ///< step: epochs between drops
  double step_factor = 0.1;       ///< step: factor of a drop
  double warmup_epochs = 0;       ///< epochs of linear growth from lr / steps
};
/// Number format and summation order of a step.
struct NumericsConfig {
  std::string precision = "float32";  ///< float32 | float64 | tf32 | bf16
  std::int64_t shards = 1;            ///< shards of a step's batch; their gradients are summed in order
  std::int64_t accumulate = 1;        ///< parts of a shard, computed one after another
};
/// The first weights of a trial.
struct StartConfig {
  std::string from{kStartOff};             ///< one of start_names()
  std::string file{kStartFromBase};        ///< from: file: an ONNX file, a folder of a model package, or "base"
  std::string zoo{kZooFolder};             ///< from: zoo: the folder; finished trials are also added to it
  std::string zoo_tasks{kSameTask};        ///< from: zoo: same | related (also models of other data)
  std::string rate{kFullRate};             ///< learning rate after a start with other weights: full | eased
  std::int64_t recalibrate = 0;            ///< batches that renew running statistics after a start; 0: none
  std::string shrink{kShrinkFirst};        ///< which units of a wider parent stay: first | loss
  std::string optimizer{kFreshOptimizer};  ///< optimiser slots: fresh | carry
  std::int64_t race = 0;                   ///< steps of a start race; 0: no race
};
/// How each trial trains, where the space does not vary it.
struct TrainConfig {
  LossConfig loss;
  MeasurementConfig measured;
  LengthConfig length;
  OptimizerConfig optimizer;
  ScheduleConfig schedule;
  NumericsConfig numerics;
  PluginConfig select = {};  ///< selector of training examples (data/selector.h); no name: all examples
  PluginConfig tune = {};    ///< tuner of trials while they train (tuner.h); no name: none
  StartConfig start;
};
struct Goal {
  bool maximize = true;
  std::string metric = "val_accuracy";
};
/// Behind a search: its best trials are trained once more from the beginning, as trials that tune themselves. These
/// are the study's finals.
struct SecondStage {
  PluginConfig tune;      ///< what train.tune would be, of a kind that searches
  std::int64_t best = 1;  ///< so many trials of the search, as the study ranks them; from 1
  std::int64_t end = 5;   ///< epochs without an improvement after which a final ends; from 1
};
inline constexpr std::string_view kThenKey = "strategy.then";
struct StrategyConfig {
  std::string name = "random";
  std::int64_t slots = 16;
  Options options = Options::object();
  std::int64_t repeat = 1;               ///< trainings of every proposal, each with its own seed
  std::string average = "mean";          ///< mean | median: what the strategy learns of them
  std::int64_t retry = 0;                ///< failed trainings of a proposal that are done again with another seed
  std::string order{kNeededFirst};       ///< of a group's members, where there are rules of `implied`
  std::int64_t group = 0;                ///< new trials that are asked for at a time; 0: as suits the strategy
  std::optional<SecondStage> then = {};  ///< absent: the search is all there is
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
/// Workers are threads of the engine's process, or processes that may die without it.
inline constexpr std::string_view kThreads = "thread", kProcesses = "process";
/// What trains: own kernels, or LibTorch on the CPU; GPUs have a number behind these.
inline constexpr std::string_view kCpu = "cpu", kTorchCpu = "torch:cpu", kCuda = "cuda:", kBlockCuda = "block:cuda:";
inline constexpr int kMaxGpus = 8;  // of a machine
/// run.profiles: where times of programs are kept, beside a folder's name.
inline constexpr std::string_view kAutoProfiles = "auto", kNoProfiles = "off";
/// The first is the folder in which `lanista run` puts studies, the other one what lies there then.
inline constexpr std::string_view kStudiesFolder = "studies", kProfilesFolder = ".profiles";
/// run.width, where each program is to find out what suits it.
inline constexpr std::int64_t kAutoWidth = 0;
struct RunConfig {
  std::int64_t workers = 0;   ///< 0: one per core
  std::int64_t lanes = 0;     ///< trials of one program that a worker trains together; 0: as suits the machine
  std::int64_t width = 1;     ///< worker processes that train one trial together, at most
  std::int64_t pipeline = 1;  ///< threads of a worker that share a trial's step by operators; 0: as it pays
  std::uint64_t seed = 1;
  double memory_gib = 0;                          ///< of all programs together; 0: three quarters of the machine's
  std::string isolation = std::string(kThreads);  ///< kThreads, kProcesses
  std::string profiles{kAutoProfiles};            ///< folder of times that outlive studies, kAutoProfiles, kNoProfiles
  /// That train, by name: kCpu, or one that device::open knows. Results are of its numeric class.
  std::vector<std::string> devices{std::string(kCpu)};
  double lease_seconds = 10;  ///< a worker process that is silent for so long has lost its trials
};
struct KeepConfig {
  std::int64_t top = 5;
  double checkpoint_every = 30;  ///< seconds
  std::int64_t ensemble = 0;     ///< most draws of an ensemble of the kept trials; 0: best/ is the winner alone
};
struct StudyConfig {
  std::string name = "digits";
  DataConfig data;
  ModelConfig model;
  SpaceConfig space;
  TrainConfig train;
  std::vector<Goal> goals{Goal{}};
  std::vector<Constraint> subject_to;     ///< what trials must keep to
  std::vector<PruningRule> implied = {};  ///< rules by which the result of one trial ends other trials
  StrategyConfig strategy;
  StopConfig stop;
  BudgetConfig budget;
  RunConfig run;
  ClusterConfig cluster = {};
  KeepConfig keep;
  std::vector<std::string> ignored = {};  ///< keys of a stored file that have no effect any more: cluster.program
};

/// What decides between results that all goals say are equal, as train.ties says: the loss of the validation part.
/// nullopt: nothing measured does, or the goals hold that loss already.
std::optional<Goal> tie_breaking_goal(const StudyConfig& config);

/// The numbers of a recipe that steps read: what may be another from one step to the next, and what tunes itself goes
/// on under. No more than numbers, so that a branch's setting costs nothing (train::BranchPoint::fork).
struct StepSettings {
  std::int64_t batch = 0;
  double lr = 0, momentum = 0, weight_decay = 0, beta1 = 0, beta2 = 0, eps = 0, clip_norm = 0, label_smoothing = 0;
  bool nesterov = false;
  double ease = 1;  ///< factor of the learning rate in the first kEasedShare of all steps
};
/// A trial's own numbers: train's values and data's batch, overridden by the sample. Names a sample may
/// use: optimizer, lr, momentum, nesterov, weight_decay, beta1, beta2, eps, clip_norm, label_smoothing, schedule,
/// warmup_epochs, batch; choices of the model are passed over.
struct Recipe : StepSettings {
  std::string loss, optimizer, schedule, precision;
  std::int64_t epochs = 0, step_every = 0;
  double step_factor = 0, warmup_epochs = 0;
  std::vector<PluginConfig> augment = {};
  PluginConfig select = {};  ///< no name: all examples are trained on
  PluginConfig tune = {};    ///< no name: its numbers stay as they are
  std::int64_t shards = 1, accumulate = 1;
  std::int64_t steps_per_epoch = 0;  ///< 0: a pass over the training rows
  std::int64_t steps = 0;            ///< at most of all epochs; 0: no matter
  std::int64_t recalibrate = 0;      ///< batches that renew running statistics before the first epoch is measured
  std::int64_t all_rows_at = 1;      ///< the first epoch over all training rows; epoch e before reads e / all_rows_at
  std::map<graph::NodeId, double> rates = {};  ///< factors of the learning rate, by node of the model; others have 1
};
const std::vector<std::string>& sample_names();  ///< what a sample may set
/// Of those: what may be another value from one step to the next, since steps read it. The others say what a program or
/// its state is made for (program_key).
bool can_change_in_training(std::string_view name);
/// What a number of optimisers ("beta2") is where the study says nothing, if all optimisers that it may use agree.
std::optional<double> default_number(const StudyConfig& config, const std::string& number);
/// Errors: kInvalidArgument for a name or a type a recipe does not know.
Result<Recipe> make_recipe(const StudyConfig& config, const std::string& loss, const space::Sample& sample);
/// Sets what the sample names; choices of the model are passed over. Errors: as of make_recipe.
Result<void> apply_sample(Recipe& recipe, const space::Sample& sample);
/// The same of a sample that names nothing but such numbers. Errors: kInvalidArgument, for another name too.
Result<void> apply_sample(StepSettings& numbers, const space::Sample& sample);
nlohmann::json recipe_json(const Recipe& recipe);
/// The inverse. Errors: kDataLoss (a field that is missing or of another kind).
Result<Recipe> recipe_from_json(const nlohmann::json& json);
/// How sums over a batch are taken, where it comes in parts: "4" for so many shards, or parts of one, which give the
/// same bits; "4x2" for shards of so many parts. Empty for one sum over the whole batch.
std::string summation_text(const TrainConfig& train);

}  // namespace lanista::study
