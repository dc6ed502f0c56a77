// Products with matrices: constant ones are layers, computed ones are products of each sample.
#include <algorithm>
#include <numeric>
#include <utility>

#include "lanista/io/formats/onnx/onnx_rules.h"
#include "lanista/io/formats/onnx/onnx_tensor.h"

namespace lanista::formats::onnx {
namespace {

RewriteResult gemm(const NodeReader& node_reader) {
  LANISTA_TRY(node_reader.allow_attributes({"alpha", "beta", "transA", "transB"}));
  LANISTA_TRY(node_reader.require_value("transA", 0));
  LANISTA_ASSIGN(const double alpha, node_reader.real("alpha", 1));
  LANISTA_ASSIGN(const double beta, node_reader.real("beta", 1));
  LANISTA_ASSIGN(const std::int64_t is_transposed, node_reader.integer("transB", 0));
  LANISTA_ASSIGN(std::string input, node_reader.computed_input(0));
  LANISTA_ASSIGN(const Tensor* matrix, node_reader.weight(1));
  const Tensor* bias = nullptr;
  if (node_reader.has(2)) {
    LANISTA_ASSIGN(bias, node_reader.weight(2));
  }
  return placed_rewrite({std::move(input)}, [=](ModelWriter& w, PlacedPorts inputs) -> Result<PlacedPort> {
    if (file_rank(w, inputs[0]) != 2) return malformed("its input 0 is no matrix");
    return placed_linear(w, inputs[0], *matrix, is_transposed != 0, bias, alpha, beta);
  });
}

/// The value with its last two dimensions exchanged. Errors: kUnimplemented (one of them is the batch).
Result<PlacedPort> turned(ModelWriter& w, const PlacedPort& value) {
  const std::size_t rank = file_rank(w, value);
  if (rank < 2 || value.place.axis + 2 >= rank) {
    return unsupported("the batch of " + sizes_text(file_dims(w, value)) + " is a dimension of its matrices");
  }
  List perm(rank);
  std::iota(perm.begin(), perm.end(), 0);
  std::swap(perm[rank - 2], perm[rank - 1]);
  return placed_transpose(w, value, perm);
}

/// The products of matrices in the last two dimensions of two values.
Result<PlacedPort> product_of(ModelWriter& w, PlacedPort a, PlacedPort b) {
  LANISTA_ASSIGN(const auto both, placed_broadcast(w, a, b, 2));
  if (both.first.place.axis + 2 >= file_rank(w, both.first)) {
    return unsupported("the batch of " + sizes_text(file_dims(w, both.first)) + " is a dimension of its matrices");
  }
  LANISTA_ASSIGN(const Port port, w.add("matmul", {both.first.port, both.second.port}));
  return PlacedPort{port, both.first.place};
}

/// A constant without leading dimensions of 1, if it is a matrix then.
std::optional<Tensor> matrix_of(const Tensor& constant) {
  Tensor matrix = constant;
  while (matrix.shape.size() > 2 && matrix.shape.front() == 1) matrix.shape.erase(matrix.shape.begin());
  return matrix.shape.size() == 2 ? std::optional(std::move(matrix)) : std::nullopt;
}

RewriteResult matmul(const NodeReader& node_reader) {
  LANISTA_TRY(node_reader.allow_attributes({}));
  const OnnxView& view = node_reader.view();
  if (node_reader.has(0) && view.constant(node_reader.node().inputs[0]) != nullptr) {
    // A X = (X^T A^T)^T.
    LANISTA_ASSIGN(const Tensor* constant, node_reader.weight(0));
    LANISTA_ASSIGN(std::string input, node_reader.computed_input(1));
    const auto matrix = matrix_of(*constant);
    if (!matrix) return unsupported("its constant is " + graph::Shape{constant->shape}.text());
    return placed_rewrite({std::move(input)},
                          [matrix = *matrix](ModelWriter& w, PlacedPorts inputs) -> Result<PlacedPort> {
                            LANISTA_ASSIGN(const PlacedPort columns, turned(w, inputs[0]));
                            LANISTA_ASSIGN(const PlacedPort rows, placed_linear(w, columns, matrix, true, nullptr));
                            return turned(w, rows);
                          });
  }
  LANISTA_ASSIGN(std::string a, node_reader.computed_input(0));
  if (node_reader.has(1) && view.constant(node_reader.node().inputs[1]) != nullptr) {
    LANISTA_ASSIGN(const Tensor* matrix, node_reader.weight(1));
    return linear_rewrite(std::move(a), *matrix, false, nullptr);
  }
  LANISTA_ASSIGN(std::string b, node_reader.computed_input(1));
  return placed_rewrite({std::move(a), std::move(b)},
                        [](ModelWriter& w, PlacedPorts inputs) { return product_of(w, inputs[0], inputs[1]); });
}

/// The letters of an Einsum of two values, by their use.
struct Subscripts {
  std::string a, b, out;

