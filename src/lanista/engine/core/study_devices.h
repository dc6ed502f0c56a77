#pragma once

#include <functional>
#include <span>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "lanista/base/result.h"
#include "lanista/plan/grouping/device_choice.h"
#include "lanista/plan/grouping/plan.h"
#include "lanista/search/study/config.h"

// Several devices that train one study. Which of them trains a trial is a function of the log, and never of a clock.
namespace lanista::mutate {
class ModelSpace;
}
namespace lanista::data {
struct DataSpec;
}

namespace lanista::engine {

struct Job;

/// One that an executor has.
struct TrainingDevice {
  std::string name;           ///< as run.devices says
  std::string numeric_class;  ///< devices of one class give the same bits
  schedule::Machine machine = {};
  /// Whether it has all that the job asks for (operators, precision): else another one is to train it. Called from the
  /// engine's thread; null: it has.
  std::function<bool(const Job& job)> supports = {};
};

/// What a study of several has, and how fast each of them is, in work (StudyEngine::logical_epoch_of) a second.
struct DeviceTable {
  struct Row {
    std::string name, numeric_class;
    schedule::DeviceSpeed speed = {};
  };
  std::vector<Row> rows;  ///< as run.devices has them; fewer than two: there is nothing to choose

  bool has_several_classes() const;  ///< several classes: a trial's numbers depend on who trains it
  const Row* find(const std::string& name) const;
  bool has_same_devices(const DeviceTable& other) const;
};

/// Speeds of each of an executor's devices at a job, in its order. Asked once in a study's life, and again where its
/// devices have changed.
using MeasureDevices = std::function<Result<std::vector<schedule::DeviceSpeed>>(const Job& like)>;

/// What devices are timed with: the first trial of all that a strategy could propose. Errors: those of models and
/// make_job.
Result<Job> benchmark_job(const study::StudyConfig& config, const data::DataSpec& data,
                              const mutate::ModelSpace& models);

/// The table as a record of numerics holds it, beside the class of all of them: "own-2/fma + aten/1.13.0/cpu".
/// Errors: kDataLoss.
void encode_device_table(const DeviceTable& table, nlohmann::json& numerics);
Result<DeviceTable> decode_device_table(const nlohmann::json& numerics);

}  // namespace lanista::engine
