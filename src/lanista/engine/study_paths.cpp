#include <filesystem>

#include "lanista/data/catalog.h"
#include "lanista/engine/study_file.h"

namespace lanista::engine {

namespace fs = std::filesystem;

Result<void> rebase_paths(study::StudyConfig& config, const std::string& from, const std::string& to) {
  std::error_code failed;
  const fs::path source = fs::absolute(from, failed).lexically_normal();
  const fs::path target = fs::absolute(to, failed).lexically_normal();
  if (failed) return Error{Code::kIo, "cannot tell the working folder: " + failed.message(), from};
  const auto rebase = [&](const std::string& path) {
    if (fs::path(path).is_absolute()) return path;
    return (source / path).lexically_normal().lexically_relative(target).string();
  };
  config.data.source = data::map_paths(config.data.source, rebase);
  for (auto& base : config.model.base) {
    if (!base.starts_with("builtin:")) base = rebase(base);
  }
  return {};
}

}  // namespace lanista::engine
