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

/// The view of a study, computed from its log records in order. Errors: kDataLoss (a record is malformed or contradicts
/// those before it, or there is no header).
Result<StudyView> fold(const std::vector<store::Record>& records);

/// Why Engine::run() returned: the study ended, it paused, or the user stopped it.
enum class RunEnd { kDone, kPaused, kStoppedByUser };
/// Result of Engine::run().
struct RunResult {
  RunEnd end = RunEnd::kDone;  ///< Why it returned.
  /// Why the study ended, as text for the user. After a pause: its origin, "signal" (Services::pause) or "request" (a
  /// file in `control/`).
  std::string reason;
};

/// Callbacks for progress displays. The engine's thread calls them between events; an empty function is not called.
struct Observer {
  /// After each event: the view, which includes the event, and the event.
  std::function<void(const StudyView&, const study::Event&)> on_event;
  /// With the view, about every quarter of a second, while the engine waits and also between events.
  std::function<void(const StudyView&)> on_idle;
  /// After best/ is written and before the end of the study is logged, so that files made from it exist when the log
  /// shows the end. `tested`: true if the metrics on the test part are known.
  std::function<void(bool tested)> on_package = {};
};

/// Objects and settings that an engine uses. Objects behind pointers are not owned and outlive the engine.
struct Services {
  FileSystem* fs = nullptr;                   ///< File system of the study folder.
  const Clock* clock = nullptr;               ///< Clock for durations and times of day.
  LogSink* sink = nullptr;                    ///< Receives messages for people; null: none are written.
  Executor* executor = nullptr;               ///< Trains the trials.
  const data::DataSpec* data = nullptr;       ///< Description of the data set.
  graph::OpTable ops = graph::builtin_ops();  ///< Operators that models may use.
  /// Set to non-zero by the caller: the engine pauses the study, between two events. Null: it never does.
  const std::atomic<int>* pause = nullptr;
  Observer observer;                         ///< Progress callbacks.
  plan::Machine machine = {};                ///< Workers, lanes and memory of the executor, for planning lane groups.
  std::vector<TrainingDevice> devices = {};  ///< Devices of the executor; with fewer than two, `machine` describes all.
  MeasureDevices measure_devices = {};       ///< Measures the devices' speeds, if there are several; may be empty.
  std::vector<study::Baseline> baselines = {};  ///< Reference results, stored in the header of a new study.
  ProfileLocation profiles = {};  ///< Where step times are saved when the study pauses or ends; empty folder: nowhere.
  std::optional<study::Earlier> earlier = {};  ///< Imported trials, stored in the header of a new study.
};

/// Runs a study: it asks the strategy, starts trials, receives their reports and logs events, until the budget is
/// spent.
///
/// The canonical part of the log is written in logical order: `strategy.slots` logical slots on a clock of steps times
/// modelled FLOPs. Worker count and speed do not affect it. One thread.
class Engine {
 public:
  /// Creates a study in `folder`, which must be absent or empty, and writes the header, config.resolved.yaml,
  /// README.txt, and the frozen or first weights. `config_text` is the study file with every setting. `numerics` is a
  /// JSON object with the facts that determine the bits of the results, such as `class`. Several devices are measured
  /// first (Services::measure_devices).
  ///
  /// Errors: kAlreadyExists (the folder has other files or a study; the message names `resume`), kInvalidArgument (the
  /// configuration), kDataLoss (a path of the study is a link or a special file), kIo, kResourceExhausted. Others are
  /// those of reading weights and of measuring devices.
  static Result<std::unique_ptr<Engine>> create(const std::string& folder, const study::StudyConfig& config,
                                                const std::string& config_text, const nlohmann::json& numerics,
                                                Services services);
  /// More budget for a study, counted from its current state and not from its first budget. An extension also cancels a
  /// stop, even a request that still waits in `control/`. An absent field leaves its limit unchanged.
  struct Extension {
    std::optional<std::int64_t> trials = {};  ///< Trials beyond those proposed so far.
    std::optional<double> minutes = {};       ///< Minutes of work beyond those used so far.
    std::optional<std::int64_t> steps = {};   ///< Training steps beyond those trained so far.
    /// True if no limit is extended.
    bool empty() const { return !trials && !minutes && !steps; }
  };
  /// Opens a study to continue from its log. It cuts a torn tail of the log, and restores missing folders and frozen
  /// weights. run() then logs and applies a non-empty extension first. For a study that has ended, run() with an empty
  /// extension only restores a lost model package.
  ///
  /// Errors: those of create(), kNotFound (no study), kUnavailable (another process runs it), kDataLoss (the log is
  /// damaged). They include kFailedPrecondition (the data or frozen weights have changed, or the schema is newer). An
  /// extension out of range or one that would train nothing gives kInvalidArgument; the message names the used-up
  /// limit.
  static Result<std::unique_ptr<Engine>> resume(const std::string& folder, const Extension& extension,
                                                const nlohmann::json& numerics, Services services);
  virtual ~Engine() = default;

  /// The current state of the study. The reference is valid as long as the engine; events change the view.
  virtual const StudyView& view() const = 0;
  /// The extension that continues a study that ended by its budget or guard, or that the user stopped; else empty.
  ///
  /// A used-up number of trials grows by as many as were proposed. Used-up steps and minutes grow by the limit of the
  /// study file. Without a stop, minutes also grow if less time is left than was used. After a stop with no used-up
  /// limit it is the part that the stop cut off.
  virtual Extension suggested_extension() const = 0;
  /// Runs until the end, a pause or an error. Errors: those of the executor, the strategy and the file system. After an
  /// error the log is valid and the study can be resumed.
  virtual Result<RunResult> run() = 0;
};

/// The configuration in the log header of a study folder. Errors: kNotFound (no study), kDataLoss (the log is damaged),
/// kFailedPrecondition (a newer version wrote it).
Result<study::StudyConfig> stored_config(FileSystem& fs, const std::string& folder);

/// The model space of a configuration for a data set. It reads the base models; relative paths start at `folder`. With
/// train.start: file, the last layer of each base is first adapted to the data. With model.frozen it also reads the
/// frozen weights, to check them.
///
/// Errors: kInvalidArgument with the configuration key in `where` (a model that cannot be read or does not fit the
/// data, a mutator, a blueprint), those of frozen_weights.
Result<std::shared_ptr<const mutate::ModelSpace>> make_model_space(const study::StudyConfig& config,
                                                                   const data::DataSpec& data,
                                                                   const std::string& folder, FileSystem& fs,
                                                                   const graph::OpTable& ops = graph::builtin_ops());

}  // namespace lanista::engine
