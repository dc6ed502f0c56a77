#include "lanista/engine/local/worker_executor.h"

namespace lanista::runtime {

nlohmann::json numerics(kernels::Isa isa) {
  return {{"class", program::cpu_backend(isa).numeric_class()},
          {"isa", kernels::isa_name(isa)},
          {"compiler", __VERSION__},
          {"threads", 1},
          {"flush_to_zero", true}};
}

nlohmann::json numerics(const program::Backend& backend) {
  nlohmann::json all = numerics(kernels::best_isa());
  all["class"] = backend.numeric_class();
  all["device"] = backend.name();
  return all;
}

}  // namespace lanista::runtime
