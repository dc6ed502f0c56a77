#include "lanista/engine/core/control.h"

#include <charconv>

namespace lanista::engine {
namespace {

constexpr std::string_view kStopTrial = "stop-trial-";

std::optional<Request> parse_request(const std::string& name) {
  if (name == "pause") return Request{Request::Kind::kPause, {}, name};
  if (name == "stop") return Request{Request::Kind::kStop, {}, name};
  if (!name.starts_with(kStopTrial)) return std::nullopt;
  const char* begin = name.data() + kStopTrial.size();
  const char* end = name.data() + name.size();
  std::uint32_t number = 0;
  const auto parsed = std::from_chars(begin, end, number);
  if (parsed.ec != std::errc() || parsed.ptr != end || number == 0) return std::nullopt;
  return Request{Request::Kind::kStopTrial, TrialId{number}, name};
}

}  // namespace

Result<std::vector<Request>> pending_requests(FileSystem& fs, const std::string& study_folder) {
  const std::string folder = study_folder + "/control";
  if (!fs.exists(folder)) return std::vector<Request>();
  LANISTA_ASSIGN(const std::vector<std::string> names, fs.list(folder));
  std::vector<Request> requests;
  for (const std::string& name : names) {
    if (auto request = parse_request(name)) requests.push_back(*request);
  }
  return requests;
}

Result<void> remove_request(FileSystem& fs, const std::string& study_folder, const Request& request) {
  const std::string folder = study_folder + "/control";
  LANISTA_TRY(fs.remove(folder + "/" + request.file));
  return fs.sync_folder(folder);  // a request that came back after a power cut would be obeyed twice
}

}  // namespace lanista::engine
