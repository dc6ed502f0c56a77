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

/// Prints warnings on stderr. All events are also in the log.
class WarningSink final : public LogSink {
 public:
  void write(const LogEvent& event) override;  ///< Prints a warning, ignores other events.
};

/// A study in its folder with all that a run needs: executor, devices, progress, report page and signals. Members are
/// in the order of construction.
class RunningStudy {
 public:
  /// Stores the data of the study and writes nothing. make_executor() must follow.
  RunningStudy(const study::StudyConfig& config, std::string folder, data::Dataset data, const DisplayOptions& view);

  /// Makes the executor: threads, or worker processes. Errors: those of devices, launchers and processes.
  Result<void> make_executor(const WorkerOverrides& worker_overrides);

  /// Returns the services that an engine uses. They are valid as long as this object.
  engine::Services services();
  /// Returns the numeric classes of the devices as JSON, as the log stores them.
  nlohmann::json numerics() const;
  const data::Dataset& data() const { return data_; }

  /// Prints the first lines of a run on stderr: workers, data and strategy. `what` is "study" or "resume".
  void print_banner(const char* what);

  /// Trains until the study ends or pauses, writes the report and the model, and returns the exit code.
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
