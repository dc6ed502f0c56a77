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

/// What `lanista profiles` was asked.
struct ProfilesRequest {
  std::string folder;
  std::string name;  ///< of a study's file, or enough of its beginning
  bool all = false;  ///< rm: everything
  bool json = false;
};
int profiles_list(const ProfilesRequest& request);
int profiles_show(const ProfilesRequest& request);
int profiles_remove(const ProfilesRequest& request);

/// This machine, as times are told of it; `numeric_class` empty: that of own kernels.
std::string this_device_key(std::string_view numeric_class = {});
/// What is known on this machine; damaged files are told on stderr. Null: nothing, or no folder. `numeric_class`: as
/// above.
std::shared_ptr<const engine::TimingHistory> read_known_times(const std::string& folder,
                                                              std::string_view numeric_class = {});
/// Where `lanista run` puts times, if nothing else is said.
std::string default_profiles_folder();
/// Of a study file that is to be planned: `requested` (a folder, or off), else what its run.profiles says, told from
/// `folder`, where the file lies; with auto where `lanista run` would put its times.
std::string planned_profiles_folder(const std::optional<std::string>& requested, const study::StudyConfig& config,
                                    const std::string& folder);

}  // namespace lanista::cli
