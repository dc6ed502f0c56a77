#include "lanista/io/formats/cpp_export/cpp_source.h"

#include <gtest/gtest.h>

#include <limits>

#include "lanista/io/formats/cpp_export/cpp_text.h"
#include "lanista/model/graph/text.h"

namespace lanista::formats {
namespace {

graph::Graph model(const std::string& lines) {
  auto parsed = graph::parse(lines);
  EXPECT_TRUE(parsed.ok()) << parsed.error().text();
  return *std::move(parsed);
}

Tensor weight(std::string name, std::vector<std::int64_t> shape, std::vector<float> values) {
  Tensor out{std::move(name), ElementType::kF32, std::move(shape), {}};
  out.bytes.resize(values.size() * sizeof(float));
  std::copy(values.begin(), values.end(), elements_of<float>(out).begin());
  return out;
}

const std::string kLinear = "%0 = input(shape=[2])\n%1 = linear(%0, out=1) \"last\"\n%2 = output(%1)\n";

std::vector<Tensor> linear_weights() {
  return {weight("n1.weight", {1, 2}, {1.5F, -0.1F}), weight("n1.bias", {1}, {-2})};
}

Error error_of(const Result<std::string>& result) { return result ? Error{} : result.error(); }

TEST(ToCpp, WritesReadableLoopsUnderTheNameOfEachNode) {
  const auto made = to_cpp(model(kLinear), linear_weights(), {.mean = {0.5}, .scale = {}, .labels = {}});
  ASSERT_TRUE(made.ok()) << made.error().text();
  const std::string expected = R"(constexpr Index input_size = 2;
constexpr Index output_size = 1;

inline constexpr double input_mean[1] = {
    0x1p-1,
};

inline constexpr float n1_weight[2] = {
    0x1.8p+0f, -0x1.99999ap-4f,
};

inline constexpr float n1_bias[1] = {
    -0x1p+1f,
};

inline void predict(const float* input, float* output) {
  // %0 = input(shape=[2]) gives [2]
  std::vector<float> v0(2);
  for (Index i = 0; i < 2; ++i) v0[i] = static_cast<float>((input[i] - input_mean[0]));

  // %1 = linear(%0, out=1) "last" gives [1]
  std::vector<float> v1(1);
  for (Index r = 0; r < 1; ++r) {
    for (Index o = 0; o < 1; ++o) {
      float sum = 0;
      for (Index i = 0; i < 2; ++i) sum += v0[r * 2 + i] * n1_weight[o * 2 + i];
      v1[r * 1 + o] = sum + n1_bias[o];
    }
  }

  // %2 = output(%1) gives [1]
  std::copy_n(&v1[0], 1, output);
}
)";
  EXPECT_NE(made->find(expected), std::string::npos) << *made;
  EXPECT_EQ(*to_cpp(model(kLinear), linear_weights(), {.mean = {0.5}, .scale = {}, .labels = {}}), *made);
}

TEST(ToCpp, ReplacesMissingNumbersByMeans) {
  const auto made =
      to_cpp(model(kLinear), linear_weights(), {.mean = {}, .scale = {}, .labels = {}, .missing = {1, 0.1}});
  ASSERT_TRUE(made.ok()) << made.error().text();
  EXPECT_NE(made->find("inline constexpr float input_missing[2] = {\n    0x1p+0f, 0x1.99999ap-4f,\n};\n"),
            std::string::npos)
      << *made;
  EXPECT_NE(made->find("v0[i] = static_cast<float>((std::isnan(input[i]) ? input_missing[i] : input[i]));\n"),
            std::string::npos)
      << *made;
  EXPECT_NE(made->find("A missing number is NaN.\n"), std::string::npos) << *made;
  const auto wrong =
      to_cpp(model(kLinear), linear_weights(), {.mean = {}, .scale = {}, .labels = {}, .missing = {1, 2, 3}});
  EXPECT_EQ(error_of(wrong).code, Code::kInvalidArgument);
}

TEST(ToCpp, HasAnEmitterForEveryOperator) {
  const CppEmitters emitters = cpp_emitters();
  for (const std::string& name : graph::builtin_ops().names()) EXPECT_TRUE(emitters.contains(name)) << name;
  EXPECT_EQ(emitters.size(), graph::builtin_ops().names().size());
}

TEST(ToCpp, RefusesUserOperatorByName) {
  graph::OpTable ops = graph::builtin_ops();
  graph::OpDef mine = *ops.find("relu");
  mine.name = "mine";
  ASSERT_TRUE(ops.add(mine).ok());

  const Error error = error_of(to_cpp(model("%0 = input(shape=[2])\n%1 = mine(%0)\n%2 = output(%1)\n"), {}, {}, ops));

  EXPECT_EQ(error.code, Code::kUnimplemented);
  EXPECT_EQ(error.message, "operator 'mine' of node n1 has no form in C++");
}

TEST(ToCpp, RefusesWeightsOfWrongShape) {
  const auto refusal = [](std::vector<Tensor> weights) {
    const Error error = error_of(to_cpp(model(kLinear), weights));
    EXPECT_EQ(error.code, Code::kInvalidArgument);
    return error.message;
  };
  EXPECT_EQ(refusal({linear_weights()[0]}), "weight 'n1.bias' is missing");
  EXPECT_EQ(refusal({weight("n1.weight", {2, 1}, {1, 2}), linear_weights()[1]}),
            "weight 'n1.weight' is [2, 1], the model needs [1, 2]");
  EXPECT_EQ(refusal({weight("n1.weight", {1, 2}, {1, std::numeric_limits<float>::infinity()}), linear_weights()[1]}),
            "weight 'n1.weight' is not finite in element 1");
  Tensor labels{"n1.bias", ElementType::kI32, {1}, std::vector<std::byte>(4)};
  EXPECT_EQ(refusal({linear_weights()[0], labels}), "weight 'n1.bias' holds no real numbers");
}

TEST(ToCpp, RoundsDoublesAndIgnoresOtherTensors) {
  Tensor bias{"n1.bias", ElementType::kF64, {1}, std::vector<std::byte>(8)};
  elements_of<double>(bias)[0] = -2;
  const std::vector<Tensor> given{weight("n1.weight/momentum", {1}, {7}), linear_weights()[0], bias};
  EXPECT_EQ(*to_cpp(model(kLinear), given), *to_cpp(model(kLinear), linear_weights()));
}

TEST(ToCpp, RefusesNormalisationOfWrongSize) {
  const auto refusal = [](std::vector<double> mean, std::vector<double> scale) {
    const std::string image = "%0 = input(shape=[3,2,2])\n%1 = relu(%0)\n%2 = output(%1)\n";
    const Error error = error_of(to_cpp(model(image), {}, {std::move(mean), std::move(scale), {}}));
    EXPECT_EQ(error.code, Code::kInvalidArgument);
    return error.message;
  };
  EXPECT_EQ(refusal({1, 2}, {}), "the mean has 2 entries, the input [3, 2, 2] needs none, 1, 3 or 12");
  EXPECT_EQ(refusal({}, {1, 0, 1}), "the scale 0.000000 is nothing to divide by");
  EXPECT_EQ(refusal({std::numeric_limits<double>::infinity()}, {}), "the mean inf is not finite");
}

TEST(ToCpp, RefusesTooManyWeights) {
  const std::string wide = "%0 = input(shape=[4097])\n%1 = linear(%0, out=4096, bias=false)\n%2 = output(%1)\n";
  const Error error = error_of(
      to_cpp(model(wide), std::vector<Tensor>{weight("n1.weight", {4096, 4097}, std::vector<float>(4096 * 4097))}));
  EXPECT_EQ(error.code, Code::kResourceExhausted);
  EXPECT_EQ(error.message, "a model of 16781312 weights is too large for a source file; at most 16777216");
}

TEST(ToCpp, EscapesLabelsInComments) {
  graph::GraphBuilder builder;
  const auto in = builder.add("input", {}, {{"shape", std::vector<std::int64_t>{1}}});
  const auto relu = builder.add("relu", {{in, 0}}, {}, "a\nint main() {} \\");
  builder.add("output", {{relu, 0}});
  const auto made = to_cpp(std::move(builder).take(), {});
  ASSERT_TRUE(made.ok());
  EXPECT_NE(made->find("// %1 = relu(%0) \"a\\nint main() {} \\\\\" gives [1]\n"), std::string::npos) << *made;
}

TEST(CppText, WritesExactLiterals) {
  EXPECT_EQ(cpp_hex(-0.0F), "-0x0p+0f");
  EXPECT_EQ(cpp_hex(0.1), "0x1.999999999999ap-4");
  EXPECT_EQ(cpp_hex(std::numeric_limits<float>::denorm_min()), "0x0.000002p-126f");
  EXPECT_EQ(cpp_float(3), "3.0f");
  EXPECT_EQ(cpp_float(1e-5), "1e-05f");
}

TEST(CppText, EscapesStringLiterals) {
  EXPECT_EQ(cpp_string("a\"\\?\n\xff"
                       "1"),
            R"("a\042\134\077\012\3771")");
}

TEST(CppText, FillsAndIndents) {
  EXPECT_EQ(cpp_fill("$a[i] = $b_c;", {{"a", "x"}, {"b_c", "1"}}), "x[i] = 1;");
  EXPECT_EQ(cpp_indent("a\n\n  b\n", 2), "  a\n\n    b\n");
  EXPECT_EQ(cpp_loops({2, 3}, "f();\n"),
            "for (Index i0 = 0; i0 < 2; ++i0) {\n  for (Index i1 = 0; i1 < 3; ++i1) {\n    f();\n  }\n}\n");
}

}  // namespace
}  // namespace lanista::formats
