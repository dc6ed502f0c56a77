#include <initializer_list>

#include "lanista/app/report/page_columns.h"
#include "lanista/app/report/page_data.h"

namespace lanista::report {
namespace {

using nlohmann::json;

constexpr std::size_t kName = 60;

/// The list at these keys of the log's description of the data; empty if there is no list.
json list_at(const json& data, std::initializer_list<const char*> keys) {
  const json* at = &data;
  for (const char* key : keys) {
    const auto found = at->is_object() ? at->find(key) : at->end();
    if (!at->is_object() || found == at->end()) return json::array();
    at = &*found;
  }
  return at->is_array() ? *at : json::array();
}

/// The names of the classes or labels in an assessment, by number; those without a name are left out.
json class_names(const study::StudyView& view, const study::ModelAssessment& assessment) {
  json out = json::object();
  const json labels =
      assessment.multilabel ? list_at(view.data, {"schema", "target", "names"}) : list_at(view.data, {"labels"});
  const auto add = [&](std::int64_t label) {
    const std::string key = std::to_string(label);
    if (label < 0 || static_cast<std::size_t>(label) >= labels.size()) return;
    const json& name = labels[static_cast<std::size_t>(label)];
    if (name.is_string() && name != key) out[key] = clip_utf8(name.get_ref<const std::string&>(), kName);
  };
  for (const study::PartAssessment& part : assessment.parts) {
    if (!part.confusion.empty()) {
      for (std::int64_t label = 0; label < assessment.classes; ++label) add(label);
    }
    for (const study::ClassScore& score : part.classes) add(score.label);
    for (const study::ConfusedPair& each : part.confused) {
      add(each.label);
      add(each.prediction);
    }
  }
  return out;
}

}  // namespace

json quality_facts(const study::StudyView& view, const PageOptions& options) {
  if (!options.assessment || !view.winner || options.assessment->trial != *view.winner) return nullptr;
  json out = study::assessment_json(*options.assessment);
  out.erase("weights_hash");
  out["names"] = class_names(view, *options.assessment);
  out["multilabel"] = options.assessment->multilabel;
  out["percents"] = study::kResidualPercents;
  return out;
}

}  // namespace lanista::report
