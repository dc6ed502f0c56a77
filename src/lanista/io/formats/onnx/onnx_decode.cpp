#include <algorithm>
#include <optional>
#include <set>

#include "lanista/io/formats/onnx/onnx.h"
#include "lanista/io/formats/onnx/onnx_fields.h"
#include "lanista/io/formats/onnx/onnx_tensor.h"
#include "lanista/io/formats/onnx/wire.h"

namespace lanista::formats {
namespace {

using namespace onnx;

constexpr std::size_t kMaxNodes = 100'000;
constexpr std::size_t kMaxInitializers = 50'000;
constexpr std::size_t kMaxNames = 300'000;  // inputs and outputs of all nodes
constexpr std::size_t kMaxAttributes = 100'000;
constexpr std::size_t kMaxInfos = 50'000;  // inputs of the model; early files list initialisers too
constexpr std::size_t kMaxMetadata = 1'000;

bool is_default_domain(std::string_view domain) { return domain.empty() || domain == "ai.onnx"; }

/// The message of an attribute. Every kind of value has its own field, and `type` selects one.
struct AttributeParts {
  std::string name;
  std::optional<std::uint64_t> type;
  std::int64_t integer = 0;
  float real = 0;
  std::string text;
  std::vector<std::int64_t> integers;
  std::vector<float> reals;
  std::optional<std::string_view> tensor;
};

/// The decoder of one file. Repeated parts share common limits.
class Decoder {
 public:
  explicit Decoder(const OnnxExternal& external) : external_(external) {}

  Result<OnnxModel> model(std::string_view message) {
    std::optional<std::string_view> graph_message;
    std::optional<std::int64_t> opset;
    model_.ir_version = 0;
    LANISTA_TRY(for_each_field(message, [&](const WireReader& f) { return model_part(f, graph_message, opset); }));
    if (model_.ir_version < 1) return malformed("the model has no ir_version; is this an ONNX file?");
    if (!opset) return malformed("the model names no version of the default operator set");
    if (!graph_message) return malformed("the model has no graph");
    model_.opset = *opset;
    LANISTA_TRY(count_graph(*graph_message));
    LANISTA_TRY(for_each_field(*graph_message, [&](const WireReader& f) { return graph_part(f); }));
    drop_default_inputs();
    LANISTA_TRY(check_names());
    return std::move(model_);
  }

 private:
  Result<void> model_part(const WireReader& field, std::optional<std::string_view>& graph_message,
                          std::optional<std::int64_t>& opset) {
    switch (field.field()) {
      case model_field::kIrVersion:
        return read_into(model_.ir_version, field.integer());
      case model_field::kProducer:
        return read_into(model_.producer, text_of(field));
      case model_field::kGraph: {
        if (graph_message) return malformed("the model has two graphs");
        LANISTA_ASSIGN(graph_message, field.bytes());
        return {};
      }
      case model_field::kOpsets: {
        LANISTA_ASSIGN(const std::string_view message, field.bytes());
        return read_opset(message, opset);
      }
      case model_field::kMetadata:
        return read_metadata(field);
      case model_field::kFunctions:
        return unsupported("the model defines functions of its own, which are not read");
      default:
        return {};
    }
  }

  Result<void> read_opset(std::string_view message, std::optional<std::int64_t>& opset) {
    std::string domain;
    std::int64_t version = 0;
    LANISTA_TRY(for_each_field(message, [&](const WireReader& f) -> Result<void> {
      if (f.field() == opset_field::kDomain) {
        LANISTA_ASSIGN(domain, text_of(f));
      } else if (f.field() == opset_field::kVersion) {
        LANISTA_ASSIGN(version, f.integer());
      }
      return {};
    }));
    // A file may declare other domains if no node uses them.
    if (!is_default_domain(domain)) return {};
    if (opset) return malformed("the model names two versions of the default operator set");
    if (version < 1) return malformed("version " + std::to_string(version) + " of the operator set, below 1");
    opset = version;
    return {};
  }

  Result<void> read_metadata(const WireReader& field) {
    LANISTA_TRY(check_count(model_.metadata.size(), kMaxMetadata, "entries of metadata"));
    LANISTA_ASSIGN(auto entry, read_entry(field));
    const auto [at, fresh] = model_.metadata.insert(std::move(entry));
    if (!fresh) return malformed("the metadata " + in_quotes(at->first) + " stands twice");
    return {};
  }

