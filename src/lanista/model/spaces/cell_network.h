#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "lanista/base/options.h"
#include "lanista/model/spaces/blueprint.h"

// Networks of stacked cells, the form that NASNet introduced and AmoebaNet, PNASNet, ENAS and DARTS share.
namespace lanista::mutate::spaces {

/// Whose habits a network has. The authors' implementations differ in what surrounds the searched part, and the
/// published numbers of parameters are of these implementations:
///
///                            kDarts                    kEnas                      kNasnet, kAmoebanet
///   inputs of a cell         both 1x1                  1x1 where the width         the last 1x1, the one before where
///                                                      differs; the last once more the width differs; raw in cell 1
///   a skip that halves       relu, factorised          factorised                  relu, 1x1 of stride 2
///   loose inputs             never given               given, halved by factorised reductions
///   answer                   of the means              of the means behind a relu; ENAS without an offset
///
/// kAmoebanet is kNasnet with its 7x1_1x7 convolutions in a bottleneck of a quarter of the channels.
enum class CellStyle { kDarts, kEnas, kNasnet, kAmoebanet };

/// Where an operator stands.
struct CellPlacement {
  CellStyle cell_style = CellStyle::kDarts;
  std::int64_t width = 1;
  bool reduction = false;

  bool is_nasnet() const { return cell_style == CellStyle::kNasnet || cell_style == CellStyle::kAmoebanet; }
  /// `chain` where the channels that come in are not `width` yet.
  Block if_width_differs(Chain chain) const;
};

/// An operator that cells are made of, by the names of NDS (Radosavovic et al., ICCV'19, Table 1): none skip avg3 max3
/// max5 max7 conv1 conv3 conv3x1_1x3 conv7x1_1x7 dil3 dil5 sep3 sep5 sep7 dilsep3, and dilsep5. Activation,
/// convolution, norm; separable ones twice. In a reduction cell it halves the image where it reads what the cell was
/// given.
Option cell_op(std::string_view name, const CellPlacement& place);

struct CellRules {
  std::string space;
  CellStyle cell_style = CellStyle::kDarts;
  std::int64_t nodes = 5;
  std::vector<std::string> ops;
  bool distinct = false;    ///< a node's two inputs are different values
  bool joins_unread_nodes = false;  ///< the cell gives what no node reads; else all nodes
  /// What the cells give instead, whatever is read: "first+1+2". Empty: as joins_unread_nodes says.
  std::string normal_gives = {}, reduce_gives = {};
  std::int64_t stem_width = 0;  ///< 0: three times the width; with NASNet's stem for ImageNet 32
  /// The cell behind a reduction cell reads, for the value before the last, what the reduction cell did so.
  bool past_reduction = false;
};

/// width, cells, stages, stem, dropout.
std::vector<OptionSpec> cell_options();

/// stages x cells normal cells; between the stages a reduction cell halves the image and doubles the channels. Each
/// cell reads the two before it, brought to its width and size ("first" is the earlier one). Choices: "normal/…" and
/// "reduce/…", shared by all cells of the kind. With one stage, and no reduction cells in the stem, there is none.
Result<Blueprint> cell_network(const CellRules& rules, const graph::OpTable& ops, const ModelInterface& ends,
                               const Options& options);

}  // namespace lanista::mutate::spaces
