// Data sets that stay on the device. They are uploaded once, and steps read rows.
#include "lanista/exec/backends/aten/device_dataset.h"

#include <algorithm>

#include "lanista/base/check.h"
#include "lanista/exec/backends/aten/aten_memory.h"
#include "lanista/exec/backends/aten/aten_recorded_step.h"

namespace lanista::device {
namespace {

constexpr std::int64_t kRowsPerCopy = 1024;

}  // namespace

// [rows, …], on the device.
Tensor AtenExecutable::upload_column(const program::SampleTable& table, const graph::ValueType& type,
                                     std::span<const float> program::Batch::*member) const {
  std::vector<std::int64_t> sizes = StepInputBuffer::sizes_of(type.shape, table.rows);
  const bool is_real = type.dtype == graph::DType::kReal;
  const Tensor whole = at::empty(sizes, is_real ? real_ : real_.dtype(at::kLong));
  for (std::int64_t first = 0; first < table.rows; first += kRowsPerCopy) {
    const std::int64_t count = std::min(kRowsPerCopy, table.rows - first);
    const program::Batch batch = table.read(first, count);
    sizes[0] = count;
    const auto values = batch.*member;
    LANISTA_CHECK(static_cast<std::int64_t>(values.size()) == type.shape.elements(count), "table and samples differ");
    Tensor rows = at::empty(sizes, at::TensorOptions(is_real ? at::kFloat : at::kLong));
    if (is_real) {
      std::ranges::copy(values, rows.data_ptr<float>());
    } else {
      std::ranges::transform(values, rows.data_ptr<std::int64_t>(), token_index);
    }
    whole.narrow(0, first, count).copy_(rows);
  }
  return whole;
}

std::shared_ptr<const DeviceDataset> AtenExecutable::upload_dataset(const program::SampleTable& table) const {
  const graph::ValueType& input = infer_.types.at(infer_.input);
  const graph::ValueType& target = train_->types.at(train_->target);
  const std::int64_t bytes =
      table.rows * (input.shape.elements_per_sample() + target.shape.elements_per_sample()) * std::int64_t{8};
  if (bytes > device_.max_dataset_bytes()) return nullptr;
  auto samples = std::make_shared<DeviceDataset>();
  if (options_.budget != nullptr) {
    auto reserved = options_.budget->reserve(bytes);
    if (!reserved) return nullptr;
    samples->reservation = *std::move(reserved);
  }
  try {
    samples->features = upload_column(table, input, &program::Batch::features);
    if (classes_ == 0) {
      samples->targets = upload_column(table, target, &program::Batch::targets);
    } else {
      Tensor labels = at::empty({table.rows, positions_}, at::TensorOptions(at::kLong));
      for (std::int64_t first = 0; first < table.rows; first += kRowsPerCopy) {
        const program::Batch batch = table.read(first, std::min(kRowsPerCopy, table.rows - first));
        std::ranges::copy(batch.labels, labels.data_ptr<std::int64_t>() + first * positions_);
      }
      samples->targets = labels.to(real_.device());
    }
    queue_->synchronise();  // the queues of other programs read it too
  } catch (const std::exception& error) {
    if (!is_out_of_memory(error)) throw;
    queue_->free_unused();
    return nullptr;
  }
  return samples;
}

// The data set on the device that contains all these batches. It is uploaded if necessary. Null if there is no common
// table or no memory.
const DeviceDataset* AtenExecutable::dataset_of(const LaneBatches& fed) const {
  if (!train_ || device_.max_dataset_bytes() == 0) return nullptr;
  const program::SampleTable* table = nullptr;
  for (const program::Batch* batch : fed.of) {
    if (batch == nullptr) continue;
    if (batch->table == nullptr || (table != nullptr && batch->table->identity != table->identity)) return nullptr;
    table = batch->table;
    const auto is_row = [&](std::int64_t row) { return row >= 0 && row < table->rows; };
    LANISTA_CHECK(std::ranges::all_of(batch->sample_index, is_row), "a sample index outside of its table");
  }
  if (table == nullptr) return nullptr;
  const auto [known, is_new] = dataset_cache_.try_emplace(table->identity);
  if (is_new) {
    const auto type = [](const graph::ValueType& value) { return static_cast<int>(value.dtype); };
    const DeviceDatasetCache::Key key{table->identity,
                                      2 * type(infer_.types.at(infer_.input)) + (state_format_->is_double() ? 1 : 0),
                                      type(train_->types.at(train_->target))};
    known->second = device_.dataset_cache().get(key, [&] { return upload_dataset(*table); });
    if (known->second == nullptr) {
      device_.warnings().add("device " + std::string(device_.name()) +
                             " has no memory for the data set; batches are copied one by one");
    }
  }
  return known->second.get();
}

}  // namespace lanista::device
