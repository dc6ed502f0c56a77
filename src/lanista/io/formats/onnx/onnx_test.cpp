#include "lanista/io/formats/onnx/onnx.h"

#include <gtest/gtest.h>

#include <cstring>
#include <limits>

#include "lanista/base/rng.h"
#include "lanista/io/formats/onnx/onnx_fields.h"
#include "lanista/io/formats/onnx/onnx_import.h"
#include "lanista/io/formats/onnx/wire.h"
#include "support/io/formats/test_support.h"

namespace lanista::formats {
namespace {

using namespace onnx;

using test::tensor;

OnnxModel sample_model() {
  OnnxModel model;
  model.producer = "lanista";
  model.graph_name = "sample";
  model.initializers = {tensor<float>("w", ElementType::kF32, {2, 3}, {1, 2, 3, 4, 5, 6}),
                        tensor<std::int64_t>("shape", ElementType::kI64, {2}, {0, -1}),
                        tensor<double>("d", ElementType::kF64, {}, {0.1}),
                        tensor<std::int32_t>("i", ElementType::kI32, {0, 4}, {}),
                        tensor<std::uint8_t>("u", ElementType::kU8, {1}, {255})};
  model.nodes = {{.name = "a",
                  .op = "Gemm",
                  .inputs = {"x", "w", ""},
                  .outputs = {"h"},
                  .attributes = {{"alpha", 0.5F},
                                 {"ints", std::vector<std::int64_t>{-1, 0, 1}},
                                 {"none", std::vector<std::int64_t>{}},
                                 {"reals", std::vector<float>{1.5F, -2}},
                                 {"text", std::string("SAME\0", 5)},
                                 {"transB", std::int64_t{1}},
                                 {"value", tensor<float>("t", ElementType::kF32, {1}, {7})}}},
                 {.name = "", .op = "Relu", .inputs = {"h"}, .outputs = {"y"}, .attributes = {}}};
  model.inputs = {{.name = "x", .type = ElementType::kF32, .shape = {-1, 3}}};
  model.outputs = {{.name = "y", .type = ElementType::kF32, .shape = {-1, 2}}};
  return model;
}

void expect_equal(const OnnxModel& a, const OnnxModel& b) {
  EXPECT_EQ(encode_onnx(a), encode_onnx(b));
  EXPECT_EQ(a.ir_version, b.ir_version);
  EXPECT_EQ(a.opset, b.opset);
  EXPECT_EQ(a.initializers, b.initializers);
  ASSERT_EQ(a.nodes.size(), b.nodes.size());
  for (std::size_t i = 0; i < a.nodes.size(); ++i) EXPECT_EQ(a.nodes[i].attributes, b.nodes[i].attributes);
  EXPECT_EQ(a.metadata, b.metadata);
}

/// A file with one graph.
std::string file_of(const WireWriter& graph, const std::string& rest = {}) {
  WireWriter opset, out;
  opset.varint(opset_field::kVersion, 17);
  out.varint(model_field::kIrVersion, 8).message(model_field::kGraph, graph).message(model_field::kOpsets, opset);
  return out.str() + rest;
}

std::string file_with(int graph_field, const WireWriter& part) {
  return file_of(WireWriter().message(graph_field, part));
}
std::string file_with_tensor(const WireWriter& part) { return file_with(graph_field::kInitializers, part); }
std::string file_with_node(const WireWriter& part) { return file_with(graph_field::kNodes, part); }

/// A tensor "w" of these dimensions.
WireWriter tensor_part(std::uint64_t type, const std::vector<std::int64_t>& dims) {
  WireWriter out;
  out.bytes(tensor_field::kName, "w").varint(tensor_field::kType, type);
  for (const std::int64_t dim : dims) out.signed_varint(tensor_field::kDims, dim);
  return out;
}

WireWriter node_part(const std::string& op) {
  return WireWriter().bytes(node_field::kName, "a").bytes(node_field::kOp, op);
}

WireWriter attribute_part(std::uint64_t type) {
  return WireWriter().bytes(attribute_field::kName, "k").varint(attribute_field::kType, type);
}

void expect_error(const std::string& bytes, Code code, const std::string& rule) {
  const auto result = decode_onnx(bytes);
  ASSERT_FALSE(result.ok()) << rule;
  EXPECT_EQ(result.error().code, code) << result.error().message;
  EXPECT_NE(result.error().message.find(rule), std::string::npos) << result.error().message << " for " << rule;
}
void expect_broken(const std::string& bytes, const std::string& rule) { expect_error(bytes, Code::kDataLoss, rule); }
void expect_refused(const std::string& bytes, const std::string& rule) {
  expect_error(bytes, Code::kUnimplemented, rule);
}

const Tensor& only_tensor(const Result<OnnxModel>& model) {
  EXPECT_TRUE(model.ok()) << model.error().message;
  return model->initializers.at(0);
}

TEST(Onnx, RoundTripsAllFields) {
  OnnxModel model = sample_model();
  model.metadata = {{"labels", "[\"cat\",\"dog\"]"}, {"", ""}};
  model.inputs[0].shape = {-1, 3, 0};

  const auto back = decode_onnx(encode_onnx(model));

  ASSERT_TRUE(back.ok()) << back.error().message;
  expect_equal(*back, model);
}

TEST(Onnx, WritesTheKnownBytes) {
  OnnxModel model;
  model.graph_name = "g";
  model.nodes = {{.name = "n", .op = "Relu", .inputs = {"x"}, .outputs = {"y"}, .attributes = {}}};

  using std::string_literals::operator""s;
  EXPECT_EQ(encode_onnx(model), "\x08\x08\x12\x00\x3a\x14\x0a\x0f\x0a\x01x\x12\x01y\x1a\x01n\x22\x04Relu\x12\x01g"s +
                                    "\x42\x04\x0a\x00\x10\x11"s);
}

TEST(Onnx, RefusesEachTruncation) {
  const std::string bytes = encode_onnx(sample_model());
  for (std::size_t size = 0; size < bytes.size(); ++size) {
    const auto result = decode_onnx(std::string_view(bytes).substr(0, size));
    ASSERT_FALSE(result.ok()) << size;
    EXPECT_EQ(result.error().code, Code::kDataLoss);
  }
}

TEST(Onnx, HandlesCorruptedBytes) {
  const std::string bytes = encode_onnx(sample_model());
  Rng rng(6);
  int refused = 0;
  for (int round = 0; round < 20000; ++round) {
    std::string bad = bytes;
    for (std::uint64_t k = 1 + rng.below(3); k-- > 0;)
      bad[rng.below(bad.size())] = static_cast<char>(rng.next() & 0xff);
    const auto result = decode_onnx(bad);
    if (result) {
      expect_equal(*decode_onnx(encode_onnx(*result)), *result);
      const auto imported = from_onnx(*result);
      EXPECT_TRUE(imported.ok() || !imported.error().message.empty());
    } else {
      ++refused;
      EXPECT_EQ(result.error().message.rfind("onnx: ", 0), 0U) << result.error().message;
    }
  }
  EXPECT_GT(refused, 10000);
}

TEST(Onnx, ReadsTypedArraysPackedAndNot) {
  const float values[] = {1.5F, -2};
  const std::string floats(reinterpret_cast<const char*>(values), sizeof values);
  const Tensor want = tensor<float>("w", ElementType::kF32, {2}, {1.5F, -2});
  EXPECT_EQ(only_tensor(decode_onnx(file_with_tensor(tensor_part(1, {2}).bytes(tensor_field::kFloats, floats)))), want);
  EXPECT_EQ(only_tensor(decode_onnx(file_with_tensor(
                tensor_part(1, {2}).fixed_float(tensor_field::kFloats, 1.5F).fixed_float(tensor_field::kFloats, -2)))),
            want);
  EXPECT_EQ(only_tensor(decode_onnx(file_with_tensor(tensor_part(1, {2}).bytes(tensor_field::kRaw, floats)))), want);

  EXPECT_EQ(only_tensor(decode_onnx(file_with_tensor(tensor_part(11, {1}).fixed_double(tensor_field::kDoubles, 0.1)))),
            tensor<double>("w", ElementType::kF64, {1}, {0.1}));
  const std::string minus_one = "\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01";
  EXPECT_EQ(only_tensor(decode_onnx(
                file_with_tensor(tensor_part(7, {3}).bytes(tensor_field::kInt64s, "\x05" + minus_one + "\x07")))),
            tensor<std::int64_t>("w", ElementType::kI64, {3}, {5, -1, 7}));
  EXPECT_EQ(only_tensor(decode_onnx(file_with_tensor(
                tensor_part(6, {2}).signed_varint(tensor_field::kInt32s, -3).bytes(tensor_field::kInt32s, "\x04")))),
            tensor<std::int32_t>("w", ElementType::kI32, {2}, {-3, 4}));
  EXPECT_EQ(only_tensor(decode_onnx(file_with_tensor(tensor_part(2, {2}).bytes(tensor_field::kInt32s, "\x01\x7f")))),
            tensor<std::uint8_t>("w", ElementType::kU8, {2}, {1, 127}));
  EXPECT_EQ(only_tensor(decode_onnx(file_with_tensor(tensor_part(1, {0})))),
            tensor<float>("w", ElementType::kF32, {0}, {}));
}

TEST(Onnx, NamesViolatedTensorRule) {
  const auto broken = [](const WireWriter& part, const std::string& rule) {
    expect_broken(file_with_tensor(part), rule);
  };
  const std::string eight(8, '\0');
  broken(tensor_part(1, {3}).bytes(tensor_field::kRaw, eight),
         "tensor \"w\": the shape needs 12 bytes, raw_data holds 8");
  broken(tensor_part(1, {1}).bytes(tensor_field::kRaw, eight), "needs 4 bytes, raw_data holds 8");
  broken(tensor_part(1, {2}), "needs 2 elements, the array holds 0");
  broken(tensor_part(7, {1}).bytes(tensor_field::kInt64s, "\x01\x02"), "needs 1 elements, the array holds 2");
  broken(tensor_part(1, {2}).bytes(tensor_field::kFloats, "12345"), "4-byte numbers has 5 bytes");
  broken(tensor_part(7, {1}).bytes(tensor_field::kInt64s, "\x80"), "ends inside a number");
  broken(tensor_part(1, {1}).bytes(tensor_field::kInt64s, "\x01"), "array of another type");
  broken(tensor_part(1, {1}).bytes(tensor_field::kInt64s, "\x01").fixed_float(tensor_field::kFloats, 1), "two kinds");
  broken(tensor_part(1, {2}).bytes(tensor_field::kRaw, eight).fixed_float(tensor_field::kFloats, 1), "raw_data and a");
  broken(tensor_part(1, {2}).bytes(tensor_field::kRaw, eight).bytes(tensor_field::kRaw, eight), "two fields raw_data");
  broken(tensor_part(2, {1}).signed_varint(tensor_field::kInt32s, 256), "256 is beyond its type");
  broken(tensor_part(6, {1}).signed_varint(tensor_field::kInt32s, std::int64_t{1} << 31), "beyond its type");
  broken(tensor_part(1, {-1}), "the dimension -1");
  broken(tensor_part(1, {std::int64_t{1} << 62}), "overflows");
  broken(tensor_part(2, {std::int64_t{1} << 32, std::int64_t{1} << 32}), "overflows");
  broken(tensor_part(1, {0, std::int64_t{1} << 40, std::int64_t{1} << 40}), "overflows");
  broken(tensor_part(1, {std::int64_t{1} << 40}).bytes(tensor_field::kRaw, eight), "raw_data holds 8");
  broken(tensor_part(1, {std::int64_t{1} << 40}), "the array holds 0");
  broken(tensor_part(1, std::vector<std::int64_t>(65, 1)), "more than 64 dimensions");
  broken(tensor_part(0, {}), "has no element type");
  broken(tensor_part(7, {1'048'577}).bytes(tensor_field::kInt64s, std::string(1'048'577, '\0')), "1048576 integers");
  broken(WireWriter().varint(tensor_field::kName, 3), "holds a number, not bytes");
}

TEST(Onnx, RefusesUnsupportedTensors) {
  const auto refused = [](const WireWriter& part, const std::string& why) {
    expect_refused(file_with_tensor(part), why);
  };
  WireWriter location;
  location.bytes(entry_field::kKey, "location").bytes(entry_field::kValue, "../../secret");
  refused(tensor_part(1, {1}).message(tensor_field::kExternal, location), "external data");
  refused(tensor_part(1, {1}).varint(tensor_field::kLocation, 1), "external data");
  refused(tensor_part(1, {1}).message(tensor_field::kSegment, {}), "segment");
  refused(tensor_part(8, {1}).bytes(tensor_field::kStrings, "x"), "strings");
  refused(tensor_part(13, {1}).varint(tensor_field::kUint64s, 1), "uint64");
  refused(tensor_part(14, {1}).bytes(tensor_field::kRaw, "abcdefgh"), "element type 14");
}

TEST(Onnx, ReadsSixteenBitsAsFloats) {
  const auto read = [](const WireWriter& part) {
    const auto model = decode_onnx(file_with_tensor(part));
    EXPECT_TRUE(model.ok()) << model.error().message;
    EXPECT_EQ(model->half_tensors, 1U);
    const auto elements = elements_of<float>(model->initializers.at(0));
    return std::vector<float>(elements.begin(), elements.end());
  };
  constexpr float kInfinite = std::numeric_limits<float>::infinity();
  // 1, -2, 1/3 rounded, the largest, the least subnormal, minus infinity
  const std::string half("\x00\x3c\x00\xc0\x55\x35\xff\x7b\x01\x00\x00\xfc", 12);
  EXPECT_EQ(read(tensor_part(10, {6}).bytes(tensor_field::kRaw, half)),
            (std::vector<float>{1, -2, 0.333251953125F, 65504, 0x1p-24F, -kInfinite}));
  const std::string brain("\x80\x3f\x00\xc0\x80\x7f", 6);
  EXPECT_EQ(read(tensor_part(16, {3}).bytes(tensor_field::kRaw, brain)), (std::vector<float>{1, -2, kInfinite}));
  EXPECT_EQ(read(tensor_part(10, {2}).varint(tensor_field::kInt32s, 0x3c00).varint(tensor_field::kInt32s, 0xc000)),
            (std::vector<float>{1, -2}));
  expect_broken(file_with_tensor(tensor_part(10, {2}).bytes(tensor_field::kRaw, "abc")), "raw_data holds 3");
  expect_broken(file_with_tensor(tensor_part(10, {1}).varint(tensor_field::kInt32s, 0x10000)), "beyond its type");
}

TEST(Onnx, NamesViolatedNodeRule) {
  const auto broken = [](const WireWriter& part, const std::string& rule) {
    expect_broken(file_with_node(part), rule);
  };
  const auto with_attribute = [](const WireWriter& a) { return node_part("Relu").message(node_field::kAttributes, a); };
  broken(WireWriter().bytes(node_field::kName, "a"), "node \"a\": has no operator");
  broken(node_part("Relu").bytes(node_field::kInputs, "nothing"), "reads \"nothing\", which nothing before it gives");
  broken(node_part("Relu").bytes(node_field::kOutputs, "y").bytes(node_field::kOutputs, "y"), "\"y\" is given twice");
  broken(with_attribute(attribute_part(0)), "attribute \"k\": has no type");
  broken(with_attribute(attribute_part(attribute_type::kTensor)), "is a tensor, but holds none");
  broken(with_attribute(attribute_part(2).varint(attribute_field::kFloat, 1)), "holds a number, not 4 fixed bytes");
  broken(with_attribute(attribute_part(2)).message(node_field::kAttributes, attribute_part(2)), "\"k\" stands twice");
  WireWriter many = attribute_part(attribute_type::kInts).bytes(attribute_field::kInts, std::string(1'048'577, '\0'));
  broken(with_attribute(many), "more than 1048576 integers");
}

TEST(Onnx, RefusesUnsupportedNodes) {
  const auto refused = [](const WireWriter& part, const std::string& why) {
    expect_refused(file_with_node(part), why);
  };
  const auto with_attribute = [](const WireWriter& a) { return node_part("If").message(node_field::kAttributes, a); };
  refused(node_part("Gelu").bytes(node_field::kDomain, "com.microsoft"), "domain \"com.microsoft\"");
  refused(with_attribute(attribute_part(attribute_type::kGraph)), "sub-graph");
  refused(with_attribute(attribute_part(attribute_type::kGraphs)), "sub-graph");
  refused(with_attribute(attribute_part(8)), "has the type 8");

  // A sub-graph inside a sub-graph and so on is refused without reading it.
  WireWriter nested;
  for (int depth = 0; depth < 2000; ++depth) {
    WireWriter attribute = attribute_part(attribute_type::kGraph), graph;
    graph.message(graph_field::kNodes, node_part("If").message(node_field::kAttributes, attribute.message(6, nested)));
    nested = graph;
  }
  expect_refused(file_of(nested), "sub-graph");
}

TEST(Onnx, NamesViolatedModelRule) {
  const auto model = [](const auto& change) {
    OnnxModel changed = sample_model();
    change(changed);
    return encode_onnx(changed);
  };
  WireWriter old;
  old.bytes(opset_field::kDomain, "").varint(opset_field::kVersion, 9);
  const std::string opset = WireWriter().message(model_field::kOpsets, old).str();
  const std::string whole = encode_onnx(sample_model());
  expect_broken("", "no ir_version");
  expect_broken(model([](OnnxModel& m) { m.ir_version = -1; }), "no ir_version");
  expect_broken(model([](OnnxModel& m) { m.opset = 0; }), "version 0 of the operator set");
  expect_broken(whole + opset, "two versions");
  expect_broken(whole + WireWriter().message(model_field::kGraph, {}).str(), "two graphs");
  expect_broken(WireWriter().varint(model_field::kIrVersion, 8).str(), "names no version");
  expect_broken(WireWriter().varint(model_field::kIrVersion, 8).str() + opset, "no graph");
  expect_refused(whole + WireWriter().bytes(model_field::kFunctions, "").str(), "functions");
  expect_broken(model([](OnnxModel& m) { m.initializers[1].name = "w"; }), "\"w\" is given twice");
  expect_broken(model([](OnnxModel& m) { m.nodes[0].outputs[0] = "x"; }), "\"x\" is given twice");
  expect_broken(model([](OnnxModel& m) { m.initializers[0].name = ""; }), "an initialiser has no name");
  expect_broken(model([](OnnxModel& m) { m.outputs[0].name = "z"; }), "nothing gives the output \"z\"");
  expect_broken(model([](OnnxModel& m) { std::swap(m.nodes[0], m.nodes[1]); }), "nothing before it gives");
  WireWriter entry;
  const std::string note = WireWriter().message(model_field::kMetadata, entry.bytes(entry_field::kKey, "k")).str();
  expect_broken(whole + note + note, "the metadata \"k\" stands twice");
}

TEST(Onnx, NamesViolatedInputRule) {
  const auto input = [](const WireWriter& type) {
    return file_with(graph_field::kInputs, WireWriter().bytes(info_field::kName, "x").message(info_field::kType, type));
  };
  const auto shaped = [&](const std::vector<WireWriter>& dims) {
    WireWriter shape, tensor_type;
    for (const WireWriter& dim : dims) shape.message(shape_field::kDims, dim);
    tensor_type.varint(tensor_type_field::kElement, 1).message(tensor_type_field::kShape, shape);
    return input(WireWriter().message(type_field::kTensor, tensor_type));
  };
  expect_broken(input({}), "value \"x\": has no type");
  expect_broken(input(WireWriter().message(type_field::kTensor, {})), "has no element type");
  expect_refused(input(WireWriter().message(4, {})), "no dense tensor");
  expect_broken(shaped({WireWriter().signed_varint(dim_field::kValue, -1)}), "the dimension -1");
  expect_broken(shaped(std::vector<WireWriter>(65)), "more than 64 dimensions");
  const auto symbolic = decode_onnx(shaped({WireWriter().bytes(dim_field::kSymbol, "batch"), WireWriter()}));
  ASSERT_TRUE(symbolic.ok()) << symbolic.error().message;
  EXPECT_EQ(symbolic->inputs[0].shape, (std::vector<std::int64_t>{-1, -1}));
}

TEST(Onnx, EnforcesLimits) {
  const auto many = [](int field, const WireWriter& part, int count) {
    const std::string one = WireWriter().message(field, part).str();
    std::string all;
    for (int i = 0; i < count; ++i) all += one;
    return all;
  };
  const auto graph_of = [](const std::string& content) {
    WireWriter opset, out;
    opset.varint(opset_field::kVersion, 17);
    out.varint(model_field::kIrVersion, 8).bytes(model_field::kGraph, content).message(model_field::kOpsets, opset);
    return out.str();
  };
  const auto node_of = [&](const std::string& content) {
    return graph_of(WireWriter().bytes(graph_field::kNodes, node_part("Relu").str() + content).str());
  };
  EXPECT_TRUE(decode_onnx(graph_of(many(graph_field::kNodes, node_part("Relu"), 100'000))).ok());
  expect_broken(graph_of(many(graph_field::kNodes, node_part("Relu"), 100'001)), "100001 nodes");
  expect_broken(graph_of(many(graph_field::kInitializers, {}, 50'001)), "50001 initialisers");
  expect_broken(node_of(many(node_field::kInputs, {}, 300'001)), "more than 300000 inputs and outputs");
  std::string attributes;
  for (int i = 0; i <= 100'000; ++i) {
    WireWriter a;
    a.bytes(attribute_field::kName, std::to_string(i)).varint(attribute_field::kType, attribute_type::kInt);
    attributes += WireWriter().message(node_field::kAttributes, a).str();
  }
  expect_broken(node_of(attributes), "more than 100000 attributes");
}

TEST(Onnx, OmitsInputsWithInitialisers) {
  OnnxModel model = sample_model();
  model.inputs.push_back({.name = "w", .type = ElementType::kF32, .shape = {2, 3}});

  const auto back = decode_onnx(encode_onnx(model));

  ASSERT_TRUE(back.ok()) << back.error().message;
  ASSERT_EQ(back->inputs.size(), 1U);
  EXPECT_EQ(back->inputs[0].name, "x");
}

TEST(Onnx, SkipsUnknownFields) {
  WireWriter other;
  other.bytes(opset_field::kDomain, "com.microsoft").varint(opset_field::kVersion, 1);
  const std::string rest =
      WireWriter().message(model_field::kOpsets, other).bytes(6, "a doc string").varint(99, 1).str();

  const auto back = decode_onnx(encode_onnx(sample_model()) + rest);

  ASSERT_TRUE(back.ok()) << back.error().message;
  EXPECT_EQ(back->opset, 17);
}

}  // namespace
}  // namespace lanista::formats
