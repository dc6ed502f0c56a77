#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "lanista/base/clock.h"
#include "lanista/base/file_system.h"
#include "lanista/base/log_sink.h"
#include "lanista/base/result.h"
#include "lanista/engine/core/executor.h"
#include "lanista/engine/core/study_devices.h"
#include "lanista/engine/forecast/timing_history.h"
#include "lanista/io/data/dataset.h"
#include "lanista/io/store/checkpoints.h"
#include "lanista/io/store/log.h"
#include "lanista/model/mutate/model_space.h"
#include "lanista/plan/grouping/plan.h"
#include "lanista/search/sampler/strategy.h"
#include "lanista/search/study/config.h"
#include "lanista/search/study/study_view.h"
#include "lanista/search/study/trial.h"

namespace lanista::engine {

using study::ranking;
using study::StudyView;
using study::TrialView;

/// The view of a study, computed from its log records. Errors: kDataLoss (the records contradict each other),
/// kFailedPrecondition (a newer schema).
Result<StudyView> fold(const std::vector<store::Record>& records);

/// Why Engine::run() returned: the study ended, it paused, or the user stopped it.
enum class RunEnd { kDone, kPaused, kStoppedByUser };
/// Result of Engine::run().
struct RunResult {
  RunEnd end = RunEnd::kDone;  ///< Why it returned.
  std::string reason;          ///< Text for the user.
};

/// Callbacks for progress displays. The engine's thread calls them.
struct Observer {
  std::function<void(const StudyView&, const study::Event&)> on_event;  ///< After each event.
  std::function<void(const StudyView&)> on_idle;                        ///< At least every quarter of a second.
  /// After best/ is written and before the end of the study is logged. Files made from the package exist when a reader
  /// of the log sees the end. `tested`: the metrics on the test part are known.
  std::function<void(bool tested)> on_package = {};
};

/// Objects and settings that an engine uses. Objects behind pointers outlive the engine.
struct Services {
  FileSystem* fs = nullptr;                     ///< File system of the study folder.
  const Clock* clock = nullptr;                 ///< Clock for durations and times of day.
  LogSink* sink = nullptr;                      ///< Receives log lines for humans.
  Executor* executor = nullptr;                 ///< Trains the trials.
  const data::DataSpec* data = nullptr;         ///< Description of the data set.
  graph::OpTable ops = graph::builtin_ops();    ///< Operators that models may use.
  const std::atomic<int>* pause = nullptr;      ///< Non-zero: pause cleanly; the engine does not change it.
  Observer observer;                            ///< Progress callbacks.
  schedule::Machine machine = {};               ///< Machine on which the executor trains.
  std::vector<TrainingDevice> devices = {};     ///< Devices of the executor; below two entries `machine` describes all.
  MeasureDevices measure_devices = {};          ///< Measures the devices' speeds, if there are several.
  std::vector<study::Baseline> baselines = {};  ///< For the header of a new study.
  ProfileLocation profiles = {};                ///< Where step times are saved when the study pauses or ends.
  std::optional<study::Earlier> earlier = {};   ///< Trials of an earlier study, for the header of a new one.
};

/// Runs a study: it asks the strategy, starts trials, observes them and records events, until the budget is spent.
///
/// The canonical part of the log is written in logical order: `strategy.slots` logical slots on a clock of steps times
/// modelled FLOPs. Worker count and speed do not affect it. One thread.
class Engine {
 public:
  /// Creates a study in `folder`, which must be absent or empty. Writes the header, config.resolved.yaml and
  /// README.txt. Errors: kAlreadyExists (the message names `resume`), kInvalidArgument (the configuration), kIo,
  /// kResourceExhausted.
  static Result<std::unique_ptr<Engine>> create(const std::string& folder, const study::StudyConfig& config,
                                                const std::string& config_text, const nlohmann::json& numerics,
                                                Services services);
  /// More budget for a study, counted from its current state and not from its first budget. An extension cancels a
  /// stop, also one that still waits in `control/`. Absent fields leave a limit unchanged.
  struct Extension {
    std::optional<std::int64_t> trials = {};  ///< Trials beyond those proposed so far.
    std::optional<double> minutes = {};       ///< Minutes of work beyond those used so far.
    std::optional<std::int64_t> steps = {};   ///< Training steps beyond those trained so far.
    /// Whether no limit is extended.
    bool empty() const { return !trials && !minutes && !steps; }
  };
  /// Opens a study to continue from its log. An extension is logged as a control record. Of a study that has ended,
  /// without an extension, only a lost model package is written again. Errors: those of create(), kNotFound,
  /// kUnavailable, kDataLoss, kInvalidArgument (the extension would train nothing because another limit is used up; the
  /// message names it).
  static Result<std::unique_ptr<Engine>> resume(const std::string& folder, const Extension& extension,
                                                const nlohmann::json& numerics, Services services);
  virtual ~Engine() = default;

  /// The current state of the study.
  virtual const StudyView& view() const = 0;
  /// The extension that gives an ended study as much again of each limit that is used up. For a stopped study, the part
  /// that the stop cut off. Empty if no extension helps, because the strategy has nothing left to propose.
  virtual Extension suggested_extension() const = 0;
  /// Runs until the end, a pause or an error. After an error the log is valid and the study can be resumed.
  virtual Result<RunResult> run() = 0;
};

/// The configuration that the log of a study folder holds. Errors: kNotFound, kDataLoss.
Result<study::StudyConfig> stored_config(FileSystem& fs, const std::string& folder);

/// The model space of a configuration for a data set. Relative paths start at `folder`. Errors: kInvalidArgument with
/// the configuration key in `where`.
Result<std::shared_ptr<const mutate::ModelSpace>> make_model_space(const study::StudyConfig& config,
                                                                   const data::DataSpec& data,
                                                                   const std::string& folder, FileSystem& fs,
                                                                   const graph::OpTable& ops = graph::builtin_ops());

}  // namespace lanista::engine
