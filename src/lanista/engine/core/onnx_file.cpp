#include "lanista/engine/core/onnx_file.h"

#include <algorithm>
#include <utility>

#include "lanista/base/read_inside_folder.h"
#include "lanista/io/formats/signature.h"
#include "lanista/model/graph/infer.h"

namespace lanista::engine {
namespace {

constexpr std::size_t kSpareBytes = std::size_t{2} << 30;

Error at(const std::string& path, Error error) {
  if (error.where.empty()) error.where = path;
  return error;
}

std::string folder_of(const std::string& path) {
  const auto slash = path.find_last_of('/');
  return slash == std::string::npos ? "." : slash == 0 ? "/" : path.substr(0, slash);
}

}  // namespace

Result<formats::OnnxModel> read_onnx_file(FileSystem& fs, const std::string& path) {
  LANISTA_ASSIGN(const std::string bytes, fs.read(path, 0));
  if (auto foreign = formats::unsupported_format_error(bytes, path)) return *foreign;
  const auto external = [folder = folder_of(path)](const std::string& name, std::uint64_t offset,
                                                   std::uint64_t length) {
    return read_inside_folder(folder, name, offset, length);
  };
  auto model = formats::decode_onnx(bytes, external);
  if (!model) return at(path, model.error());
  return model;
}

Result<formats::ImportedModel> import_onnx_file(FileSystem& fs, const std::string& path) {
  LANISTA_ASSIGN(const formats::OnnxModel model, read_onnx_file(fs, path));
  auto imported = formats::from_onnx(model, {.extra_bytes = kSpareBytes});
  if (!imported) return at(path, imported.error());
  return imported;
}

Result<graph::Graph> trainable_form(const graph::Graph& graph, std::vector<std::string>& notices) {
  const graph::OpTable ops = graph::builtin_ops();
  LANISTA_ASSIGN(const graph::Types types, graph::infer_shapes(graph, ops));
  const graph::NodeId end = graph.nodes_of("output").front();
  graph::Node output = graph.node(end);
  graph::GraphBuilder builder(graph);
  // Nodes after the softmax only change its shape.
  const auto ends_in = [&](std::string_view op) {
    const graph::Node& last = builder.peek().node(output.inputs.front().node);
    return last.op == op && builder.peek().consumers(last.id).size() == 1;
  };
  const auto drop_last = [&] {
    const graph::NodeId last = output.inputs.front().node;
    output.inputs = graph::Graph(builder.peek()).node(last).inputs;
    builder.put(output);
    builder.remove(last);
  };
  const bool logarithm = ends_in("log") && [&] {
    const graph::Node& log = builder.peek().node(output.inputs.front().node);
    const graph::Node& before = builder.peek().node(log.inputs.front().node);
    return before.op == "softmax" && builder.peek().consumers(before.id).size() == 1;
  }();
  if (logarithm) drop_last();
  if (ends_in("softmax")) {
    drop_last();
    notices.emplace_back(std::string("the ") + (logarithm ? "log-" : "") +
                         "softmax at the end is left out; the loss has it");
  }
  const auto& dims = types.at(output.inputs.front()).shape.dims;
  if (dims.size() > 2 && std::all_of(dims.begin() + 2, dims.end(), [](auto size) { return size == 1; })) {
    output.inputs = {{builder.add("flatten", output.inputs), 0}};
    builder.put(output);
    notices.emplace_back("the output " + graph::Shape{dims}.text() + " is flattened");
  }
  return std::move(builder).take();
}

}  // namespace lanista::engine