  bool in(const std::string& text, char letter) const { return text.find(letter) != std::string::npos; }
  /// The letters of `of` that are in `other` or not, and in the result or not.
  std::string those(const std::string& of, const std::string& other, bool shared, bool kept) const {
    std::string found;
    for (const char letter : of) {
      if (in(other, letter) == shared && in(out, letter) == kept) found += letter;
    }
    return found;
  }
};

Result<Subscripts> subscripts_of(std::string equation) {
  std::erase(equation, ' ');
  const std::size_t comma = equation.find(','), arrow = equation.find("->");
  if (comma == std::string::npos || arrow == std::string::npos || comma > arrow) {
    return unsupported("its equation is " + in_quotes(equation) + "; read are products of two values");
  }
  const Subscripts parts{equation.substr(0, comma), equation.substr(comma + 1, arrow - comma - 1),
                         equation.substr(arrow + 2)};
  for (const std::string* text : {&parts.a, &parts.b, &parts.out}) {
    std::string sorted = *text;
    std::sort(sorted.begin(), sorted.end());
    const bool plain =
        std::ranges::all_of(sorted, [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); });
    if (!plain || std::adjacent_find(sorted.begin(), sorted.end()) != sorted.end()) {
      return unsupported("its equation is " + in_quotes(equation) + "; read are letters that occur once");
    }
  }
  if (!parts.those(parts.a, parts.b, false, false).empty() || !parts.those(parts.b, parts.a, false, false).empty()) {
    return unsupported("its equation is " + in_quotes(equation) + ", which sums a value alone");
  }
  return parts;
}

/// Where each letter of `to` is in `from`.
List perm_of(const std::string& from, const std::string& to) {
  List perm;
  for (const char letter : to) perm.push_back(static_cast<std::int64_t>(from.find(letter)));
  return perm;
}

/// The value with `first` and `second` letters at the end of its dimensions merged to one dimension each.
Result<PlacedPort> with_matrix(ModelWriter& w, PlacedPort value, const std::string& letters, const std::string& order,
                               std::size_t first, std::size_t second) {
  LANISTA_ASSIGN(value, placed_transpose(w, value, perm_of(letters, order)));
  const List dims = w.dims(value.port);
  if (value.place.axis + first + second >= file_rank(w, value)) return unsupported("it sums over the batch");
  const auto matrix = dims.end() - static_cast<std::ptrdiff_t>(first + second);
  const auto middle = matrix + static_cast<std::ptrdiff_t>(first);
  List rest(dims.begin() + 1, matrix);
  rest.push_back(product(List(matrix, middle)));
  rest.push_back(product(List(middle, dims.end())));
  LANISTA_ASSIGN(value.port, in_shape(w, value.port, rest));
  return value;
}

RewriteResult einsum(const NodeReader& node_reader) {
  LANISTA_TRY(node_reader.allow_attributes({"equation"}));
  LANISTA_ASSIGN(const std::string equation, node_reader.text("equation", ""));
  LANISTA_ASSIGN(Subscripts parts, subscripts_of(equation));
  const OnnxNode& node = node_reader.node();
  if (node.inputs.size() != 2) return unsupported("it has " + std::to_string(node.inputs.size()) + " inputs");
  std::vector<std::string> names = node.inputs;
  if (node_reader.view().constant(names[0]) != nullptr) {
    std::swap(names[0], names[1]);
    std::swap(parts.a, parts.b);
  }
  const Tensor* constant = node_reader.view().constant(names[1]);
  const std::string both = parts.those(parts.a, parts.b, true, true),
                    summed = parts.those(parts.a, parts.b, true, false);
  const std::string left = parts.those(parts.a, parts.b, false, true),
                    right = parts.those(parts.b, parts.a, false, true);
  if (parts.out.size() != both.size() + left.size() + right.size()) return malformed("its result has unknown letters");
  if (constant != nullptr) {
    if (!both.empty() || constant->type != ElementType::kF32 || constant->shape.size() != parts.b.size()) {
      return unsupported("its constant has a letter of the batch, or of the result of the other value");
    }
    names.pop_back();
  }
  return placed_rewrite(names, [=](ModelWriter& w, PlacedPorts inputs) -> Result<PlacedPort> {
    if (file_rank(w, inputs[0]) != parts.a.size()) return malformed("its equation does not fit its inputs");
    List columns, rows;  // sizes of the free letters
    const auto size_in = [&](const PlacedPort& value, const std::string& letters, char letter) {
      return file_dims(w, value)[letters.find(letter)];
    };
    PlacedPort product_value;
    std::string order = both + left + right;
    if (constant != nullptr) {
      for (const char letter : right) columns.push_back(constant->shape[parts.b.find(letter)]);
      Tensor matrix = transposed(*constant, perm_of(parts.b, summed + right));
      matrix.shape = {matrix.elements() / product(columns), product(columns)};
      LANISTA_ASSIGN(PlacedPort value, placed_transpose(w, inputs[0], perm_of(parts.a, left + summed)));
      if (value.place.axis >= left.size()) return unsupported("it sums over the batch");
      const List dims = w.dims(value.port);
      List rest(dims.begin() + 1, dims.end() - static_cast<std::ptrdiff_t>(summed.size()));
      rest.push_back(matrix.shape[0]);
      LANISTA_ASSIGN(value.port, in_shape(w, value.port, rest));
      LANISTA_ASSIGN(product_value, placed_linear(w, value, matrix, false, nullptr));
      rest.pop_back();
      rest.insert(rest.end(), columns.begin(), columns.end());
      LANISTA_ASSIGN(product_value.port, in_shape(w, product_value.port, rest));
    } else {
      if (file_rank(w, inputs[1]) != parts.b.size()) return malformed("its equation does not fit its inputs");
      for (const char letter : left) rows.push_back(size_in(inputs[0], parts.a, letter));
      for (const char letter : right) columns.push_back(size_in(inputs[1], parts.b, letter));
      LANISTA_ASSIGN(const PlacedPort a,
                     with_matrix(w, inputs[0], parts.a, both + left + summed, left.size(), summed.size()));
      LANISTA_ASSIGN(const PlacedPort b,
                     with_matrix(w, inputs[1], parts.b, both + summed + right, summed.size(), right.size()));
      LANISTA_ASSIGN(product_value, product_of(w, a, b));
      List rest(w.dims(product_value.port).begin() + 1, w.dims(product_value.port).end() - 2);
      rest.insert(rest.end(), rows.begin(), rows.end());
      rest.insert(rest.end(), columns.begin(), columns.end());
      LANISTA_ASSIGN(product_value.port, in_shape(w, product_value.port, rest));
    }
    return placed_transpose(w, product_value, perm_of(order, parts.out));
  });
}

}  // namespace

RewriteRules dense_rules() {
  return {{"Einsum", {einsum}}, {"Gemm", {gemm}}, {"MatMul", {adaptive_pool_group, matmul}}};
}

}  // namespace lanista::formats::onnx
