#include "lanista/search/sampler/enqueued.h"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>

#include "lanista/base/edit_distance.h"
#include "lanista/base/option_specs.h"
#include "lanista/search/sampler/constraint_filter.h"
#include "lanista/search/sampler/proposal_sampler.h"

namespace lanista::search {
namespace {

/// Proposes the enqueued configurations first, then what the inner sampler proposes.
class EnqueuedSampler final : public Sampler {
 public:
  EnqueuedSampler(std::unique_ptr<Sampler> inner, std::vector<study::Proposal> first)
      : inner_(std::move(inner)), first_(std::move(first)) {}

  std::string_view name() const override { return inner_->name(); }
  Result<Suggestion> sample_proposals(std::int64_t count) const override {
    if (proposed_ >= first_.size()) return inner_->sample_proposals(count);
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

Error refuse(const std::string& message, const std::string& name = {}) {
  return {Code::kInvalidArgument, message, name.empty() ? "" : "." + name};
}

/// Returns the sample with the given values. Other parameters are sampled if there is a random stream; without one they
/// must have a single value.
Result<space::Sample> sample_of(const space::SearchSpace& params, const nlohmann::json& given,
                                const std::optional<Rng>& rng) {
  space::Sample out;
  for (const space::Parameter& parameter : params.parameters()) {
    if (!space::is_active(parameter, out)) continue;
    const auto wanted = given.find(parameter.name);
    if (wanted == given.end()) {
      if (!rng && space::domain_size(parameter.domain) != 1) return refuse("is not given", parameter.name);
      if (!rng) {  // The domain has one value.
        out[parameter.name] = space::domain_value(parameter.domain, 0, 1);
        continue;
      }
      space::RandomChooser choose(rng->split(parameter.name));
      out[parameter.name] = choose.sample_value(parameter.name, parameter.domain);
      continue;
    }
    const auto value = space::value_in(parameter.domain, *wanted);
    if (!value) {
      const std::string seen = wanted->dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
      return refuse(seen + " is not in " + space::domain_text(parameter.domain), parameter.name);
    }
    out[parameter.name] = *value;
  }
  return out;
}

/// Returns an error if a name is no parameter of the space.
Result<void> check_names(const space::SearchSpace& params, const nlohmann::json& given) {
  std::vector<std::string> names;
  for (const space::Parameter& parameter : params.parameters()) {
    if (std::ranges::find(names, parameter.name) == names.end()) names.push_back(parameter.name);
  }
  for (const auto& [name, value] : given.items()) {
    if (std::ranges::find(names, name) != names.end()) continue;
    std::string known;
    for (const std::string& each : names) known += (known.empty() ? "" : ", ") + each;
    const std::string near = nearest_name(name, names);
    return refuse("is no parameter of the space; there are " + (known.empty() ? "none" : known) +
                      (near.empty() ? "" : " (did you mean '" + near + "'?)"),
                  name);
  }
  return {};
}

/// Returns the proposal of a sample with the given values, on this base. Errors: kInvalidArgument if the values are the
/// cause.
Result<study::Proposal> proposal_of(const Context& context, const ProposalSampler& proposal_sampler,
                                    const nlohmann::json& given, std::int64_t base, const std::optional<Rng>& rng) {
  LANISTA_ASSIGN(space::Sample sample, sample_of(context.params, given, rng));
  for (const auto& [name, value] : given.items()) {
    if (!sample.contains(name)) return refuse("does not exist with the configuration's other values", name);
  }
  auto model = proposal_sampler.model_of_sample(base, sample);
  if (!model) {
    if (model.error().code != Code::kNotApplicable) return std::move(model).error();
    return refuse("makes no model: " + model.error().message);
  }
  study::Proposal out = proposal_sampler.proposal(*model, std::move(sample));
  if (const auto broken = ConstraintFilter(context).violated_constraint(out)) return refuse("breaks '" + *broken + "'");
  return out;
}

/// Returns the first of kMaxAttempts proposals that succeeds. A sampled parameter may make a given one inactive.
Result<study::Proposal> sampled_proposal(const Context& context, const ProposalSampler& proposal_sampler,
                                         const nlohmann::json& given, const Rng& rng) {
  LANISTA_TRY(check_names(context.params, given));
  std::optional<Error> last;
  for (std::int64_t i = 0; i < kMaxAttempts; ++i) {
    const Rng own = rng.split(static_cast<std::uint64_t>(i));
    const auto base = static_cast<std::int64_t>(own.split("base").below(proposal_sampler.bases().size()));
    auto proposal = proposal_of(context, proposal_sampler, given, base, own);
    if (proposal || proposal.error().code != Code::kInvalidArgument) return proposal;
    last = std::move(proposal).error();
  }
  return *std::move(last);
}

}  // namespace

OptionSpec enqueue_option() {
  OptionSpec out = option(kEnqueue, OptionSpec::Kind::kMapList, nlohmann::json::array(),
                          "configurations that are tried first, as {parameter: value}; the rest is sampled");
  out.omits_default = true;  // Studies without the option keep their bytes.
  return out;
}

Result<std::vector<study::Proposal>> enqueued(const Context& context, const nlohmann::json& list) {
  const ProposalSampler proposal_sampler(context, {0, 0});
  std::vector<study::Proposal> out;
  for (const auto& given : list) {
    const std::size_t index = out.size();
    auto proposal = sampled_proposal(context, proposal_sampler, given, context.rng.split("enqueue").split(index));
    if (!proposal) {
      const Error& error = proposal.error();
      return Error{error.code, error.message, "[" + std::to_string(index) + "]" + error.where};
    }
    out.push_back(*std::move(proposal));
  }
  return out;
}

Result<study::Proposal> exact_proposal(const Context& context, const nlohmann::json& given) {
  LANISTA_TRY(check_names(context.params, given));
  return proposal_of(context, ProposalSampler(context, {0, 0}), given, 0, std::nullopt);
}

std::unique_ptr<Sampler> with_enqueued_first(std::unique_ptr<Sampler> inner, std::vector<study::Proposal> first) {
  return std::make_unique<EnqueuedSampler>(std::move(inner), std::move(first));
}

}  // namespace lanista::search
