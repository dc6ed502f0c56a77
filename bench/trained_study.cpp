#include "bench/trained_study.h"

#include <algorithm>

#include "bench/arms.h"
#include "lanista/base/check.h"
#include "lanista/base/clock.h"
#include "lanista/base/log_sink.h"
#include "lanista/base/memory_file_system.h"
#include "lanista/engine/core/engine.h"
#include "lanista/engine/core/resolve_from_data.h"
#include "lanista/engine/local/worker_executor.h"
#include "lanista/io/store/log.h"
#include "lanista/io/studyfile/study_file.h"

namespace lanista::bench {

study::StudyConfig study_for(const std::string& yaml, const data::Dataset& data) {
  auto config = studyfile::read_study(yaml, "benchmark");
  LANISTA_CHECK(config.ok(),
                "the study file of the benchmark is valid: " + (config ? std::string() : config.error().text()));
  const auto fitted = engine::resolve_from_data(*config, data.spec());
  LANISTA_CHECK(fitted.ok(),
                "the study file of the benchmark is valid: " + (fitted ? std::string() : fitted.error().text()));
  return *std::move(config);
}

Result<TrainedStudy> train_study(const study::StudyConfig& config, const data::Dataset& data,
                                 const ExecutorSettings& executor_settings) {
  const std::string folder = "study";
  MemoryFileSystem disk;
  RealClock clock;
  NullSink sink;
  engine::WorkerConfig worker_config;
  worker_config.study_folder = folder;
  worker_config.workers = executor_settings.workers;
  worker_config.lanes = executor_settings.lanes;
  worker_config.metrics = config.train.measured.metrics;
  worker_config.checkpoint_every = config.keep.checkpoint_every;
  worker_config.crash_marks = false;
  runtime::WorkerOptions options;
  if (!executor_settings.shares_epochs) options.shared_epoch_bytes = 0;
  const program::Operators operators;
  LANISTA_ASSIGN(const auto executor,
                 runtime::WorkerExecutor::create(worker_config, data, operators, disk, clock, options));
  const engine::Services services{.fs = &disk,
                                  .clock = &clock,
                                  .sink = &sink,
                                  .executor = executor.get(),
                                  .data = &data.spec(),
                                  .pause = nullptr,
                                  .observer = {},
                                  .machine = executor->machine()};
  TrainedStudy out;
  const double begin = now_seconds();
  LANISTA_ASSIGN(const auto engine, engine::Engine::create(folder, config, studyfile::write_study(config),
                                                           runtime::numerics(kernels::best_isa()), services));
  LANISTA_ASSIGN(const auto summary, engine->run());
  out.seconds = now_seconds() - begin;
  if (summary.end != engine::RunEnd::kDone)
    return Error{Code::kInternal, "the study ended early: " + summary.reason, ""};
  out.view = engine->view();
  LANISTA_ASSIGN(const auto records, store::read_log(disk, folder));
  out.canonical = store::canonical_export(records);
  return out;
}

double training_seconds(const study::StudyView& view) {
  double seconds = 0;
  for (const study::Span& span : view.spans) seconds += std::max(0.0, span.ended - span.began);
  return seconds;
}

}  // namespace lanista::bench
