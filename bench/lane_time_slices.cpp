#include "bench/lane_time_slices.h"

#include <algorithm>

#include "lanista/model/autodiff/max_cached_lanes.h"

namespace lanista::bench {

Result<LaneTimeSlices> LaneTimeSlices::make(const Case& c, std::int64_t first, std::int64_t count,
                                            std::shared_ptr<const CaseBatch> batch) {
  LANISTA_ASSIGN(auto program, LanistaProgram::make(c, {.first = first, .lanes = count}, std::move(batch)));
  std::int64_t lanes_per_slice = std::min(count, autodiff::max_cached_lanes(program.state_bytes()));
  while (count % lanes_per_slice != 0) --lanes_per_slice;
  return LaneTimeSlices(std::move(program), lanes_per_slice);
}

Result<std::vector<LaneTimeSlices>> LaneTimeSlices::share(const Case& c, std::int64_t models, std::int64_t workers,
                                                          const std::shared_ptr<const CaseBatch>& batch) {
  std::vector<LaneTimeSlices> out;
  workers = std::min(workers, models);
  for (std::int64_t i = 0; i < workers; ++i) {
    const std::int64_t first = (models * i + workers - 1) / workers, end = (models * (i + 1) + workers - 1) / workers;
    LANISTA_ASSIGN(auto worker, make(c, first, end - first, batch));
    out.push_back(std::move(worker));
  }
  return out;
}

std::vector<RepeatedWork> work_per_core(std::vector<LaneTimeSlices>& workers) {
  std::vector<RepeatedWork> works;
  for (LaneTimeSlices& worker : workers) works.push_back(worker.work());
  return works;
}

RepeatedWork LaneTimeSlices::work() {
  return {.call = [this] { run_slice(); }, .models = static_cast<double>(kSliceSteps * lanes_per_slice_)};
}

void LaneTimeSlices::run_slice() {
  for (int i = 0; i < kSliceSteps; ++i) program_.step(turn_ * lanes_per_slice_, lanes_per_slice_);
  turn_ = (turn_ + 1) % (program_.lanes() / lanes_per_slice_);
}

}  // namespace lanista::bench
