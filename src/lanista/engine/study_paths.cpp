#include <filesystem>
#include <functional>

#include "lanista/engine/study_file.h"

namespace lanista::engine {
namespace {

namespace fs = std::filesystem;

// Paths of "npy:a,b" and "csv:file?options"; other kinds name no file.
std::string map_source(const std::string& source, const std::function<std::string(const std::string&)>& map) {
  const auto colon = source.find(':');
  const std::string kind = source.substr(0, colon);
  if (colon == std::string::npos || (kind != "npy" && kind != "csv")) return source;
  const auto question = source.find('?', colon);
  const std::string options = question == std::string::npos ? "" : source.substr(question);
  std::string rest = source.substr(colon + 1, question == std::string::npos ? std::string::npos : question - colon - 1);
  std::string out = kind + ":";
  while (true) {
    const auto comma = kind == "npy" ? rest.find(',') : std::string::npos;
    out += map(rest.substr(0, comma));
    if (comma == std::string::npos) return out + options;
    out += ",";
    rest = rest.substr(comma + 1);
  }
}

}  // namespace

Result<void> rebase_paths(study::StudyConfig& config, const std::string& from, const std::string& to) {
  std::error_code failed;
  const fs::path source = fs::absolute(from, failed).lexically_normal();
  const fs::path target = fs::absolute(to, failed).lexically_normal();
  if (failed) return Error{Code::kIo, "cannot tell the working folder: " + failed.message(), from};
  const auto rebase = [&](const std::string& path) {
    if (fs::path(path).is_absolute()) return path;
    return (source / path).lexically_normal().lexically_relative(target).string();
  };
  config.data.source = map_source(config.data.source, rebase);
  for (auto& base : config.model.base) {
    if (!base.starts_with("builtin:")) base = rebase(base);
  }
  return {};
}

}  // namespace lanista::engine
