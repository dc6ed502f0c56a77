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

/// Returns workers, lanes and devices of a run in the form of the command line's options. Errors: kInvalidArgument (a
/// number of workers or lanes that is not 1 to 64).
Result<cli::WorkerOverrides> worker_overrides_of(const RunOptions& options);

/// Returns the checked study with its data, models and devices. `worker_overrides` selects the devices, and its
/// launchers are checked; the returned config keeps the study's own workers and lanes. Errors: those of Study::check().
Result<cli::ResolvedRequest> resolve(const Study& study, const cli::WorkerOverrides& worker_overrides);

/// A log sink that stores the texts of warnings and errors until the engine's thread removes them by drain().
/// Thread-safe.
class WarningBuffer final : public LogSink {
 public:
  void write(const LogEvent& event) override;  ///< Stores an event of level kWarning or above, ignores others.
  /// Adds a warning.
  void add(std::string text);
  /// Returns the warnings since the last call, in order, and removes them.
  std::vector<std::string> drain();

 private:
  std::mutex mutex_;
  std::vector<std::string> warnings_;
};

/// What a run of a study in this process needs around its engine: data set, executor, devices, clock, warnings and
/// pause flag. The caller creates or resumes the engine with services() and numerics(), and run() runs it. Workers are
/// threads of this process.
class StudySession {
 public:
  /// A study with its data set. Nothing is written yet. The next call is make_executor(), without which services() and
  /// run() do not work.
  StudySession(const study::StudyConfig& config, std::string folder, data::Dataset data, const RunOptions& options);
  StudySession(const StudySession&) = delete;
  StudySession& operator=(const StudySession&) = delete;

  /// Makes the executor; call it once, before services(). `worker_overrides` come from RunOptions. Errors: those of
  /// opening devices and starting threads; kUnimplemented (workers that are processes, or cluster.places).
  Result<void> make_executor(const cli::WorkerOverrides& worker_overrides);
  /// Returns the services that an engine uses. They are valid as long as this object. Needs make_executor().
  engine::Services services();
  /// Returns facts that determine the bits of the results, for Engine::create and Engine::resume: numeric class,
  /// instruction level, compiler, threads and flush-to-zero mode, and the name of a device. With several devices they
  /// are those of the CPU. The engine adds to them and logs them as a `numerics` record.
  nlohmann::json numerics() const;
  /// Returns the data set of the study.
  const data::Dataset& data() const { return data_; }
  /// Sends each text to the observer as a warning; without an observer it does nothing. Needs the thread that called
  /// run() or resume().
  void warn(const std::vector<std::string>& texts);
  /// Trains to the end or a pause; a request of RunOptions::stop pauses, with the reason "stop request". At an end it
  /// also writes the assessment and the report, and checks the ONNX file of the model package if there is one. A report
  /// or an assessment that cannot be written is a warning. Errors: those of the engine and of reading the package;
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
  plan::Machine machine_;
  std::vector<runtime::NamedBackend> backends_;
  std::vector<engine::TrainingDevice> devices_;  // if there are several
  engine::MeasureDevices measure_;
};

}  // namespace lanista::api
