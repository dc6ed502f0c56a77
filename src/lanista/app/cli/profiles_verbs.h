#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "lanista/engine/forecast/timing_history.h"
#include "lanista/search/study/config.h"

namespace lanista::cli {

/// Options of `profiles ls`, `show` and `rm`.
struct ProfilesRequest {
  std::string folder;  ///< folder of the step times
  std::string name;    ///< name of a study in the folder, or a unique beginning of it
  bool all = false;    ///< rm: remove everything
  bool json = false;   ///< print JSON
};
/// Prints the studies with stored times, and how well their times predict others. Returns the exit code.
int profiles_list(const ProfilesRequest& request);
/// Prints the step times of a study's programs. Returns the exit code.
int profiles_show(const ProfilesRequest& request);
/// Removes the times of a study, or all. Returns the exit code.
int profiles_remove(const ProfilesRequest& request);

/// The key of this machine in stored times. An empty `numeric_class` is that of the CPU kernels.
std::string this_device_key(std::string_view numeric_class = {});
/// The stored times for this machine; null without any, or without a folder. Damaged files are reported on stderr.
/// `numeric_class` is that of this_device_key().
std::shared_ptr<const engine::TimingHistory> read_known_times(const std::string& folder,
                                                              std::string_view numeric_class = {});
/// The folder in which `lanista run` stores times by default.
std::string default_profiles_folder();
/// The folder of times for a plan: `requested` (a folder, or off), or else run.profiles of the study, relative to
/// `folder` of the study file. auto is default_profiles_folder(). Empty: off.
std::string planned_profiles_folder(const std::optional<std::string>& requested, const study::StudyConfig& config,
                                    const std::string& folder);

}  // namespace lanista::cli
