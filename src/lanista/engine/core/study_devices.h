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
  std::string name;            ///< Name of the device, as in run.devices.
  std::string numeric_class;   ///< Numeric class; devices of one class give the same bits.
  plan::Machine machine = {};  ///< Its workers, lanes and memory.
  /// True if the device has the operators and the precision of a job. If not, another device trains it. The engine's
  /// thread calls it. Null: it supports every job.
  std::function<bool(const Job& job)> supports = {};
};

/// The devices of a study with their measured speeds.
struct DeviceTable {
  /// One device.
  struct Row {
    std::string name, numeric_class;  ///< Name and numeric class, as in TrainingDevice.
    /// Work (logical_epoch_of, in FLOPs) per second, with one trial and with all workers busy.
    plan::DeviceSpeed speed = {};
  };
  std::vector<Row> rows;  ///< Devices in the order of run.devices; with fewer than two there is no choice.

  /// True if the devices have several numeric classes, so that a trial's numbers depend on its device.
  bool has_several_classes() const;
  /// The row with this name, or null. The pointer is valid until `rows` changes.
  const Row* find(const std::string& name) const;
  /// True if both tables have equal names and numeric classes in the same order. Speeds are not compared.
  bool has_same_devices(const DeviceTable& other) const;
};

/// Measures the speed of each device at a job, in the order of Services::devices. Called once for a new study, and
/// again when its devices have changed. An error fails the start of the study.
using MeasureDevices = std::function<Result<std::vector<plan::DeviceSpeed>>(const Job& like)>;

/// The job with which devices are measured: the first base model without mutations, with the study's default
/// hyper-parameters. Errors: those of the model space and of make_job (kInvalidArgument, kDataLoss).
Result<Job> benchmark_job(const study::StudyConfig& config, const data::DataSpec& data,
                          const mutate::ModelSpace& models);

/// Adds the table to a `numerics` record as the array `devices`, with `name`, `class` and the speeds `alone` and
/// `together` of each device. Sets `class` to the different numeric classes in order: "own-2/fma + aten/1.13.0/cpu".
void encode_device_table(const DeviceTable& table, nlohmann::json& numerics);
/// Reads the table from a `numerics` record; empty if the record has none. Errors: kDataLoss (a field is missing, or a
/// speed is not a positive number).
Result<DeviceTable> decode_device_table(const nlohmann::json& numerics);

}  // namespace lanista::engine
