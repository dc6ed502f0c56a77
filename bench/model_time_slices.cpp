#include "bench/model_time_slices.h"

namespace lanista::bench {

Result<ModelTimeSlices> ModelTimeSlices::make(const Case& c, std::int64_t first, std::int64_t count,
                                              std::shared_ptr<const CaseBatch> batch) {
  ModelTimeSlices out;
  for (std::int64_t i = 0; i < count; ++i) {
    LANISTA_ASSIGN(auto program, LanistaProgram::make(c, {.first = first + i}, batch));
    out.programs_.push_back(std::move(program));
  }
  return out;
}

std::int64_t ModelTimeSlices::bytes() const {
  std::int64_t sum = 0;
  for (const LanistaProgram& program : programs_) sum += program.bytes();
  return sum;
}

double ModelTimeSlices::compile_seconds() const {
  double sum = 0;
  for (const LanistaProgram& program : programs_) sum += program.compile_seconds();
  return sum;
}

void ModelTimeSlices::run_slice() {
  for (int i = 0; i < kSliceSteps; ++i) programs_[turn_].step();
  turn_ = (turn_ + 1) % programs_.size();
}

std::vector<double> ModelTimeSlices::losses(int steps) {
  std::vector<double> out;
  for (int step = 0; step < steps; ++step) {
    for (LanistaProgram& program : programs_) out.push_back(program.step()[0]);
  }
  return out;
}

}  // namespace lanista::bench
