#include "lanista/app/report/compare.h"
#include "lanista/app/report/page_columns.h"
#include "lanista/app/report/page_frame.h"

namespace lanista::report {
namespace {

using nlohmann::json;

constexpr std::size_t kLongestText = 2000;

/// Texts of a study may be as long as a file, so they are cut.
void clip_texts(json& value) {
  if (value.is_string()) {
    value = clip_utf8(value.get_ref<const std::string&>(), kLongestText);
  } else if (value.is_structured()) {
    for (json& each : value) clip_texts(each);
  }
}

}  // namespace

std::string compare_page(const StudyComparison& comparison, const std::string& version) {
  const PageFrame frame = page_frame("Lanista comparison", compare_script(), compare_script_hash());
  json data = compare_json(comparison);
  clip_texts(data);
  data["version"] = version;
  return frame.before + script_json(data) + frame.behind;
}

}  // namespace lanista::report
