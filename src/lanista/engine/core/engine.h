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
#include "lanista/io/data/dataset.h"
#include "lanista/engine/core/executor.h"
#include "lanista/engine/forecast/timing_history.h"
#include "lanista/engine/core/study_devices.h"
#include "lanista/model/mutate/model_space.h"
#include "lanista/plan/grouping/plan.h"
#include "lanista/io/store/checkpoints.h"
#include "lanista/io/store/log.h"
#include "lanista/search/sampler/strategy.h"
#include "lanista/search/study/config.h"
#include "lanista/search/study/trial.h"
#include "lanista/search/study/study_view.h"

namespace lanista::engine {

using study::ranking;
using study::StudyView;
using study::TrialView;

/// A study from its records. Errors: kDataLoss (records that contradict each other), kFailedPrecondition (newer
/// schema).
Result<StudyView> fold(const std::vector<store::Record>& records);

/// Why run() returned.
enum class RunEnd { kDone, kPaused, kStoppedByUser };
struct RunResult {
  RunEnd end = RunEnd::kDone;
  std::string reason;
};

/// Told what happens, for progress displays. Called on the engine's thread.
struct Observer {
  std::function<void(const StudyView&, const study::Event&)> on_event;
  std::function<void(const StudyView&)> on_idle;  ///< at least every quarter second
  /// best/ has been written; the study's end is not on record yet, so that what is made of the package is there when
  /// others read of the end. `tested`: its metrics on the test part are known.
  std::function<void(bool tested)> on_package = {};
};

/// What the engine works with; all outlive it.
struct Services {
  FileSystem* fs = nullptr;
  const Clock* clock = nullptr;
  LogSink* sink = nullptr;
  Executor* executor = nullptr;
  const data::DataSpec* data = nullptr;
  graph::OpTable ops = graph::builtin_ops();  ///< that models may hold
  const std::atomic<int>* pause = nullptr;    ///< non-zero: pause cleanly; the number is handed back untouched
  Observer observer;
  schedule::Machine machine = {};  ///< that the executor trains on
  std::vector<TrainingDevice> devices = {};     ///< of an executor that has several; fewer than two: `machine` says all
  MeasureDevices measure_devices = {};          ///< where there are several
  std::vector<study::Baseline> baselines = {};  ///< of a new study, for its header
  ProfileLocation profiles = {};                   ///< where times are remembered, whenever the study pauses or ends
  std::optional<study::Earlier> earlier = {};   ///< of a new study, for its header: what its strategy knows at first
};

/// Ask, dispatch, observe, record, until the budget is spent. Everything that reaches the log's canonical part happens
/// in logical order: `strategy.slots` logical slots on a clock of steps x modelled FLOPs; worker count and speed never
/// enter.
class Engine {
 public:
  /// A new study in `folder`, which must not exist or be empty: writes header, resolved configuration, README.txt.
  /// Errors: kAlreadyExists (names `resume`), kInvalidArgument (configuration), kIo, kResourceExhausted.
  static Result<std::unique_ptr<Engine>> create(const std::string& folder, const study::StudyConfig& config,
                                                const std::string& config_text, const nlohmann::json& numerics,
                                                Services services);
  /// More of a study, counted from what there is when it is asked for, whatever the budget was: so many trials more
  /// than have been proposed, steps more than have been trained, minutes more than have been worked. What is not named
  /// stays as it is. An extension takes back a stop, obeyed or still lying in `control/`.
  struct Extension {
    std::optional<std::int64_t> trials = {};
    std::optional<double> minutes = {};
    std::optional<std::int64_t> steps = {};
    bool empty() const { return !trials && !minutes && !steps; }
  };
  /// Continues from the log; of a study that has ended, without an extension, only a lost package is rebuilt. An
  /// extension is logged as a control record. Errors: also kNotFound, kUnavailable, kDataLoss, kInvalidArgument (an
  /// extension that would train nothing, because another limit is used up: which).
  static Result<std::unique_ptr<Engine>> resume(const std::string& folder, const Extension& extension,
                                                const nlohmann::json& numerics, Services services);
  virtual ~Engine() = default;

  virtual const StudyView& view() const = 0;
  /// Of a study that has ended: the extension by which it gets as much again of whatever is used up, so that more is
  /// trained; of one that was stopped, what the stop cut off. Empty if none helps: nothing is left to propose.
  virtual Extension suggested_extension() const = 0;
  /// Runs to the end, a pause or an error. On an error everything logged so far stays valid, and the study can be
  /// resumed.
  virtual Result<RunResult> run() = 0;
};

/// The configuration a study folder was started with (from its log). Errors: kNotFound, kDataLoss.
Result<study::StudyConfig> stored_config(FileSystem& fs, const std::string& folder);

/// Model space and search space of a configuration for a given data set. Errors: kInvalidArgument with the
/// configuration key in `where`.
Result<std::shared_ptr<const mutate::ModelSpace>> make_model_space(const study::StudyConfig& config,
                                                                   const data::DataSpec& data,
                                                                   const std::string& folder, FileSystem& fs,
                                                                   const graph::OpTable& ops = graph::builtin_ops());

}  // namespace lanista::engine
