#pragma once

#include <string>

#include "lanista/base/file_system.h"
#include "lanista/base/result.h"
#include "lanista/io/formats/onnx/onnx_import.h"
#include "lanista/model/graph/graph.h"

namespace lanista::engine {

/// Reads an ONNX file, with its external data files, which must lie below the file's own folder
/// (base/read_inside_folder.h). Errors: those of reading files, formats::decode_onnx and read_inside_folder; `where` is
/// the path.
Result<formats::OnnxModel> read_onnx_file(FileSystem& fs, const std::string& path);

/// Reads an ONNX file as a graph with weights. Its constants may expand to 2 GiB plus twice their size in the file.
/// Errors: those of read_onnx_file and formats::from_onnx.
Result<formats::ImportedModel> import_onnx_file(FileSystem& fs, const std::string& path);

/// The graph as a model to train. A softmax directly before the output, or its logarithm, is removed, because the loss
/// includes it. An output with only ones after the second axis is flattened: [N, classes, 1, 1] becomes [N, classes].
/// For each change a text for the user is added to `notices`. Errors: those of graph::infer_shapes (kNotFound,
/// kInvalidArgument).
Result<graph::Graph> trainable_form(const graph::Graph& graph, std::vector<std::string>& notices);

}  // namespace lanista::engine
