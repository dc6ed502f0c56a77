#include "support/exec/backends/cuda_blocks/block_race_detector.h"

#include <cstddef>
#include <vector>

namespace lanista::device::block {
namespace {

void record_read(const void* p);
void record_write(const void* p);

}  // namespace
}  // namespace lanista::device::block

#define BLOCK_TRACED_POINTERS "support/exec/backends/cuda_blocks/block_race_detector.inc.h"
#include "lanista/exec/backends/cuda_blocks/device/run.inc.h"

namespace lanista::device::block {
namespace {

constexpr int kSeveralThreads = -1;

// Last accesses to an address, by thread and phase.
struct LastAccess {
  u32 written = 0, read = 0;  // phases
  int writer = 0, reader = 0;
};

struct AccessTracker {
  const std::byte* begin = nullptr;
  std::vector<LastAccess> last_accesses;
  RaceReport* race_report = nullptr;

  LastAccess* at(const void* p) {
    const std::ptrdiff_t offset = static_cast<const std::byte*>(p) - begin;
    if (offset < 0 || offset >= static_cast<std::ptrdiff_t>(last_accesses.size())) return nullptr;
    ++race_report->accesses;
    return &last_accesses[static_cast<std::size_t>(offset)];
  }
  void race(const void* p, const char* what, int other) {
    if (race_report->races++ > 0) return;
    const std::ptrdiff_t word = (static_cast<const std::byte*>(p) - begin) / 4;
    race_report->first = "word " + std::to_string(word) + ": thread " + std::to_string(host.thread) + " " + what +
                         (other == kSeveralThreads ? std::string(" several") : " thread " + std::to_string(other)) +
                         " in one phase (" + std::to_string(host.phase) + ")";
  }
};
thread_local AccessTracker access_tracker;

void record_read(const void* p) {
  LastAccess* const last_accesses = access_tracker.at(p);
  if (last_accesses == nullptr) return;
  if (last_accesses->written == host.phase && last_accesses->writer != host.thread)
    access_tracker.race(p, "reads what was written by", last_accesses->writer);
  last_accesses->reader =
      last_accesses->read == host.phase && last_accesses->reader != host.thread ? kSeveralThreads : host.thread;
  last_accesses->read = host.phase;
}

void record_write(const void* p) {
  LastAccess* const last_accesses = access_tracker.at(p);
  if (last_accesses == nullptr) return;
  if (last_accesses->written == host.phase && last_accesses->writer != host.thread)
    access_tracker.race(p, "writes what was written by", last_accesses->writer);
  if (last_accesses->read == host.phase && last_accesses->reader != host.thread)
    access_tracker.race(p, "writes what was read by", last_accesses->reader);
  last_accesses->writer = host.thread;
  last_accesses->written = host.phase;
}

void start_tracking(const void* slab, std::int64_t bytes, RaceReport& race_report) {
  access_tracker.begin = static_cast<const std::byte*>(slab);
  access_tracker.last_accesses.assign(static_cast<std::size_t>(bytes), LastAccess{});
  access_tracker.race_report = &race_report;
  host.phase = 1;  // phase 0 means no access
}

}  // namespace
}  // namespace lanista::device::block

namespace lanista::device {

void run_with_race_detector(const block::Lane& lane, std::int64_t bytes, RaceReport& race_report) {
  using namespace block;
  start_tracking(lane.slab, bytes, race_report);
  Frame frame;
  for (int step = 0; step < lane.step_count; ++step) {
    lane_barrier();
    begin_step(lane, step, frame);
    run_calls(lane.calls, lane.call_count, frame);
  }
}

RaceReport report_of_injected_race() {
  using namespace block;
  RaceReport race_report;
  std::vector<float> memory(8);
  start_tracking(memory.data(), 32, race_report);
  const Reals at = reals_at(memory.data());
  const int first_thread = 0;
  PHASE(t) {
    if (t == 2) at[5] = 1.0F;
    if (t == 3) at[0] = at[5];
  }
  return race_report;
}

}  // namespace lanista::device
