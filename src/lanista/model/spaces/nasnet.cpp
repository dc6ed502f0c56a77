#include <string_view>

#include "lanista/model/spaces/builtin.h"
#include "lanista/model/spaces/cell_network.h"

namespace lanista::mutate {
namespace {

// Returns the operators that the papers searched, as in NDS, Table 1.
std::vector<std::string> ops_of(std::string_view kind) {
  if (kind == "amoebanet") return {"skip", "avg3", "max3", "conv7x1_1x7", "sep3", "sep5", "sep7", "dilsep3"};
  if (kind == "pnas") return {"skip", "avg3", "max3", "conv7x1_1x7", "dil3", "sep3", "sep5", "sep7"};
  return {"skip", "conv3x1_1x3", "conv7x1_1x7", "dil3", "avg3", "max3", "max5",
          "max7", "conv1",       "conv3",       "sep3", "sep5", "sep7"};
}

std::vector<OptionSpec> options() {
  auto all = spaces::cell_options();
  all.push_back({"ops",
                 kText,
                 "nasnet",
                 {},
                 {},
                 {"nasnet", "amoebanet", "pnas"},
                 "source of the operators: 13 of NASNet, 8 of AmoebaNet, 8 of PNASNet"});
  all.push_back({"nodes", kInt, 5, 1, 12, {}, "sums of two in a cell"});
  const std::string gives = ", by name ('first+1+2'; 'first' and 'second' are its inputs); empty: what no node reads";
  all.push_back({"normal_gives", kText, "", {}, {}, {}, "the values that a normal cell joins" + gives});
  all.push_back({"reduce_gives", kText, "", {}, {}, {}, "the values that a reduction cell joins" + gives});
  all.push_back({"stem_width", kInt, 0, 0, 4096, {}, "channels of the stem; 0: three times the width, imagenet 32"});
  all.push_back({"past_reduction",
                 kBool,
                 false,
                 {},
                 {},
                 {},
                 "the cell behind a reduction cell skips over it, to the value before its input"});
  return all;
}

std::vector<Preset> presets() {
  const auto sized = [](std::string ops, std::int64_t width, std::int64_t cells, bool imagenet) {
    Options all{{"ops", std::move(ops)}, {"width", width}, {"cells", cells}, {"stages", 3}};
    if (imagenet) all.update(Options{{"stem", "imagenet"}, {"dropout", 0.5}});
    return all;
  };
  Options large = sized("nasnet", 168, 6, true);
  large.update(Options{{"stem_width", 96}, {"past_reduction", true}});
  return {{"nasnet-cifar10", sized("nasnet", 32, 6, false)},
          {"nasnet-mobile", sized("nasnet", 44, 4, true)},
          {"nasnet-large", std::move(large)},
          {"amoebanet-cifar10", sized("amoebanet", 36, 6, false)},
          {"amoebanet-mobile", sized("amoebanet", 50, 4, true)},
          {"amoebanet-large", sized("amoebanet", 190, 6, true)}};
}

}  // namespace

PublishedSpace nasnet_space() {
  return {"nasnet",
          "stacked cells; each node adds two earlier values, each through an operator of its own",
          "Zoph et al., CVPR'18, section 3; Real et al., AAAI'19; Liu et al., ECCV'18",
          options(),
          presets(),
          [](const graph::OpTable& ops, const ModelInterface& ends, const Options& given) {
            const auto kind = given.at("ops").get<std::string>();
            const bool amoeba = kind == "amoebanet";
            const spaces::CellRules rules{
                .space = "nasnet",
                .cell_style = amoeba ? spaces::CellStyle::kAmoebanet : spaces::CellStyle::kNasnet,
                .nodes = given.at("nodes").get<std::int64_t>(),
                .ops = ops_of(kind),
                .joins_unread_nodes = kind != "pnas",
                .normal_gives = given.at("normal_gives").get<std::string>(),
                .reduce_gives = given.at("reduce_gives").get<std::string>(),
                .stem_width = given.at("stem_width").get<std::int64_t>(),
                .past_reduction = given.at("past_reduction").get<bool>()};
            return spaces::cell_network(rules, ops, ends, given);
          }};
}

}  // namespace lanista::mutate
