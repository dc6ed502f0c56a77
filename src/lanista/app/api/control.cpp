#include "lanista/control.h"

#include "lanista/app/api/guarded.h"
#include "lanista/app/cli/load.h"
#include "lanista/base/file_system.h"

namespace lanista {
namespace {

/// Writes the file `control/NAME`, which the engine reads. `trial`: the trial that the request names; 0: none.
Result<void> request(const std::string& folder, std::string name, std::int64_t trial) {
  return api::guarded([&]() -> Result<void> {
    LANISTA_ASSIGN(const study::StudyView view, cli::load_study(folder));
    if (view.end_reason) {
      return Error{Code::kFailedPrecondition, "the study has ended already (" + *view.end_reason + ")", folder};
    }
    if (trial != 0) {
      const auto count = static_cast<std::int64_t>(view.trials.size());
      if (trial < 0 || trial > count) {
        return Error{
            Code::kNotFound,
            "there is no trial " + std::to_string(trial) + "; the study has trials 1 to " + std::to_string(count),
            folder};
      }
      name += "-trial-" + std::to_string(trial);
    }
    const auto files = real_file_system().confined_to(folder);
    LANISTA_TRY(make_durable_folder(*files, folder + "/control"));
    return write_atomically(*files, folder + "/control/" + name, std::string_view());
  });
}

}  // namespace

Result<void> request_pause(const std::string& folder) { return request(folder, "pause", 0); }

Result<void> request_stop(const std::string& folder) { return request(folder, "stop", 0); }

Result<void> request_stop_trial(const std::string& folder, std::int64_t trial) {
  return request(folder, "stop", trial == 0 ? -1 : trial);
}

}  // namespace lanista