  /// Checks the limits and reserves memory for the parts of the graph, before any of them is read.
  Result<void> count_graph(std::string_view message) {
    std::size_t nodes = 0, tensors = 0;
    LANISTA_TRY(for_each_field(message, [&](const WireReader& f) -> Result<void> {
      nodes += f.field() == graph_field::kNodes ? 1U : 0U;
      tensors += f.field() == graph_field::kInitializers ? 1U : 0U;
      return {};
    }));
    if (nodes > kMaxNodes) return malformed(std::to_string(nodes) + " nodes, at most 100000 are allowed");
    if (tensors > kMaxInitializers) {
      return malformed(std::to_string(tensors) + " initialisers, at most 50000 are allowed");
    }
    model_.nodes.reserve(nodes);
    model_.initializers.reserve(tensors);
    return {};
  }

  Result<void> graph_part(const WireReader& field) {
    switch (field.field()) {
      case graph_field::kNodes: {
        LANISTA_ASSIGN(const std::string_view message, field.bytes());
        return read_node(message);
      }
      case graph_field::kName:
        return read_into(model_.graph_name, text_of(field));
      case graph_field::kInitializers: {
        LANISTA_ASSIGN(const std::string_view message, field.bytes());
        LANISTA_ASSIGN(Tensor tensor, read_tensor(message, integers_, model_.half_tensors, external_));
        model_.initializers.push_back(std::move(tensor));
        return {};
      }
      case graph_field::kSparseInitializers:
        return unsupported("the graph has sparse initialisers, which are not held");
      case graph_field::kInputs:
        return read_infos(field, model_.inputs);
      case graph_field::kOutputs:
        return read_infos(field, model_.outputs);
      default:
        return {};
    }
  }

  Result<void> read_node(std::string_view message) {
    OnnxNode node;
    std::string domain;
    const auto read = for_each_field(message, [&](const WireReader& f) { return node_part(f, node, domain); });
    const std::string where = "node " + in_quotes(node.name) + (node.op.empty() ? "" : " (" + in_quotes(node.op) + ")");
    if (!read) return with_location(where, read.error());
    if (!is_default_domain(domain)) {
      return unsupported(where + ": the operator is of the domain " + in_quotes(domain) + "; only ONNX's own are read");
    }
    if (node.op.empty()) return malformed(where + ": has no operator");
    model_.nodes.push_back(std::move(node));
    return {};
  }

  Result<void> node_part(const WireReader& field, OnnxNode& node, std::string& domain) {
    switch (field.field()) {
      case node_field::kInputs:
      case node_field::kOutputs: {
        LANISTA_TRY(check_count(names_++, kMaxNames, "inputs and outputs of nodes"));
        LANISTA_ASSIGN(std::string name, text_of(field));
        (field.field() == node_field::kInputs ? node.inputs : node.outputs).push_back(std::move(name));
        return {};
      }
      case node_field::kName:
        return read_into(node.name, text_of(field));
      case node_field::kOp:
        return read_into(node.op, text_of(field));
      case node_field::kDomain:
        return read_into(domain, text_of(field));
      case node_field::kAttributes: {
        LANISTA_TRY(check_count(attributes_++, kMaxAttributes, "attributes"));
        LANISTA_ASSIGN(const std::string_view message, field.bytes());
        return read_attribute(message, node);
      }
      default:
        return {};
    }
  }

  Result<void> read_attribute(std::string_view message, OnnxNode& node) {
    AttributeParts parts;
    const auto read = for_each_field(message, [&](const WireReader& f) { return attribute_part(f, parts); });
    const std::string where = "attribute " + in_quotes(parts.name);
    if (!read) return with_location(where, read.error());
    auto value = attribute_value(parts);
    if (!value) return with_location(where, value.error());
    if (!node.attributes.emplace(std::move(parts.name), *std::move(value)).second) {
      return malformed(where + " stands twice");
    }
    return {};
  }

