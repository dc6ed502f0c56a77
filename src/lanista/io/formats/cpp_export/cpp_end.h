#pragma once

#include <cstdint>
#include <string>

#include "lanista/io/formats/cpp_export/cpp_source.h"

namespace lanista::formats {

/// The name of the exported function that takes and returns float: "predict", or another where the data have origins.
const char* cpp_predict_name(const CppExport& options);

/// The end of an exported source: with origins the function predict() from and to double, and then the program.
/// `outputs` is the number of outputs of a sample.
std::string cpp_end(std::int64_t outputs, const CppExport& options);

}  // namespace lanista::formats
