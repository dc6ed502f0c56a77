#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "lanista/base/option_specs.h"
#include "lanista/search/sampler/history.h"
#include "lanista/search/sampler/proposal_sampler.h"

namespace lanista::search {

/// Base class of samplers with settings that learn from results. `Settings` has a member `mutations`.
template <class Settings>
class LearningSampler : public ReplayableSampler {
 public:
  /// A sampler of `context` with these settings. `name` is that of its plugin.
  LearningSampler(const Context& context, const Settings& settings, std::string_view name)
      : ReplayableSampler(context),
        name_(name),
        settings_(settings),
        proposal_sampler_(context, settings.mutations),
        history_(context) {}
  std::string_view name() const final { return name_; }

 private:
  std::string name_;

 protected:
  Settings settings_;
  ProposalSampler proposal_sampler_;
  History history_;
};

/// An option of a sampler and the member of its settings that has the value. The default is that of the option.
template <class Settings>
struct Setting {
  /// `T` is the C++ type of the option.
  template <class T>
  Setting(T Settings::*member, OptionSpec of)
      : spec(std::move(of)), read([member, name = spec.name](const Options& options, Settings& settings) {
          settings.*member = options.at(name).template get<T>();
        }) {}

  OptionSpec spec;                                      ///< Name, default, range and help.
  std::function<void(const Options&, Settings&)> read;  ///< Sets the member.
};

/// Returns the entry of the sampler `Search` with these settings and the option `mutations`.
template <class Search, class Settings>
StrategyPlugin learning_plugin(std::string name, std::string help, std::vector<Setting<Settings>> table) {
  StrategyPlugin plugin{std::move(name), std::move(help), {}, {}};
  for (const Setting<Settings>& setting : table) plugin.options.push_back(setting.spec);
  plugin.options.push_back(mutation_count_option());
  plugin.make = [name = plugin.name, table = std::move(table)](
                    const Context& context, const Options& options) -> Result<std::unique_ptr<Sampler>> {
    Settings settings;
    for (const Setting<Settings>& setting : table) setting.read(options, settings);
    LANISTA_ASSIGN(settings.mutations, mutation_count(options));
    return std::unique_ptr<Sampler>(std::make_unique<Search>(context, settings, name));
  };
  return plugin;
}

}  // namespace lanista::search
