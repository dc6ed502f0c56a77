#include <algorithm>
#include <map>
#include <optional>
#include <utility>

#include "lanista/plan/sharing/group.h"
#include "lanista/plan/sharing/structure.h"

namespace lanista::fuse {
namespace {

std::string_view form_text(GroupForm form) {
  switch (form) {
    case GroupForm::kSingle:
      return "single";
    case GroupForm::kFused:
      return "fused";
    case GroupForm::kPacked:
      return "packed";
  }
  return "?";
}

std::string_view form_text(OpForm form) {
  switch (form) {
    case OpForm::kAlone:
      return "alone";
    case OpForm::kBatched:
      return "batched";
    case OpForm::kFanOut:
      return "fan-out";
  }
  return "?";
}

class Explainer {
 public:
  explicit Explainer(const FusionPlan& plan) : plan_(plan), graph_(plan.graph) {}

  std::string run() && {
    const double us = plan_.us();
    line(0, "plan: " + trials(all_members()) + " in " + std::to_string(plan_.groups.size()) +
                (plan_.groups.size() == 1 ? " group, " : " groups, ") + us_text(us) + " a step, " +
                us_text(plan_.alone_us) + " with every trial alone");
    for (std::size_t g = 0; g < plan_.groups.size(); ++g) append(plan_.groups[g], g + 1);
    const std::size_t before = text_.size();
    for (std::size_t g = 0; g < plan_.groups.size(); ++g) why_not(g);
    for (const Declined& declined : plan_.declined) {
      line(1, declined.pass + " left out " + trials(declined.members) + ": " + declined.reason);
    }
    if (text_.size() > before) text_.insert(before, "why not:\n");
    std::string passes;
    for (const PassReport& report : plan_.reports) {
      passes += (passes.empty() ? "" : ", ") + report.name + " " + std::to_string(report.changes);
      if (report.microseconds > 0) passes += " in " + us_text(report.microseconds);
    }
    line(0, "passes: " + (passes.empty() ? "none" : passes));
    return std::move(text_);
  }

 private:
  void line(std::size_t indent, const std::string& what) { text_ += std::string(2 * indent, ' ') + what + "\n"; }

  std::string number(std::size_t member) const { return std::to_string(graph_.members[member].trial.value); }

  std::string trials(const std::vector<std::size_t>& members) const {
    std::string text = members.size() == 1 ? "trial" : "trials";
    for (const std::size_t member : members) text += " " + number(member);
    return text;
  }

  std::vector<std::size_t> all_members() const {
    std::vector<std::size_t> all(graph_.members.size());
    for (std::size_t m = 0; m < all.size(); ++m) all[m] = m;
    return all;
  }

  void append(const FusedGroup& group, std::size_t place) {
    double apart = 0;
    for (const FusedGroup& part : group.parts) apart += part.us;
    line(0, "group " + std::to_string(place) + ": " + std::string(form_text(group.form())) + ", " +
                trials(group.members()) + ", " + us_text(group.us) + " a step" +
                (group.parts.empty() ? "" : " (apart " + us_text(apart) + ")") +
                (group.cache && group.cache->pays ? ", " + us_text(group.steady_us()) + " with what is kept" : "") +
                ", " + std::to_string(group.bytes) + " bytes");
    append_shared(group);
    if (group.cache) append_cache(*group.cache);
    for (const PlannedProgram& program : group.programs) {
      const std::size_t nodes = graph_.trained_part(program.members.front()).size();
      line(1, std::string(program.members.size() > 1 ? "lanes: " : "alone: ") + trials(program.members) + ", " +
                  std::to_string(nodes) + " nodes" + (program.same_ids ? "" : ", node ids translated"));
    }
    append_merged(group);
  }

  // Nodes that are computed once for several trials, one line for each set of trials.
  void append_shared(const FusedGroup& group) {
    const std::vector<std::size_t> members = group.members();
    std::map<std::vector<std::size_t>, std::string> shared;
    for (const PlannedOp& op : group.ops) {
      for (const std::size_t v : op.nodes) {
        const std::vector<std::size_t> owners = owners_in(graph_.nodes[v], members);
        if (owners.size() < 2) continue;
        std::string& text = shared[owners];
        text += (text.empty() ? "" : ", ") + node_text(graph_.nodes[v]) + (graph_.nodes[v].frozen ? " frozen" : "");
      }
    }
    for (const auto& [owners, text] : shared) line(1, "shared by " + trials(owners) + ": " + text);
  }

