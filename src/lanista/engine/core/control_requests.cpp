#include "lanista/engine/core/control_requests.h"

#include "lanista/base/parse_number.h"

namespace lanista::engine {
namespace {

constexpr std::string_view kStopTrial = "stop-trial-";

std::optional<ControlRequest> parse_request_name(const std::string& name) {
  if (name == "pause") return ControlRequest{ControlRequest::Kind::kPause, {}, name};
  if (name == "stop") return ControlRequest{ControlRequest::Kind::kStop, {}, name};
  if (!name.starts_with(kStopTrial)) return std::nullopt;
  const auto number = parse_number<std::uint32_t>(std::string_view(name).substr(kStopTrial.size()));
  if (!number || *number == 0) return std::nullopt;
  return ControlRequest{ControlRequest::Kind::kStopTrial, TrialId{*number}, name};
}

}  // namespace

Result<std::vector<ControlRequest>> pending_control_requests(FileSystem& fs, const std::string& study_folder) {
  const std::string folder = study_folder + "/control";
  if (!fs.exists(folder)) return std::vector<ControlRequest>();
  LANISTA_ASSIGN(const std::vector<std::string> names, fs.list(folder));
  std::vector<ControlRequest> requests;
  for (const std::string& name : names) {
    if (auto request = parse_request_name(name)) requests.push_back(*request);
  }
  return requests;
}

Result<void> remove_control_request(FileSystem& fs, const std::string& study_folder, const ControlRequest& request) {
  const std::string folder = study_folder + "/control";
  LANISTA_TRY(fs.remove(folder + "/" + request.file));
  return fs.sync_folder(folder);  // so that a power loss does not repeat the request
}

}  // namespace lanista::engine
