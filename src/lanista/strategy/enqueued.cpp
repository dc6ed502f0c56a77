#include "lanista/strategy/enqueued.h"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>

#include "lanista/base/text_distance.h"
#include "lanista/strategy/draw.h"
#include "lanista/strategy/filter.h"
#include "lanista/strategy/option_specs.h"

namespace lanista::strategy {
namespace {

class EnqueuedSampler final : public Sampler {
 public:
  EnqueuedSampler(std::unique_ptr<Sampler> inner, std::vector<study::Proposal> first)
      : inner_(std::move(inner)), first_(std::move(first)) {}

  std::string_view name() const override { return inner_->name(); }
  Result<Suggestion> draw(std::int64_t count) const override {
    if (proposed_ >= first_.size()) return inner_->draw(count);
    Suggestion out;
    for (std::size_t i = proposed_; i < first_.size() && std::ssize(out.group.members) < count; ++i) {
      out.group.members.emplace_back(NewTrial{first_[i]});
    }
    return out;
  }
  void observe(const study::Event& event) override {
    if (std::holds_alternative<study::Proposed>(event)) ++proposed_;
    inner_->observe(event);
  }

 private:
  std::unique_ptr<Sampler> inner_;
  std::vector<study::Proposal> first_;
  std::size_t proposed_ = 0;
};

Error refuse(const std::string& message, std::size_t index, const std::string& name = {}) {
  return {Code::kInvalidArgument, message, "[" + std::to_string(index) + "]" + (name.empty() ? "" : "." + name)};
}

/// The sample that has the given values, drawn where there is none.
Result<space::Sample> sample_of(const space::SearchSpace& params, const nlohmann::json& given, std::size_t index,
                                const Rng& rng) {
  space::Sample out;
  for (const space::Parameter& parameter : params.parameters()) {
    if (!space::is_active(parameter, out)) continue;
    const auto wanted = given.find(parameter.name);
    if (wanted == given.end()) {
      space::RandomChooser choose(rng.split(parameter.name));
      out[parameter.name] = choose.draw(parameter.name, parameter.domain);
      continue;
    }
    const auto value = space::value_in(parameter.domain, *wanted);
    if (!value) {
      return refuse(wanted->dump() + " is not in " + space::domain_text(parameter.domain), index, parameter.name);
    }
    out[parameter.name] = *value;
  }
  return out;
}

Result<study::Proposal> proposal_of(const Context& context, const Drawer& drawer, const nlohmann::json& given,
                                    std::size_t index) {
  std::vector<std::string> names;
  for (const space::Parameter& parameter : context.params.parameters()) names.push_back(parameter.name);
  for (const auto& [name, value] : given.items()) {
    if (std::ranges::find(names, name) != names.end()) continue;
    std::string known;
    for (const std::string& each : names) known += (known.empty() ? "" : ", ") + each;
    const std::string near = nearest_name(name, names);
    return refuse("no parameter of the space is called so; there are " + (known.empty() ? "none" : known) +
                      (near.empty() ? "" : " (did you mean '" + near + "'?)"),
                  index, name);
  }
  const Filter filter(context);
  // Only what is drawn differs from try to try: a parent that the list does not name may switch off what it names.
  std::optional<Error> last;
  for (std::int64_t i = 0; i < kMaxDraws; ++i) {
    const Rng rng = context.rng.split("enqueue").split(index).split(static_cast<std::uint64_t>(i));
    auto sample = sample_of(context.params, given, index, rng);
    if (!sample) {
      last = sample.error();
      continue;
    }
    const auto idle = std::ranges::find_if(
        names, [&](const std::string& name) { return given.contains(name) && !sample->contains(name); });
    if (idle != names.end()) {
      last = refuse("does not exist beside the configuration's other values", index, *idle);
      continue;
    }
    const auto base = static_cast<std::int64_t>(rng.split("base").below(drawer.bases().size()));
    auto model = drawer.drawn(base, *sample);
    if (!model) {
      if (model.error().code != Code::kNotApplicable) return std::move(model).error();
      last = refuse("makes no model: " + model.error().message, index);
      continue;
    }
    study::Proposal out = drawer.proposal(*model, *std::move(sample));
    const auto broken = filter.broken(out);
    if (!broken) return out;
    last = refuse("breaks '" + *broken + "'", index);
  }
  return *std::move(last);
}

}  // namespace

OptionSpec enqueue_option() {
  OptionSpec out = option(kEnqueue, OptionSpec::Kind::kMapList, nlohmann::json::array(),
                          "configurations that are tried first, as {parameter: value}; what they do not name is drawn");
  out.silent_default = true;  // studies without have the bytes that they always had
  return out;
}

Result<std::vector<study::Proposal>> enqueued(const Context& context, const nlohmann::json& list) {
  const Drawer drawer(context, {0, 0});
  std::vector<study::Proposal> out;
  for (const auto& given : list) {
    LANISTA_ASSIGN(study::Proposal proposal, proposal_of(context, drawer, given, out.size()));
    out.push_back(std::move(proposal));
  }
  return out;
}

std::unique_ptr<Sampler> after_enqueued(std::unique_ptr<Sampler> inner, std::vector<study::Proposal> first) {
  return std::make_unique<EnqueuedSampler>(std::move(inner), std::move(first));
}

}  // namespace lanista::strategy
