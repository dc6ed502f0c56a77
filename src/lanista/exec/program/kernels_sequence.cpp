// Token and position embeddings, and the small parts of attention.
#include <cstring>
#include <limits>

#include "lanista/exec/program/kernel_table.h"

namespace lanista::program {
namespace {

template <class T>
Run<T> embedding(const Binding<T>& b) {
  const std::int64_t vocab = b.x_shape(1).dims[0];
  const std::int64_t dim = b.x_shape(1).dims[1];
  return [count = ElementCount(b.x_shape(0)), vocab, dim, tokens = b.in[0], w = b.in[1],
          y = b.out[0]](const RunContext<T>& run) {
    const auto* token = run.template at<std::int32_t>(tokens);
    const T* table = run.at(w);
    T* row = run.at(y);
    for (std::int64_t i = 0; i < count.at(run.batch); ++i, row += dim) {
      const bool known = token[i] >= 0 && token[i] < vocab;
      const auto size = static_cast<std::size_t>(dim) * sizeof(T);
      if (known) {
        std::memcpy(row, table + token[i] * dim, size);
      } else {
        std::memset(row, 0, size);
      }
    }
  };
}

// Adds the rows of dy to their tokens in ascending order of sample and position.
template <class T>
Run<T> embedding_grad(const Binding<T>& b) {
  const std::int64_t vocab = b.y_shape().dims[0];
  const std::int64_t dim = b.y_shape().dims[1];
  return [add = b.k.add, count = ElementCount(b.x_shape(0)), vocab, dim, tokens = b.in[0], dy = b.in[1],
          dw = b.out[0]](const RunContext<T>& run) {
    const auto* token = run.template at<std::int32_t>(tokens);
    const T* row = run.at(dy);
    T* table = run.at(dw);
    std::memset(table, 0, static_cast<std::size_t>(vocab * dim) * sizeof(T));
    for (std::int64_t i = 0; i < count.at(run.batch); ++i, row += dim) {
      if (token[i] < 0 || token[i] >= vocab) continue;
      T* sum = table + token[i] * dim;
      add(dim, sum, row, sum);
    }
  };
}

template <class T>
Run<T> positional_embedding(const Binding<T>& b) {
  return [add = b.k.add, size = b.x_shape(0).elements_per_sample(), x = b.in[0], w = b.in[1],
          y = b.out[0]](const RunContext<T>& run) {
    for (std::int64_t n = 0; n < run.batch; ++n) add(size, run.at(x) + n * size, run.at(w), run.at(y) + n * size);
  };
}

template <class T>
Run<T> batch_sum(const Binding<T>& b) {
  return [sum = b.k.column_sum, size = b.x_shape(0).elements_per_sample(), x = b.in[0],
          y = b.out[0]](const RunContext<T>& run) { sum(run.batch, size, run.at(x), run.at(y)); };
}

template <class T>
Run<T> scale_by(const Binding<T>& b) {
  return
      [scale = b.k.scale, factor = static_cast<T>(b.args().real("by")), count = ElementCount(b.y_shape()), x = b.in[0],
       y = b.out[0]](const RunContext<T>& run) { scale(count.at(run.batch), factor, run.at(x), run.at(y)); };
}

// Masks all entries above the diagonal, NaN too. The diagonal stays, so each row has an entry for the softmax. Rows and
// columns are the last two logical dimensions; in images the channels are inside them.
template <class T>
Run<T> causal_mask(const Binding<T>& b) {
  constexpr T kUnseen = -std::numeric_limits<T>::infinity();
  const std::int64_t length = b.x_shape(0).dims.back();
  const std::int64_t inner = value_layout(b.x_shape(0)) == Layout::kImage ? b.x_shape(0).dims[1] : 1;
  const std::int64_t matrices = b.x_shape(0).elements_per_sample() / (length * length * inner);
  return [length, inner, matrices, from = b.in[0], to = b.out[0]](const RunContext<T>& run) {
    const T* x = run.at(from);
    T* y = run.at(to);
    for (std::int64_t row = 0; row < run.batch * matrices * length; ++row) {
      const std::int64_t seen = (row % length + 1) * inner;
      for (std::int64_t i = 0; i < length * inner; ++i) *y++ = i < seen ? x[i] : kUnseen;
      x += length * inner;
    }
  };
}

}  // namespace

template <class T>
void add_sequence_kernels(KernelTable<T>& table) {
  table["embedding"] = embedding<T>;
  table["embedding_grad"] = embedding_grad<T>;
  table["positional_embedding"] = positional_embedding<T>;
  table["batch_sum"] = batch_sum<T>;
  table["scale_by"] = scale_by<T>;
  table["causal_mask"] = causal_mask<T>;
}

template void add_sequence_kernels(KernelTable<float>&);
template void add_sequence_kernels(KernelTable<double>&);

}  // namespace lanista::program
