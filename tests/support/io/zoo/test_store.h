#pragma once

#include <gtest/gtest.h>

#include <filesystem>
#include <string>
#include <vector>

#include "lanista/base/rng.h"
#include "lanista/io/zoo/zoo_store.h"
#include "lanista/model/graph/infer.h"
#include "lanista/model/graph/text.h"
#include "support/model/transfer/test_layers.h"

namespace lanista::zoo::testing {

inline const TaskKey kDigits{"classes", 10, "d1", "[4]", "a1"};
inline const TaskKey kCats{"classes", 2, "c2", "[4]", "b2"};

/// Small random weights of a model.
inline std::vector<Tensor> random_weights(const graph::Graph& graph, std::uint64_t seed) {
  std::vector<Tensor> out;
  const auto params = graph::parameters(graph, graph::builtin_ops());
  EXPECT_TRUE(params.ok());
  for (const graph::NamedParam& param : *params) {
    Tensor tensor{param.name, ElementType::kF32, param.spec.shape.dims, {}};
    tensor.bytes.resize(static_cast<std::size_t>(tensor.elements()) * 4);
    Rng rng = Rng(seed).split(param.name);
    for (float& value : elements_of<float>(tensor)) value = static_cast<float>(rng.normal());
    out.push_back(std::move(tensor));
  }
  return out;
}

inline NewModel random_model(std::uint64_t seed, double quality, const TaskKey& task = kDigits) {
  const graph::Graph graph = random_layers(Rng(71).split(seed), 8);
  return {graph, task, random_weights(graph, seed), quality, "accuracy", std::nullopt, "test " + std::to_string(seed)};
}

/// An empty folder of the test's own, removed in the end.
class Folder {
 public:
  explicit Folder(const std::string& name) : path_(::testing::TempDir() + "lanista_zoo_" + name) {
    std::filesystem::remove_all(path_);
  }
  ~Folder() { std::filesystem::remove_all(path_); }
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

inline Store opened(const std::string& folder, Store::Mode mode = Store::Mode::kWrite,
                    const Store::Options& options = {}) {
  auto store = Store::open(folder, mode, options);
  EXPECT_TRUE(store.ok()) << store.error().text();
  return *std::move(store);
}

inline AddResult added(Store& store, const NewModel& model) {
  const auto out = store.add(model, graph::builtin_ops());
  EXPECT_TRUE(out.ok()) << out.error().text();
  return out ? *out : AddResult{};
}

/// A rollback journal of the database file `index` with a last record that names `other`. SQLite would roll back, and
/// then delete the named file.
inline std::string journal_naming(const std::string& other, const std::string& index) {
  const std::string magic("\xd9\xd5\x05\xf9\x20\xa1\x63\xd7", 8);
  const auto number = [](std::uint32_t value) {
    std::string out;
    for (int shift = 24; shift >= 0; shift -= 8) out += static_cast<char>(value >> shift & 255);
    return out;
  };
  const auto byte = [&](std::size_t at) { return static_cast<std::uint32_t>(static_cast<unsigned char>(index[at])); };
  const std::uint32_t page = byte(16) << 8U | byte(17);
  std::string out = magic + number(0) + number(0) + number(static_cast<std::uint32_t>(index.size()) / page) +
                    number(512) + number(page);
  out.resize(512, '\0');
  std::uint32_t sum = 0;
  for (const char c : other) sum += static_cast<std::uint32_t>(static_cast<signed char>(c));
  return out + number(0x40000000 / page + 1) + other + number(static_cast<std::uint32_t>(other.size())) + number(sum) +
         magic;
}

}  // namespace lanista::zoo::testing
