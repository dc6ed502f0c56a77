#include <algorithm>
#include <map>
#include <numeric>

#include "lanista/model/space/domain.h"

namespace lanista::space {
namespace {

/// Counts the samples of a space. Parts of the space that no condition connects are counted separately and
/// multiplied. Inside a part, each parameter is visited once, parents first. The state after each visit is the set of
/// later parameters that are active.
class Count {
 public:
  /// What to compute: the number of samples of all branches, or the product of the domain sizes along the
  /// largest one.
  enum class CountRequest { kSum, kLargest };

  Count(const std::vector<Parameter>& all, std::int64_t grain, CountRequest want)
      : all_(all), grain_(grain), request_(want), dependents_(all.size()) {
    std::map<std::string, std::vector<std::size_t>> declared;
    for (std::size_t i = 0; i < all_.size(); ++i) {
      for (const Parameter::Condition& way : all_[i].when) {
        for (const std::size_t parent : declared[way.parameter]) dependents_[parent].push_back({i, &way.values});
      }
      declared[all_[i].name].push_back(i);
    }
  }

  double total() const {
    double product = 1;
    for (const auto& part : parts()) product *= count(in_depth(part));
    return product;
  }

 private:
  struct DependentParameter {
    std::size_t index;
    const std::vector<Value>* values;  ///< values of the parent that activate it
  };
  using Alive = std::vector<bool>;

  std::size_t find(std::vector<std::size_t>& parent, std::size_t i) const {
    while (parent[i] != i) i = parent[i] = parent[parent[i]];
    return i;
  }

  std::vector<std::vector<std::size_t>> parts() const {
    std::vector<std::size_t> parent(all_.size());
    std::iota(parent.begin(), parent.end(), 0U);
    for (std::size_t i = 0; i < all_.size(); ++i) {
      for (const DependentParameter& child : dependents_[i]) parent[find(parent, child.index)] = find(parent, i);
    }
    std::map<std::size_t, std::vector<std::size_t>> parts;
    for (std::size_t i = 0; i < all_.size(); ++i) parts[find(parent, i)].push_back(i);
    std::vector<std::vector<std::size_t>> out;
    for (auto& [root, members] : parts) out.push_back(std::move(members));
    return out;
  }

  /// Orders children right after their parents, so that few are pending at any time.
  std::vector<std::size_t> in_depth(const std::vector<std::size_t>& part) const {
    std::map<std::size_t, std::size_t> waits;
    for (const std::size_t i : part) {
      waits.emplace(i, 0);
      for (const DependentParameter& child : dependents_[i]) ++waits[child.index];
    }
    std::vector<std::size_t> order, ready;
    for (auto i = part.rbegin(); i != part.rend(); ++i) {
      if (waits[*i] == 0) ready.push_back(*i);
    }
    while (!ready.empty()) {
      const std::size_t next = ready.back();
      ready.pop_back();
      order.push_back(next);
      for (auto child = dependents_[next].rbegin(); child != dependents_[next].rend(); ++child) {
        if (--waits[child->index] == 0) ready.push_back(child->index);
      }
    }
    return order;
  }

  double count(const std::vector<std::size_t>& order) const {
    std::map<std::size_t, std::size_t> place;
    for (std::size_t k = 0; k < order.size(); ++k) place[order[k]] = k;
    std::map<Alive, double> branches{{Alive(order.size(), false), 1.0}};
    for (std::size_t k = 0; k < order.size(); ++k) {
      std::map<Alive, double> next;
      const auto add = [&](const Alive& alive, double samples) {
        const auto [at, is_new] = next.emplace(alive, samples);
        if (!is_new) at->second = request_ == CountRequest::kSum ? at->second + samples : std::max(at->second, samples);
      };
      const auto answers = answers_of(order[k], place);
      for (const auto& [alive, samples] : branches) {
        const bool exists = all_[order[k]].when.empty() || alive[k];
        Alive rest = alive;
        rest[k] = false;
        if (!exists) {
          add(rest, samples);
          continue;
        }
        for (const auto& [called, ways] : answers) {
          Alive with = rest;
          for (const std::size_t child : called) with[child] = true;
          add(with, samples * ways);
        }
      }
      branches = std::move(next);
    }
    return branches.begin()->second;  // all parameters are decided, so there is one state
  }

  /// Groups the values of a parameter by the children that they activate, with the size of each group.
  std::map<std::vector<std::size_t>, double> answers_of(std::size_t i,
                                                        const std::map<std::size_t, std::size_t>& place) const {
    const Domain& domain = all_[i].domain;
    std::vector<std::pair<Value, std::vector<std::size_t>>> asked;
    for (const DependentParameter& child : dependents_[i]) {
      for (const Value& value : *child.values) {
        if (!domain_contains(domain, value)) continue;
        auto at = std::ranges::find(asked, value, [](const auto& entry) -> const Value& { return entry.first; });
        if (at == asked.end()) at = asked.insert(asked.end(), {value, {}});
        at->second.push_back(place.at(child.index));
      }
    }
    const auto size = static_cast<double>(domain_size(domain).value_or(grain_));
    const double rest = size - static_cast<double>(asked.size());
    std::map<std::vector<std::size_t>, double> answers;
    for (const auto& [value, called] : asked) answers[called] += 1;
    if (rest > 0) answers[{}] += rest;
    if (request_ == CountRequest::kSum) return answers;
    for (auto& [called, ways] : answers) ways = size;  // a digit of a grid index counts the whole domain
    return answers;
  }

  const std::vector<Parameter>& all_;
  std::int64_t grain_;
  CountRequest request_;
  std::vector<std::vector<DependentParameter>> dependents_;
};

}  // namespace

std::optional<double> SearchSpace::size() const {
  for (const Parameter& parameter : parameters_) {
    if (!domain_size(parameter.domain)) return std::nullopt;
  }
  return Count(parameters_, 1, Count::CountRequest::kSum).total();
}

double SearchSpace::largest_branch(std::int64_t grain) const {
  return Count(parameters_, grain, Count::CountRequest::kLargest).total();
}

}  // namespace lanista::space
