#include "lanista/strategy/builtin.h"
#include "lanista/strategy/draw.h"

namespace lanista::strategy {
namespace {

/// Independent draws: base, number of mutations, mutations, sample.
class RandomSearch final : public Folding {
 public:
  RandomSearch(const Context& context, MutationCount count) : Folding(context), drawer_(context, count) {}
  std::string_view name() const override { return "random"; }

 protected:
  Result<std::optional<study::Proposal>> next(std::uint64_t, const Rng& rng, const Taken& taken) const override {
    return first_or_left(drawer_, rng, taken, [this](const Rng& r) { return drawer_.random(r); });
  }

 private:
  Drawer drawer_;
};

}  // namespace

StrategyPlugin random_plugin() {
  return {"random",
          "independent draws of a base, its mutations and the hyper-parameters",
          {mutation_count_option()},
          [](const Context& context, const Options& options) -> Result<std::unique_ptr<Sampler>> {
            LANISTA_ASSIGN(const MutationCount count, mutation_count(options));
            return std::unique_ptr<Sampler>(std::make_unique<RandomSearch>(context, count));
          },
          false,
          false,
          false};
}

}  // namespace lanista::strategy
