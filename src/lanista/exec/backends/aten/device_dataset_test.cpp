// Data sets that stay on a device. Steps receive row numbers, and all results equal those of uploaded batches.
#include <gtest/gtest.h>

#include <memory>
#include <utility>

#include "lanista/base/rng.h"
#include "lanista/exec/backends/aten/aten_devices.h"
#include "lanista/exec/backends/aten/aten_executable.h"
#include "support/exec/backends/aten/test_support.h"

namespace lanista::device {
namespace {

using namespace testing;

constexpr std::int64_t kRows = 1500;  // more than one read
constexpr std::int64_t kLanes = 3;

// The host as a GPU that keeps data sets of limited size.
class DatasetKeepingDevice final : public AtenDevice {
 public:
  explicit DatasetKeepingDevice(std::int64_t max_bytes) : max_bytes_(max_bytes) {}
  at::Device device() const override { return aten_host().device(); }
  std::string_view name() const override { return "torch:keeping"; }
  std::string_view numeric_class() const override { return "aten/keeping"; }
  std::unique_ptr<AtenQueue> queue() const override { return aten_host().queue(); }
  const LaneKernels* kernels() const override { return aten_host().kernels(); }
  std::size_t steps_per_launch() const override { return 3; }
  bool runs_masked_lanes() const override { return true; }
  bool lanes_may_differ() const override { return false; }
  std::int64_t max_dataset_bytes() const override { return max_bytes_; }

 private:
  std::int64_t max_bytes_;
};

// All samples, and batches of some of their rows.
class Samples {
 public:
  explicit Samples(const Derived& derived) : all_(random_batch(derived, kRows, 77)) {
    table_.identity = this;
    table_.rows = kRows;
    table_.read = [this, max_bytes = OwnedBatch()](std::int64_t first, std::int64_t count) mutable {
      ++reads;
      std::vector<std::int64_t> rows;
      for (std::int64_t row = first; row < first + count; ++row) rows.push_back(row);
      max_bytes = of(rows);
      return max_bytes.view();
    };
  }
  OwnedBatch of(const std::vector<std::int64_t>& rows) const {
    OwnedBatch batch;
    batch.size = std::ssize(rows);
    batch.sample_index = rows;
    const auto gather = [&](const auto& from, auto& to) {
      const std::size_t each = from.size() / kRows;
      for (const std::int64_t row : rows) {
        const auto begin = from.begin() + row * static_cast<std::ptrdiff_t>(each);
        to.insert(to.end(), begin, begin + static_cast<std::ptrdiff_t>(each));
      }
    };
    gather(all_.features, batch.features);
    gather(all_.labels, batch.labels);
    gather(all_.targets, batch.targets);
    return batch;
  }
  const program::SampleTable& table() const { return table_; }
  int reads = 0;

