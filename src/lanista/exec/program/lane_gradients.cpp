#include "lanista/exec/program/lane_gradients.h"

#include <new>
#include <string>
#include <utility>

#include "lanista/exec/program/state_tensors.h"

namespace lanista::program {
namespace {

template <class T>
std::vector<Tensor> extract_as(const StateLayout& layout, const T* gradients) {
  std::vector<Tensor> all;
  for (const StateTensorLayout& item : layout.items) {
    if (!item.tensor.trained) continue;
    Tensor tensor = make_tensor(item.tensor.name, kRealType<T>, item.tensor.shape.dims);
    item.from_layout.convert(0, gradients + item.range.begin, elements_of<T>(tensor).data());
    all.push_back(std::move(tensor));
  }
  return all;
}

}  // namespace

Result<LaneGradients> LaneGradients::make(std::shared_ptr<const StateFormat> state_format, MemoryBudget* budget) {
  LaneGradients made;
  const std::int64_t bytes = state_format->part_offset(2);
  if (budget != nullptr) {
    LANISTA_ASSIGN(made.reservation_, budget->reserve(bytes));
  }
  try {
    made.memory_ = AlignedBytes(bytes);
  } catch (const std::bad_alloc&) {
    return Error{.code = Code::kResourceExhausted,
                 .message = "the system has no memory for gradients of " + std::to_string(bytes) + " bytes",
                 .where = {}};
  }
  made.state_format_ = std::move(state_format);
  return made;
}

std::vector<Tensor> LaneGradients::extract() const {
  return state_format_->is_double() ? extract_as(state_format_->layout(), gradients<double>())
                                    : extract_as(state_format_->layout(), gradients<float>());
}

}  // namespace lanista::program
