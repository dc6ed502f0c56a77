#include "lanista/io/data/selector.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <utility>

#include "lanista/base/option_specs.h"
#include "lanista/base/portable_math.h"
#include "lanista/base/rng.h"
#include "lanista/base/text_distance.h"
#include "lanista/io/data/loss_ranks.h"
#include "lanista/io/data/select_guard.h"

namespace lanista::data {
namespace {

using Places = std::vector<std::size_t>;

Places all_places(std::size_t count) {
  Places out(count);
  std::iota(out.begin(), out.end(), std::size_t{0});
  return out;
}

/// One uniform number for every row of every pass.
class Draws {
 public:
  explicit Draws(std::uint64_t seed) : rng_(Rng(seed).split("select")) {}
  /// Of one pass: from a row's number to its draw.
  auto of(std::int64_t pass) const {
    return [of_pass = rng_.split(static_cast<std::uint64_t>(pass))](std::int64_t row) {
      return of_pass.split(static_cast<std::uint64_t>(row)).uniform();
    };
  }

 private:
  Rng rng_;
};

/// Losses as one tensor of doubles, and back.
Tensor doubles(const char* name, std::span<const double> values) {
  Tensor out{name, ElementType::kF64, {std::ssize(values)}, std::vector<std::byte>(values.size_bytes())};
  std::ranges::copy(values, elements_of<double>(out).begin());
  return out;
}

Result<std::span<const double>> read_doubles(std::span<const Tensor> memory, const char* name) {
  const auto found = std::ranges::find(memory, name, &Tensor::name);
  if (found == memory.end() || found->type != ElementType::kF64) {
    return Error{Code::kDataLoss, std::string("what the selector remembered has no '") + name + "'", ""};
  }
  return elements_of<double>(*found);
}

/// Every example with the same probability.
class Random final : public Selector {
 public:
  Random(double keep, const SelectorFacts& facts) : keep_(keep), draws_(facts.seed) {}

  Places asks(const Offer&) const override { return {}; }
  Places choose(const Offer& offer, std::span<const double>) override {
    Places out;
    const auto draw = draws_.of(offer.pass);
    for (std::size_t i = 0; i < offer.rows.size(); ++i) {
      if (draw(offer.rows[i]) < keep_) out.push_back(i);
    }
    return out;
  }

 private:
  double keep_;
  Draws draws_;
};

/// With probability rank^beta, the rank being that of the loss among the last ones of all examples. A loss counts for
/// `stale` passes; then it is measured again.
class Percentile final : public Selector {
 public:
  Percentile(const Options& options, const SelectorFacts& facts)
      : beta_(options.at("beta").get<double>()),
        floor_(options.at("floor").get<double>()),
        stale_(options.at("stale").get<std::int64_t>()),
        ranks_(options.at("history").get<std::size_t>()),
        draws_(facts.seed) {
    if (stale_ > 1) known_.resize(static_cast<std::size_t>(2 * facts.rows), -1.0);
  }

  Places asks(const Offer& offer) const override {
    if (beta_ == 0) return {};
    if (stale_ == 1) return all_places(offer.rows.size());
    Places out;
    for (std::size_t i = 0; i < offer.rows.size(); ++i) {
      const double measured = known_[at(offer.rows[i]) + 1];
      if (measured < 0 || static_cast<double>(offer.pass) - measured >= static_cast<double>(stale_)) out.push_back(i);
    }
    return out;
  }

  Places choose(const Offer& offer, std::span<const double> losses) override {
    if (beta_ == 0) return all_places(offer.rows.size());
    const std::vector<double> all = losses_of(offer, losses);
    for (const double loss : all) ranks_.add(loss);
    Places out;
    const auto draw = draws_.of(offer.pass);
    for (std::size_t i = 0; i < all.size(); ++i) {
      const double chance = std::max(floor_, portable_pow(ranks_.rank(all[i]), beta_));
      if (draw(offer.rows[i]) < chance) out.push_back(i);
    }
    return out;
  }

