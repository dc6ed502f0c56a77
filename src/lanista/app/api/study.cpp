#include "lanista/study.h"

#include "lanista/app/api/guarded.h"
#include "lanista/app/api/study_session.h"
#include "lanista/app/cli/load.h"
#include "lanista/base/file_system.h"
#include "lanista/io/formats/signature.h"
#include "lanista/io/studyfile/study_file.h"
#include "lanista/io/studyfile/yaml_guard.h"

namespace lanista {

Study::Study(std::string text, std::string file, std::string folder)
    : text_(std::move(text)), file_(std::move(file)), folder_(std::move(folder)) {}

Study::Study() : Study(std::string(studyfile::default_study()), "default study", ".") {}

Result<Study> Study::load(const std::string& file) {
  return api::guarded([&]() -> Result<Study> {
    LANISTA_ASSIGN(std::string text, studyfile::read_yaml(real_file_system(), file));
    if (const auto foreign = formats::unsupported_format_error(text, file)) return *foreign;
    return Study(std::move(text), file, cli::folder_of(file));
  });
}

Study Study::from_text(std::string text, std::string folder) {
  return Study(std::move(text), "study", std::move(folder));
}

Study& Study::set(std::string key, std::string yaml) {
  settings_.emplace_back(std::move(key), std::move(yaml));
  return *this;
}

Result<std::vector<std::string>> Study::check() const {
  return api::guarded([&]() -> Result<std::vector<std::string>> {
    LANISTA_ASSIGN(auto resolved, api::resolve(*this, {}));
    return std::move(resolved.notes);
  });
}

Result<std::string> Study::resolved_text() const {
  return api::guarded([&]() -> Result<std::string> {
    LANISTA_ASSIGN(const auto resolved, api::resolve(*this, {}));
    return studyfile::write_study(resolved.config);
  });
}

}  // namespace lanista
