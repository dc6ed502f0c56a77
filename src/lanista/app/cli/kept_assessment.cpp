#include "lanista/app/cli/kept_assessment.h"

#include <new>

#include "lanista/engine/core/package.h"
#include "lanista/inference/model_assessment.h"

namespace lanista::cli {
namespace {

constexpr std::size_t kMostBytes = 1 << 20;  ///< ours have some 60 KB at most

std::string path_in(const std::string& folder) { return folder + "/assessment.json"; }

Result<study::ModelAssessment> read_in(FileSystem& fs, const std::string& folder) {
  LANISTA_ASSIGN(const std::string text, fs.read(path_in(folder)));
  if (text.size() > kMostBytes) return Error{Code::kDataLoss, "is too large for an assessment", path_in(folder)};
  return study::read_assessment(text);
}

}  // namespace

Result<void> keep_assessment(FileSystem& fs, const std::string& folder, const data::Dataset& data, bool tested) {
  try {
    LANISTA_ASSIGN(const auto package, engine::read_package(fs, folder + "/best", graph::builtin_ops()));
    const auto kept = read_in(fs, folder);
    const std::size_t parts = tested ? 2 : 1;
    if (kept && kept->weights_hash == runtime::identity_of(package) && kept->parts.size() >= parts) return {};
    LANISTA_ASSIGN(const auto assessment, runtime::assess_model(package, data, tested));
    return write_atomically(fs, path_in(folder), study::assessment_json(assessment).dump() + "\n");
  } catch (const std::bad_alloc&) {
    return Error{Code::kResourceExhausted, "out of memory while the model was assessed", path_in(folder)};
  }
}

std::optional<study::ModelAssessment> kept_assessment(FileSystem& fs, const std::string& folder,
                                                      const study::StudyView& view) {
  if (!view.winner || !view.data.is_object()) return std::nullopt;
  auto kept = read_in(fs, folder);
  if (!kept || kept->trial != *view.winner) return std::nullopt;
  return *std::move(kept);
}

}  // namespace lanista::cli