  std::vector<Tensor> memory() const override {
    std::vector<Tensor> out{doubles("history", ranks_.losses())};
    if (stale_ > 1) out.push_back(doubles("known", known_));
    return out;
  }
  Result<void> recall(std::span<const Tensor> memory) override {
    LANISTA_ASSIGN(const std::span<const double> history, read_doubles(memory, "history"));
    if (stale_ > 1) {
      LANISTA_ASSIGN(const std::span<const double> known, read_doubles(memory, "known"));
      if (known.size() != known_.size()) {
        return Error{Code::kDataLoss,
                     "the selector remembered losses of " + std::to_string(known.size() / 2) + " rows, there are " +
                         std::to_string(known_.size() / 2),
                     ""};
      }
      std::ranges::copy(known, known_.begin());
    }
    ranks_.assign(history);
    return {};
  }

 private:
  static std::size_t at(std::int64_t row) { return static_cast<std::size_t>(2 * row); }

  // Of the whole batch: those that were measured now, and those that still count.
  std::vector<double> losses_of(const Offer& offer, std::span<const double> measured) {
    if (stale_ == 1) return {measured.begin(), measured.end()};
    const Places asked = asks(offer);
    for (std::size_t i = 0; i < asked.size(); ++i) {
      const std::size_t place = at(offer.rows[asked[i]]);
      known_[place] = measured[i];
      known_[place + 1] = static_cast<double>(offer.pass);
    }
    std::vector<double> out;
    out.reserve(offer.rows.size());
    for (const std::int64_t row : offer.rows) out.push_back(known_[at(row)]);
    return out;
  }

  double beta_, floor_;
  std::int64_t stale_;
  LossRanks ranks_;
  std::vector<double> known_;  // of each row its loss and the pass that it was measured in; -1: never
  Draws draws_;
};

/// So many of each batch, without replacement, with weights by the rank of the loss in the batch.
class OfEachBatch final : public Selector {
 public:
  OfEachBatch(double keep, const SelectorFacts& facts) : keep_(keep), draws_(facts.seed) {}

  Places asks(const Offer& offer) const override { return keep_ < 1 ? all_places(offer.rows.size()) : Places(); }
  // Weighted sampling without replacement by one key an item (Efraimidis and Spirakis, 2006): those with the largest
  // log(u) / weight.
  Places choose(const Offer& offer, std::span<const double> losses) override {
    const std::size_t count = offer.rows.size();
    if (keep_ >= 1) return all_places(count);
    const auto kept = std::max<std::size_t>(1, static_cast<std::size_t>(keep_ * static_cast<double>(count)));
    Places order = all_places(count);
    const auto smaller = [&](std::size_t a, std::size_t b) {
      const bool no_a = std::isnan(losses[a]), no_b = std::isnan(losses[b]);
      return no_a || no_b ? no_b && !no_a : losses[a] < losses[b];
    };
    std::ranges::stable_sort(order, smaller);
    std::vector<double> keys(count);
    const auto draw = draws_.of(offer.pass);
    for (std::size_t i = 0; i < count; ++i) {
      const double percentile = (static_cast<double>(i) + 0.5) / static_cast<double>(count);
      const double weight = portable_pow(percentile, 1 / keep_ - 1);
      const double drawn = draw(offer.rows[order[i]]);
      keys[order[i]] = portable_log(std::max(drawn, 0x1p-54)) / weight;
    }
    Places out = all_places(count);
    std::ranges::stable_sort(out, std::greater<>(), [&](std::size_t i) { return keys[i]; });
    out.resize(kept);
    std::ranges::sort(out);
    return out;
  }

 private:
  double keep_;
  Draws draws_;
};

/// Of each batch those whose loss is furthest above the one that a model has which did not train on them: what can be
/// learned is left, what is noise or known is not.
class Reducible final : public Selector {
 public:
  Reducible(double keep, const SelectorFacts& facts) : keep_(keep), holdout_(facts.holdout) {}

