#include "support/exec/backends/cuda_blocks/block_watched.h"

#include <cstddef>
#include <vector>

namespace lanista::device::block {
namespace {

void note_read(const void* p);
void note_written(const void* p);

}  // namespace
}  // namespace lanista::device::block

#define BLOCK_WATCHED "lanista/device/block_watched.inc.h"
#include "lanista/exec/backends/cuda_blocks/device/run.inc.h"

namespace lanista::device::block {
namespace {

constexpr int kMany = -1;

// Who was last at an address, and between which barriers.
struct Seen {
  u32 written = 0, read = 0;  // phases
  int writer = 0, reader = 0;
};

struct Shadow {
  const std::byte* begin = nullptr;
  std::vector<Seen> seen;
  Watch* watch = nullptr;

  Seen* at(const void* p) {
    const std::ptrdiff_t offset = static_cast<const std::byte*>(p) - begin;
    if (offset < 0 || offset >= static_cast<std::ptrdiff_t>(seen.size())) return nullptr;
    ++watch->accesses;
    return &seen[static_cast<std::size_t>(offset)];
  }
  void race(const void* p, const char* what, int other) {
    if (watch->races++ > 0) return;
    const std::ptrdiff_t word = (static_cast<const std::byte*>(p) - begin) / 4;
    watch->first = "word " + std::to_string(word) + ": thread " + std::to_string(host.thread) + " " + what +
                   (other == kMany ? std::string(" several") : " thread " + std::to_string(other)) + " in one phase (" +
                   std::to_string(host.phase) + ")";
  }
};
thread_local Shadow shadow;

void note_read(const void* p) {
  Seen* const seen = shadow.at(p);
  if (seen == nullptr) return;
  if (seen->written == host.phase && seen->writer != host.thread)
    shadow.race(p, "reads what was written by", seen->writer);
  seen->reader = seen->read == host.phase && seen->reader != host.thread ? kMany : host.thread;
  seen->read = host.phase;
}

void note_written(const void* p) {
  Seen* const seen = shadow.at(p);
  if (seen == nullptr) return;
  if (seen->written == host.phase && seen->writer != host.thread)
    shadow.race(p, "writes what was written by", seen->writer);
  if (seen->read == host.phase && seen->reader != host.thread) shadow.race(p, "writes what was read by", seen->reader);
  seen->writer = host.thread;
  seen->written = host.phase;
}

void begin_watch(const void* slab, std::int64_t bytes, Watch& watch) {
  shadow.begin = static_cast<const std::byte*>(slab);
  shadow.seen.assign(static_cast<std::size_t>(bytes), Seen{});
  shadow.watch = &watch;
  host.phase = 1;  // behind what nobody has seen yet
}

}  // namespace
}  // namespace lanista::device::block

namespace lanista::device {

void run_watched(const block::Lane& lane, std::int64_t bytes, Watch& watch) {
  using namespace block;
  begin_watch(lane.slab, bytes, watch);
  Frame frame;
  for (int step = 0; step < lane.step_count; ++step) {
    team_sync();
    begin_step(lane, step, frame);
    run_calls(lane.calls, lane.call_count, frame);
  }
}

Watch watch_of_a_race() {
  using namespace block;
  Watch watch;
  std::vector<float> memory(8);
  begin_watch(memory.data(), 32, watch);
  const Reals at = reals_at(memory.data());
  const int turn = 0;
  PHASE(t) {
    if (t == 2) at[5] = 1.0F;
    if (t == 3) at[0] = at[5];
  }
  return watch;
}

}  // namespace lanista::device
