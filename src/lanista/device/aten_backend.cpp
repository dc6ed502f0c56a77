#include "lanista/device/aten_backend.h"

#include <ATen/Parallel.h>
#include <dlfcn.h>
#include <torch/version.h>

#include <algorithm>

#include "lanista/device/aten_machine.h"

namespace lanista::device {
namespace {

// Workers have threads of their own, and no sum is split: one thread in ATen, and in the BLAS behind it.
void be_single_threaded() {
  at::set_num_threads(1);
  void* const blas = ::dlopen("libopenblas.so.0", RTLD_LAZY | RTLD_NOLOAD);
  if (blas == nullptr) return;
  if (const auto set = reinterpret_cast<void (*)(int)>(::dlsym(blas, "openblas_set_num_threads"))) set(1);
  ::dlclose(blas);
}

class AtenCpu final : public nn::Backend {
 public:
  std::string_view name() const override { return "torch:cpu"; }
  // A lane's numbers do not hang on how many there are; the twin tests prove it for this library's CPU.
  std::string_view numeric_class() const override { return "aten/" TORCH_VERSION "/cpu"; }
  Result<std::unique_ptr<nn::Machine>> compile(const step::TrainingStep* train, const step::InferenceStep& infer,
                                               const nn::ProgramOptions& options) const override {
    be_single_threaded();
    try {
      return AtenMachine::compile(train, infer, options, at::Device(at::kCPU));
    } catch (const c10::Error& error) {
      return Error{.code = Code::kUnavailable,
                   .message = std::string("torch:cpu: ") + error.what_without_backtrace(),
                   .where = {}};
    }
  }
};

}  // namespace

std::vector<std::string> aten_operators() {
  std::vector<std::string> names;
  for (const auto& [name, entry] : aten_table()) names.push_back(name);
  for (const auto& [name, update] : aten_updates()) names.push_back(name + "_update");
  std::ranges::sort(names);
  return names;
}

Result<const nn::Backend*> aten_backend(std::string_view device) {
  static const AtenCpu cpu;
  if (device == "cpu") return &cpu;
  return Error{.code = Code::kUnavailable,
               .message = "device 'torch:" + std::string(device) + "' is not in this build: it knows torch:cpu",
               .where = {}};
}

}  // namespace lanista::device
