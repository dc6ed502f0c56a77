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
  std::string folder;  ///< Folder of the timing history.
  std::string name;    ///< Name of a study in the folder, or a unique beginning of it.
  bool all = false;    ///< Rm: true removes the times of all studies.
  bool json = false;   ///< True: print JSON.
};
/// Prints the studies with stored times, and how well their times predict others. Returns the exit code.
int profiles_list(const ProfilesRequest& request);
/// Prints the step times of a study's programs. Returns the exit code.
int profiles_show(const ProfilesRequest& request);
/// Removes the times of a study, or all. Returns the exit code; an error if several names begin with `name`.
int profiles_remove(const ProfilesRequest& request);

/// Returns the key under which the timing history has step times of this machine: its CPU model and the numeric class.
/// Machines with one CPU model share a key. An empty `numeric_class` is that of the CPU kernels.
std::string this_device_key(std::string_view numeric_class = {});
/// Returns the timing history for this machine; null if the folder is absent or has no times for it. Damaged files are
/// reported on stderr. `numeric_class` is that of this_device_key().
std::shared_ptr<const engine::TimingHistory> read_known_times(const std::string& folder,
                                                              std::string_view numeric_class = {});
/// Returns the folder in which `lanista run` stores step times by default.
std::string default_profiles_folder();
/// Returns the folder of the timing history for a plan: `requested` (a folder, or off), or else run.profiles of the
/// study, relative to `folder` of the study file. auto is default_profiles_folder(). Empty: off.
std::string planned_profiles_folder(const std::optional<std::string>& requested, const study::StudyConfig& config,
                                    const std::string& folder);

}  // namespace lanista::cli
