#include "lanista/io/studyfile/plain_settings.h"

#include <type_traits>

#include "lanista/model/autodiff/loss.h"
#include "lanista/model/autodiff/optimizer.h"
#include "lanista/search/study/metric.h"

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

/// Binds `config.*block.*member`.
template <class Block, class T>
Field field(Block StudyConfig::*block, T Block::*member, OptionSpec spec) {
  Field out;
  spec.kind = kind_of<T>();
  out.spec = std::move(spec);
  out.set = [=](StudyConfig& c, const Json& value) { c.*block.*member = value.get<T>(); };
  out.get = [=](const StudyConfig& c) { return Json(c.*block.*member); };
  return out;
}
template <class Block, class T>
Field field(Block StudyConfig::*block, std::optional<T> Block::*member, OptionSpec spec) {
  Field out;
  spec.kind = kind_of<T>();
  out.spec = std::move(spec);
  out.set = [=](StudyConfig& c, const Json& value) {
    (c.*block.*member).reset();
    if (!value.is_null()) c.*block.*member = value.get<T>();
  };
  out.get = [=](const StudyConfig& c) { return c.*block.*member ? Json(*(c.*block.*member)) : Json(); };
  out.optional = true;
  return out;
}

// A setting that came after studies were written without it.
Field omits_default(Field plain) {
  plain.omits_default = true;
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
Field optimizer_number(std::optional<double> study::TrainConfig::*member, double min, double max,
                       const std::string& name) {
  Field out = field(&StudyConfig::train, member, within(min, max, name, "of " + step::optimizers_reading(name)));
  out.get = [member, name](const StudyConfig& c) {
    const std::optional<double>& given = c.train.*member;
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
      "what to learn from",
      {field(block, &DataConfig::source,
             any("source", "kind:argument?option=value, such as csv:FILE?target=COLUMN; lanista data ls lists them")),
       field(block, &DataConfig::batch, within(1, study::kMaxBatch, "batch", "samples a training step")),
       field(block, &DataConfig::split, within(0, 1, "split", "shares of training, validation and test")),
       field(block, &DataConfig::normalize,
             one_of("normalize", {"auto", "none"}, "auto: zero mean, unit deviation of the training part")),
       omits_default(field(block, &DataConfig::targets,
                   one_of("targets", {"auto", "standardize", "raw"},
                          "that are numbers; auto: zero mean, unit deviation of the training part"))),
       omits_default(field(block, &DataConfig::folds,
                   within(2, study::kMaxFolds, "folds",
                          "cross-validation: training and validation share are dealt into so many folds, and a proposal "
                          "is trained once for each; none: one split")))}};
}

/// Left out where the budget is in steps: those say how many epochs they are.
Field epochs_field() {
  Field out = field(&StudyConfig::train, &study::TrainConfig::epochs,
                    within(1, study::kMaxEpochs, "epochs", "budget of a trial"));
  out.get = [](const StudyConfig& c) { return c.train.steps ? Json() : Json(c.train.epochs); };
  return out;
}

Section train_section() {
  using study::TrainConfig;
  const auto block = &StudyConfig::train;
  std::vector<std::string> losses = step::loss_names();
  losses.insert(losses.begin(), "auto");
  return {
      "train",
      "how every trial is trained, where the space does not say otherwise",
      {field(block, &TrainConfig::loss, one_of("loss", losses, "auto: by the kind of target")),
       epochs_field(),
       omits_default(field(block, &TrainConfig::steps_per_epoch,
                   within(1, study::kMaxStepsPerEpoch, "steps_per_epoch",
                          "steps of every epoch; none: a pass over the training rows"))),
       omits_default(field(block, &TrainConfig::steps,
                   within(1, study::kMaxSteps, "steps", "budget of a trial, in training steps in place of epochs"))),
       omits_default(field(block, &TrainConfig::all_rows_at,
                   within(1, study::kMaxEpochs, "all_rows_at",
                          "fidelity is the share of the data: epoch e below this one reads e / all_rows_at of the "
                          "training rows, a part of what later ones read"))),
       field(block, &TrainConfig::optimizer, one_of("optimizer", step::optimizer_names(), "update rule")),
       field(block, &TrainConfig::schedule,
             one_of("schedule", {"constant", "step", "cosine"}, "learning rate over time")),
       field(block, &TrainConfig::step_every, from(1, "step_every", "schedule step: epochs between drops")),
       field(block, &TrainConfig::step_factor, within(0, 1, "step_factor", "schedule step: factor of a drop")),
       field(block, &TrainConfig::warmup_epochs, from(0, "warmup_epochs", "linear warm-up")),
       field(block, &TrainConfig::clip_norm, from(0, "clip_norm", "limit of the gradient's L2 norm; 0: off")),
       field(block, &TrainConfig::label_smoothing, within(0, 0.999, "label_smoothing", "share spread over classes")),
       field(block, &TrainConfig::lr, from(0, "lr", "learning rate")),
       optimizer_number(&TrainConfig::momentum, 0, 0.9999, "momentum"),
       field(block, &TrainConfig::nesterov, any("nesterov", "of " + step::optimizers_reading("nesterov"))),
       field(block, &TrainConfig::weight_decay,
             from(0, "weight_decay", "L2; decoupled for " + step::decoupled_optimizer_names())),
       optimizer_number(&TrainConfig::beta1, 0, 0.9999, "beta1"),
       optimizer_number(&TrainConfig::beta2, 0, 0.999999, "beta2"),
       optimizer_number(&TrainConfig::eps, 1e-16, 1, "eps"),
       field(block, &TrainConfig::metrics, any("metrics", study::metric_list() + "; empty: by the kind of target")),
       field(block, &TrainConfig::precision,
             one_of("precision", {"float32", "float64", "tf32", "bf16"},
                    "of training; tf32 and bf16, which round the operands of products, on devices of LibTorch")),
       field(block, &TrainConfig::keep,
             one_of("keep", {std::string(study::kKeepBestEpoch), std::string(study::kKeepLast)},
                    "the epoch whose weights and measurement a trial stands for; best_epoch: by the goals")),
       field(block, &TrainConfig::ties,
             one_of("ties", {std::string(study::kTiesByLoss), std::string(study::kTiesToEarlier)},
                    "what decides where all goals are equal, between epochs and between trials")),
       omits_default(field(
           block, &TrainConfig::start,
           one_of("start",
                  {std::string(study::kStartOff), std::string(study::kStartParent), std::string(study::kStartStudy),
                   std::string(study::kStartZoo), std::string(study::kStartFile)},
                  "what trials begin with; off: random values; parent: the weights of the trial that they are a "
                  "mutation of; study: those, else of the kept trial that is most alike; zoo: that, or a model of the "
                  "zoo that gives more; file: see "
                  "start_from"))),
       omits_default(field(block, &TrainConfig::zoo,
                   any("zoo", "start: zoo: its folder, which trials that are kept are put into, too"))),
       omits_default(field(block, &TrainConfig::zoo_tasks,
                   one_of("zoo_tasks", {std::string(study::kSameTask), std::string(study::kRelatedTasks)},
                          "start: zoo: models of the same data, or, where there are none, of other data of the same "
                          "form"))),
       omits_default(field(block, &TrainConfig::start_from,
                   any("start_from",
                       "start: file: an ONNX file, the folder of a model package, or base: the file of the "
                       "base model"))),
       omits_default(
           field(block, &TrainConfig::start_rate,
                 one_of("start_rate", {std::string(study::kFullRate), std::string(study::kEasedRate)},
                        "learning rate behind such a start; eased: in the first twentieth of the steps 1 - coverage of "
                        "it, at least 0.3"))),
       omits_default(
           field(block, &TrainConfig::start_recalibrate,
                 within(0, study::kMaxStartBatches, "start_recalibrate",
                        "batches of training rows that renew batch norm's running statistics before the first epoch of "
                        "a trial with such a start is measured"))),
       omits_default(field(block, &TrainConfig::start_shrink,
                   one_of("start_shrink", {std::string(study::kShrinkFirst), std::string(study::kShrinkByLoss)},
                          "which units a narrower trial takes of a wider parent: the first, or those that the loss "
                          "would miss most, by its gradient"))),
       omits_default(field(block, &TrainConfig::start_optimizer,
                   one_of("start_optimizer", {std::string(study::kFreshOptimizer), std::string(study::kCarryOptimizer)},
                          "carry: a trial whose start is its own model goes on with the parent's slots and steps of "
                          "the optimizer; fresh: with none"))),
       omits_default(
           field(block, &TrainConfig::start_race,
                 within(0, study::kMaxRaceSteps, "start_race",
                        "steps for which a start is trained beside the next best one and random values; what has come "
                        "to the least loss goes on; 0: the start is taken as it is"))),
       omits_default(
           field(block, &TrainConfig::shards,
                 within(1, study::kMaxBatchParts, "shards", "parts of a batch whose gradients are summed in their order"))),
       omits_default(
           field(block, &TrainConfig::accumulate,
                 within(1, study::kMaxBatchParts, "accumulate", "parts of a shard, one after the other in less memory")))}};
}

}  // namespace

