// ONNX files: a file that is read can be written, and reads as the same. An imported model is valid, and it can be
// exported unless the exporter lacks an operator.
#include "lanista/io/formats/onnx/onnx.h"

#include "fuzz.h"
#include "lanista/io/formats/onnx/onnx_export.h"
#include "lanista/io/formats/onnx/onnx_import.h"
#include "lanista/model/graph/infer.h"

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace lanista;
  const auto model = formats::decode_onnx(fuzz::as_text(data, size));
  if (!model) return 0;
  const std::string bytes = formats::encode_onnx(*model);
  const auto again = formats::decode_onnx(bytes);
  LANISTA_CHECK(again.ok(), "a written model is refused: " + again.error().text());
  LANISTA_CHECK(formats::encode_onnx(*again) == bytes, "a model changes when it is written and read");

  const auto imported = formats::from_onnx(*model);
  if (!imported) return 0;
  LANISTA_CHECK(graph::verify(imported->graph, graph::builtin_ops()).ok(), "an imported model is not valid");
  const auto exported =
      formats::to_onnx(imported->graph, imported->weights, {.mean = imported->mean, .scale = imported->scale});
  if (!exported) LANISTA_CHECK(exported.error().code == Code::kUnimplemented, exported.error().text());
  return 0;
}
