#include <string_view>

#include "lanista/mutate/spaces/builtin.h"
#include "lanista/mutate/spaces/cells.h"

namespace lanista::mutate {
namespace {

// The operators that the papers searched, as counted in NDS, Table 1.
std::vector<std::string> ops_of(std::string_view kind) {
  if (kind == "amoebanet") return {"skip", "avg3", "max3", "conv7x1_1x7", "sep3", "sep5", "sep7", "dilsep3"};
  if (kind == "pnas") return {"skip", "avg3", "max3", "conv7x1_1x7", "dil3", "sep3", "sep5", "sep7"};
  return {"skip", "conv3x1_1x3", "conv7x1_1x7", "dil3", "avg3", "max3", "max5",
          "max7", "conv1",       "conv3",       "sep3", "sep5", "sep7"};
}

}  // namespace

PublishedSpace nasnet_space() {
  auto options = spaces::cell_options();
  options.push_back({"ops",
                     OptionSpec::Kind::kText,
                     "nasnet",
                     {},
                     {},
                     {"nasnet", "amoebanet", "pnas"},
                     "whose operators: 13 of NASNet, 8 of AmoebaNet, 8 of PNASNet"});
  options.push_back({"nodes", OptionSpec::Kind::kInt, 5, 1, 12, {}, "sums of two in a cell"});
  return {"nasnet", "stacked cells; each node adds two earlier values, each through an operator of its own",
          "Zoph et al., CVPR'18, section 3; Real et al., AAAI'19; Liu et al., ECCV'18", std::move(options),
          [](const graph::OpTable& ops, const Ends& ends, const Options& given) {
            const auto kind = given.at("ops").get<std::string>();
            const spaces::CellRules rules{.space = "nasnet",
                                          .nodes = given.at("nodes").get<std::int64_t>(),
                                          .ops = ops_of(kind),
                                          .loose_ends = kind != "pnas"};
            return spaces::cell_network(rules, ops, ends, given);
          }};
}

}  // namespace lanista::mutate
