#include "lanista/app/cli/stored_assessment.h"

#include <new>

#include "lanista/engine/core/package.h"
#include "lanista/inference/model_assessment.h"

namespace lanista::cli {
namespace {

constexpr std::size_t kMaxBytes = 1 << 20;  ///< of the file; written files have at most about 60 KB

std::string assessment_path(const std::string& folder) { return folder + "/assessment.json"; }

Result<study::ModelAssessment> read_assessment(FileSystem& fs, const std::string& folder) {
  LANISTA_ASSIGN(const std::string text, fs.read(assessment_path(folder)));
  if (text.size() > kMaxBytes) return Error{Code::kDataLoss, "is too large for an assessment", assessment_path(folder)};
  return study::read_assessment(text);
}

}  // namespace

Result<void> write_assessment(FileSystem& fs, const std::string& folder, const data::Dataset& data, bool tested) {
  try {
    LANISTA_ASSIGN(const auto package, engine::read_package(fs, folder + "/best", graph::builtin_ops()));
    const auto kept = read_assessment(fs, folder);
    const std::size_t parts = tested ? 2 : 1;
    if (kept && kept->weights_hash == inference::identity_of(package) && kept->parts.size() >= parts) return {};
    LANISTA_ASSIGN(const auto assessment, inference::assess_model(package, data, tested));
    return write_atomically(fs, assessment_path(folder), study::assessment_json(assessment).dump() + "\n");
  } catch (const std::bad_alloc&) {
    return Error{Code::kResourceExhausted, "out of memory while the model was assessed", assessment_path(folder)};
  }
}

std::optional<study::ModelAssessment> stored_assessment(FileSystem& fs, const std::string& folder,
                                                        const study::StudyView& view) {
  if (!view.winner || !view.data.is_object()) return std::nullopt;
  auto kept = read_assessment(fs, folder);
  if (!kept || kept->trial != *view.winner) return std::nullopt;
  return *std::move(kept);
}

}  // namespace lanista::cli
