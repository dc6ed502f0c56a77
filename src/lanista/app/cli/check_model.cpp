// `lanista check MODEL.onnx`: what a model of another tool is, and whether it computes what it should.
#include <cstdio>
#include <iostream>
#include <map>

#include "lanista/app/cli/app.h"
#include "lanista/app/cli/inspect.h"
#include "lanista/app/cli/session.h"
#include "lanista/app/cli/tensor_compare.h"
#include "lanista/app/cli/terminal.h"
#include "lanista/engine/core/onnx_file.h"
#include "lanista/inference/predictor.h"
#include "lanista/io/formats/npy.h"
#include "lanista/model/graph/infer.h"

namespace lanista::cli {
namespace {

Result<Tensor> read_tensor(const std::string& path) {
  LANISTA_ASSIGN(const std::string bytes, real_file_system().read(path));
  auto tensor = path.ends_with(".pb") ? formats::decode_onnx_tensor(bytes) : formats::decode_npy(bytes);
  if (tensor) return tensor;
  Error error = tensor.error();
  error.where = path;
  return error;
}

Result<std::string> described(const formats::ImportedModel& model) {
  const graph::OpTable ops = graph::builtin_ops();
  LANISTA_ASSIGN(const graph::Types types, graph::infer_shapes(model.graph, ops));
  LANISTA_ASSIGN(const graph::ModelCost cost, graph::model_cost(model.graph, ops));
  std::map<std::string, int> counts;
  for (const auto& node : model.graph.nodes()) {
    if (!node->is_input() && !node->is_output()) ++counts[node->op];
  }
  const auto shape_of = [&](std::string_view op) {
    return types.at({model.graph.nodes_of(op).front(), 0}).shape.text();
  };
  char flops[32];
  std::snprintf(flops, sizeof flops, "%.3g", cost.forward.flops);
  std::string text = "input       " + shape_of("input") + "\noutput      " + shape_of("output") + "\nparameters  " +
                     std::to_string(cost.parameters) + "\nflops       " + flops + " a sample\noperators  ";
  for (const auto& [op, count] : counts) text += " " + printable(op) + " " + std::to_string(count);
  return text + "\n";
}

}  // namespace

int check_model(const CheckRequest& request) {
  const auto model = engine::import_onnx_file(real_file_system(), request.file);
  if (!model) return print_error(model.error());
  print_notes(model->notices);
  if (request.inputs.empty()) {
    const auto text = described(*model);
    if (!text) return print_error(text.error());
    std::cout << *text;
    return kDone;
  }
  const auto input = read_tensor(request.inputs);
  if (!input) return print_error(input.error());
  const auto output = inference::run_imported(*model, *input);
  if (!output) return print_error(output.error());
  if (request.expect.empty()) {
    std::cout << formats::encode_npy(*output) << std::flush;
    return kDone;
  }
  const auto expected = read_tensor(request.expect);
  if (!expected) return print_error(expected.error());
  const auto result = compare(*output, *expected, request.rtol, request.atol);
  if (!result) {
    std::cout << "differs: " << one_line(result.error().message) << "\n";
    return kStudyFailed;
  }
  std::cout << (result->num_outside_tolerance == 0 ? "agrees: " : "differs: ") << one_line(result->text) << "\n";
  return result->num_outside_tolerance == 0 ? kDone : kStudyFailed;
}

}  // namespace lanista::cli
