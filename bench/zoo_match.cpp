#include "bench/zoo_match.h"

#include <algorithm>
#include <optional>
#include <ostream>
#include <set>
#include <string>
#include <vector>

#include "bench/arms.h"
#include "lanista/io/zoo/catalogue.h"
#include "lanista/model/graph/infer.h"
#include "lanista/model/spaces/published.h"

namespace lanista::bench {
namespace {

constexpr std::size_t kFewestNodes = 30, kMaxNodes = 300, kChildren = 40;
constexpr std::size_t kMaxExhaustive = 2500;
const std::string kTask = "images";

/// A published space with its parameters.
struct Space {
  mutate::Blueprint blueprint;
  space::SearchSpace choices;
  mutate::ModelInterface ends;
};

/// All published spaces for images, each with several widths.
Result<std::vector<Space>> image_spaces(const graph::OpTable& ops) {
  std::vector<Space> out;
  for (const mutate::PublishedSpace& published : mutate::published_spaces()) {
    if (published.name == "transformer" || published.name == "wide_deep") continue;
    std::vector<nlohmann::json> sizes{nlohmann::json::object()};
    const auto has = [&](const char* name) {
      return std::ranges::any_of(published.options, [&](const OptionSpec& option) { return option.name == name; });
    };
    if (has("width")) sizes = {{{"width", 8}}, {{"width", 12}}, {{"width", 16}}};
    for (const nlohmann::json& size : sizes) {
      const mutate::ModelInterface ends = mutate::model_interface(graph::Shape{{3, 32, 32}}, 10);
      LANISTA_ASSIGN(auto blueprint, mutate::published_space(published.name, size, ops, ends));
      space::SearchSpace choices;
      for (const space::Parameter& parameter : blueprint.parameters()) LANISTA_TRY(choices.add(parameter));
      out.push_back({std::move(blueprint), std::move(choices), ends});
    }
  }
  return out;
}

/// Samples different models from the spaces in turn.
class ModelSampler {
 public:
  explicit ModelSampler(std::vector<Space> spaces) : spaces_(std::move(spaces)) {}

  /// A model that was not returned before; nullopt if 1,000 samples gave none.
  std::optional<zoo::MatchModel> next() {
    for (int tries = 0; tries < 1000; ++tries) {
      const Space& space = spaces_[rng_ % spaces_.size()];
      space::RandomChooser choose(Rng(17).split("zoo").split(rng_++));
      const auto graph = space.blueprint.expand(space.choices.sample(choose), ops_, space.ends);
      if (!graph || graph->size() < kFewestNodes || graph->size() > kMaxNodes) continue;
      auto model = zoo::MatchModel::of(*graph, ops_);
      if (model && seen_.insert(model->hash).second) return *std::move(model);
    }
    return std::nullopt;
  }

 private:
  graph::OpTable ops_ = graph::builtin_ops();
  std::vector<Space> spaces_;
  std::set<Digest> seen_;
  std::uint64_t rng_ = 0;
};

/// A quantile of the values.
double quantile(std::vector<double> values, double at) {
  std::ranges::sort(values);
  return values[std::min(values.size() - 1, static_cast<std::size_t>(at * static_cast<double>(values.size())))];
}

/// The results of the searches for all children.
struct Search {
  std::vector<double> milliseconds;
  std::vector<std::string> chosen;  ///< ids of the chosen parents; empty: none
  double aligned = 0;               ///< mean number of aligned models
};

/// Searches for every `every`-th child.
Search search(const zoo::Catalogue& catalogue, const std::vector<zoo::MatchModel>& children, bool exhaustive,
              std::size_t every) {
  Search out;
  for (std::size_t k = 0; k < children.size(); k += every) {
    zoo::SearchStats count;
    const double begin = now_seconds();
    const auto offer = catalogue.best(children[k], kTask, {.match = {}, .exhaustive = exhaustive}, &count);
    out.milliseconds.push_back((now_seconds() - begin) * 1e3);
    out.chosen.push_back(offer ? offer->entry.id : "");
    out.aligned += static_cast<double>(count.aligned);
  }
  out.aligned /= static_cast<double>(out.chosen.size());
  return out;
}

void print_search(const Search& search, std::size_t size, const std::string& arm, bool json, std::ostream& out) {
  const int repeats = static_cast<int>(search.milliseconds.size());
  const auto row = [&](const std::string& name, const std::string& unit, double value) {
    print(BenchRow{"zoo-match", std::to_string(size), name, unit, value, 0, repeats}, json, out);
  };
  row(arm + "/p50", "ms", quantile(search.milliseconds, 0.5));
  row(arm + "/p95", "ms", quantile(search.milliseconds, 0.95));
  if (arm != "cached") row(arm + "/aligned", "models", search.aligned);
}

}  // namespace

Result<void> zoo_match(const BenchRequest& request, std::ostream& out) {
  LANISTA_ASSIGN(auto spaces, image_spaces(graph::builtin_ops()));
  ModelSampler models(std::move(spaces));
  std::vector<zoo::MatchModel> children, known;
  for (std::size_t k = 0; k < kChildren; ++k) {
    auto child = models.next();
    if (!child) return Error{Code::kInternal, "the spaces gave no more children", ""};
    children.push_back(*std::move(child));
  }
  zoo::Catalogue catalogue;
  for (const std::size_t size : {std::size_t{250}, std::size_t{2500}, std::size_t{25000}}) {
    if (!request.cases.empty() && std::ranges::find(request.cases, std::to_string(size)) == request.cases.end())
      continue;
    while (catalogue.size() < size) {
      auto model = models.next();
      if (!model)
        return Error{Code::kInternal, "the spaces gave only " + std::to_string(catalogue.size()) + " models", ""};
      const auto age = static_cast<std::int64_t>(catalogue.size());
      const double quality = Rng(18).split(static_cast<std::uint64_t>(age)).uniform();
      if (known.size() < kChildren) known.push_back(*model);
      LANISTA_TRY(catalogue.add({"m" + std::to_string(age), kTask, quality, age}, *model));
    }
    const Search filtered = search(catalogue, children, false, 1);
    if (size <= kMaxExhaustive) {
      constexpr std::size_t kEvery = 10;
      const Search exhaustive = search(catalogue, children, true, kEvery);
      for (std::size_t k = 0; k < exhaustive.chosen.size(); ++k) {
        if (exhaustive.chosen[k] == filtered.chosen[k * kEvery]) continue;
        return Error{Code::kInternal,
                     "the filtered search misses the best parent of child " + std::to_string(k * kEvery), ""};
      }
      print_search(exhaustive, size, "exhaustive", request.json, out);
    }
    print_search(filtered, size, "filtered", request.json, out);
    print_search(search(catalogue, known, false, 1), size, "cached", request.json, out);
  }
  return {};
}

}  // namespace lanista::bench
