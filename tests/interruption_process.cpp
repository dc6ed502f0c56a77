#include "interruption_process.h"

#include <algorithm>
#include <initializer_list>
#include <string>
#include <utility>

#include "lanista/engine/core/resolve_from_data.h"
#include "lanista/engine/local/worker_executor.h"
#include "lanista/io/studyfile/study_file.h"
#include "support/engine/core/test_support.h"

namespace lanista::interruptions {

using engine::testing::kFolder;

namespace {

/// Returns settings with epochs of one data pass, or of 1 to 9 steps, so that epochs end at any step of a pass.
std::string random_budget(Rng& rng, std::int64_t epochs) {
  if (rng.bernoulli(0.2)) return "epochs: " + std::to_string(epochs);
  const std::int64_t each = rng.between(1, 9);
  const std::string length = "steps_per_epoch: " + std::to_string(each);
  if (rng.bernoulli(0.5)) return length + ", epochs: " + std::to_string(epochs);
  return length + ", steps: " + std::to_string(rng.between((epochs - 1) * each + 1, epochs * each));
}

/// Returns a stopping rule with full rungs, for trials of at least two epochs.
std::string random_halving(Rng& rng, std::int64_t epochs) {
  std::string text = "stop: {eta: 2, brackets: " + std::string(rng.bernoulli(0.5) ? "together" : "in_turn") +
                     ", cycles: " + std::to_string(rng.between(0, 2));
  if (rng.bernoulli(0.5)) {
    const char* variants[] = {"ceil", "floor_ratio", "ceil_ratio"};
    return text + ", rule: hyperband, variant: " + variants[rng.below(3)] + "}\n";
  }
  const bool two = epochs > 2 && rng.bernoulli(0.5);
  return text + ", rule: successive_halving, rungs: " + (two ? "[1, 2]" : "[1]") +
         ", trials: " + std::to_string(rng.between(two ? 4 : 2, 7)) + "}\n";
}

std::string random_study_text(Rng& rng, StudyKind kind) {
  const bool real = kind.real;
  const auto pick = [&](std::initializer_list<const char*> from) {
    return std::string(*(from.begin() + rng.below(from.size())));
  };
  const std::int64_t epochs = rng.between(kind.promotion ? 2 : 1, real ? 4 : 6);
  const std::int64_t trials = rng.between(2, real ? 6 : 20);
  std::string text = "model: {base: builtin:small-mlp}\n";
  Rng for_folds = rng.split("folds");  // own stream, so that the other settings are those from before folds existed
  const std::int64_t folds = for_folds.bernoulli(0.3) ? for_folds.between(2, 3) : 0;
  text += "data: {source: \"synthetic:blobs?rows=40&classes=3&features=4&seed=1\", batch: 8" +
          (folds > 0 ? ", folds: " + std::to_string(folds) : std::string()) + "}\n";
  text += "space: {" + std::string(rng.bernoulli(0.5) ? "mutate: [widen, deepen], " : "") +
          "params: {optimizer: [sgd, adam], lr: log(0.001, 0.3)}}\n";
  text += "train: {" + random_budget(rng, epochs) + (rng.bernoulli(0.3) ? ", keep: last" : "") + "}\n";
  text += "strategy: {name: " + pick({"random", "evolution", "tpe", "sobol", "local_search", "nsga2"}) +
          ", slots: " + std::to_string(rng.between(1, rng.bernoulli(0.5) ? 3 : 16));
  if (rng.bernoulli(0.25)) text += ", repeat: 2";
  if (rng.bernoulli(0.25)) text += ", retry: 1";
  text += "}\n";
  std::string synchronous;
  if (Rng for_rule = rng.split("rule"); epochs > 1 && for_rule.bernoulli(kind.promotion ? 0.5 : 0.3)) {
    synchronous = random_halving(for_rule, epochs);
  }
  const std::size_t before_rule = text.size();
  if (kind.promotion || rng.bernoulli(0.6)) {
    std::string rungs = pick({"[1]", "[1, 2]", "[2, 4]", "[1, 3]"});
    if (rungs == "[2, 4]" && epochs <= 2) rungs = "[1]";  // a rule that can never act is refused
    text += "stop: {rule: asha, eta: 2, rungs: " + rungs;
    if (kind.promotion || rng.bernoulli(0.4)) text += ", type: promotion";
    text += "}\n";
    if (epochs == 1) text.resize(before_rule);
  } else if (rng.bernoulli(0.4)) {
    const std::int64_t patience = rng.between(1, 2);
    text += "stop: {rule: patience, epochs: " + std::to_string(patience) + ", min_delta: " + pick({"0", "0.05"}) +
            ", on: " + pick({"val_loss", "val_accuracy"}) + "}\n";
    if (patience >= epochs) text.resize(before_rule);
  } else if (rng.bernoulli(0.5)) {
    text += "stop: {rule: median, startup: 2, mode: " + pick({"vizier", "optuna"}) + "}\n";
  }
  if (!synchronous.empty()) text = text.substr(0, before_rule) + synchronous;
  text += "budget: {trials: " + std::to_string(folds > 0 ? std::max<std::int64_t>(trials, 6) : trials);
  if (rng.bernoulli(0.25)) text += ", steps: " + std::to_string(rng.between(4, 4 * epochs * trials));
  text += ", guard_minutes: 200000}\nkeep: {top: " + std::to_string(rng.between(1, 4)) +
          ", checkpoint_every: " + pick({"0s", "1s", "1000s"}) + "}\nrun: {seed: " + std::to_string(rng.below(1000)) +
          "}\n";
  return text;
}

/// An executor that fails instead of an endless wait of the engine.
class WaitLimitExecutor final : public engine::testing::ForwardingExecutor {
 public:
  WaitLimitExecutor(engine::Executor& inner, int max_waits) : ForwardingExecutor(inner), max_waits_(max_waits) {}
  std::optional<engine::Report> next(double seconds) override {
    auto report = ForwardingExecutor::next(seconds);
    waited_ = report ? 0 : waited_ + 1;
    if (waited_ < max_waits_) return report;
    return engine::ExecutorErrorReport{Error{Code::kInternal, "the engine waits without end", ""}};
  }

