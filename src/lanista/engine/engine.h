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
#include "lanista/data/dataset.h"
#include "lanista/engine/executor.h"
#include "lanista/mutate/model_space.h"
#include "lanista/store/checkpoints.h"
#include "lanista/store/log.h"
#include "lanista/strategy/strategy.h"
#include "lanista/study/config.h"
#include "lanista/study/trial.h"

namespace lanista::engine {

/// One trial as the log tells it.
struct TrialView {
  TrialId id;
  study::Proposal proposal;
  std::vector<study::Measurement> measurements;  ///< delivered, in order
  std::optional<study::Outcome> outcome;         ///< absent: running
  double logical_start = 0;
  std::int64_t parameters = 0;
};

/// A study as its records tell it: a fold, the same whether records come from a running engine or from the disk.
struct StudyView {
  study::StudyConfig config;
  std::string config_text;                ///< the resolved study file
  nlohmann::json data;                    ///< DataSpec facts
  std::vector<TrialView> trials;          ///< index = id - 1
  std::optional<std::string> end_reason;  ///< set when the study has ended
  std::optional<TrialId> winner;
  std::map<std::string, double> test;  ///< of the winner
  std::int64_t steps = 0;              ///< delivered training steps
  double seconds = 0;                  ///< worked, over all attempts
};
/// Errors: kDataLoss (records that contradict each other), kFailedPrecondition (newer schema).
Result<StudyView> fold(const std::vector<store::Record>& records);

/// Finished trials from best to worst by the goals: last measurement; ties by fewer parameters, then by id. Failed ones
/// are left out.
std::vector<TrialId> ranking(const StudyView& view);

/// Why run() returned.
enum class End { kDone, kPaused, kStoppedByUser };
struct Summary {
  End end = End::kDone;
  std::string reason;
};

/// Told what happens, for progress displays. Called on the engine's thread.
struct Observer {
  std::function<void(const StudyView&, const study::Event&)> on_event;
  std::function<void(const StudyView&)> on_idle;  ///< at least every quarter second
};

/// What the engine works with; all outlive it.
struct Services {
  FileSystem* fs = nullptr;
  const Clock* clock = nullptr;
  LogSink* sink = nullptr;
  Executor* executor = nullptr;
  const data::DataSpec* data = nullptr;
  const std::atomic<int>* pause = nullptr;  ///< non-zero: pause cleanly; the number is handed back untouched
  Observer observer;
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
  /// Continues from the log. Extra trials or minutes are logged as a control record. Errors: also kNotFound,
  /// kUnavailable, kDataLoss.
  struct Extension {
    std::optional<std::int64_t> trials;
    std::optional<double> minutes;
  };
  static Result<std::unique_ptr<Engine>> resume(const std::string& folder, const Extension& extension,
                                                const nlohmann::json& numerics, Services services);
  virtual ~Engine() = default;

  virtual const StudyView& view() const = 0;
  /// Runs to the end, a pause or an error. On an error everything logged so far stays valid, and the study can be
  /// resumed.
  virtual Result<Summary> run() = 0;
};

/// The configuration a study folder was started with (from its log). Errors: kNotFound, kDataLoss.
Result<study::StudyConfig> stored_config(FileSystem& fs, const std::string& folder);

/// Model space and search space of a configuration for a given data set. Errors: kInvalidArgument with the
/// configuration key in `where`.
Result<std::shared_ptr<const mutate::ModelSpace>> make_model_space(const study::StudyConfig& config,
                                                                   const data::DataSpec& data,
                                                                   const std::string& folder, FileSystem& fs);

}  // namespace lanista::engine
