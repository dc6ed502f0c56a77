#pragma once

#include <cstddef>
#include <optional>
#include <string>

#include "lanista/engine/core/active_trials.h"
#include "lanista/engine/core/study_context.h"
#include "lanista/engine/core/study_devices.h"

namespace lanista::engine {

/// The device table of a `numerics` record; empty if the devices of `services` differ, for example in an ended study.
DeviceTable current_devices(const nlohmann::json& numerics, const Services& services);

/// Chooses the device of each trial: the one that would end it first among those that support its job.
class DeviceChooser {
 public:
  /// `active` names the devices of the running trials.
  DeviceChooser(const StudyContext& study, const ActiveTrials& active);

  /// The device that a proposal's record stores; empty: the record stores none.
  Result<std::string> device_to_record(const TrialView& trial, double logical_epoch, const graph::Graph& model) const;
  /// Index in Services::devices of the device that trains a job.
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
