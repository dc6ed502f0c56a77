#pragma once

#include <cstddef>
#include <optional>
#include <string>

#include "lanista/engine/core/active_trials.h"
#include "lanista/engine/core/study_context.h"
#include "lanista/engine/core/study_devices.h"

namespace lanista::engine {

/// The device table of a `numerics` record: name, numeric class and speed of each device. It is empty if the number of
/// devices in `services` differs, for example when an ended study is opened, or if the record has no valid table.
DeviceTable current_devices(const nlohmann::json& numerics, const Services& services);

/// Chooses the device of each trial: of the devices that support its job, the one that would end it first at the
/// measured speeds. Not thread-safe.
class DeviceChooser {
 public:
  /// Uses the device table of the study's `numerics` record. `active` gives the devices of running trials. Both
  /// arguments outlive this.
  DeviceChooser(const StudyContext& study, const ActiveTrials& active);

  /// Name of the device for the record of a new proposal. It is recorded only if the devices have several numeric
  /// classes, because the numbers then depend on it; otherwise the result is empty. A job that cannot be made gets the
  /// first device. Always succeeds.
  Result<std::string> device_to_record(const TrialView& trial, double logical_epoch, const graph::Graph& model) const;
  /// Index in Services::devices of the device that trains a job of an open trial. With several numeric classes it is
  /// the recorded device, or 0 if none is recorded or it is gone. Otherwise it is the one that would end it first.
  /// 0 if there are fewer than two devices or none supports the job.
  std::size_t device_for(const Job& job) const;

 private:
  /// The device with the least work per speed among those that support the job. `work` is the job's own.
  std::size_t least_loaded_device(const Job& job, double work) const;
  /// The device that has an open trial; nullopt: none.
  std::optional<std::size_t> assigned_device(TrialId id) const;

  const StudyContext& study_;
  const ActiveTrials& active_;
  DeviceTable devices_;  ///< Below two rows there is no choice.
};

}  // namespace lanista::engine
