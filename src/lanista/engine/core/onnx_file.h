#pragma once

#include <string>

#include "lanista/base/file_system.h"
#include "lanista/base/result.h"
#include "lanista/io/formats/onnx/onnx_import.h"
#include "lanista/model/graph/graph.h"

namespace lanista::engine {

/// Reads an ONNX file. Data that it keeps in other files is read from beneath its own folder only
/// (base/read_inside_folder.h). Errors: those of files, decode_onnx and read_inside_folder; `where` is the path.
Result<formats::OnnxModel> read_onnx_file(FileSystem& fs, const std::string& path);

/// The model of an ONNX file whose constants may unfold to 2 GiB beside twice their size in the file.
/// Errors: as read_onnx_file and formats::from_onnx.
Result<formats::ImportedModel> import_onnx_file(FileSystem& fs, const std::string& path);

/// The graph as a model to train: without a softmax at its end, which the loss has already, and with [N, classes, 1, 1]
/// as [N, classes]. `notices` says what was changed.
Result<graph::Graph> trainable_form(const graph::Graph& graph, std::vector<std::string>& notices);

}  // namespace lanista::engine
