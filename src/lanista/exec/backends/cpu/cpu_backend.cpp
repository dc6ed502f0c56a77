#include <array>

#include "lanista/exec/program/backend.h"
#include "lanista/exec/program/lane_program.h"

namespace lanista::program {
namespace {

template <class T>
Result<std::unique_ptr<Executable>> executable_of(kernels::Isa isa, const autodiff::TrainingStep* train,
                                                  const autodiff::InferenceStep& infer, const ProgramOptions& options) {
  LANISTA_ASSIGN(auto program, LaneProgram<T>::compile(isa, train, infer, options));
  return std::unique_ptr<Executable>(std::move(program));
}

// Kernels of one numeric class give a lane the same bits at every lane count and position, on the CPU and on the block
// backend. Equivalence tests check it. A change of any kernel's bits needs a new class number here.
class CpuBackend final : public Backend {
 public:
  constexpr CpuBackend(kernels::Isa isa, std::string_view name, std::string_view numeric_class)
      : isa_(isa), name_(name), class_(numeric_class) {}

  std::string_view name() const override { return name_; }
  std::string_view numeric_class() const override { return class_; }
  Result<std::unique_ptr<Executable>> compile(const autodiff::TrainingStep* train, const autodiff::InferenceStep& infer,
                                              const ProgramOptions& options) const override {
    if (stored(options.precision) != options.precision) {
      return Error{.code = Code::kUnimplemented,
                   .message = "train.precision: " + std::string(name_of(options.precision)) +
                              " needs a LibTorch device; use float32, or run on such a device (run.devices: [cuda:0])",
                   .where = {}};
    }
    return options.precision == Precision::kFloat32 ? executable_of<float>(isa_, train, infer, options)
                                                    : executable_of<double>(isa_, train, infer, options);
  }

 private:
  kernels::Isa isa_;
  std::string_view name_, class_;
};

}  // namespace

const Backend& cpu_backend(kernels::Isa isa) {
  static const std::array<CpuBackend, 3> kLevels{{{kernels::Isa::kPortable, "cpu portable", "own-2/no-fma"},
                                                  {kernels::Isa::kAvx2, "cpu avx2", "own-2/fma"},
                                                  {kernels::Isa::kAvx512, "cpu avx512", "own-2/fma"}}};
  return kLevels.at(static_cast<std::size_t>(isa));
}

}  // namespace lanista::program
