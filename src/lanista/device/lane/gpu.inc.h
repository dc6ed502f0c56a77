// What kernels of lanes are made of on a GPU; the host's half is in lane_kernels.cpp. T comes before it.
// NOLINTBEGIN
typedef long long i64;
typedef unsigned long long u64;
typedef unsigned int u32;
typedef unsigned int n32;
#define LANE_FN static __device__ __forceinline__
#define LANE_READ(member) ((const T*)a.member)
#define LANE_WRITE(member) ((T*)a.member)
#define LANE_KERNEL(name, Args)                                           \
  static __device__ __forceinline__ void name##_at(i64 i, const Args& a); \
  extern "C" __global__ void name(i64 count, const Args a) {              \
    const i64 i = (i64)blockIdx.x * blockDim.x + threadIdx.x;             \
    if (i < count) name##_at(i, a);                                       \
  }                                                                       \
  static __device__ __forceinline__ void name##_at(i64 i, const Args& a)
#define LANE_ROW_KERNEL(name, Args)                                       \
  static __device__ __forceinline__ void name##_at(i64 i, const Args& a); \
  extern "C" __global__ void name(i64 count, const Args a) {              \
    const i64 i = ((i64)blockIdx.x * blockDim.x + threadIdx.x) / 32;      \
    if (i < count) name##_at(i, a);                                       \
  }                                                                       \
  static __device__ __forceinline__ void name##_at(i64 i, const Args& a)
#define LANE_CALL static __device__ __noinline__
#define LANE_UNROLL _Pragma("unroll")
#define LANE_ROLLED _Pragma("unroll 1")
#define LANE_ARGUMENTS(...) __VA_ARGS__
#define LANE_OWNED(Of) typename Of::Own&
#define LANE_OWN own
#define LANE_EACH(t) if (const int t = (int)threadIdx.x; true)
#define LANE_TOGETHER __syncthreads()
#define LANE_TILE_KERNEL(name, Args, body, ...)                                                       \
  extern "C" __global__ void __launch_bounds__(__VA_ARGS__::kThreads) name(i64 count, const Args a) { \
    __shared__ __VA_ARGS__::Shared near;                                                              \
    __VA_ARGS__::Own own;                                                                             \
    body(blockIdx.x, a, near, own);                                                      \
  }
#define LANE_ROW_OF(k, count) for (i64 k = threadIdx.x % 32; k < (count); k += 32)
#define LANE_ROW(k) LANE_ROW_OF(k, a.len)
#define LANE_ROW_SUM(x) lane_row_sum(x)
#define LANE_ROW_MAX(x) lane_row_max(x)
#define LANE_ROW_ONCE(count) ((count) <= 32)
// The rows that all threads go through together: those of which something holds, found by 32 at a time.
#define LANE_ROW_WHERE(row, count, holds)                                                     \
  for (i64 row##_of = 0; row##_of < (count); row##_of += 32)                                  \
    for (u32 row##_left = lane_votes(row##_of, (count), [&](i64 row) { return (holds); }); row##_left != 0; \
         row##_left &= row##_left - 1)                                                        \
      if (const i64 row = row##_of + __ffs(row##_left) - 1; true)
template <class F>
static __device__ __forceinline__ u32 lane_votes(i64 begin, i64 count, const F& holds) {
  const i64 own = begin + threadIdx.x % 32;
  return __ballot_sync(0xffffffffu, own < count && holds(own));
}
#define LANE_ROW_FIRST (threadIdx.x % 32 == 0)
template <class V>
static __device__ __forceinline__ V lane_row_sum(V x) {
  for (int far = 16; far > 0; far /= 2) x += __shfl_xor_sync(0xffffffffu, x, far);
  return x;
}
// What is no number stays.
template <class V>
static __device__ __forceinline__ V lane_row_max(V x) {
  for (int far = 16; far > 0; far /= 2) {
    const V other = __shfl_xor_sync(0xffffffffu, x, far);
    x = other > x || other != other ? other : x;
  }
  return x;
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
