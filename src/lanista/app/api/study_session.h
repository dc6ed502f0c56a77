#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <stop_token>
#include <string>
#include <vector>

#include "lanista/app/cli/resolved_request.h"
#include "lanista/app/cli/worker_overrides.h"
#include "lanista/base/clock.h"
#include "lanista/base/log_sink.h"
#include "lanista/engine/core/engine.h"
#include "lanista/engine/local/device_pool.h"
#include "lanista/io/data/dataset.h"
#include "lanista/run.h"

namespace lanista::api {

/// The options of a run as those of the command line. Errors: kInvalidArgument (a number that is out of range).
Result<cli::WorkerOverrides> worker_overrides_of(const RunOptions& options);

/// The study with its data, models and devices, checked. Errors: as for Study::check().
Result<cli::ResolvedRequest> resolve(const Study& study, const cli::WorkerOverrides& worker_overrides);

/// Keeps warnings until the engine's thread takes them. Thread-safe.
class WarningBuffer final : public LogSink {
 public:
  void write(const LogEvent& event) override;
  /// Adds a text.
  void add(std::string text);
  /// Returns the warnings since the last call.
  std::vector<std::string> drain();

 private:
  std::mutex mutex_;
  std::vector<std::string> warnings_;
};

/// A study in its folder with everything that its engine uses. Workers are threads of this process.
class StudySession {
 public:
  /// A session without an executor. Nothing is written yet.
  StudySession(const study::StudyConfig& config, std::string folder, data::Dataset data, const RunOptions& options);
  StudySession(const StudySession&) = delete;
  StudySession& operator=(const StudySession&) = delete;

  /// Makes the executor. Errors: of devices and threads; kUnimplemented (workers that are processes).
  Result<void> make_executor(const cli::WorkerOverrides& worker_overrides);
  /// Services for an engine. They are valid as long as the session.
  engine::Services services();
  /// What the bits of the results depend on, for the header of the log.
  nlohmann::json numerics() const;
  /// The data set of the study.
  const data::Dataset& data() const { return data_; }
  /// Sends texts to the observer as warnings.
  void warn(const std::vector<std::string>& texts);
  /// Trains to the end or a pause, then writes the report and checks the model package. Errors: those of the engine;
  /// kInternal (the ONNX file of the package differs from the model).
  Result<RunSummary> run(engine::Engine& engine);

 private:
  void send_event(const engine::StudyView& view, const study::Event& event);
  void send_warnings();
  void assess(bool tested);
  Result<void> write_outputs(const engine::StudyView& view);

  study::StudyConfig config_;
  std::string folder_;
  RealClock clock_;
  WarningBuffer warnings_;
  data::Dataset data_;
  Observer observer_;
  std::atomic<int> pause_ = 0;
  std::stop_callback<std::function<void()>> on_stop_;
  std::unique_ptr<engine::Executor> executor_;
  schedule::Machine machine_;
  std::vector<runtime::NamedBackend> backends_;
  std::vector<engine::TrainingDevice> devices_;  // if there are several
  engine::MeasureDevices measure_;
};

}  // namespace lanista::api
