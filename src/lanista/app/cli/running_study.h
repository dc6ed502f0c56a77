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

/// Events worth a person's attention go to stderr; the rest is in the log.
class WarningSink final : public LogSink {
 public:
  void write(const LogEvent& event) override;
};

/// A study in its folder with everything that it runs with: who trains it, who is told, how it is shown. Members are in
/// order of construction.
class RunningStudy {
 public:
  RunningStudy(const study::StudyConfig& config, std::string folder, data::Dataset data, const DisplayOptions& view);

  /// Who trains it. Errors: of devices, launchers and processes.
  Result<void> make_executor(const WorkerOverrides& worker_overrides);

  /// What an engine works with; good as long as this is.
  engine::Services services();
  nlohmann::json numerics() const;
  const data::Dataset& data() const { return data_; }

  /// What a run tells of itself when it begins; `what`: "study" or "resume".
  void print_banner(const char* what);

  /// Trains to the end, hands over what a user takes along, and gives the exit code.
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
  schedule::Machine machine_;
  const nn::Backend* backend_ = nullptr;         // of one device; null: own kernels, or several
  std::vector<const nn::Backend*> backends_;     // of all devices that have one
  std::vector<engine::TrainingDevice> devices_;  // if several
  engine::MeasureDevices measure_;
  bool uses_processes_ = false;
  Progress progress_;
  std::optional<LivePageThread> page_;
};

}  // namespace lanista::cli