  Result<void> attribute_part(const WireReader& field, AttributeParts& parts) {
    switch (field.field()) {
      case attribute_field::kName:
        return read_into(parts.name, text_of(field));
      case attribute_field::kType:
        return read_into(parts.type, field.varint());
      case attribute_field::kFloat:
        return read_into(parts.real, field.fixed_float());
      case attribute_field::kInt:
        return read_into(parts.integer, field.integer());
      case attribute_field::kString:
        return read_into(parts.text, text_of(field));
      case attribute_field::kTensor:
        return read_into(parts.tensor, field.bytes());
      case attribute_field::kFloats:
        return for_each_fixed<float>(field, [&](float value) -> Result<void> {
          parts.reals.push_back(value);
          return {};
        });
      case attribute_field::kInts:
        return for_each_integer(field, [&](std::int64_t value) -> Result<void> {
          LANISTA_TRY(check_count(integers_++, kMaxPackedIntegers, "integers in lists"));
          parts.integers.push_back(value);
          return {};
        });
      default:
        return {};
    }
  }

  Result<OnnxValue> attribute_value(AttributeParts& parts) {
    switch (parts.type.value_or(0)) {
      case attribute_type::kInt:
        return OnnxValue(parts.integer);
      case attribute_type::kFloat:
        return OnnxValue(parts.real);
      case attribute_type::kString:
        return OnnxValue(std::move(parts.text));
      case attribute_type::kInts:
        return OnnxValue(std::move(parts.integers));
      case attribute_type::kFloats:
        return OnnxValue(std::move(parts.reals));
      case attribute_type::kTensor: {
        if (!parts.tensor) return malformed("is a tensor, but holds none");
        LANISTA_ASSIGN(Tensor tensor, read_tensor(*parts.tensor, integers_, model_.half_tensors, external_));
        return OnnxValue(std::move(tensor));
      }
      case attribute_type::kGraph:
      case attribute_type::kGraphs:
        return unsupported("is a sub-graph; models with control flow are not read");
      case 0:
        return malformed("has no type");
      default:
        return unsupported("has the type " + std::to_string(*parts.type) +
                           "; held are numbers, strings, tensors and lists of numbers");
    }
  }

  Result<void> read_infos(const WireReader& field, std::vector<OnnxValueInfo>& infos) {
    LANISTA_TRY(check_count(infos.size(), kMaxInfos, "inputs or outputs of the model"));
    LANISTA_ASSIGN(const std::string_view message, field.bytes());
    LANISTA_ASSIGN(OnnxValueInfo info, read_info(message));
    infos.push_back(std::move(info));
    return {};
  }

  /// Removes initialisers from the inputs, where early files list them: they have values.
  void drop_default_inputs() {
    std::set<std::string_view> given;
    for (const Tensor& tensor : model_.initializers) given.insert(tensor.name);
    std::erase_if(model_.inputs, [&](const OnnxValueInfo& info) { return given.contains(info.name); });
  }

  /// Checks that every name is defined once, and before it is read.
  Result<void> check_names() const {
    std::set<std::string_view> known;
    const auto define = [&](std::string_view name, const std::string& by) -> Result<void> {
      if (name.empty()) return malformed(by + " has no name");
      if (!known.insert(name).second) return malformed("the name " + in_quotes(name) + " is given twice");
      return {};
    };
    for (const OnnxValueInfo& info : model_.inputs) LANISTA_TRY(define(info.name, "an input of the model"));
    for (const Tensor& tensor : model_.initializers) LANISTA_TRY(define(tensor.name, "an initialiser"));
    for (const OnnxNode& node : model_.nodes) {
      for (const std::string& name : node.inputs) {
        if (name.empty() || known.contains(name)) continue;
        return malformed("node " + in_quotes(node.name) + " (" + in_quotes(node.op) + ") reads " + in_quotes(name) +
                         ", which nothing before it gives");
      }
      for (const std::string& name : node.outputs) {
        if (!name.empty()) LANISTA_TRY(define(name, "an output"));
      }
    }
    for (const OnnxValueInfo& info : model_.outputs) {
      if (!known.contains(info.name)) return malformed("nothing gives the output " + in_quotes(info.name));
    }
    return {};
  }

  const OnnxExternal& external_;
  OnnxModel model_;
  std::size_t names_ = 0, attributes_ = 0, integers_ = 0;
};

}  // namespace

Result<OnnxModel> decode_onnx(std::string_view bytes, const OnnxExternal& external) {
  auto model = Decoder(external).model(bytes);
  if (!model) return with_location("onnx", model.error());
  return model;
}

Result<Tensor> decode_onnx_tensor(std::string_view bytes) {
  std::size_t integers = 0, halves = 0;
  auto tensor = read_tensor(bytes, integers, halves);
  if (!tensor) return with_location("onnx", tensor.error());
  return tensor;
}

}  // namespace lanista::formats
