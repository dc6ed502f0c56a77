#include <algorithm>
#include <map>
#include <optional>
#include <utility>

#include "lanista/model/autodiff/max_cached_lanes.h"
#include "lanista/plan/sharing/group.h"
#include "lanista/plan/sharing/structure.h"

namespace lanista::sharing {
namespace {

std::string_view form_text(GroupForm form) {
  switch (form) {
    case GroupForm::kSingle:
      return "single";
    case GroupForm::kFused:
      return "fused";
  }
  return "?";
}

// Bytes of the vector registers that a level of the kernels uses, and the CPUs that have them.
constexpr std::pair<std::int64_t, std::string_view> kVectors[] = {
    {16, "on a CPU"}, {32, "on a CPU with AVX2"}, {64, "on a CPU with AVX-512"}};

/// Writes the text of one plan.
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
    if (text_.size() > before) text_.insert(before, "why not:\n");
    line(0, "passes: prefix " + std::to_string(plan_.nodes_saved));
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

  void append(const FusedGroup& group, std::size_t number_of_group) {
    double apart = 0;
    for (const FusedGroup& part : group.parts) apart += part.us;
    line(0, "group " + std::to_string(number_of_group) + ": " + std::string(form_text(group.form())) + ", " +
                trials(group.members()) + ", " + us_text(group.us) + " a step" +
                (group.parts.empty() ? "" : " (apart " + us_text(apart) + ")") + ", " + std::to_string(group.bytes) +
                " bytes");
    append_shared(group);
    const PlannedProgram& program = group.program;
    const std::vector<std::size_t> trained = graph_.trained_part(program.members.front());
    line(1, std::string(program.members.size() > 1 ? "lanes: " : "alone: ") + trials(program.members) + ", " +
                std::to_string(trained.size()) + " nodes" + (program.same_ids ? "" : ", node ids translated"));
    if (const LogicalNode* joint = joint_node(trained); joint != nullptr && program.members.size() > 1) {
      for (const auto& [vector_bytes, cpu] : kVectors) {
        if (!autodiff::is_joint_row(joint->joint_row_bytes, vector_bytes)) continue;
        line(1, "one product for all lanes " + std::string(cpu) + ": " + node_text(*joint));
        break;
      }
    }
  }

  // The layer that lanes compute as one product if it is narrow enough; null if there is none.
  const LogicalNode* joint_node(const std::vector<std::size_t>& trained) const {
    const LogicalNode* joint = nullptr;
    for (const std::size_t v : trained) {
      const LogicalNode& node = graph_.nodes[v];
      const auto is_prefix = [&](const OutputRef& input) { return graph_.nodes[input.node].prefix; };
      if (std::ranges::none_of(node.inputs, is_prefix)) continue;
      if (node.joint_row_bytes == 0 || joint != nullptr) return nullptr;
      joint = &node;
    }
    return joint;
  }

  // One line for each set of trials that share nodes.
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

  // The reasons why the trials of group `g` are not in an earlier group.
  void why_not(std::size_t g) {
    const FusedGroup& group = plan_.groups[g];
    for (const std::size_t member : group.members()) {
      const std::string& reason = graph_.members[member].alone;
      if (!reason.empty()) line(1, "trial " + number(member) + " runs alone: " + reason);
    }
    const std::size_t first = group.program.members.front();
    std::vector<std::size_t> earlier;
    for (std::size_t e = 0; e < g; ++e) earlier.push_back(plan_.groups[e].program.members.front());
    nearest("cannot be a lane with", first, earlier, step_difference);
    nearest("reads other batches than", first, earlier, stream_difference);
  }

  // A line with the difference to the trial that agrees for longest. No line if one of them does not differ.
  template <class Differ>
  void nearest(const std::string& what, std::size_t member, const std::vector<std::size_t>& others, Differ differ) {
    std::optional<Difference> best;
    std::size_t other = 0;
    for (const std::size_t candidate : others) {
      Difference difference = differ(graph_, member, candidate);
      if (difference.text.empty()) return;
      if (best && difference.depth <= best->depth) continue;
      best = std::move(difference);
      other = candidate;
    }
    if (best) line(1, "trial " + number(member) + " " + what + " trial " + number(other) + ": " + best->text);
  }

  const FusionPlan& plan_;
  const LogicalGraph& graph_;
  std::string text_;
};

}  // namespace

std::string explain(const FusionPlan& plan) { return Explainer(plan).run(); }

}  // namespace lanista::sharing
