#include "lanista/io/formats/cpp_export/cpp_end.h"

#include <string_view>

#include "lanista/io/formats/cpp_export/cpp_text.h"

namespace lanista::formats {
namespace {

constexpr std::string_view kMain = R"(
}  // namespace model

#ifdef LANISTA_MODEL_MAIN
#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <string>

int main() {
  std::string line;
$buffers
  for (long number = 1; std::getline(std::cin, line); ++number) {
    std::replace_if(line.begin(), line.end(), [](char c) { return c == ',' || c == ';' || c == '\r'; }, ' ');
    if (line.find_first_not_of(" \t") == std::string::npos) continue;
    input.clear();
    const char* at = line.c_str();
    for (char* end = nullptr;; at = end) {
      const $input_type value = std::$read(at, &end);
      if (end == at) break;
      input.push_back(value);
    }
    const bool all_read = std::string(at).find_first_not_of(" \t") == std::string::npos;
    if (!all_read || input.size() != static_cast<std::size_t>(model::input_size)) {
      std::fprintf(stderr, "line %ld: wants %ld numbers, begins with %ld\n", number,
                   static_cast<long>(model::input_size), static_cast<long>(input.size()));
      return 1;
    }
    model::predict(input.data(), output.data());
    for (std::size_t i = 0; i < output.size(); ++i) {
      std::printf("%s$format", i == 0 ? "" : " ", static_cast<double>(output[i]));
    }
$print_label    std::printf("\n");
  }
  return 0;
}
#endif
)";

constexpr std::string_view kPrintLabel =
    R"(    std::printf(" %s", model::labels[std::max_element(output.begin(), output.end()) - output.begin()]);
)";

bool has_origins(const CppExport& options) { return !options.origin.empty() || !options.target_origin.empty(); }

constexpr std::string_view kPredictWithOrigins = R"(
// Origins are subtracted and added in double: float would lose digits.
inline void predict(const $input_type* input, $output_type* output) {
$before  predict_less_origin($from, $to);
$after}
)";

constexpr std::string_view kLessOrigin = R"(  std::vector<float> stored(input_size);
  for (Index i = 0; i < input_size; ++i) {
    stored[i] = static_cast<float>(input[i] - input_origin[i / (input_size / $entries)]);
  }
)";

constexpr std::string_view kPlusOrigin =
    R"(  for (Index i = 0; i < output_size; ++i) output[i] = static_cast<double>(predicted[i]) + target_origin[i];
)";

/// The function for the raw input and the unit of the targets, if they have origins.
std::string origins_text(const CppExport& options) {
  if (!has_origins(options)) return "";
  const bool in = !options.origin.empty(), out = !options.target_origin.empty();
  std::string before;
  if (in) before += cpp_fill(kLessOrigin, {{"entries", std::to_string(options.origin.size())}});
  if (out) before += "  std::vector<float> predicted(output_size);\n";
  return (in ? cpp_array<double>("double", "input_origin", options.origin) : "") +
         (out ? cpp_array<double>("double", "target_origin", options.target_origin) : "") +
         cpp_fill(kPredictWithOrigins, {{"input_type", in ? "double" : "float"},
                                        {"output_type", out ? "double" : "float"},
                                        {"before", before},
                                        {"from", in ? "stored.data()" : "input"},
                                        {"to", out ? "predicted.data()" : "output"},
                                        {"after", out ? std::string(kPlusOrigin) : ""}});
}

}  // namespace

const char* cpp_predict_name(const CppExport& options) {
  return has_origins(options) ? "predict_less_origin" : "predict";
}

std::string cpp_end(std::int64_t outputs, const CppExport& options) {
  const bool in = !options.origin.empty(), out = !options.target_origin.empty();
  const std::string buffers = in || out ? "  std::vector<" + std::string(in ? "double" : "float") +
                                              "> input;\n  std::vector<" + (out ? "double" : "float") +
                                              "> output(model::output_size);"
                                        : "  std::vector<float> input, output(model::output_size);";
  const bool named = options.labels.size() == static_cast<std::size_t>(outputs);
  return origins_text(options) + cpp_fill(kMain, {{"print_label", named ? std::string(kPrintLabel) : ""},
                                                  {"buffers", buffers},
                                                  {"input_type", in ? "double" : "float"},
                                                  {"read", in ? "strtod" : "strtof"},
                                                  {"format", out ? "%.17g" : "%.9g"}});
}

}  // namespace lanista::formats
