// Macros of the lane kernels for a GPU. Those of the host are in lane_kernels.cpp. T is defined before this text.
// NOLINTBEGIN
typedef long long i64;
typedef unsigned long long u64;
typedef unsigned int u32;
typedef unsigned int n32;
#define LANE_FN static __device__ __forceinline__
#define LANE_STATIC_FN static __device__ __forceinline__
#define LANE_READ(member) ((const T*)a.member)
#define LANE_WRITE(member) ((T*)a.member)
#define LANE_KERNEL(name, Args)                                           \
  static __device__ __forceinline__ void name##_at(i64 i, const Args& a); \
  extern "C" __global__ void name(i64 count, const Args a) {              \
    const i64 i = (i64)blockIdx.x * blockDim.x + threadIdx.x;             \
    if (i < count) name##_at(i, a);                                       \
  }                                                                       \
  static __device__ __forceinline__ void name##_at(i64 i, const Args& a)
// Two kernels: 32 threads share a row, or 8 threads share a short row.
#define LANE_ROW_KERNEL(name, Args)                                       \
  template <int kThreadsPerRow>                                           \
  static __device__ __forceinline__ void name##_at(i64 i, const Args& a); \
  extern "C" __global__ void name(i64 count, const Args a) {              \
    const i64 i = ((i64)blockIdx.x * blockDim.x + threadIdx.x) / 32;      \
    if (i < count) name##_at<32>(i, a);                                   \
  }                                                                       \
  extern "C" __global__ void name##_short(i64 count, const Args a) {      \
    const i64 i = ((i64)blockIdx.x * blockDim.x + threadIdx.x) / 8;       \
    if (i < count) name##_at<8>(i, a);                                    \
  }                                                                       \
  template <int kThreadsPerRow>                                           \
  static __device__ __forceinline__ void name##_at(i64 i, const Args& a)
#define LANE_CALL static __device__ __noinline__
#define LANE_UNROLL _Pragma("unroll")
#define LANE_NO_UNROLL _Pragma("unroll 1")
#define LANE_ARGUMENTS(...) __VA_ARGS__
#define LANE_THREAD_STATES(Of) typename Of::ThreadState&
#define LANE_THREAD_STATE own
#define LANE_FOR_EACH_THREAD(t) if (const int t = (int)threadIdx.x; true)
#define LANE_BARRIER __syncthreads()
#define LANE_TILE_KERNEL(name, Args, body, ...)                                                       \
  extern "C" __global__ void __launch_bounds__(__VA_ARGS__::kThreads) name(i64 count, const Args a) { \
    __shared__ __VA_ARGS__::Shared shared_memory;                                                     \
    __VA_ARGS__::ThreadState own;                                                                     \
    body(blockIdx.x, a, shared_memory, own);                                                          \
  }
// Sum over the `share` threads of a row.
#define LANE_ROW_THREADS_SUM(share, member) own.member = lane_row_sum<share>(own.member)
#define LANE_ROW_FN             \
  template <int kThreadsPerRow> \
  static __device__ __forceinline__
#define LANE_ROW_CALL(name) name<kThreadsPerRow>
#define LANE_ROW_OF(k, count) for (i64 k = threadIdx.x % kThreadsPerRow; k < (count); k += kThreadsPerRow)
#define LANE_ROW(k) LANE_ROW_OF(k, a.len)
#define LANE_ROW_SUM(x) lane_row_sum<kThreadsPerRow>(x)
#define LANE_ROW_MAX(x) lane_row_max<kThreadsPerRow>(x)
#define LANE_ROW_FIRST (threadIdx.x % kThreadsPerRow == 0)
// Index of a thread's j-th element of a row that fits into registers.
#define LANE_ROW_OWN(j) (int(threadIdx.x) % kThreadsPerRow + (j)*kThreadsPerRow)
#define LANE_THREADS_PER_ROW kThreadsPerRow
// Mask of the threads that share a row, by their position in the warp.
static __device__ __forceinline__ u32 lane_row_thread_mask(int share) {
  return share == 32 ? 0xffffffffu : ((1u << share) - 1) << (threadIdx.x % 32 / share * share);
}
template <int kThreadsPerRow, class V>
static __device__ __forceinline__ V lane_row_sum(V x) {
  for (int lane_distance = kThreadsPerRow / 2; lane_distance > 0; lane_distance /= 2)
    x += __shfl_xor_sync(lane_row_thread_mask(kThreadsPerRow), x, lane_distance);
  return x;
}
// NaN passes through.
template <int kThreadsPerRow, class V>
static __device__ __forceinline__ V lane_row_max(V x) {
  for (int lane_distance = kThreadsPerRow / 2; lane_distance > 0; lane_distance /= 2) {
    const V other = __shfl_xor_sync(lane_row_thread_mask(kThreadsPerRow), x, lane_distance);
    x = other > x || other != other ? other : x;
  }
  return x;
}
// Calls `take` for the rows of which `holds` is true, in order. All threads of a row search together, and several rows
// are read at once.
#define LANE_ROW_FOR_EACH_MATCH(count, holds, read, take) lane_row_where<kThreadsPerRow>(count, holds, read, take)
template <int kThreadsPerRow, class Holds, class Read, class Take>
static __device__ __forceinline__ void lane_row_where(i64 count, const Holds& holds, const Read& read,
                                                      const Take& take) {
  constexpr int kInFlight = 4, kAtOnce = 8;
  const u32 all = lane_row_thread_mask(kThreadsPerRow);
  for (i64 begin = 0; begin < count; begin += kInFlight * kThreadsPerRow) {
    bool is[kInFlight];
    _Pragma("unroll") for (int j = 0; j < kInFlight; ++j) {
      const i64 own = begin + j * kThreadsPerRow + threadIdx.x % kThreadsPerRow;
      is[j] = own < count && holds(own);
    }
    _Pragma("unroll") for (int j = 0; j < kInFlight; ++j) {
      u32 found = (__ballot_sync(all, is[j]) & all) >> (threadIdx.x % 32 / kThreadsPerRow * kThreadsPerRow);
      while (found != 0) {
        T seen[kAtOnce];
        int some = 0;
        _Pragma("unroll") for (int k = 0; k < kAtOnce; ++k) {
          if (found == 0) continue;
          seen[k] = read(begin + j * kThreadsPerRow + __ffs(found) - 1);
          found &= found - 1;
          ++some;
        }
        _Pragma("unroll") for (int k = 0; k < kAtOnce; ++k) {
          if (k < some) take(seen[k]);
        }
      }
    }
  }
}
static __device__ __forceinline__ float lane_sqrt(float x) { return sqrtf(x); }
static __device__ __forceinline__ double lane_sqrt(double x) { return sqrt(x); }
static __device__ __forceinline__ float lane_exp(float x) { return expf(x); }
static __device__ __forceinline__ double lane_exp(double x) { return exp(x); }
static __device__ __forceinline__ float lane_log(float x) { return logf(x); }
static __device__ __forceinline__ double lane_log(double x) { return log(x); }
#define LANE_SQRT(x) lane_sqrt(x)
#define LANE_EXP(x) lane_exp(x)
#define LANE_LOG(x) lane_log(x)
#define LANE_INFINITY T(__int_as_float(0x7f800000))
// NOLINTEND
