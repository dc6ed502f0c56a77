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
#include "lanista/search/study/rules.h"

namespace lanista::study {

// The resolved study file as plain structs. Each initialiser is the default of its key.

/// A plug-in of a table (sampler, mutator, …) with its options, as a study file names it.
struct PluginConfig {
  std::string name;  ///< Name of the plug-in in its table.
  Options options = Options::object();
};
inline constexpr std::int64_t kMaxBatch = 65536;       ///< Largest data.batch, in samples.
inline constexpr std::int64_t kMaxFolds = 1000;        ///< Largest product of data.folds and strategy.repeat.
inline constexpr std::int64_t kMaxBatchParts = 4096;   ///< Most shards of a batch, and most micro-batches of a shard.
inline constexpr std::int64_t kMaxEpochs = 1'000'000;  ///< Most epochs of a trial.
inline constexpr std::int64_t kMaxStepsPerEpoch = 1'000'000'000;  ///< Most training steps of an epoch.
inline constexpr std::int64_t kMaxSteps = 1'000'000'000'000;      ///< Most training steps of a trial.
/// Values of train.keep: the trial's result is its best epoch, or its last epoch.
inline constexpr std::string_view kKeepBestEpoch = "best_epoch", kKeepLast = "last";
/// Values of train.start, the weights with which a trial begins.
///
/// `off`: random values. `parent`: those of the nearest ancestor that is stored. `study`: the same, or else those of
/// the most similar stored trial. `zoo`: the same, or those of a zoo model that fits better. `file`: those of a file.
inline constexpr std::string_view kStartOff = "off", kStartParent = "parent", kStartStudy = "study", kStartZoo = "zoo",
                                  kStartFile = "file";
inline constexpr std::string_view kZooFolder = "zoo";  ///< Default folder of the zoo.
/// Values of train.zoo_tasks: zoo models of the study's data only, or also of other data.
inline constexpr std::string_view kSameTask = "same", kRelatedTasks = "related";
inline constexpr std::string_view kStartFromBase = "base";  ///< Value of start_from: the file of the first base model.
/// Values of train.start_rate: the full learning rate after a start, or a lower one during the first kEasedShare of all
/// steps.
inline constexpr std::string_view kFullRate = "full", kEasedRate = "eased";
inline constexpr double kEasedShare = 0.05;  ///< Share of all steps with the lower rate of kEasedRate.
/// Names of model parts in train.rates: the last layers that have weights, and all other layers.
inline constexpr std::string_view kHeadPart = "head", kBasePart = "base";
inline constexpr std::string_view kRatesKey = "train.rates";  ///< Study-file key of the learning-rate factors.
inline constexpr double kMaxRateFactor = 1e6;                 ///< Largest factor of train.rates.
/// Checks a factor of train.rates. Errors: kInvalidArgument (not above 0, above kMaxRateFactor, or not finite). The
/// message does not contain the key.
Result<void> check_rate(double factor);
inline constexpr std::int64_t kMaxStartBatches = 1'000'000;  ///< Most batches of train.start_recalibrate.
/// Values of train.start_shrink: which units of a wider parent a narrower child keeps. They are the first ones, or
/// those with the largest effect on the loss, to first order.
inline constexpr std::string_view kShrinkFirst = "first", kShrinkByLoss = "loss";
/// Values of train.start_optimizer: the optimiser state of the child is zeros, or carried over. A carried state has the
/// parent's value for each weight that is a copy of one weight of the parent, and zeros elsewhere.
inline constexpr std::string_view kFreshOptimizer = "fresh", kCarryOptimizer = "carry";
/// Values of train.ties, which decides between epochs or trials with equal goals: the one with the lower val_loss, or
/// the earlier one.
inline constexpr std::string_view kTiesByLoss = "loss", kTiesToEarlier = "earlier";

inline constexpr double kMaxClassWeight = 1e6;                               ///< Largest class weight.
inline constexpr std::string_view kClassWeightsKey = "train.class_weights";  ///< Study-file key of the class weights.

/// Weights of the classes in the training loss. By default all classes have weight 1.
struct ClassWeights {
  bool balanced = false;             ///< True: weights that give each class the same total weight.
  std::map<std::string, double> of;  ///< Weights by class name; a class without an entry has weight 1.