 private:
  OwnedBatch all_;
  program::SampleTable table_;
};

struct DatasetRun {
  std::vector<std::vector<lanista::Tensor>> states;
  std::vector<double> sums;
  std::int64_t uploaded_bytes = 0;
};

// Steps of three lanes, one of them masked in the last steps, then an evaluation.
DatasetRun train(const Derived& derived, const Samples& samples, const AtenDevice& device, bool names_table,
                 bool shared, Precision precision, MemoryBudget* budget = nullptr) {
  auto made =
      AtenExecutable::compile(&derived.train, derived.infer,
                              {.lanes = kLanes, .max_batch = kBatch, .precision = precision, .budget = budget}, device);
  EXPECT_TRUE(made.ok());
  auto& executable = static_cast<AtenExecutable&>(**made);
  for (std::int64_t lane = 0; lane < kLanes; ++lane)
    executable.attach(lane, *executable.make_state(4 + static_cast<std::uint64_t>(lane)));
  const std::vector<program::LaneHyper> hyper(kLanes, program::LaneHyper{.lr = 0.05, .momentum = 0.9});
  std::vector<std::uint8_t> active(kLanes, 1);
  std::vector<program::LaneResult> ends(kLanes);
  std::vector<OwnedBatch> owned(kLanes);
  std::vector<program::Batch> batches(kLanes);
  const auto batch_of = [&](std::size_t at, std::int64_t step) {
    Rng rng = Rng(9).split(static_cast<std::uint64_t>(step)).split(at);
    std::vector<std::int64_t> rows;
    const std::int64_t size = (step + static_cast<std::int64_t>(at)) % 4 == 3 ? 5 : kBatch;
    for (std::int64_t i = 0; i < size; ++i) rows.push_back(rng.between(0, kRows - 1));
    owned[at] = samples.of(rows);
    if (step == 2) owned[at].weights.assign(rows.size(), 0.5F);
    batches[at] = owned[at].view();
    // Augmented batches have features outside of the table. In step 6 only one lane of three has one.
    const bool is_own = step == 5 || (step == 6 && at == 2);
    for (float& value : owned[at].features) value *= is_own ? 0.5F : 1.0F;
    if (names_table && !is_own) batches[at].table = &samples.table();
  };
  DatasetRun result;
  for (const std::int64_t first : {0, 8}) {
    if (first > 0) active[1] = 0;
    executable.run({.steps = 8,
                    .active = active,
                    .step_input = [&](std::int64_t step) -> program::StepInput {
                      for (std::size_t at = 0; at < (shared ? 1 : owned.size()); ++at) batch_of(at, first + step);
                      return {std::span(batches).first(shared ? 1 : owned.size()), hyper};
                    }},
                   ends);
    executable.wait();
    for (const program::LaneResult& end : ends) {
      EXPECT_FALSE(end.failure);
      result.sums.push_back(end.loss_sum);
    }
  }
  result.uploaded_bytes = executable.uploaded_bytes();
  const program::Metrics asked{.loss = derived.train.options.loss};
  std::vector<program::LaneMetrics> measured{{.lane = 0, .requested = &asked}, {.lane = 2, .requested = &asked}};
  batch_of(0, 20);
  bool asked_for = false;
  executable.evaluate([&]() -> const program::Batch* { return std::exchange(asked_for, true) ? nullptr : &batches[0]; },
                      measured);
  for (const program::LaneMetrics& each : measured) result.sums.push_back(each.sums.loss);
  for (std::int64_t lane = 0; lane < kLanes; ++lane) result.states.push_back(executable.extract_state(lane));
  return result;
}

TEST(DeviceDatasets, GiveEqualBitsWhenReadByRow) {
  const DatasetKeepingDevice keeps(std::int64_t{1} << 30);
  for (const char* name : {"mlp", "dropout", "batch_norm_image", "mse_image", "embedding", "positions", "bce"}) {
    const Derived derived = derive(model_named(name));
    Samples samples(derived);
    for (const bool shared : {true, false}) {
      for (const Precision precision : {Precision::kFloat32, Precision::kFloat64}) {
        const DatasetRun fed = train(derived, samples, keeps, false, shared, precision);
        EXPECT_EQ(samples.reads, 0);
        const DatasetRun read = train(derived, samples, keeps, true, shared, precision);
        EXPECT_GT(std::exchange(samples.reads, 0), 0);
        EXPECT_TRUE(read.states == fed.states) << name << (shared ? " shared " : " own ") << name_of(precision);
        EXPECT_EQ(read.sums, fed.sums) << name;
        EXPECT_LT(read.uploaded_bytes, fed.uploaded_bytes) << name;
        if (precision == Precision::kFloat32) {
          RecordProperty(std::string(name) + (shared ? "_shared" : "_own"),
                         std::to_string(fed.uploaded_bytes) + " -> " + std::to_string(read.uploaded_bytes));
        }
      }
    }
  }
  EXPECT_TRUE(keeps.warnings().drain().empty());
}

TEST(DeviceDatasets, AreUploadedOnceAndFreedWithTheLastProgram) {
  const DatasetKeepingDevice keeps(std::int64_t{1} << 30);
  const Derived derived = derive(small_mlp());
  Samples samples(derived);
  const DeviceDatasetCache::Key key{samples.table().identity, 0, 0};
  int made = 0;
  const auto make = [&] {
    ++made;
    return std::make_shared<const DeviceDataset>();
  };
  {
    const auto first = keeps.dataset_cache().get(key, make), second = keeps.dataset_cache().get(key, make);
    EXPECT_EQ(first, second);
    EXPECT_EQ(made, 1);
  }
  static_cast<void>(keeps.dataset_cache().get(key, make));
  EXPECT_EQ(made, 2);
}

TEST(DeviceDatasets, AreUploadedPerBatchWithoutMemory) {
  const Derived derived = derive(small_mlp());
  Samples samples(derived);
  const DatasetKeepingDevice plenty(std::int64_t{1} << 30), little(1000);
  const DatasetRun fed = train(derived, samples, plenty, false, true, Precision::kFloat32);
  MemoryBudget budget(600000);  // enough for the program, but not for 1500 rows
  MemoryBudget* const none = nullptr;
  for (const auto& [device, of] : {std::pair(&little, none), std::pair(&plenty, &budget)}) {
    const DatasetRun read = train(derived, samples, *device, true, true, Precision::kFloat32, of);
    EXPECT_TRUE(read.states == fed.states);
    EXPECT_EQ(read.uploaded_bytes, fed.uploaded_bytes);
    EXPECT_EQ(device->warnings().drain().size(), 1U);
  }
  EXPECT_EQ(samples.reads, 0);
}

}  // namespace
}  // namespace lanista::device
