#include <algorithm>
#include <limits>

#include "lanista/strategy/builtin.h"
#include "lanista/strategy/draw.h"

namespace lanista::strategy {
namespace {

constexpr std::int64_t kMaxBarren = 100'000;  // points that may give nothing new before the search ends

/// All bases times all samples, in a fixed order. Branches of a conditional space have different sizes, so that some
/// numbers of the mixed-radix count stand for nothing; the cursor is the first number that was not proposed yet.
class GridSearch final : public Folding {
 public:
  GridSearch(const Context& context, std::unique_ptr<StoppingRule> rule, std::int64_t grain)
      : Folding(context, std::move(rule)), drawer_(context, {0, 0}), grain_(grain) {
    const double largest = context.params.largest_branch(grain) * static_cast<double>(drawer_.bases().size());
    end_ = largest < 0x1p63 ? static_cast<std::uint64_t>(largest) : std::uint64_t{1} << 63;
  }
  std::string_view name() const override { return "grid"; }

 protected:
  Result<std::optional<study::Proposal>> next(std::uint64_t, const Rng&, const Taken& taken) const override {
    std::int64_t barren = 0;
    for (std::uint64_t i = cursor_; i < end_; ++i) {
      const std::optional<Point> point = at(i);
      if (!point) continue;
      auto proposal = proposal_of(*point);
      if (proposal && !taken.refuses(*proposal)) return proposal;
      if (++barren == kMaxBarren) {
        return Error{Code::kResourceExhausted,
                     "space exhausted: " + std::to_string(kMaxBarren) + " points in a row gave no new model", ""};
      }
    }
    return std::optional<study::Proposal>();
  }

  void fold(const study::Event& event) override {
    const auto* proposed = std::get_if<study::Proposed>(&event);
    if (proposed == nullptr) return;
    const Digest key = study::duplicate_key(proposed->proposal);
    // A proposal that is not the grid's next one moves nothing.
    for (std::uint64_t i = cursor_; i < end_; ++i) {
      const std::optional<Point> point = at(i);
      const auto own = point ? proposal_of(*point) : std::nullopt;
      if (!own) continue;
      const Digest own_key = study::duplicate_key(*own);
      if (own_key == key) cursor_ = i + 1;
      if (own_key == key || !seen(own_key)) break;
    }
  }

 private:
  struct Point {
    std::int64_t base = 0;
    space::Sample sample;
  };
  std::optional<Point> at(std::uint64_t i) const {
    space::GridChooser choose(i, grain_);
    const auto base = choose.index("base", static_cast<std::int64_t>(drawer_.bases().size()));
    space::Sample sample = context().params.draw(choose);
    if (choose.exhausted()) return std::nullopt;
    return Point{base, std::move(sample)};
  }
  /// Nothing if the point makes no model, or one that breaks a constraint.
  std::optional<study::Proposal> proposal_of(const Point& point) const {
    const auto model = drawer_.drawn(point.base, point.sample);
    if (!model) return std::nullopt;
    study::Proposal made = drawer_.proposal(*model, point.sample);
    if (filter().broken(made)) return std::nullopt;
    return made;
  }

  Drawer drawer_;
  std::int64_t grain_;
  std::uint64_t end_ = 0;
  std::uint64_t cursor_ = 0;
};

}  // namespace

StrategyPlugin grid_plugin() {
  OptionSpec grain;
  grain.name = "grain";
  grain.kind = OptionSpec::Kind::kInt;
  grain.default_value = 5;
  grain.min = 1;
  grain.max = 1'000'000;
  grain.help = "values taken from a continuous domain";
  return {"grid",
          "all bases with all hyper-parameters in order; no mutations",
          {grain},
          [](const Context& context, const Options& options,
             std::unique_ptr<StoppingRule> rule) -> Result<std::unique_ptr<Strategy>> {
            return std::unique_ptr<Strategy>(
                std::make_unique<GridSearch>(context, std::move(rule), options.at("grain").get<std::int64_t>()));
          }};
}

}  // namespace lanista::strategy
