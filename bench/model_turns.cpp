#include "bench/model_turns.h"

namespace lanista::bench {

Result<ModelTurns> ModelTurns::make(const Case& c, std::int64_t first, std::int64_t count,
                                    std::shared_ptr<const CaseBatch> batch) {
  ModelTurns out;
  for (std::int64_t i = 0; i < count; ++i) {
    LANISTA_ASSIGN(auto program, OurProgram::make(c, {.first = first + i}, batch));
    out.programs_.push_back(std::move(program));
  }
  return out;
}

std::int64_t ModelTurns::bytes() const {
  std::int64_t sum = 0;
  for (const OurProgram& program : programs_) sum += program.bytes();
  return sum;
}

double ModelTurns::compile_seconds() const {
  double sum = 0;
  for (const OurProgram& program : programs_) sum += program.compile_seconds();
  return sum;
}

void ModelTurns::burst() {
  for (int i = 0; i < kBurst; ++i) programs_[turn_].step();
  turn_ = (turn_ + 1) % programs_.size();
}

std::vector<double> ModelTurns::losses(int steps) {
  std::vector<double> out;
  for (int step = 0; step < steps; ++step) {
    for (OurProgram& program : programs_) out.push_back(program.step()[0]);
  }
  return out;
}

}  // namespace lanista::bench
