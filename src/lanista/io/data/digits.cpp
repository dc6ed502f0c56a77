#include <iterator>
#include <string_view>

#include "lanista/io/data/readers.h"

namespace lanista::data {
namespace {

constexpr std::string_view kDigits[] = {
#include "lanista/io/data/digits_data.inc"
};
constexpr std::size_t kPixels = 64;
static_assert(std::size(kDigits) == 1797 && kDigits[0].size() == kPixels + 1);

float pixel(char c) { return static_cast<float>(c <= '9' ? c - '0' : c - 'a' + 10); }

}  // namespace

Result<LoadedRows> read_builtin(const ReadRequest& request) {
  if (request.source.argument != "digits") {
    return request.source.error("there is one built-in data set, builtin:digits");
  }
  LoadedRows found;
  DataSpec& spec = found.raw.spec;
  spec.name = "digits";
  spec.licence = "CC BY 4.0";
  spec.features.dims = {1, 8, 8};
  spec.classes = 10;
  for (int label = 0; label < 10; ++label) spec.labels.push_back(std::to_string(label));
  for (const std::string_view digit : kDigits) {
    for (const char c : digit.substr(0, kPixels)) found.raw.features.push_back(pixel(c));
    found.raw.labels.push_back(digit[kPixels] - '0');
  }
  return found;
}

}  // namespace lanista::data
