#include <filesystem>
#include <string>
#include <vector>

#include "lanista/base/utf8.h"
#include "lanista/io/data/catalog.h"
#include "lanista/io/data/files.h"
#include "lanista/io/data/source.h"
#include "lanista/io/studyfile/study_file.h"

namespace lanista::studyfile {

namespace fs = std::filesystem;

Result<void> rebase_paths(study::StudyConfig& config, const std::string& from, const std::string& to) {
  std::error_code failed;
  const fs::path source = fs::absolute(from, failed).lexically_normal();
  const fs::path target = fs::absolute(to, failed).lexically_normal();
  if (failed) return Error{Code::kIo, "cannot find the working folder: " + failed.message(), from};
  const auto rebase = [&](const std::string& path) {
    if (fs::path(path).is_absolute()) return path;
    return (source / path).lexically_normal().lexically_relative(target).string();
  };
  // The paths of the study must lead to the same files again, so they are converted there and back.
  std::vector<std::string> written, found;
  std::string rebased_path = data::map_paths(config.data.source, [&](const std::string& path) {
    const std::string rebased = rebase(path);
    written.push_back(data::unescaped(rebased));
    return rebased;
  });
  data::map_paths(rebased_path, [&](const std::string& path) {
    found.push_back(data::unescaped(path));
    return path;
  });
  if (written != found) {
    return Error{Code::kInvalidArgument,
                 "the path to the data cannot be written as part of a source; allowed: a path, seen from the study's "
                 "folder, without ? & , and %",
                 rebased_path};
  }
  if (find_invalid_utf8(rebased_path) != std::string::npos) {
    return Error{Code::kInvalidArgument, "the path to the data is not UTF-8, so a study could not keep it",
                 rebased_path};
  }
  config.data.source = std::move(rebased_path);
  for (auto& base : config.model.base) {
    if (!base.starts_with("builtin:")) base = rebase(base);
  }
  auto& start = config.train.start.file;
  if (start != study::kStartFromBase) start = rebase(start);
  config.train.start.zoo =
      config.train.start.from == study::kStartZoo ? rebase(config.train.start.zoo) : config.train.start.zoo;
  if (auto& profiles = config.run.profiles; profiles != study::kAutoProfiles && profiles != study::kNoProfiles) {
    profiles = rebase(profiles);
  }
  if (auto& frozen = config.model.frozen; frozen && frozen->weights != study::FrozenConfig::kOfTheBase) {
    frozen->weights = rebase(frozen->weights);
  }
  return {};
}

std::string default_study_name(const std::string& source) {
  constexpr std::size_t kLongest = 40;
  const auto parsed = data::parse_source(source);
  std::string path = parsed ? parsed->argument : source;
  path = data::unescaped(path.substr(0, path.find(',')));
  while (path.ends_with('/')) path.pop_back();
  std::string name;
  for (const char c : data::stem_of(path)) {
    const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
    if (plain) {
      name += c;
    } else if (!name.empty() && name.back() != '-') {
      name += '-';
    }
  }
  name = name.substr(0, kLongest);
  while (name.ends_with('-')) name.pop_back();
  return !name.empty() ? name : parsed && !parsed->kind.empty() ? default_study_name("x:" + parsed->kind) : "study";
}

}  // namespace lanista::studyfile
