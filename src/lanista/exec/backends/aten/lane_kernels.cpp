// Lane kernels on the host: the text of device/, compiled for both types of values.
#include "lanista/exec/backends/aten/lane_kernels.h"

#include <cmath>
#include <limits>
#include <map>
#include <memory>
#include <string_view>

namespace lanista::device {
namespace {

using i64 = long long;
using u64 = unsigned long long;
using u32 = unsigned int;
using n32 = unsigned int;
using Start = void (*)(i64 count, const void* args);

// Kernels by name. The constructors of static objects below fill it at start-up.
std::map<std::string_view, Start>& floats() {
  static std::map<std::string_view, Start> all;
  return all;
}
std::map<std::string_view, Start>& doubles() {
  static std::map<std::string_view, Start> all;
  return all;
}

#define LANE_FN inline
#define LANE_STATIC_FN static
#define LANE_READ(member) static_cast<const T*>(a.member)
#define LANE_WRITE(member) static_cast<T*>(a.member)
#define LANE_EXP(x) std::exp(x)
#define LANE_LOG(x) std::log(x)
#define LANE_SQRT(x) std::sqrt(x)
#define LANE_INFINITY std::numeric_limits<T>::infinity()
#define LANE_KERNEL(name, Args)                                                                                 \
  inline void name##_at(i64 i, const Args& a);                                                                  \
  [[maybe_unused]] const bool name##_is_known = LANE_TABLE()                                                    \
                                                    .emplace(#name,                                             \
                                                             [](i64 count, const void* args) {                  \
                                                               for (i64 i = 0; i < count; ++i) {                \
                                                                 name##_at(i, *static_cast<const Args*>(args)); \
                                                               }                                                \
                                                             })                                                 \
                                                    .second;                                                    \
  inline void name##_at(i64 i, const Args& a)

#define LANE_CALL inline
#define LANE_UNROLL
#define LANE_NO_UNROLL
#define LANE_ARGUMENTS(...) __VA_ARGS__
#define LANE_THREAD_STATES(Of) typename Of::ThreadState*
#define LANE_THREAD_STATE own[t]
#define LANE_FOR_EACH_THREAD(t) for (int t = 0; t < kThreads; ++t)
#define LANE_BARRIER static_assert(true)
#define LANE_TILE_KERNEL(name, Args, body, ...)                                                            \
  [[maybe_unused]] const bool name##_is_known =                                                            \
      LANE_TABLE()                                                                                         \
          .emplace(#name,                                                                                  \
                   [](i64 count, const void* args) {                                                       \
                     const auto shared_memory = std::make_unique<__VA_ARGS__::Shared>();                   \
                     const auto own =                                                                      \
                         std::make_unique<__VA_ARGS__::ThreadState[]>(std::size_t{__VA_ARGS__::kThreads}); \
                     for (i64 i = 0; i < count; ++i) {                                                     \
                       body(i, *static_cast<const Args*>(args), *shared_memory, own.get());                \
                     }                                                                                     \
                   })                                                                                      \
          .second;

// Adds in the order of the GPU.
#define LANE_ROW_THREADS_SUM(share, member)                                                   \
  for (int lane_distance = (share) / 2; lane_distance > 0; lane_distance /= 2) {              \
    T before[kThreads];                                                                       \
    for (int t = 0; t < kThreads; ++t) before[t] = own[t].member;                             \
    for (int t = 0; t < kThreads; ++t) own[t].member = before[t] + before[t ^ lane_distance]; \
  }                                                                                           \
  static_assert(true)
#define LANE_ROW_KERNEL(name, Args) LANE_KERNEL(name, Args)
#define LANE_ROW_FN inline
#define LANE_ROW_CALL(name) name
#define LANE_ROW_OF(k, count) for (i64 k = 0; k < (count); ++k)
#define LANE_ROW(k) LANE_ROW_OF(k, a.len)
#define LANE_ROW_SUM(x) (x)
#define LANE_ROW_MAX(x) (x)
#define LANE_ROW_FIRST true
#define LANE_ROW_OWN(j) (j)
#define LANE_THREADS_PER_ROW 1
#define LANE_ROW_FOR_EACH_MATCH(count, holds, read, take) \
  for (i64 row_ = 0; row_ < (count); ++row_)              \
    if (holds(row_)) take(read(row_))

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wconversion"
#pragma GCC diagnostic ignored "-Wold-style-cast"
#pragma GCC diagnostic ignored "-Wsign-conversion"
#pragma GCC diagnostic ignored "-Wfloat-conversion"
#pragma GCC diagnostic ignored "-Wuseless-cast"
#define LANE_TABLE floats
namespace in_float {
using T = float;
using namespace lane;
#include "lanista/exec/backends/aten/device/base.inc.h"
#include "lanista/exec/backends/aten/device/convolution.inc.h"
#include "lanista/exec/backends/aten/device/elementwise.inc.h"
#include "lanista/exec/backends/aten/device/norm.inc.h"
#include "lanista/exec/backends/aten/device/optimizer_rules.inc.h"
#include "lanista/exec/backends/aten/device/pool.inc.h"
#include "lanista/exec/backends/aten/device/product.inc.h"
#include "lanista/exec/backends/aten/device/row_grad.inc.h"
#include "lanista/exec/backends/aten/device/row_mean.inc.h"
#include "lanista/exec/backends/aten/device/step_end.inc.h"
}  // namespace in_float
#undef LANE_TABLE
#undef LANE_ELEMENTWISE
#undef LANE_HYPER
#undef LANE_ADD_L2_DECAY
#undef LANE_PRODUCT
#undef LANE_PRODUCT_OF
#undef LANE_ANY_PRODUCT
#define LANE_TABLE doubles
namespace in_double {
using T = double;
using namespace lane;
#include "lanista/exec/backends/aten/device/base.inc.h"
#include "lanista/exec/backends/aten/device/convolution.inc.h"
#include "lanista/exec/backends/aten/device/elementwise.inc.h"
#include "lanista/exec/backends/aten/device/norm.inc.h"
#include "lanista/exec/backends/aten/device/optimizer_rules.inc.h"
#include "lanista/exec/backends/aten/device/pool.inc.h"
#include "lanista/exec/backends/aten/device/product.inc.h"
#include "lanista/exec/backends/aten/device/row_grad.inc.h"
#include "lanista/exec/backends/aten/device/row_mean.inc.h"
#include "lanista/exec/backends/aten/device/step_end.inc.h"
}  // namespace in_double
#pragma GCC diagnostic pop

class HostKernels final : public LaneKernels {
 protected:
  void start(const char* kernel, at::ScalarType type, std::int64_t count, Launch, const void* args,
             std::size_t) const override {
    const auto& table = type == at::kFloat ? floats() : doubles();
    std::string_view name = kernel;
    if (name.ends_with(kShort)) name.remove_suffix(kShort.size());  // one thread has a row, whatever its length
    const auto found = table.find(name);
    TORCH_CHECK(found != table.end(), "no kernel '", kernel, "'");
    found->second(count, args);
  }
};

}  // namespace

std::string lane_kernel_source(at::ScalarType type) {
  return (type == at::kFloat ? "typedef float T;\n" : "typedef double T;\n") + std::string(lane_text());
}

const LaneKernels& host_lane_kernels() {
  static const HostKernels kernels;
  return kernels;
}

}  // namespace lanista::device
