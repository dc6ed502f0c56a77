#include "lanista/search/sampler/folding.h"

#include <utility>

namespace lanista::strategy {

std::optional<std::string> Taken::refuses(const study::Proposal& proposal) const {
  if (contains(study::run_key(proposal))) return "tried before";
  auto broken = filter_->broken(proposal);
  if (broken) return "breaks '" + *broken + "'";
  return std::nullopt;
}

Folding::Folding(Context context) : context_(std::move(context)), filter_(context_) {}

Result<Suggestion> Folding::draw(std::int64_t count) const {
  std::vector<study::Proposal> group;
  Taken taken(seen_, filter_, group);
  for (std::int64_t i = 0; i < count; ++i) {
    const std::uint64_t index = proposed_ + static_cast<std::uint64_t>(i);
    auto proposal = next(index, context_.rng.split(index), taken);
    if (!proposal) {
      if (group.empty()) return std::move(proposal).error();
      break;  // the error comes back when only this one is asked for
    }
    if (!*proposal) break;
    taken.fresh_.insert(study::run_key(**proposal));
    group.push_back(**std::move(proposal));
  }
  if (group.empty()) return Suggestion::nothing_left();
  Suggestion out;
  for (study::Proposal& proposal : group) out.group.members.emplace_back(NewTrial{std::move(proposal)});
  return out;
}

void Folding::observe(const study::Event& event) {
  if (const auto* proposed = std::get_if<study::Proposed>(&event)) {
    seen_.insert(study::run_key(proposed->proposal));
    ++proposed_;
  }
  fold(event);
}

}  // namespace lanista::strategy
