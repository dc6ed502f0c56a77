#include "lanista/io/studyfile/plain_settings.h"

#include <type_traits>

#include "lanista/model/autodiff/loss.h"
#include "lanista/model/autodiff/optimizer.h"

namespace lanista::studyfile {
namespace {

using study::StudyConfig;
using Kind = OptionSpec::Kind;
using Json = nlohmann::json;

template <class T>
constexpr Kind kind_of() {
  if constexpr (std::is_same_v<T, bool>) return Kind::kBool;
  if constexpr (std::is_same_v<T, double>) return Kind::kReal;
  if constexpr (std::is_same_v<T, std::string>) return Kind::kText;
  if constexpr (std::is_same_v<T, std::vector<std::string>>) return Kind::kTextList;
  if constexpr (std::is_same_v<T, std::array<double, 3>>) return Kind::kRealList;
  return Kind::kInt;
}

template <class T>
constexpr bool kIsOptional = false;
template <class T>
constexpr bool kIsOptional<std::optional<T>> = true;

/// Binds the setting to which `at` refers in a configuration.
template <class At>
Field bound(At at, OptionSpec spec) {
  using T = std::remove_cvref_t<decltype(at(std::declval<StudyConfig&>()))>;
  Field out;
  if constexpr (kIsOptional<T>) {
    spec.kind = kind_of<typename T::value_type>();
    out.set = [at](StudyConfig& c, const Json& value) {
      at(c).reset();
      if (!value.is_null()) at(c) = value.get<typename T::value_type>();
    };
    out.get = [at](const StudyConfig& c) { return at(c) ? Json(*at(c)) : Json(); };
    out.optional = true;
  } else {
    spec.kind = kind_of<T>();
    out.set = [at](StudyConfig& c, const Json& value) { at(c) = value.get<T>(); };
    out.get = [at](const StudyConfig& c) { return Json(at(c)); };
  }
  out.spec = std::move(spec);
  return out;
}
/// Binds `config.*block.*member`.
template <class Block, class T>
Field field(Block StudyConfig::*block, T Block::*member, OptionSpec spec) {
  return bound(
      [=](auto& c) -> auto& { return c.*block.*member; }, std::move(spec));
}
/// Binds `config.*block.*part.*member`.
template <class Block, class Part, class T>
Field field(Block StudyConfig::*block, Part Block::*part, T Part::*member, OptionSpec spec) {
  return bound(
      [=](auto& c) -> auto& { return c.*block.*part.*member; }, std::move(spec));
}

// A setting that came after studies were written without it.
Field omits_default(Field plain) {
  plain.omits_default = true;
  return plain;
}

/// A setting with an older name, which stored studies keep.
Field stored_as(const char* name, Field plain) {
  plain.stored_name = name;
  return plain;
}

OptionSpec any(std::string name, std::string help) {
  OptionSpec spec;
  spec.name = std::move(name);
  spec.help = std::move(help);
  return spec;
}
/// A word for a number that no count can be.
Field integer_or_auto(Field whole) {
  whole.spec.allowed = {"auto"};
  whole.set = [set = whole.set](StudyConfig& c, const Json& value) { set(c, value.is_string() ? Json(0) : value); };
  whole.get = [get = whole.get](const StudyConfig& c) {
    const Json value = get(c);
    return value == 0 ? Json("auto") : value;
  };
  return whole;
}
OptionSpec one_of(std::string name, std::vector<std::string> allowed, std::string help) {
  OptionSpec spec = any(std::move(name), std::move(help));
  spec.allowed = std::move(allowed);
  return spec;
}
/// The CPU's, and GPUs by their numbers.
std::vector<std::string> devices() {
  std::vector<std::string> all{std::string(study::kCpu), std::string(study::kTorchCpu)};
  for (const std::string_view kind : {study::kCuda, study::kBlockCuda}) {
    for (int number = 0; number < study::kMaxGpus; ++number) all.push_back(std::string(kind) + std::to_string(number));
  }
  return all;
}
OptionSpec from(double min, std::string name, std::string help) {
  OptionSpec spec = any(std::move(name), std::move(help));
  spec.min = min;
  return spec;
}
OptionSpec within(double min, double max, std::string name, std::string help) {
  OptionSpec spec = from(min, std::move(name), std::move(help));
  spec.max = max;
  return spec;
}

/// A number of some optimisers; `none` is what the optimiser usually has, and so is written only where those that the
/// study may use have different ones.
Field optimizer_number(std::optional<double> study::OptimizerConfig::*member, double min, double max,
                       const std::string& name, const std::string& help) {
  Field out = field(&StudyConfig::train, &study::TrainConfig::optimizer, member,
                    within(min, max, name, help + "; of " + autodiff::optimizers_reading(name)));
  out.get = [member, name](const StudyConfig& c) {
    const std::optional<double>& given = c.train.optimizer.*member;
    const std::optional<double> value = given ? given : study::default_number(c, name);
    return value ? Json(*value) : Json();
  };
  return out;
}

Section data_section() {
  using study::DataConfig;
  const auto block = &StudyConfig::data;
  return {
      "data",
      "data of the study",
      {field(block, &DataConfig::source,
             any("source", "data source as kind:argument?option=value, such as csv:FILE?target=COLUMN")),
       field(block, &DataConfig::batch, within(1, study::kMaxBatch, "batch", "number of samples in a training step")),
       field(block, &DataConfig::split, within(0, 1, "split", "shares of the training, validation and test part")),
       field(block, &DataConfig::normalize,
             one_of("normalize", {"auto", "none"},
                    "normalisation of features; auto: zero mean and unit deviation of the training part")),
       omits_default(field(block, &DataConfig::targets,
                           one_of("targets", {"auto", "standardize", "raw"},
                                  "normalisation of numeric targets; auto: zero mean and unit deviation of the "
                                  "training part"))),
       omits_default(field(block, &DataConfig::folds,
                           within(2, study::kMaxFolds, "folds",
                                  "folds of cross-validation over training and validation rows; each proposal trains "
                                  "once a fold; none: one split")))}};
}

/// The field train.epochs. It is left out where the budget is in steps, which give the number of epochs.
Field epochs_field() {
  Field out = field(&StudyConfig::train, &study::TrainConfig::length, &study::LengthConfig::epochs,
                    within(1, study::kMaxEpochs, "epochs", "budget of a trial in epochs"));
  out.get = [](const StudyConfig& c) { return c.train.length.steps ? Json() : Json(c.train.length.epochs); };
  return out;
}

Section train_section() {
  using study::TrainConfig;
  const auto block = &StudyConfig::train;
  std::vector<std::string> losses = autodiff::loss_names();
  losses.insert(losses.begin(), "auto");
  return {
      "train",
      "how each trial trains, where the space does not vary it",
      {field(block, &TrainConfig::loss, &study::LossConfig::name,
             one_of("loss", losses, "loss that training minimises; auto: by the kind of target")),
       epochs_field(),
       omits_default(field(block, &TrainConfig::length, &study::LengthConfig::steps_per_epoch,
                           within(1, study::kMaxStepsPerEpoch, "steps_per_epoch",
                                  "training steps of an epoch; none: an epoch is a pass over the training rows"))),
       omits_default(
           field(block, &TrainConfig::length, &study::LengthConfig::steps,
                 within(1, study::kMaxSteps, "steps", "budget of a trial in training steps, instead of epochs"))),
       omits_default(field(block, &TrainConfig::length, &study::LengthConfig::all_rows_at,
                           within(1, study::kMaxEpochs, "all_rows_at",
                                  "first epoch that reads all training rows; epoch e before it reads e / all_rows_at "
                                  "of them"))),
       field(block, &TrainConfig::optimizer, &study::OptimizerConfig::name,
             one_of("optimizer", autodiff::optimizer_names(), "update rule")),
       field(block, &TrainConfig::schedule, &study::ScheduleConfig::name,
             one_of("schedule", {"constant", "step", "cosine"}, "learning rate over time")),
       field(block, &TrainConfig::schedule, &study::ScheduleConfig::step_every,
             from(1, "step_every", "epochs between drops of `schedule: step`")),
       field(block, &TrainConfig::schedule, &study::ScheduleConfig::step_factor,
             within(0, 1, "step_factor", "factor of a drop of `schedule: step`")),
       field(block, &TrainConfig::schedule, &study::ScheduleConfig::warmup_epochs,
             from(0, "warmup_epochs", "epochs of linear warm-up of the learning rate")),
       field(block, &TrainConfig::optimizer, &study::OptimizerConfig::clip_norm,
             from(0, "clip_norm", "limit of the gradient's L2 norm; 0: no limit")),
       field(block, &TrainConfig::loss, &study::LossConfig::label_smoothing,
             within(0, 0.999, "label_smoothing", "share of a label's weight that is spread over all classes")),
       field(block, &TrainConfig::optimizer, &study::OptimizerConfig::lr, from(0, "lr", "learning rate")),
       optimizer_number(&study::OptimizerConfig::momentum, 0, 0.9999, "momentum", "momentum of the gradient"),
       field(block, &TrainConfig::optimizer, &study::OptimizerConfig::nesterov,
             any("nesterov", "whether the momentum is Nesterov's; of " + autodiff::optimizers_reading("nesterov"))),
       field(block, &TrainConfig::optimizer, &study::OptimizerConfig::weight_decay,
             from(0, "weight_decay", "weight decay: L2, decoupled for " + autodiff::decoupled_optimizer_names())),
       optimizer_number(&study::OptimizerConfig::beta1, 0, 0.9999, "beta1", "first decay rate"),
       optimizer_number(&study::OptimizerConfig::beta2, 0, 0.999999, "beta2", "second decay rate"),
       optimizer_number(&study::OptimizerConfig::eps, 1e-16, 1, "eps", "number that is added to the denominator"),
       field(block, &TrainConfig::measured, &study::MeasurementConfig::metrics,
             any("metrics", "metrics that are measured in addition to the loss; empty: by the kind of target")),
       field(block, &TrainConfig::numerics, &study::NumericsConfig::precision,
             one_of("precision", {"float32", "float64", "tf32", "bf16"},
                    "precision of training; tf32 and bf16 round the operands of products and need a "
                    "LibTorch device")),
       field(block, &TrainConfig::measured, &study::MeasurementConfig::keep,
             one_of("keep", {std::string(study::kKeepBestEpoch), std::string(study::kKeepLast)},
                    "epoch that represents a trial: its weights and its measurement; best_epoch: the best by "
                    "the goals")),
       field(block, &TrainConfig::measured, &study::MeasurementConfig::ties,
             one_of("ties", {std::string(study::kTiesByLoss), std::string(study::kTiesToEarlier)},
                    "what decides between epochs and between trials that are equal in all goals")),
       omits_default(field(
           block, &TrainConfig::start, &study::StartConfig::from,
           one_of("start",
                  {std::string(study::kStartOff), std::string(study::kStartParent), std::string(study::kStartStudy),
                   std::string(study::kStartZoo), std::string(study::kStartFile)},
                  "weights that a trial starts from; off: random values; parent: the trial that it is a "
                  "mutation of; study: that, else the most similar kept trial; zoo: that, or a zoo's model "
                  "that gives more; file: see start_from"))),
       omits_default(field(block, &TrainConfig::start, &study::StartConfig::zoo,
                           any("zoo", "folder of the zoo for `start: zoo`, to which kept trials are added too"))),
       omits_default(field(block, &TrainConfig::start, &study::StartConfig::zoo_tasks,
                           one_of("zoo_tasks", {std::string(study::kSameTask), std::string(study::kRelatedTasks)},
                                  "models that `start: zoo` offers; same: of the same data; related: if there are "
                                  "none, of other data of the same "
                                  "form"))),
       omits_default(field(block, &TrainConfig::start, &study::StartConfig::file,
                           any("start_from",
                               "weights for `start: file`: an ONNX file, the folder of a model package, or base for "
                               "the file of the base model"))),
       omits_default(field(block, &TrainConfig::start, &study::StartConfig::rate,
                           one_of("start_rate", {std::string(study::kFullRate), std::string(study::kEasedRate)},
                                  "learning rate after a start; eased: 1 - coverage of it, at least 0.3, in the first "
                                  "twentieth of the steps"))),
       omits_default(
           field(block, &TrainConfig::start, &study::StartConfig::recalibrate,
                 within(0, study::kMaxStartBatches, "start_recalibrate",
                        "batches of training rows that renew batch-norm statistics before the first measurement "
                        "of a trial with a start"))),
       omits_default(
           field(block, &TrainConfig::start, &study::StartConfig::shrink,
                 one_of("start_shrink", {std::string(study::kShrinkFirst), std::string(study::kShrinkByLoss)},
                        "units of a wider parent that a narrower trial keeps: the first ones, or those that the "
                        "loss needs most by its gradient"))),
       omits_default(
           field(block, &TrainConfig::start, &study::StartConfig::optimizer,
                 one_of("start_optimizer", {std::string(study::kFreshOptimizer), std::string(study::kCarryOptimizer)},
                        "optimiser state of a trial that computes its parent's function; carry: the parent's state and "
                        "step count; fresh: none"))),
       omits_default(field(block, &TrainConfig::numerics, &study::NumericsConfig::shards,
                           within(1, study::kMaxBatchParts, "shards",
                                  "parts of a batch with gradients of their own, which are summed in order"))),
       omits_default(field(block, &TrainConfig::numerics, &study::NumericsConfig::accumulate,
                           within(1, study::kMaxBatchParts, "accumulate",
                                  "parts of a shard, computed one after the other in less memory")))}};
}

}  // namespace

std::vector<Section> study_sections() {
  using namespace study;
  return {
      data_section(),
      {"model",
       "base models, or a space of models",
       {field(
           &StudyConfig::model, &ModelConfig::base,
           any("base",
               "base models: builtin:auto (all that suit the data), builtin:small-mlp, builtin:small-cnn, "
               "builtin:small-transformer, builtin:embedding-mlp (a table with categories), or files (net.graph)"))}},
      train_section(),
      {"strategy",
       "what to try next; further keys are options of the strategy",
       {field(&StudyConfig::strategy, &StrategyConfig::name, any("name", "strategy that proposes trials")),
        field(&StudyConfig::strategy, &StrategyConfig::slots,
              within(1, 4096, "slots", "number of open trials on the logical clock")),
        field(&StudyConfig::strategy, &StrategyConfig::repeat,
              within(1, 1000, "repeat",
                     "trainings of each proposal, each with its own seed; with data.folds: fold assignments")),
        field(&StudyConfig::strategy, &StrategyConfig::average,
              one_of("average", {"mean", "median"},
                     "how several trainings are combined for the strategy and for the winner")),
        field(&StudyConfig::strategy, &StrategyConfig::retry,
              within(0, 1000, "retry", "most failed trainings of a proposal that are repeated with another seed")),
        omits_default(
            field(&StudyConfig::strategy, &StrategyConfig::order,
                  one_of("order", {std::string(kNeededFirst), std::string(kInformativeFirst), std::string(kAsGiven)},
                         "order of a group's trials, with rules of implied; needed_first: trials that no pending "
                         "one can imply; informative: largest expected saving over cost; given: the "
                         "strategy's order"))),
        omits_default(
            field(&StudyConfig::strategy, &StrategyConfig::group,
                  within(0, 4096, "group",
                         "new trials that the strategy proposes at a time; 0: 64 with rules of implied, no early "
                         "stopping and a strategy that does not learn, else 1")))}},
      {"stop",
       "when a trial ends early; further keys are options of the rule",
       {field(&StudyConfig::stop, &StopConfig::rule, any("rule", "stopping rule"))}},
      {"budget",
       "when the study ends",
       {field(&StudyConfig::budget, &BudgetConfig::trials, within(1, 4294967295.0, "trials", "number of trials")),
        field(&StudyConfig::budget, &BudgetConfig::steps, from(1, "steps", "training steps of all trials together")),
        stored_as("guard_minutes",
                  field(&StudyConfig::budget, &BudgetConfig::guard_minutes,
                        within(0.001, 1e6, "minutes",
                               "limit of the wall clock in minutes; a study that it ends reports so")))}},
      {"run",
       "how the study runs",
       {field(&StudyConfig::run, &RunConfig::workers,
              within(0, 64, "workers", "training threads or processes; 0: one a core; never changes results")),
        field(&StudyConfig::run, &RunConfig::lanes,
              within(0, 64, "lanes", "most trials that a worker trains together; 0: automatic; never changes results")),
        omits_default(
            integer_or_auto(field(&StudyConfig::run, &RunConfig::width,
                                  within(1, 8, "width",
                                         "most worker processes that train one trial together, by its train.shards; "
                                         "auto: what shortens its steps; never changes results")))),
        omits_default(
            field(&StudyConfig::run, &RunConfig::pipeline,
                  within(0, 4, "pipeline",
                         "threads of a worker (or processes) that share the steps of a trial by operators, with "
                         "the parts of train.accumulate as micro-batches; 0: the plan decides; never "
                         "changes results"))),
        omits_default(
            field(&StudyConfig::run, &RunConfig::isolation,
                  one_of("isolation", {std::string(kThreads), std::string(kProcesses)},
                         "whether a worker is a thread or a process; a process that dies costs its trials some "
                         "time; never changes results"))),
        omits_default(field(&StudyConfig::run, &RunConfig::profiles,
                            any("profiles",
                                "folder that stores step times for predictions; auto: .profiles beneath studies/, off "
                                "elsewhere; never changes results"))),
        omits_default(
            field(&StudyConfig::run, &RunConfig::devices,
                  one_of("devices", devices(),
                         "devices that train: CPU backend, LibTorch on the CPU, LibTorch on a GPU, or block backend; "
                         "several train at the same time"))),
        omits_default(field(&StudyConfig::run, &RunConfig::lease_seconds,
                            within(0.1, 86400, "lease_seconds",
                                   "seconds without a heartbeat after which a worker process loses its trials, which "
                                   "continue elsewhere"))),
        field(&StudyConfig::run, &RunConfig::seed, from(0, "seed", "seed of everything random")),
        field(&StudyConfig::run, &RunConfig::memory_gib,
              from(0, "memory_gib", "limit of tensor memory in GiB; 0: three quarters of the machine"))}},
      {"cluster",
       "hosts of worker processes and pipeline ranks",
       {omits_default(field(&StudyConfig::cluster, &study::ClusterConfig::ssh,
                            any("ssh",
                                "hosts that run worker processes, started by ssh in turn; here: this machine; never "
                                "changes results"))),
        omits_default(field(&StudyConfig::cluster, &study::ClusterConfig::slurm,
                            any("slurm",
                                "options of srun for the Slurm jobs of the workers, such as partition=short; never "
                                "changes results"))),
        omits_default(field(&StudyConfig::cluster, &study::ClusterConfig::places,
                            any("places",
                                "hosts that run the ranks of run.pipeline, except the worker's own, started by ssh in "
                                "turn; here: the worker's host; never changes results"))),
        omits_default(
            field(&StudyConfig::cluster, &study::ClusterConfig::link_us,
                  from(0, "link_us", "time of a message to a host of places in microseconds, for the plan of stages"))),
        omits_default(field(&StudyConfig::cluster, &study::ClusterConfig::link_gb_per_second,
                            from(0, "link_gb_per_second",
                                 "bandwidth to a host of places in GB/s, for the plan of stages; 0: not counted")))}},
      {"keep",
       "what stays on disk",
       {field(&StudyConfig::keep, &KeepConfig::top, within(1, 1e6, "top", "number of trials with kept weights")),
        omits_default(field(&StudyConfig::keep, &KeepConfig::ensemble,
                            within(0, 1000, "ensemble",
                                   "selections for a blend of kept trials, which becomes best/ if it is better on the "
                                   "validation part; 0: no blend")))}}};
}

}  // namespace lanista::studyfile
