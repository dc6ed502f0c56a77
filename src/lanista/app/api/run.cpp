#include "lanista/run.h"

#include <atomic>
#include <utility>

#include "lanista/app/api/guarded.h"
#include "lanista/app/api/study_session.h"
#include "lanista/app/cli/expected_study.h"
#include "lanista/engine/core/moved_data.h"
#include "lanista/engine/core/resolve_from_data.h"
#include "lanista/exec/train/baseline.h"
#include "lanista/io/studyfile/study_file.h"

namespace lanista {
namespace {

// Signal handlers of a study can reach nothing but static state, so a process has one study at a time.
std::atomic<bool> is_running = false;

/// Calls `body` unless the process runs a study. Errors: kFailedPrecondition.
template <class Body>
Result<RunSummary> as_only_study(Body&& body) {
  if (is_running.exchange(true)) {
    return Error{Code::kFailedPrecondition, "this process runs another study; allowed is one at a time", ""};
  }
  auto result = api::guarded(std::forward<Body>(body));
  is_running = false;
  return result;
}

Result<RunSummary> begin_study(const Study& study, const std::string& folder, const RunOptions& options) {
  LANISTA_ASSIGN(const cli::WorkerOverrides worker_overrides, api::worker_overrides_of(options));
  LANISTA_ASSIGN(cli::ResolvedRequest resolved, api::resolve(study, worker_overrides));
  study::StudyConfig& config = resolved.config;
  LANISTA_TRY(studyfile::rebase_paths(config, resolved.source.folder, folder));
  api::StudySession session(config, folder, std::move(resolved.data), options);
  session.warn(resolved.notes);
  LANISTA_TRY(session.make_executor(worker_overrides));
  engine::Services services = session.services();
  services.baselines =
      train::baselines(session.data(), engine::loss_name(config, session.data().spec()), config.train.measured.metrics);
  auto engine =
      engine::Engine::create(folder, config, studyfile::write_study(config), session.numerics(), std::move(services));
  if (!engine) return resolved.source.with_location(engine.error(), engine.error().where);
  return session.run(**engine);
}

Result<RunSummary> continue_study(const std::string& folder, const RunOptions& options, const Extension& more) {
  LANISTA_ASSIGN(const cli::WorkerOverrides worker_overrides, api::worker_overrides_of(options));
  LANISTA_ASSIGN(study::StudyConfig config, engine::stored_config(real_file_system(), folder));
  const study::StudyConfig stored = config;
  LANISTA_ASSIGN(data::Dataset data, engine::open_study_data(config, folder, real_file_system()));
  LANISTA_TRY(cli::check_unchanged(folder, stored, data, {}));
  api::StudySession session(config, folder, std::move(data), options);
  LANISTA_TRY(session.make_executor(worker_overrides));
  const engine::Engine::Extension extension{.trials = more.trials, .minutes = more.minutes, .steps = more.steps};
  LANISTA_ASSIGN(const auto engine, engine::Engine::resume(folder, extension, session.numerics(), session.services()));
  return session.run(*engine);
}

}  // namespace

Result<RunSummary> run(const Study& study, const std::string& folder, const RunOptions& options) {
  return as_only_study([&] { return begin_study(study, folder, options); });
}

Result<RunSummary> resume(const std::string& folder, const RunOptions& options, const Extension& more) {
  return as_only_study([&] { return continue_study(folder, options, more); });
}

}  // namespace lanista
