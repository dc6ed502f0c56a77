#include <string_view>
#include <utility>

#include "lanista/data/readers.h"

namespace lanista::data {
namespace {

constexpr std::string_view kDigits =
#include "lanista/data/digits_data.inc"
    ;
constexpr std::size_t kPixels = 64;
static_assert(kDigits.size() == 1797 * (kPixels + 1));

float pixel(char c) { return static_cast<float>(c <= '9' ? c - '0' : c - 'a' + 10); }

}  // namespace

Result<Dataset> read_builtin(const Source& source, const study::DataConfig& config) {
  if (source.argument != "digits") return source.error("there is one built-in data set, builtin:digits");
  LANISTA_TRY(source.allow_only({}));
  DataSpec spec;
  spec.name = "digits";
  spec.source = source.text;
  spec.licence = "CC BY 4.0";
  spec.features.dims = {1, 8, 8};
  spec.classes = 10;
  for (int label = 0; label < 10; ++label) spec.labels.push_back(std::to_string(label));
  std::vector<float> features;
  std::vector<std::int32_t> labels;
  for (std::size_t at = 0; at < kDigits.size(); at += kPixels + 1) {
    for (const char c : kDigits.substr(at, kPixels)) features.push_back(pixel(c));
    labels.push_back(kDigits[at + kPixels] - '0');
  }
  return Dataset::make(std::move(spec), std::move(features), std::move(labels), {}, config);
}

}  // namespace lanista::data
