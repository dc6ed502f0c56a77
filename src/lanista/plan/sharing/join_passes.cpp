#include <algorithm>
#include <functional>
#include <map>
#include <tuple>
#include <utility>

#include "lanista/plan/sharing/group.h"
#include "lanista/plan/sharing/structure.h"

// The passes that decide who runs with whom.
namespace lanista::fuse {
namespace {

// Groups in the order of their first member, so that a plan does not depend on how it was found.
void put_in_order(std::vector<FusedGroup>& groups) {
  std::sort(groups.begin(), groups.end(),
            [](const FusedGroup& a, const FusedGroup& b) { return a.members().front() < b.members().front(); });
}

/// Nodes that compute the same value become one.
class Prefix final : public Pass {
 public:
  std::string_view name() const override { return "prefix"; }

  Result<std::size_t> run(FusionPlan& plan, const PassContext& context) const override {
    const std::size_t saved = merge_equal(plan.graph);
    // Nodes have moved; programs name members only, so groups can be put together anew.
    for_each_group(plan.groups, [&](FusedGroup& group) {
      std::vector<FusedGroup> parts = std::move(group.parts);
      group = assemble(plan.graph, context, std::move(group.programs));
      group.parts = std::move(parts);
    });
    return saved;
  }
};

using Programs = std::vector<PlannedProgram>;
/// How groups become one: their programs, and how many of something stand together then.
struct Joining {
  std::function<Programs(Programs, const FusedGroup&)> join;
  std::function<std::size_t(const Programs&)> size;
  std::size_t most = 0;
};

/// Fills groups from candidates, in their order, as long as they stay within the limits.
class Filler {
 public:
  Filler(FusionPlan& plan, const PassContext& context, std::string_view pass, Joining joining)
      : plan_(plan), context_(context), pass_(pass), joining_(std::move(joining)) {}

  /// A candidate that finds no company stays as it is.
  std::vector<FusedGroup> fill(std::vector<FusedGroup> candidates) {
    for (FusedGroup& candidate : candidates) {
      Programs with = joining_.join(programs_, candidate);
      if (!open_.empty()) {
        const std::string reason = full_because(with);
        if (!reason.empty()) {
          plan_.declined.push_back({pass_, candidate.members(), reason});
          close();
          with = candidate.programs;
        }
      }
      programs_ = std::move(with);
      open_.push_back(std::move(candidate));
    }
    close();
    return std::exchange(full_, {});
  }

 private:
  void close() {
    if (open_.size() == 1) full_.push_back(std::move(open_.front()));
    if (open_.size() > 1) {
      full_.push_back(assemble(plan_.graph, context_, std::move(programs_)));
      full_.back().parts = std::move(open_);
    }
    open_.clear();
    programs_.clear();
  }

  std::string full_because(const Programs& with) const {
    const std::size_t size = joining_.size(with);
    if (size > joining_.most) {
      return std::to_string(size) + " would stand together, at most " + std::to_string(joining_.most) + " may";
    }
    const std::int64_t bytes = context_.memory.bytes(plan_.graph, with);
    if (bytes <= context_.limits.bytes) return "";
    return "together with those before it " + std::to_string(bytes) + " bytes, " +
           std::to_string(context_.limits.bytes) + " are allowed";
  }

  FusionPlan& plan_;
  const PassContext& context_;
  std::string pass_;
  Joining joining_;
  std::vector<FusedGroup> full_;
  std::vector<FusedGroup> open_;  // the group that is being filled, and its programs
  Programs programs_;
};

bool needs_more_lanes(const FusionPlan& plan, const FusedGroup& group) {
  const std::vector<std::size_t> members = group.members();
  return std::all_of(members.begin(), members.end(),
                     [&](std::size_t member) { return plan.graph.members[member].alone.empty(); });
}

/// Programs whose trained parts are equal become one, with all their lanes. Relatives first: those with the same ids
/// stand together. First on each stream of batches; across streams lanes have to gather inputs of their own, so that
/// is for those that found no company on their stream.
class Fuse final : public Pass {
 public:
  explicit Fuse(bool across_streams) : across_streams_(across_streams) {}
  std::string_view name() const override { return across_streams_ ? "gather" : "fuse"; }

  Result<std::size_t> run(FusionPlan& plan, const PassContext& context) const override {
    std::map<std::pair<Digest, Digest>, std::vector<FusedGroup>> alike;
    std::vector<FusedGroup> groups;
    std::size_t joined = plan.groups.size();
    for (FusedGroup& group : plan.groups) {
      if (group.programs.size() > 1 || !needs_more_lanes(plan, group)) {
        groups.push_back(std::move(group));
        continue;
      }
      const std::size_t member = group.members().front();
      const Digest stream = across_streams_ ? Digest{} : plan.graph.stream[member];
      alike[{step_key(plan.graph, member), stream}].push_back(std::move(group));
    }
    Filler filler(plan, context, name(), joining(plan.graph, context.limits));
    for (auto& [key, candidates] : alike) {
      for (std::vector<FusedGroup>& family : families(plan.graph, context.limits, std::move(candidates))) {
        for (FusedGroup& group : filler.fill(std::move(family))) groups.push_back(std::move(group));
      }
    }
    plan.groups = std::move(groups);
    put_in_order(plan.groups);
    joined -= plan.groups.size();
    return joined;
  }

