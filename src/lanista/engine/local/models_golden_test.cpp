// The bits of every built-in base after ten steps of each optimiser, by numeric class. How to renew the table on
// purpose: see kernels/kernels_golden_test.cpp.
#include <gtest/gtest.h>

#include <cstdio>
#include <map>

#include "lanista/base/rng.h"
#include "lanista/exec/program/backend.h"
#include "lanista/model/mutate/model_space.h"
#include "support/exec/program/test_models.h"

namespace lanista::runtime {
namespace {

using program::testing::OwnedBatch;

struct Base {
  std::string name;
  graph::Shape input;
  std::int64_t vocab;
};
const std::vector<Base>& bases() {
  static const std::vector<Base> kBases{{"small-mlp", graph::Shape{{1, 8, 8}}, 0},
                                        {"small-cnn", graph::Shape{{1, 8, 8}}, 0},
                                        {"small-transformer", graph::Shape{{12}}, 20}};
  return kBases;
}

/// Nineteen samples, which is no multiple of a vector width.
OwnedBatch synthetic_batch(const Base& base, std::uint64_t seed) {
  Rng rng(seed);
  OwnedBatch batch;
  batch.size = 19;
  std::int64_t count = batch.size;
  for (const std::int64_t dim : base.input.dims) count *= dim;
  batch.features.resize(static_cast<std::size_t>(count));
  for (float& x : batch.features) {
    x = base.vocab > 0 ? static_cast<float>(rng.below(static_cast<std::uint64_t>(base.vocab)))
                       : static_cast<float>(rng.uniform(-1, 1));
  }
  for (std::int64_t i = 0; i < batch.size; ++i) {
    batch.labels.push_back(static_cast<std::int32_t>(rng.below(10)));
    batch.sample_index.push_back(static_cast<std::int64_t>(rng.below(1000)));
  }
  return batch;
}

std::string trained(const Base& base, const std::string& optimizer, Precision precision, kernels::Isa isa) {
  const graph::OpTable ops = autodiff::training_ops(graph::builtin_ops());
  const auto model = mutate::builtin_base(base.name, base.input, 10, base.vocab);
  LANISTA_CHECK(model.ok(), base.name);
  const auto train = autodiff::derive_training_step(model->graph, {.optimizer = optimizer}, ops);
  const auto infer = autodiff::derive_inference_step(model->graph, ops);
  auto program = program::Program::compile(
      *train, *infer, {.max_batch = 19, .precision = precision, .backend = &program::cpu_backend(isa)});
  LANISTA_CHECK(program.ok(), base.name);
  LANISTA_CHECK(program->begin(0, 11).ok(), "no state");
  Hasher hasher;
  for (std::uint64_t step = 0; step < 10; ++step) {
    const program::LaneHyper hyper{
        .lr = 0.01, .momentum = 0.9, .weight_decay = 1e-4, .clip_norm = 1, .label_smoothing = 0.1};
    hasher.real(program::testing::step_once(*program, synthetic_batch(base, step), hyper));
  }
  for (const Tensor& tensor : program->extract(0)) hasher.text(tensor.name).bytes(tensor.bytes);
  std::vector<double> prediction(190);
  program->predict(0, synthetic_batch(base, 99).view(), prediction);
  for (const double each : prediction) hasher.real(each);
  return hasher.finish().hex().substr(0, 16);
}

struct Golden {
  const char *float_no_fma, *float_fma, *double_no_fma, *double_fma;
};

// Classes own-2/no-fma and own-2/fma.
const std::map<std::string, Golden>& golden() {
  static const std::map<std::string, Golden> kGolden{
      {"small-cnn/adam", {"349279975efedb5c", "820ae00e7b45417a", "d5aeb8968a24ad44", "9eb3e6cc1c855845"}},
      {"small-cnn/sgd", {"c9f63c7da4cafa42", "8d62c2601399c627", "8919b8fabc7d6829", "055dd4a3ba28e778"}},
      {"small-mlp/adam", {"844112b07ba30f23", "a208cff2b608b107", "44318878b10ba31a", "90deba07453823c1"}},
      {"small-mlp/sgd", {"648695897266b4f0", "172435285275c7b8", "2de1445dbf15d239", "30519beed6771e49"}},
      {"small-transformer/adam", {"bc87f78afd830686", "7a64ff95ec0c5811", "a095c0b1359ac17d", "dfc9d539859fc8f2"}},
      {"small-transformer/sgd", {"4112dd41c0d208ea", "6ddfadbaa840c354", "e70ddfee873b9e7f", "22085e3f3acbc608"}},
  };
  return kGolden;
}

TEST(Golden, EveryBaseTrainsToTheSameBits) {
  ASSERT_EQ(bases().size(), mutate::builtin_base_names().size());
  std::map<std::string, std::map<std::string, std::string>> seen;
  for (const Base& base : bases()) {
    for (const bool is_adam : {false, true}) {
      const std::string name = base.name + (is_adam ? "/adam" : "/sgd");
      for (const kernels::Isa isa : kernels::available_isas()) {
        for (const bool narrow : {true, false}) {
          const bool fma = isa != kernels::Isa::kPortable;
          const std::string hash =
              trained(base, is_adam ? "adam" : "sgd", narrow ? Precision::kFloat32 : Precision::kFloat64, isa);
          seen[name][std::string(narrow ? "float" : "double") + (fma ? "_fma" : "_no_fma")] = hash;
          const auto wanted = golden().find(name);
          if (wanted == golden().end()) {
            ADD_FAILURE() << name << " has no hash as yet";
            continue;
          }
          const Golden& g = wanted->second;
          EXPECT_EQ(hash, narrow ? (fma ? g.float_fma : g.float_no_fma) : (fma ? g.double_fma : g.double_no_fma))
              << name << " " << kernels::isa_name(isa);
        }
      }
    }
  }
  if (!HasFailure()) return;
  for (auto& [name, hashes] : seen) {
    std::printf("{\"%s\", {\"%s\", \"%s\", \"%s\", \"%s\"}},\n", name.c_str(), hashes["float_no_fma"].c_str(),
                hashes["float_fma"].c_str(), hashes["double_no_fma"].c_str(), hashes["double_fma"].c_str());
  }
}

}  // namespace
}  // namespace lanista::runtime