  void append_cache(const Materialized& cache) {
    std::string values;
    for (const OutputRef& wire : cache.values) {
      values += (values.empty() ? "" : ", ") + node_text(graph_.nodes[wire.node]);
    }
    line(1, (cache.pays ? "kept: " : "not kept: ") + values + ": " + std::to_string(cache.bytes_per_sample) +
                " bytes a sample" + (cache.pays ? "" : "; " + cache.why_not));
    line(2, std::to_string(cache.epochs) + " epochs, each computes " + us_text(cache.compute_us_per_epoch) +
                " or reads " + us_text(cache.read_us_per_epoch) + "; storing takes " + us_text(cache.store_us));
  }

  // What is one operator although programs differ, and what reads one tensor.
  void append_merged(const FusedGroup& group) {
    std::map<std::size_t, std::size_t> program_of;
    for (std::size_t p = 0; p < group.programs.size(); ++p) {
      for (const std::size_t member : group.programs[p].members) program_of[member] = p;
    }
    for (const PlannedOp& op : group.ops) {
      const auto first_program = [&](std::size_t v) {
        for (const Owner& owner : graph_.nodes[v].owners) {
          if (const auto found = program_of.find(owner.member); found != program_of.end()) return found->second;
        }
        return std::size_t{0};
      };
      const bool across = std::any_of(op.nodes.begin(), op.nodes.end(), [&](std::size_t v) {
        return first_program(v) != first_program(op.nodes.front());
      });
      if (op.form != OpForm::kFanOut && !across) continue;
      std::string text;
      for (const std::size_t v : op.nodes) {
        text += (text.empty() ? "" : ", ") + node_text(graph_.nodes[v]) + " of trial " +
                number(graph_.nodes[v].owners.front().member);
      }
      line(1, std::string(form_text(op.form)) + ": " + text);
    }
  }

  void why_not(std::size_t g) {
    const FusedGroup& group = plan_.groups[g];
    const std::size_t first = group.programs.front().members.front();
    for (const std::size_t member : group.members()) {
      const std::string& reason = graph_.members[member].alone;
      if (!reason.empty()) line(1, "trial " + number(member) + " runs alone: " + reason);
    }
    for (std::size_t p = 0; p < group.programs.size(); ++p) {
      const std::size_t member = group.programs[p].members.front();
      nearest("cannot be a lane with", member, earlier_programs(g, p), ": ", step_difference);
      if (p > 0) nearest("shares its prefix with", member, {first}, " up to ", prefix_difference);
    }
    std::vector<std::size_t> earlier;
    for (std::size_t e = 0; e < g; ++e) earlier.push_back(plan_.groups[e].programs.front().members.front());
    nearest("cannot be packed with", first, earlier, ": ", stream_difference);
  }

  std::vector<std::size_t> earlier_programs(std::size_t g, std::size_t p) const {
    std::vector<std::size_t> members;
    for (std::size_t e = 0; e <= g; ++e) {
      const std::vector<PlannedProgram>& programs = plan_.groups[e].programs;
      const std::size_t end = e < g ? programs.size() : p;
      for (std::size_t i = 0; i < end; ++i) members.push_back(programs[i].members.front());
    }
    return members;
  }

  // The difference to the one that agrees for longest; nothing if one does not differ at all: then it was declined.
  template <class Differ>
  void nearest(const std::string& what, std::size_t member, const std::vector<std::size_t>& others,
               const std::string& connector, Differ differ) {
    std::optional<Difference> best;
    std::size_t other = 0;
    for (const std::size_t candidate : others) {
      Difference difference = differ(graph_, member, candidate);
      if (difference.text.empty()) return;
      if (best && difference.depth <= best->depth) continue;
      best = std::move(difference);
      other = candidate;
    }
    if (best) line(1, "trial " + number(member) + " " + what + " trial " + number(other) + connector + best->text);
  }

  const FusionPlan& plan_;
  const LogicalGraph& graph_;
  std::string text_;
};

}  // namespace

std::string explain(const FusionPlan& plan) { return Explainer(plan).run(); }

}  // namespace lanista::fuse
