#include "bench/pipeline_models.h"

#include <algorithm>

namespace lanista::bench {
namespace {

using pipeline::Model;
using pipeline::Operator;

constexpr double kKernel = 10e-6, kFlops = 0.8 * 15.7e12, kRate = 0.8 * 900e9;
constexpr double kWidth = 4096;

/// The work of the passes of an operator.
struct OperatorWork {
  double kernels = 1;                                           ///< kernels of a pass
  double forward_flops = 0, input_flops = 0, weight_flops = 0;  ///< FLOPs a sample of each pass; 0: no such pass
  double touched = 0;                                           ///< bytes a sample without parameters
  double read = 0;                                              ///< parameter bytes that a pass reads
};

/// An operator with the times of its passes for 1, 2, 4, … samples.

Operator operator_of(std::string name, const OperatorWork& work, std::int64_t batch) {
  Operator op;
  op.name = std::move(name);
  const auto pass = [&](double flops, double touches, std::int64_t n) {
    const auto samples = static_cast<double>(n);
    return kKernel * work.kernels + flops * samples / kFlops + touches * (work.read + work.touched * samples) / kRate;
  };
  for (std::int64_t n = 1; n <= batch; n *= 2) {
    op.forward.push_back(pass(work.forward_flops, 1, n));
    op.input_grad.push_back(work.input_flops > 0 ? pass(work.input_flops, 1, n) : 0);
    op.weight_grad.push_back(work.weight_flops > 0 ? pass(work.weight_flops, 2, n) : 0);
  }
  return op;
}

Operator transformer_layer(std::int64_t batch) {
  const double width = 1024, inner = 4096, tokens = 256;
  const double parameters = 4 * width * width + 2 * width * inner;
  const double products = 2 * parameters * tokens, attention = 4 * tokens * tokens * width;
  Operator op = operator_of("layer",
                            {.kernels = 15,
                             .forward_flops = products + attention,
                             .input_flops = products + 2 * attention,
                             .weight_flops = products,
                             .touched = 28e6,
                             .read = 4 * parameters},
                            batch);
  op.activation_bytes = 28e6;
  op.output_bytes = 4 * tokens * width;
  op.parameter_bytes = 4 * parameters;
  return op;
}

/// A dense layer with bias and activation.
Operator dense(std::string name, double in, double out, std::int64_t batch) {
  const double flops = 2 * in * out;
  Operator op = operator_of(std::move(name),
                            {.kernels = 2,
                             .forward_flops = flops,
                             .input_flops = flops,
                             .weight_flops = flops,
                             .touched = 4 * (in + 2 * out),
                             .read = 4 * in * out},
                            batch);
  op.activation_bytes = 4 * 2 * out;
  op.output_bytes = 4 * out;
  op.parameter_bytes = 4 * in * out;
  return op;
}

/// A sum of vectors of a table. It has no products and no input gradient.
Operator embedding(std::int64_t batch) {
  const double width = 64, bag = 100, rows = 1e6;
  Operator op = operator_of(
      "table", {.kernels = 1, .forward_flops = bag * width, .weight_flops = bag * width, .touched = 4 * bag * width},
      batch);
  op.activation_bytes = 4 * (bag + width);
  op.output_bytes = 4 * width;
  op.parameter_bytes = 4 * rows * width;
  return op;
}

Operator concatenation(double width_bytes, std::int64_t batch) {
  Operator op = operator_of("concat", {.kernels = 1, .input_flops = 1, .touched = 2 * width_bytes}, batch);
  op.activation_bytes = op.output_bytes = width_bytes;
  return op;
}

/// Adds an operator and returns its number.
std::uint32_t put(Model& model, Operator op) {
  model.operators.push_back(std::move(op));
  return static_cast<std::uint32_t>(model.operators.size() - 1);
}

/// Adds a chain of copies of `op` and returns the number of the last one.
std::uint32_t put_chain(Model& model, const Operator& op, std::int64_t length) {
  std::uint32_t last = put(model, op);
  for (std::int64_t i = 1; i < length; ++i) {
    const std::uint32_t next = put(model, op);
    model.edges.push_back({last, next});
    last = next;
  }
  return last;
}

/// Adds a concatenation of the branches and four dense layers.
void put_head(Model& model, const std::vector<std::uint32_t>& ends) {
  double bytes = 0;
  for (const std::uint32_t end : ends) bytes += model.operators[end].output_bytes;
  std::uint32_t last = put(model, concatenation(bytes, model.batch));
  for (const std::uint32_t end : ends) model.edges.push_back({end, last});
  for (int i = 0; i < 4; ++i) {
    const std::uint32_t next = put(model, dense("head", i == 0 ? bytes / 4 : kWidth, kWidth, model.batch));
    model.edges.push_back({last, next});
    last = next;
  }
}

Model finished(Model model) {
  std::ranges::sort(model.edges);
  model.hash = hash_of(model);
  return model;
}

}  // namespace

Model multi_modal_transformer(std::int64_t branches, std::int64_t layers, std::int64_t batch) {
  Model model;
  model.name = "mmt";
  model.batch = batch;
  const Operator layer = transformer_layer(batch);
  std::vector<std::uint32_t> ends;
  for (std::int64_t b = 0; b < branches; ++b) ends.push_back(put_chain(model, layer, layers));
  if (branches > 1) {
    const auto joined = put(model, concatenation(static_cast<double>(branches) * layer.output_bytes, batch));
    for (const std::uint32_t end : ends) model.edges.push_back({end, joined});
  }
  return finished(std::move(model));
}

Model recommendation_model(std::int64_t batch) {
  Model model;
  model.name = "dlrm";
  model.batch = batch;
  std::vector<std::uint32_t> ends;
  for (int b = 0; b < 7; ++b) ends.push_back(put_chain(model, dense("layer", kWidth, kWidth, batch), 4));
  for (int b = 0; b < 7; ++b) ends.push_back(put(model, embedding(batch)));
  put_head(model, ends);
  return finished(std::move(model));
}

Model candle_uno(std::int64_t branches, std::int64_t batch) {
  Model model;
  model.name = "candle-uno";
  model.batch = batch;
  std::vector<std::uint32_t> ends;
  for (std::int64_t b = 0; b < branches; ++b) {
    ends.push_back(put_chain(model, dense("layer", kWidth, kWidth, batch), 4));
  }
  put_head(model, ends);
  return finished(std::move(model));
}

pipeline::Devices summit(std::int64_t devices) {
  const pipeline::Link inside{10e-6, 50e9}, between{20e-6, 12.5e9};
  return {{{"V100", devices, 4, 16e9, 1, inside}}, {{between}}, "stated: V100 16 GB, NVLink, 100 Gb/s; not measured"};
}

}  // namespace lanista::bench