 private:
  static Joining joining(const LogicalGraph& graph, const Limits& limits) {
    const auto join = [&graph](Programs programs, const FusedGroup& candidate) {
      if (programs.empty()) return candidate.programs;
      PlannedProgram& program = programs.front();
      const PlannedProgram& other = candidate.programs.front();
      program.same_ids =
          program.same_ids && other.same_ids && same_ids(graph, program.members.front(), other.members.front());
      program.members.insert(program.members.end(), other.members.begin(), other.members.end());
      return programs;
    };
    return {join, [](const Programs& programs) { return programs.front().members.size(); }, limits.max_lanes};
  }

  // One list where lanes may have other ids, else one for each set of ids.
  static std::vector<std::vector<FusedGroup>> families(const LogicalGraph& graph, const Limits& limits,
                                                       std::vector<FusedGroup> candidates) {
    std::vector<std::vector<FusedGroup>> by_ids;
    for (FusedGroup& group : candidates) {
      const auto is_home = [&](const std::vector<FusedGroup>& family) {
        return same_ids(graph, family.front().members().front(), group.members().front());
      };
      const auto home = std::find_if(by_ids.begin(), by_ids.end(), is_home);
      (home == by_ids.end() ? by_ids.emplace_back() : *home).push_back(std::move(group));
    }
    if (!limits.structural_lanes) return by_ids;
    std::vector<std::vector<FusedGroup>> all(1);
    for (std::vector<FusedGroup>& family : by_ids) {
      std::move(family.begin(), family.end(), std::back_inserter(all.front()));
    }
    return all;
  }

  bool across_streams_;
};

/// Programs on one stream of batches share what feeds them. Of alike length first, as they wait for each other.
class Pack final : public Pass {
 public:
  std::string_view name() const override { return "pack"; }

  Result<std::size_t> run(FusionPlan& plan, const PassContext& context) const override {
    std::map<Digest, std::vector<FusedGroup>> by_stream;
    std::vector<FusedGroup> groups;
    std::size_t joined = plan.groups.size();
    for (FusedGroup& group : plan.groups) {
      const std::vector<std::size_t> members = group.members();
      const Digest& stream = plan.graph.stream[members.front()];
      const bool one_stream = std::all_of(members.begin(), members.end(),
                                          [&](std::size_t member) { return plan.graph.stream[member] == stream; });
      if (one_stream && needs_more_lanes(plan, group)) {
        by_stream[stream].push_back(std::move(group));
      } else {
        groups.push_back(std::move(group));
      }
    }
    const auto join = [](Programs programs, const FusedGroup& candidate) {
      programs.insert(programs.end(), candidate.programs.begin(), candidate.programs.end());
      return programs;
    };
    const auto size = [](const Programs& programs) { return programs.size(); };
    Filler filler(plan, context, name(), {join, size, context.limits.max_programs});
    for (auto& [stream, candidates] : by_stream) {
      std::stable_sort(candidates.begin(), candidates.end(), [](const FusedGroup& a, const FusedGroup& b) {
        return std::tuple(a.us, a.bytes) < std::tuple(b.us, b.bytes);
      });
      for (FusedGroup& group : filler.fill(std::move(candidates))) groups.push_back(std::move(group));
    }
    plan.groups = std::move(groups);
    put_in_order(plan.groups);
    joined -= plan.groups.size();
    return joined;
  }
};

/// Compares every join with what it was joined from, the innermost first.
class Weigh final : public Pass {
 public:
  std::string_view name() const override { return "weigh"; }

  Result<std::size_t> run(FusionPlan& plan, const PassContext& context) const override {
    std::size_t undone = 0;
    plan.groups = weighed(std::move(plan.groups), plan, context, undone);
    put_in_order(plan.groups);
    return undone;
  }

 private:
  std::vector<FusedGroup> weighed(std::vector<FusedGroup> groups, FusionPlan& plan, const PassContext& context,
                                  std::size_t& undone) const {
    std::vector<FusedGroup> kept;
    for (FusedGroup& group : groups) {
      if (group.parts.empty()) {
        kept.push_back(std::move(group));
        continue;
      }
      group.parts = weighed(std::move(group.parts), plan, context, undone);
      double apart = 0;
      for (const FusedGroup& part : group.parts) apart += part.us;
      if (group.us <= apart * (1 - context.limits.min_gain)) {
        kept.push_back(std::move(group));
        continue;
      }
      ++undone;
      plan.declined.push_back({group.form() == GroupForm::kFused ? "fuse" : "pack", group.members(),
                               us_text(group.us) + " a step together, " + us_text(apart) + " apart"});
      std::move(group.parts.begin(), group.parts.end(), std::back_inserter(kept));
    }
    return kept;
  }
};

}  // namespace

std::unique_ptr<Pass> prefix_pass() { return std::make_unique<Prefix>(); }
std::unique_ptr<Pass> fuse_pass() { return std::make_unique<Fuse>(false); }
std::unique_ptr<Pass> gather_pass() { return std::make_unique<Fuse>(true); }
std::unique_ptr<Pass> pack_pass() { return std::make_unique<Pack>(); }
std::unique_ptr<Pass> weigh_pass() { return std::make_unique<Weigh>(); }

}  // namespace lanista::fuse
