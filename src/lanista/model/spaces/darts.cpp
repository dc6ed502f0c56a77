#include "lanista/model/spaces/builtin.h"
#include "lanista/model/spaces/cell_network.h"

namespace lanista::mutate {

PublishedSpace darts_space() {
  return {"darts",
          "stacked cells of four nodes; each adds two different earlier values through one of seven operators",
          "Liu et al., ICLR'19, sections 2 and 3 (the discrete cells, without the zero operator)",
          spaces::cell_options(),
          {{"cifar10", {{"width", 36}, {"cells", 6}, {"stages", 3}}},
           {"imagenet", {{"width", 48}, {"cells", 4}, {"stages", 3}, {"stem", "imagenet"}}}},
          [](const graph::OpTable& ops, const ModelInterface& ends, const Options& options) {
            const spaces::CellRules rules{.space = "darts",
                                          .cell_style = spaces::CellStyle::kDarts,
                                          .nodes = 4,
                                          .ops = {"skip", "max3", "avg3", "sep3", "sep5", "dilsep3", "dilsep5"},
                                          .distinct = true};
            return spaces::cell_network(rules, ops, ends, options);
          }};
}

}  // namespace lanista::mutate