  Places asks(const Offer& offer) const override { return keep_ < 1 ? all_places(offer.rows.size()) : Places(); }
  Places choose(const Offer& offer, std::span<const double> losses) override {
    const std::size_t count = offer.rows.size();
    Places order = all_places(count);
    if (keep_ >= 1) return order;
    std::vector<double> left(count);
    for (std::size_t i = 0; i < count; ++i) {
      const double known = double{holdout_[static_cast<std::size_t>(offer.rows[i])]};
      // What has no loss is the hardest there is.
      left[i] = std::isnan(losses[i]) ? std::numeric_limits<double>::infinity() : losses[i] - known;
    }
    std::ranges::stable_sort(order, std::greater<>(), [&](std::size_t i) { return left[i]; });
    order.resize(std::max<std::size_t>(1, static_cast<std::size_t>(keep_ * static_cast<double>(count))));
    std::ranges::sort(order);
    return order;
  }

 private:
  double keep_;
  std::span<const float> holdout_;
};

using OptionKind = OptionSpec::Kind;
constexpr double kMost = 1e6;

std::vector<OptionSpec> with_common(std::vector<OptionSpec> own) {
  own.insert(own.end(), selection_options().begin(), selection_options().end());
  return own;
}

std::vector<OptionSpec> percentile_options() {
  return {number_option("beta", OptionKind::kReal, 1.0, 0, 100, "0: all; a share of 1 / (1 + beta) is trained on"),
          number_option("history", OptionKind::kInt, 1024, 1, 1e6, "losses that a loss is ranked among"),
          number_option("floor", OptionKind::kReal, 0.01, 0, 1, "least probability"),
          number_option("stale", OptionKind::kInt, 1, 1, kMost,
                        "passes that a loss counts for before it is measured again")};
}

// Those of selective, and when and how the two are compared.
std::vector<OptionSpec> guarded_options() {
  std::vector<OptionSpec> options = percentile_options();
  options.push_back(count_option("steps", 100, 1, "of the branch on chosen examples; never beyond its epoch"));
  options.push_back(number_option("every", OptionKind::kInt, 0, 0, kMost,
                                  "epochs after which the two are compared once more; 0: never"));
  options.push_back(number_option("backward", OptionKind::kReal, 2.0, 0, 100,
                                  "what a pass backward costs, in passes forward: by that both compute as much"));
  options.push_back(text_option("on", "", "metric that decides; empty: val_accuracy, or else val_loss"));
  OptionSpec found = option("found", OptionKind::kMapList, Options::array(),
                            "what a trial has found, in place of asking: a list of {step: 0, selects: true}, as a "
                            "model package tells it");
  found.silent_default = true;
  options.push_back(std::move(found));
  return options;
}

OptionSpec keep_option() {
  return number_option("keep", OptionKind::kReal, 0.5, 0.001, 1, "share of the examples that are trained on");
}

Result<SelectorPlugin> plugin_of(const study::PluginConfig& select) {
  std::vector<std::string> names;
  std::string list;
  std::vector<SelectorPlugin> plugins = builtin_selectors();
  for (SelectorPlugin& plugin : plugins) {
    if (plugin.name == select.name) return std::move(plugin);
    list += (names.empty() ? "" : ", ") + plugin.name;
    names.push_back(plugin.name);
  }
  const std::string near = nearest_name(select.name, names);
  return Error{Code::kInvalidArgument,
               "unknown; allowed: " + list + (near.empty() ? "" : "; did you mean '" + near + "'?"), select.name};
}

}  // namespace

Result<void> Selector::recall(std::span<const Tensor> memory) {
  if (memory.empty()) return {};
  return Error{Code::kDataLoss, "the selector remembers nothing, but '" + memory[0].name + "' is given back to it", ""};
}

const std::vector<OptionSpec>& selection_options() {
  static const std::vector<OptionSpec> options = [] {
    OptionSpec clock;
    clock.name = "clock";
    clock.kind = OptionKind::kText;
    clock.default_value = "read";
    clock.allowed = {"read", "trained"};
    clock.help = "what the learning rate's schedule counts: batches read, or batches trained on";
    return std::vector<OptionSpec>{
        number_option("warmup_epochs", OptionKind::kInt, 1, 0, kMost, "first epochs that train on all examples"),
        number_option("from", OptionKind::kReal, 0, 0, 1,
                      "share of the epochs before which all examples are trained on"),
        number_option("until", OptionKind::kReal, 1, 0, 1,
                      "share of the epochs after which all examples are trained on"),
        number_option("interrupt", OptionKind::kInt, 0, 0, kMost,
                      "every so-manieth batch is trained on whole; 0: none"),
        number_option("max_wait", OptionKind::kInt, 4, 1, kMost,
                      "batches read after which a batch is trained on, filled up from the last one read"),
        number_option(
            "recalibrate", OptionKind::kInt, 0, 0, kMost,
            "batches of all rows that batch norm's running statistics are renewed by before an epoch is measured"),
        clock};
  }();
  return options;
}

std::vector<SelectorPlugin> builtin_selectors() {
  const auto by_percentile = [](const Options& options, const SelectorFacts& facts) -> std::unique_ptr<Selector> {
    return std::make_unique<Percentile>(options, facts);
  };
  return {
      {"selective",
       "examples with probability rank^beta, by how their loss ranks among the last ones (Selective-Backprop)",
       with_common(percentile_options()), by_percentile},
      {"batch", "a share of each batch, without replacement, weighted by how losses rank in it (Composer's rule)",
       with_common({keep_option()}),
       [](const Options& options, const SelectorFacts& facts) -> std::unique_ptr<Selector> {
         return std::make_unique<OfEachBatch>(options.at("keep").get<double>(), facts);
       }},
      {std::string(kSelectReducible),
       "a share of each batch: those whose loss is furthest above the hold-out loss that the data have for them "
       "(RHO-LOSS)",
       with_common({keep_option()}),
       [](const Options& options, const SelectorFacts& facts) -> std::unique_ptr<Selector> {
         return std::make_unique<Reducible>(options.at("keep").get<double>(), facts);
       }},
      {"random", "a share of the examples by chance, whatever their losses: the control", with_common({keep_option()}),
       [](const Options& options, const SelectorFacts& facts) -> std::unique_ptr<Selector> {
         return std::make_unique<Random>(options.at("keep").get<double>(), facts);
       }},
      {std::string(kSelectAuto),
       "as selective where that beats training on all examples: two branches of the trial compare them, at equal "
       "computation",
       with_common(guarded_options()), by_percentile}};
}

Result<void> check_holdout(const study::PluginConfig& select, bool has_holdout) {
  if (select.name != kSelectReducible || has_holdout) return {};
  return Error{Code::kInvalidArgument,
               "the data have no hold-out losses; say which column of a table has them (csv:FILE?holdout=COLUMN), or "
               "take selective, batch or random",
               "train.select.reducible"};
}

Result<Options> selection_settings(const study::PluginConfig& select) {
  LANISTA_ASSIGN(const SelectorPlugin plugin, plugin_of(select));
  return resolve_options(select.options, plugin.options);
}

Result<std::unique_ptr<Selector>> make_selector(const study::PluginConfig& select, const SelectorFacts& facts) {
  LANISTA_ASSIGN(const SelectorPlugin plugin, plugin_of(select));
  LANISTA_ASSIGN(const Options options, resolve_options(select.options, plugin.options));
  LANISTA_TRY(check_holdout(select, !facts.holdout.empty()));
  return plugin.make(options, facts);
}

}  // namespace lanista::data