 private:
  int max_waits_, waited_ = 0;
};

}  // namespace

Study random_study(Rng& rng, StudyKind kind) {
  auto config = studyfile::read_study(random_study_text(rng, kind), "random");
  LANISTA_CHECK(config.ok(), config ? "" : config.error().text());
  auto data = data::open(config->data, ".", real_file_system(), config->strategy.repeat);
  LANISTA_CHECK(data.ok(), "the data are synthetic");
  LANISTA_CHECK(engine::resolve_from_data(*config, data->spec()).ok(), "everything fits blobs");
  Study study{*std::move(config), *std::move(data), {}, {}, kind.real};
  study.fake.rows = study.data.spec().split_rows[0];
  if (rng.bernoulli(0.4)) study.fake.fail_one_in = 5;
  if (rng.bernoulli(0.4)) study.fake.nan_one_in = 5;
  if (rng.bernoulli(0.3)) study.fake.refuse_one_in = 6;
  return study;
}

StudyProcess::StudyProcess(const Study& study, FileSystem& fs, const ProcessSettings& settings)
    : study_(study), workers_(settings.workers), fs_(fs), clock_(settings.tick) {
  if (study.real) {
    engine::WorkerConfig worker_config;
    worker_config.study_folder = kFolder;
    worker_config.workers = settings.workers;
    worker_config.metrics = study.config.train.measured.metrics;
    worker_config.checkpoint_every = study.config.keep.checkpoint_every;
    worker_config.crash_marks = false;
    executor_ = *runtime::WorkerExecutor::create(worker_config, study.data, study.operators, fs, clock_);
  } else {
    engine::FakeOptions options = study.fake;
    options.seed = settings.seed;
    options.workers = settings.workers;
    options.checkpoint_one_in = settings.checkpoint_one_in;
    executor_ = std::make_unique<engine::FakeExecutor>(options, store::CheckpointStore(fs, kFolder));
  }
  wait_limit_executor_ = std::make_unique<WaitLimitExecutor>(*executor_, study.real ? 240 : 1000);
}

Result<void> StudyProcess::create() {
  LANISTA_ASSIGN(engine_, engine::Engine::create(kFolder, study_.config, studyfile::write_study(study_.config),
                                                 numerics_, services()));
  return {};
}

Result<void> StudyProcess::resume(const engine::Engine::Extension& extension) {
  LANISTA_ASSIGN(engine_, engine::Engine::resume(kFolder, extension, numerics_, services()));
  return {};
}

engine::Services StudyProcess::services() {
  return {.fs = &fs_,
          .clock = &clock_,
          .sink = nullptr,
          .executor = wait_limit_executor_.get(),
          .data = &study_.data.spec(),
          .pause = &pause,
          .observer = observer,
          .machine = {.workers = workers_}};
}

}  // namespace lanista::interruptions
