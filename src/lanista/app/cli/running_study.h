#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "lanista/app/cli/live_page.h"
#include "lanista/app/cli/progress.h"
#include "lanista/app/cli/session.h"
#include "lanista/app/cli/signals.h"
#include "lanista/app/cli/worker_overrides.h"
#include "lanista/base/clock.h"
#include "lanista/base/log_sink.h"
#include "lanista/base/result.h"
#include "lanista/engine/core/engine.h"
#include "lanista/engine/local/device_pool.h"
#include "lanista/io/data/dataset.h"

namespace lanista::cli {

/// Prints warnings and errors on stderr. It stores nothing.
class WarningSink final : public LogSink {
 public:
  void write(const LogEvent& event) override;  ///< Prints an event of level kWarning or above, ignores others.
};

/// A study in its folder with all that a run needs: executor, devices, progress, report page and signals. Members are
/// in the order of construction.
class RunningStudy {
 public:
  /// Stores the data of the study and writes nothing. make_executor() must follow.
  RunningStudy(const study::StudyConfig& config, std::string folder, data::Dataset data, const DisplayOptions& view);

  /// Makes the executor: threads, or worker processes. Errors: those of devices, launchers and processes.
  Result<void> make_executor(const WorkerOverrides& worker_overrides);

  /// Returns the services that an engine uses. Call it after make_executor(). They are valid as long as this object.
  engine::Services services();
  /// Returns the numeric class of the only device as JSON, as the log stores it: class, isa, compiler, threads,
  /// flush_to_zero and, for a backend, device. With several devices it is that of the CPU kernels.
  nlohmann::json numerics() const;
  const data::Dataset& data() const { return data_; }

  /// Prints the first lines of a run on stderr, unless quiet: workers, data and strategy. `what` is "study" or
  /// "resume". With DisplayOptions::open it also starts the live report page.
  void print_banner(const char* what);

  /// Trains until the study ends or pauses. After an end it writes the report, compares the model in best/ with its
  /// ONNX file and, unless json, prints the table. Returns kDone, kStudyFailed, or the exit code of the pause.
  int run(engine::Engine& engine);

 private:
  Result<void> make_device_pool(const engine::WorkerConfig& worker_config,
                                const std::vector<runtime::NamedBackend>& named);
  std::string workers_text() const;
  void print_device_warnings();
  void assess(bool tested);
  bool write_outputs(const engine::Engine& engine);
  void print_header(const char* what) const;

  study::StudyConfig config_;
  std::string folder_;
  DisplayOptions display_;
  RealClock clock_;
  WarningSink sink_;
  PauseSignals signals_;
  data::Dataset data_;
  std::unique_ptr<engine::Executor> executor_;
  plan::Machine machine_;
  const program::Backend* backend_ = nullptr;      // of the only device; null: CPU kernels, or several devices
  std::vector<const program::Backend*> backends_;  // of all devices with a backend
  std::vector<engine::TrainingDevice> devices_;    // empty unless there are several
  engine::MeasureDevices measure_;
  bool uses_processes_ = false;
  Progress progress_;
  std::optional<LivePageThread> page_;
};

}  // namespace lanista::cli
