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

// Several devices train one study. The device of a trial is a function of the log, never of a clock.
namespace lanista::mutate {
class ModelSpace;
}
namespace lanista::data {
struct DataSpec;
}

namespace lanista::engine {

struct Job;

/// One device of an executor.
struct TrainingDevice {
  std::string name;                ///< As in run.devices.
  std::string numeric_class;       ///< Devices of one class give the same bits.
  schedule::Machine machine = {};  ///< Its workers, lanes and memory.
  /// Whether the device has the operators and the precision of a job. If not, another device trains it. The engine's
  /// thread calls it. Null: it supports every job.
  std::function<bool(const Job& job)> supports = {};
};

/// The devices of a study with their speeds, in work (logical_epoch_of) per second.
struct DeviceTable {
  /// One device.
  struct Row {
    std::string name, numeric_class;   ///< As in TrainingDevice.
    schedule::DeviceSpeed speed = {};  ///< Work per second.
  };
  std::vector<Row> rows;  ///< In order of run.devices; below two rows there is no choice.

  /// Whether the devices have several numeric classes. A trial's numbers then depend on its device.
  bool has_several_classes() const;
  /// The row of this name, or null.
  const Row* find(const std::string& name) const;
  /// Whether both tables have equal names and numeric classes in the same order.
  bool has_same_devices(const DeviceTable& other) const;
};

/// Measures the speed of each device at a job, in the executor's order. Called once for a new study, and again when its
/// devices have changed.
using MeasureDevices = std::function<Result<std::vector<schedule::DeviceSpeed>>(const Job& like)>;

/// The job that measures devices: the first trial that a strategy could propose. Errors: those of the model space and
/// of make_job.
Result<Job> benchmark_job(const study::StudyConfig& config, const data::DataSpec& data,
                          const mutate::ModelSpace& models);

/// Adds the table to a `numerics` record, next to the combined numeric class: "own-2/fma + aten/1.13.0/cpu".
void encode_device_table(const DeviceTable& table, nlohmann::json& numerics);
/// Reads the table from a `numerics` record; empty if the record has none. Errors: kDataLoss.
Result<DeviceTable> decode_device_table(const nlohmann::json& numerics);

}  // namespace lanista::engine