std::vector<Section> study_sections() {
  using namespace study;
  return {
      data_section(),
      {"model",
       "where the search starts",
       {field(
           &StudyConfig::model, &ModelConfig::base,
           any("base",
               "builtin:auto (all that suit the data), builtin:small-mlp, builtin:small-cnn, "
               "builtin:small-transformer, builtin:embedding-mlp (a table with categories), or files (net.graph)"))}},
      train_section(),
      {"strategy",
       "what to try next; further keys are the strategy's own options",
       {field(&StudyConfig::strategy, &StrategyConfig::name, any("name", "strategy")),
        field(&StudyConfig::strategy, &StrategyConfig::slots,
              within(1, 4096, "slots", "trials under way at a time on the logical clock")),
        field(&StudyConfig::strategy, &StrategyConfig::repeat,
              within(1, 1000, "repeat",
                     "trainings of every proposal, each with its own seed; with data.folds, dealings of them")),
        field(&StudyConfig::strategy, &StrategyConfig::average,
              one_of("average", {"mean", "median"}, "what the strategy learns, and the winner is chosen by, of them")),
        field(&StudyConfig::strategy, &StrategyConfig::retry,
              within(0, 1000, "retry", "failed trainings of a proposal that are done again with another seed")),
        omits_default(field(&StudyConfig::strategy, &StrategyConfig::order,
                    one_of("order", {std::string(kNeededFirst), std::string(kInformativeFirst), std::string(kAsGiven)},
                           "of a group's trials, where there are rules of implied: whom nobody spares first; by the "
                           "cost that each is expected to spare others over its own; as the strategy has them"))),
        omits_default(field(&StudyConfig::strategy, &StrategyConfig::group,
                    within(0, 4096, "group",
                           "new trials that are asked for at a time; 0: 64 where implied has rules, no trial ends "
                           "early and the strategy learns nothing, else 1")))}},
      {"stop",
       "when to end a trial early; further keys are the rule's own options",
       {field(&StudyConfig::stop, &StopConfig::rule, any("rule", "stopping rule"))}},
      {"budget",
       "when the study ends",
       {field(&StudyConfig::budget, &BudgetConfig::trials,
              within(1, 4294967295.0, "trials", "finished or stopped trials")),
        field(&StudyConfig::budget, &BudgetConfig::steps, from(1, "steps", "training steps over all trials")),
        field(&StudyConfig::budget, &BudgetConfig::guard_minutes,
              within(0.001, 1e6, "guard_minutes", "wall clock; a study it ends says so"))}},
      {"run",
       "how to run",
       {field(&StudyConfig::run, &RunConfig::workers,
              within(0, 64, "workers", "training threads; 0: one per core; never changes results")),
        field(&StudyConfig::run, &RunConfig::lanes,
              within(0, 64, "lanes", "trials a thread trains together, at most; 0: automatic; never changes results")),
        omits_default(
            integer_or_auto(field(&StudyConfig::run, &RunConfig::width,
                          within(1, 8, "width",
                                 "worker processes that train one trial together, at most, where workers are free "
                                 "and train.shards is as large; auto: as shortens its steps; never changes results")))),
        omits_default(
            field(&StudyConfig::run, &RunConfig::pipeline,
                  within(0, 4, "pipeline",
                         "threads of a worker (processes, where workers are) that share the steps of a trial by "
                         "operators, in the micro-batches of train.accumulate; 0: as it pays; never changes results"))),
        omits_default(field(&StudyConfig::run, &RunConfig::isolation,
                    one_of("isolation", {std::string(kThreads), std::string(kProcesses)},
                           "what a worker is; a process that dies costs its trials some time, not the study; never "
                           "changes results"))),
        omits_default(field(&StudyConfig::run, &RunConfig::profiles,
                    any("profiles",
                        "folder in which times of programs are remembered for predictions; auto: .profiles beside "
                        "studies in studies/, off elsewhere; off; never changes results"))),
        omits_default(
            field(&StudyConfig::run, &RunConfig::devices,
                  one_of("devices", devices(),
                         "what trains: own kernels, LibTorch, a GPU through LibTorch, or a GPU with own kernels' bits; "
                         "several train side by side, and results are of their kinds"))),
        omits_default(field(&StudyConfig::run, &RunConfig::lease_seconds,
                    within(0.1, 86400, "lease_seconds",
                           "a worker process that is silent for so long has lost its trials, which go on in another"))),
        field(&StudyConfig::run, &RunConfig::seed, from(0, "seed", "of everything random")),
        field(&StudyConfig::run, &RunConfig::memory_gib,
              from(0, "memory_gib", "limit of tensor memory; 0: three quarters of the machine"))}},
      {"cluster",
       "where worker processes are; the study's folder is one that all of them share",
       {omits_default(field(
            &StudyConfig::cluster, &study::ClusterConfig::ssh,
            any("ssh", "hosts that workers are begun on by ssh, in turn; here: this one; never changes results"))),
        omits_default(field(&StudyConfig::cluster, &study::ClusterConfig::slurm,
                    any("slurm",
                        "options of the Slurm jobs that workers are begun in, one each: partition=short, time=4:00:00; "
                        "never changes results"))),
        omits_default(field(&StudyConfig::cluster, &study::ClusterConfig::places,
                    any("places",
                        "hosts that places of run.pipeline are begun on by ssh, in turn, beside a worker's own; here: "
                        "the worker's; never changes results"))),
        omits_default(field(&StudyConfig::cluster, &study::ClusterConfig::link_us,
                    from(0, "link_us", "what a message to one of `places` takes, by which steps are cut"))),
        omits_default(field(&StudyConfig::cluster, &study::ClusterConfig::link_gb_per_second,
                    from(0, "link_gb_per_second", "speed of the way there, by which steps are cut; 0: not counted")))}},
      {"keep",
       "what stays on disk",
       {field(&StudyConfig::keep, &KeepConfig::top, within(1, 1e6, "top", "trials whose weights are kept")),
        omits_default(field(&StudyConfig::keep, &KeepConfig::ensemble,
                    within(0, 1000, "ensemble",
                           "best/ blends the kept trials, drawn so often in all, if that is better on the validation "
                           "part; 0: it is the best trial")))}}};
}

}  // namespace lanista::studyfile