  /// True if weights are balanced or at least one is given.
  explicit operator bool() const { return balanced || !of.empty(); }
  bool operator==(const ClassWeights&) const = default;
};
/// Returns the JSON form of class weights: "balanced", an object of weights by class name, or null if all weights are
/// 1.
nlohmann::json class_weights_json(const ClassWeights& weights);
/// Reads what class_weights_json returns; "none" is equal to null. Errors: kInvalidArgument (another form, or a weight
/// outside 0 to kMaxClassWeight).
Result<ClassWeights> read_class_weights(const nlohmann::json& json);

/// Section `data` of the study file.
struct DataConfig {
  std::string source = "builtin:digits";  ///< Data source, as kind:argument: "csv:iris.csv?target=species".
  std::int64_t batch = 32;                ///< Samples in a batch.
  /// Shares of rows of the training, validation and test part, in this order.
  std::array<double, 3> split{0.7, 0.15, 0.15};
  std::string normalize = "auto";     ///< auto | none
  std::string targets = "auto";       ///< auto | standardize | raw; auto standardises numbers
  std::vector<PluginConfig> augment;  ///< Augmentations of training samples, applied in this order.
  ClassWeights class_weights = {};    ///< train.class_weights, from which the data set makes row weights.
  /// Number of folds of cross-validation, from 2; absent: one split. Training and validation part are divided into
  /// folds, and a proposal is trained once for each fold that is left out. strategy.repeat repeats that with another
  /// assignment of the rows.
  std::optional<std::int64_t> folds = {};
  /// The rules of the whole study (key `rules` at the top of the study file), from kFirstRules to kLatestRules.
  std::int64_t rules = kLatestRules;
};
/// The part of a base model that is not trained (model.frozen).
struct FrozenConfig {
  /// Last frozen node: a node id such as "%4", or a label. All nodes that it depends on are frozen too.
  std::string through;
  std::string weights;                                    ///< Safetensors file, or kOfTheBase.
  static constexpr std::string_view kOfTheBase = "base";  ///< Value of `weights`: those of the base, an ONNX file.
};
/// Section `model` of the study file.
struct ModelConfig {
  /// Base models, each as kind:argument.
  std::vector<std::string> base{"builtin:small-mlp", "builtin:small-cnn"};
  /// A model space instead of base models: a blueprint (docs/reference/study-file/model.md),
  /// "builtin:NAME?option=value", or null.
  nlohmann::json space;
  std::optional<FrozenConfig> frozen;  ///< Part that is not trained; absent: all is trained.
};
/// Section `space` of the study file.
struct SpaceConfig {
  std::vector<PluginConfig> mutate;         ///< Mutators with their options.
  std::string repair_channels = "project";  ///< Shape repair of joins with different channels.
  std::string repair_spatial = "pool";      ///< Shape repair of joins with different spatial sizes.
  space::SearchSpace params;                ///< Hyper-parameters, for example "optimizer".
  /// Limits of a model: parameters, and forward FLOPs of one sample; absent: no limit.
  std::optional<double> limit_params, limit_flops;
};
/// The loss that training minimises.
struct LossConfig {
  std::string name = "auto";   ///< Auto, or one of autodiff::losses(); auto: by the kind of target.
  double label_smoothing = 0;  ///< Share of the target that all classes get equally.
};
/// What is measured after each epoch, and which epoch gives a trial's result.
struct MeasurementConfig {
  std::vector<std::string> metrics;  ///< Empty: accuracy for classes, mae for numbers; the loss is always measured.
  std::string keep{kKeepBestEpoch};  ///< Which epoch gives the result (SelectionRule): best_epoch | last.
  std::string ties{kTiesByLoss};     ///< Choice among epochs with equal goals: loss (the smaller val_loss) | earlier.
};
/// Length of an epoch and of a trial that is not ended early.
struct LengthConfig {
  std::int64_t epochs = 9;  ///< Epochs of a trial, from 1.
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
  std::string name = "sgd";                           ///< Name of one of autodiff::optimizers().
  double lr = 0.05;                                   ///< Base learning rate, before schedule, warm-up and factors.
  double weight_decay = 0;                            ///< Coefficient of the weight decay.
  std::optional<double> momentum, beta1, beta2, eps;  ///< None: the default of the optimiser.
  bool nesterov = false;                              ///< True: Nesterov momentum.
  double clip_norm = 0;                               ///< Limit of the gradient's L2 norm; 0: no limit.
  /// Factors of the learning rate by part of the model: kBasePart, kHeadPart, or a node ("%4", a label) with all nodes
  /// that it reads. Other nodes have the full rate. Above 0, at most kMaxRateFactor.
  std::map<std::string, double> rates = {};
};
/// The schedule of the learning rate.
struct ScheduleConfig {
  std::string name = "constant";  ///< constant | step | cosine
  std::int64_t step_every = 3;    ///< step: epochs between drops
  double step_factor = 0.1;       ///< step: factor by which each drop multiplies the rate
  double warmup_epochs = 0;       ///< Epochs at the start in which the rate grows linearly to lr; 0: none.
};
/// Number format and summation order of a step.
struct NumericsConfig {
  std::string precision = "float32";  ///< float32 | float64 | tf32 | bf16
  std::int64_t shards = 1;            ///< Shards of a step's batch; their gradients are summed in order.
  std::int64_t accumulate = 1;        ///< Micro-batches of a shard, computed one after another.
};
/// The first weights of a trial.
struct StartConfig {
  std::string from{kStartOff};             ///< One of start_names().
  std::string file{kStartFromBase};        ///< `start: file`: an ONNX file, a folder of a model package, or "base".
  std::string zoo{kZooFolder};             ///< `start: zoo`: the folder; finished trials are also added to it.
  std::string zoo_tasks{kSameTask};        ///< `start: zoo`: same | related (also models of other data).
  std::string rate{kFullRate};             ///< Learning rate after a start with other weights: full | eased.
  std::int64_t recalibrate = 0;            ///< Batches that renew running statistics after a start; 0: none.
  std::string shrink{kShrinkFirst};        ///< Which units of a wider parent stay: first | loss.
  std::string optimizer{kFreshOptimizer};  ///< Optimiser slots: fresh | carry.
};
/// Section `train` of the study file: how each trial trains, where the space does not vary it.
struct TrainConfig {
  LossConfig loss;
  MeasurementConfig measured;
  LengthConfig length;
  OptimizerConfig optimizer;
  ScheduleConfig schedule;
  NumericsConfig numerics;
  PluginConfig select = {};  ///< Selector of training examples (data/selector.h); no name: all examples.
  PluginConfig tune = {};    ///< Tuner of trials while they train (tuner.h); no name: none.
  StartConfig start;
};
/// A metric that the study maximises or minimises.
struct Goal {
  bool maximize = true;                 ///< True: larger is better.
  std::string metric = "val_accuracy";  ///< Name of the metric.
};
/// Section strategy.then: after the search, its best trials are trained once more from the start and tune themselves.
///
/// These trials are the refinements.
struct SecondStage {
  PluginConfig tune;      ///< Value of train.tune for refinements; a kind that searches.
  std::int64_t best = 1;  ///< Number of best trials that are refined, from 1.
  std::int64_t end = 5;   ///< Epochs without an improvement after which a refinement ends, from 1.
};
inline constexpr std::string_view kThenKey = "strategy.then";  ///< Study-file key of the second stage.
/// Section `strategy` of the study file.
struct StrategyConfig {
  std::string name = "random";          ///< Name of the sampler.
  std::int64_t slots = 16;              ///< Trials that may be active at a time on the logical clock.
  Options options = Options::object();  ///< Options of the sampler.
  std::int64_t repeat = 1;              ///< Trainings of each proposal, each with its own seed.
  std::string average = "mean";         ///< mean | median: the value that the strategy receives for them.
  std::int64_t retry = 0;  ///< Most failed trainings of a proposal that are repeated, each with another seed.
  /// Order in which members of a trial group begin (pruning_rules.h). Used only with pruning rules.
  std::string order{kNeededFirst};
  /// New trials that the engine requests of the sampler at a time; 0: the sampler's default.
  std::int64_t group = 0;
  std::optional<SecondStage> then = {};  ///< Second stage; absent: none.
};
/// Section `stop` of the study file.
struct StopConfig {
  std::string rule = "none";  ///< Name of a halving or stopping rule, for example "asha", or "none".
  Options options = Options::object();
};
/// Section `budget` of the study file. Each limit that is present ends the study.
struct BudgetConfig {
  std::optional<std::int64_t> trials = 60;  ///< Most trials.
  std::optional<std::int64_t> steps;        ///< Most training steps of all trials together.
  std::optional<double> guard_minutes;      ///< Most worked minutes, over all attempts.
};
/// Values of run.isolation: workers are threads of the engine's process, or processes. The engine survives the crash of
/// a process.
inline constexpr std::string_view kThreads = "thread", kProcesses = "process";
/// Names of devices: lanista kernels on the CPU, LibTorch on the CPU, LibTorch on a GPU, the block backend on a GPU.
/// The number of the GPU follows the last two.
inline constexpr std::string_view kCpu = "cpu", kTorchCpu = "torch:cpu", kCuda = "cuda:", kBlockCuda = "block:cuda:";
inline constexpr int kMaxGpus = 8;  ///< Most GPUs of a machine.
/// Values of run.profiles in addition to the path of a folder: "auto" for the default folder, "off" for no timing
/// history.
inline constexpr std::string_view kAutoProfiles = "auto", kNoProfiles = "off";
/// The folder in which `lanista run` creates studies, and the folder of the timing history inside it.
inline constexpr std::string_view kStudiesFolder = "studies", kProfilesFolder = ".profiles";
/// Value of run.width: each program measures which width up to the number of workers is best for it.
inline constexpr std::int64_t kAutoWidth = 0;
/// Section `run` of the study file.
struct RunConfig {
  std::int64_t workers = 0;   ///< Number of workers; 0: one per core.
  std::int64_t lanes = 0;     ///< Trials of one program that a worker trains together; 0: chosen for the machine.
  std::int64_t width = 1;     ///< Most worker processes that train one trial together; kAutoWidth: measured.
  std::int64_t pipeline = 1;  ///< Threads of a worker that share a step by pipeline stages; 0: chosen by measurement.
  std::uint64_t seed = 1;     ///< Seed of the study.
  double memory_gib = 0;      ///< Memory of all programs together, in GiB; 0: three quarters of the machine's.
  std::string isolation = std::string(kThreads);  ///< kThreads | kProcesses.
  std::string profiles{kAutoProfiles};            ///< Folder of the timing history, kAutoProfiles or kNoProfiles.
  /// Devices that train, by name (kCpu, kTorchCpu, …). All must belong to one numeric class.
  std::vector<std::string> devices{std::string(kCpu)};
  double lease_seconds = 10;  ///< Silence in seconds after which a worker process counts as lost.
};
/// Section `keep` of the study file.
struct KeepConfig {
  std::int64_t top = 5;          ///< Number of best trials that keep their stored weights.
  double checkpoint_every = 30;  ///< Seconds between checkpoints of a trial.
  /// Most selections (Ensemble::Member) of an ensemble of the kept trials; 0: no ensemble.
  std::int64_t ensemble = 0;
};
/// A resolved study file.
struct StudyConfig {
  std::string name = "digits";  ///< Name of the study.
  DataConfig data;
  ModelConfig model;
  SpaceConfig space;
  TrainConfig train;
  std::vector<Goal> goals{Goal{}};        ///< Goals of the search, the most important first.
  std::vector<Constraint> subject_to;     ///< Constraints that a trial must satisfy, in the order of the file.
  std::vector<PruningRule> implied = {};  ///< Pruning rules (study-file key `implied`).
  StrategyConfig strategy;
  StopConfig stop;
  BudgetConfig budget;
  RunConfig run;
  ClusterConfig cluster = {};
  KeepConfig keep;
  /// Keys of a stored file that have no effect any more, such as cluster.program.
  std::vector<std::string> ignored = {};
  /// Settings of a stored study that this version lacks, each with the reason, as text for people. A study with one is
  /// shown and used for prediction, but not resumed or repeated.
  std::vector<std::string> removed = {};
};

/// Returns the goal that decides between results with equal goals (train.ties): to minimise val_loss.
///
/// nullopt: train.ties is kTiesToEarlier, or val_loss is a goal already.
std::optional<Goal> tie_breaking_goal(const StudyConfig& config);

/// Settings of a recipe that every training step reads. Except for the batch they may change between any two steps.
///
/// A branch of a trial starts with a copy of these settings (train::BranchPoint::fork).
struct StepSettings {
  std::int64_t batch = 0;  ///< Samples in a batch.
  double lr = 0, momentum = 0, weight_decay = 0, beta1 = 0, beta2 = 0, eps = 0, clip_norm = 0, label_smoothing = 0;
  bool nesterov = false;  ///< True: Nesterov momentum.
  double ease = 1;        ///< Factor of the learning rate in the first kEasedShare of all steps; 1: the full rate.
};
/// All settings of the training of one trial: the values of `train` and data.batch, overridden by its sample.
///
/// sample_names() lists the names that a sample may set. Model choices in a sample are ignored. The engine sets `ease`,
/// `recalibrate` and `rates`, which depend on the start and the model.
struct Recipe : StepSettings {
  std::string loss, optimizer, schedule, precision;  ///< Names; `loss` is never "auto".
  std::int64_t epochs = 0, step_every = 0;           ///< As in LengthConfig and ScheduleConfig.
  double step_factor = 0, warmup_epochs = 0;         ///< As in ScheduleConfig.
  std::vector<PluginConfig> augment = {};            ///< Augmentations of training samples, in this order.
  PluginConfig select = {};                          ///< Example selector; no name: all examples are trained on.
  PluginConfig tune = {};                            ///< Tuning inside the trial; no name: none.
  std::int64_t shards = 1, accumulate = 1;           ///< As in NumericsConfig.
  std::int64_t steps_per_epoch = 0;                  ///< Training steps of an epoch; 0: a pass over the training rows.
  std::int64_t steps = 0;                            ///< Budget in training steps; 0: none.
  std::int64_t recalibrate = 0;  ///< Batches that renew running statistics before the first measurement.
  std::int64_t all_rows_at = 1;  ///< First epoch over all training rows; epoch e before reads e / all_rows_at.
  std::map<graph::NodeId, double> rates = {};  ///< Factors of the learning rate by node; other nodes have factor 1.
};
/// Returns the names of the hyper-parameters that a sample may set, except model choices, in a fixed order.
const std::vector<std::string>& sample_names();
/// True if a trial may continue with another sampled value of the hyper-parameter in the same program. False for
/// "optimizer" and "batch", which determine the program (program_key), and for unknown names. train.tune may change the
/// batch of a trial all the same.
bool can_change_in_training(std::string_view name);
/// Returns the default of the optimiser setting `number`, such as "beta2". nullopt: the optimisers that the study may
/// use have different defaults, or none.
std::optional<double> default_number(const StudyConfig& config, const std::string& number);
/// Returns the recipe of a trial with this sample. `loss` is the resolved name of the loss, which is not checked.
/// `ease`, `recalibrate` and `rates` keep their defaults. Errors: kInvalidArgument (unknown name, wrong type, or a
/// value out of range).
Result<Recipe> make_recipe(const StudyConfig& config, const std::string& loss, const space::Sample& sample);
/// Sets the hyper-parameters of `sample` in `recipe` and ignores model choices. Errors: those of make_recipe
/// (kInvalidArgument). After an error some of them may be set.
Result<void> apply_sample(Recipe& recipe, const space::Sample& sample);
/// Sets the hyper-parameters of `sample` in `numbers`. Errors: kInvalidArgument (a name that is no step setting, a
/// wrong type, or a value out of range).
Result<void> apply_sample(StepSettings& numbers, const space::Sample& sample);
/// Returns a recipe as a JSON record, with one member for each field of Recipe, named like it. Fields that old versions
/// lack are left out if they have their default.
nlohmann::json recipe_json(const Recipe& recipe);
/// Reads the record of a recipe; ranges are not checked. Errors: kDataLoss (a field is missing or has another type).
Result<Recipe> recipe_from_json(const nlohmann::json& json);
/// Returns, as a text for the numeric class of a study, the parts into which sums over a batch are divided. "4" are 4
/// shards, or 4 micro-batches of one shard, which give equal bits. "4x2" are 4 shards of 2 micro-batches. Empty: one
/// sum over the batch.
std::string summation_text(const TrainConfig& train);

}  // namespace lanista::study
