#pragma once

#include <functional>
#include <string>

#include "lanista/io/formats/onnx/onnx_rules.h"

// Small operators on single elements, of which rules compose others.
namespace lanista::formats::onnx {

/// A rewrite of one value to the port that `change` returns, element by element.
Rewrite changed(std::string input, std::function<Result<Port>(ModelWriter&, Port)> change);
/// The value times a number. Errors: those of ModelWriter::add().
Result<Port> scaled(ModelWriter& writer, Port value, double by);
/// The value plus a number. Errors: those of ModelWriter::add().
Result<Port> shifted(ModelWriter& writer, Port value, double by);
/// The value moved towards zero by `bound`, and zero between -bound and bound. Errors: those of ModelWriter::add().
Result<Port> soft_shrink(ModelWriter& writer, Port value, double bound);

}  // namespace lanista::formats::onnx
