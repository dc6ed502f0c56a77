// Writes models for tests/readers/onnx_check.py and safetensors_check.py. Each folder case_NNN has model.onnx, a batch
// x.npy, our result y.npy, and the weights as .safetensors and as one .npy for each tensor. Each folder case_blend_N
// has an ensemble, without weights files. usage: onnx_corpus FOLDER
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <string>
#include <string_view>

#include "lanista/base/check.h"
#include "lanista/io/formats/npy.h"
#include "lanista/io/formats/safetensors.h"
#include "support/engine/local/blend_cases.h"
#include "support/engine/local/onnx_cases.h"

namespace lanista {
namespace {

namespace fs = std::filesystem;
using runtime::testing::BlendCase;
using runtime::testing::OnnxCase;

template <class T>
T must(Result<T> result) {
  LANISTA_CHECK(result.ok(), result ? "" : result.error().text());
  return *std::move(result);
}

void write(const fs::path& path, std::string_view bytes) {
  fs::create_directories(path.parent_path());
  std::ofstream file(path, std::ios::binary);
  file.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  LANISTA_CHECK(file.flush().good(), "cannot write " + path.string());
}

void write_safetensors(const fs::path& path, const formats::SafetensorsFile& file) {
  write(path, must(formats::encode_safetensors(file)));
  for (const Tensor& tensor : file.tensors) {
    write(fs::path(path).replace_extension() / (tensor.name + ".npy"), formats::encode_npy(tensor));
  }
}

void write_case(const fs::path& folder, const OnnxCase& one) {
  const auto& [name, graph, weights, options, x] = one;
  write(folder / "name.txt", name + "\n");
  write(folder / "model.onnx", formats::encode_onnx(must(formats::to_onnx(graph, weights, options))));
  write(folder / "x.npy", formats::encode_npy(x));
  const Tensor y = runtime::testing::predict(one);
  write(folder / "y.npy", formats::encode_npy(y));
  write_safetensors(folder / "weights.safetensors", {.tensors = weights, .metadata = {{"case", name}}});
}

void write_blend(const fs::path& folder, const BlendCase& one) {
  write(folder / "name.txt", one.name + "\n");
  write(folder / "model.onnx", formats::encode_onnx(must(formats::to_onnx(one.blended(), {}))));
  write(folder / "x.npy", formats::encode_npy(one.x));
  write(folder / "y.npy", formats::encode_npy(runtime::testing::predict(one)));
}

template <class T>
Tensor tensor(std::string name, ElementType type, std::vector<std::int64_t> shape, std::vector<T> values) {
  Tensor made{.name = std::move(name), .type = type, .shape = std::move(shape), .bytes = {}};
  made.bytes.resize(values.size() * sizeof(T));
  if (!values.empty()) std::memcpy(made.bytes.data(), values.data(), made.bytes.size());
  return made;
}

/// Returns tensors of each element type, a scalar, an empty tensor, and a size after which the next tensor is
/// unaligned.
formats::SafetensorsFile all_types() {
  return {.tensors = {tensor<float>("float", ElementType::kF32, {2, 3}, {1, -2, 3.5, 1e-30F, 1e30F, -0.F}),
                      tensor<std::uint8_t>("bytes", ElementType::kU8, {3}, {0, 7, 255}),
                      tensor<double>("scalar", ElementType::kF64, {}, {0.1}),
                      tensor<std::int64_t>("empty", ElementType::kI64, {0, 4}, {}),
                      tensor<std::int64_t>("long", ElementType::kI64, {2}, {-1, std::int64_t{1} << 62}),
                      tensor<std::int32_t>("int", ElementType::kI32, {1, 2}, {-5, 5})},
          .metadata = {{"note", "a \"quoted\" text"}}};
}

void write_all(const fs::path& folder) {
  int number = 0;
  for (const auto& cases : {runtime::testing::operator_cases(), runtime::testing::base_cases(),
                            runtime::testing::composed_cases(), runtime::testing::mutated_cases(50)}) {
    for (const OnnxCase& one : cases) {
      char name[16];
      std::snprintf(name, sizeof name, "case_%03d", number++);
      fs::remove_all(folder / name);
      write_case(folder / name, one);
    }
  }
  for (const BlendCase& one : runtime::testing::blend_cases(96)) {
    const std::string name = "case_blend_" + std::to_string(number++);
    fs::remove_all(folder / name);
    write_blend(folder / name, one);
  }
  write_safetensors(folder / "types.safetensors", all_types());
  std::cout << number << " cases\n";
}

}  // namespace
}  // namespace lanista

int main(int argc, char** argv) {
  if (argc != 2) {
    std::cerr << "usage: onnx_corpus FOLDER\n";
    return 2;
  }
  lanista::write_all(argv[1]);
  return 0;
}
