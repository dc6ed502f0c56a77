#pragma once

#include <array>
#include <cstdint>
#include <string_view>
#include <vector>

// Sizes of published networks, added up layer by layer from the tables of the papers and from the parts that the
// authors' implementations put around the searched part. For tests; it uses no graph and no blueprint.
namespace lanista::mutate::tables {

/// Counts of a network: trained numbers, multiply-adds of convolutions and linear layers for one image, activations and
/// gates, factorised reductions, sums of two values.
struct NetworkSize {
  std::int64_t parameters = 0;
  std::int64_t macs = 0;
  std::int64_t activations = 0;
  std::int64_t swishes = 0;  ///< of these, hard_swish
  std::int64_t reductions = 0;
  std::int64_t sums = 0;
  bool operator==(const NetworkSize&) const = default;
};

/// An operator of a cell, and the number of the value that it reads.
struct CellStep {
  std::string_view op;  ///< skip avg3 max3 sep3 sep5 sep7 dilsep3 dilsep5 conv7x1_1x7
  int from = 0;         ///< 0, 1: the inputs of the cell, as the reference numbers them; 2, 3, …: its nodes
};
/// Two steps a node. `gives`: the numbers of what the cell joins.
struct CellTable {
  std::vector<CellStep> steps;
  std::vector<int> gives;
};
struct CellNetwork {
  CellTable normal, reduce;
  std::int64_t width = 0, cells = 0, stem = 0, size = 32, classes = 10;
  bool imagenet = false;
};

/// quark0/darts, cnn/model.py, without the auxiliary head. Input 0 is the earlier one.
NetworkSize darts(const CellNetwork& network);
/// tensorflow/models, research/slim/nets/nasnet, and tensorflow/tpu, models/official/amoeba_net, without the auxiliary
/// head. Input 0 is the newer one. `past`: as skip_reduction_layer_input there.
NetworkSize nasnet(const CellNetwork& network, bool past = false);
/// melodyguan/enas, src/cifar10/micro_child.py, with a fixed architecture. Input 0 is the earlier one.
NetworkSize enas_micro(const CellNetwork& network);

/// A layer of the macro space of ENAS: the window of its convolution, and which of stem, layer 1, layer 2, … it also
/// reads.
struct MacroLayer {
  std::int64_t window = 3;
  std::vector<bool> skips;
};
/// melodyguan/enas, src/cifar10/general_child.py, with a fixed architecture. There, separable convolutions are also
/// made full ones.
NetworkSize enas_macro(const std::vector<MacroLayer>& layers, std::int64_t width);

/// An inverted residual: window, hidden channels, output channels, squeezed channels (0: no gate), stride.
struct MobileRow {
  std::int64_t window, hidden, out, squeezed, stride;
};
struct MobileNetwork {
  std::int64_t stem = 0;
  std::vector<MobileRow> rows;
  std::int64_t head = 0;
  std::int64_t features = 0;     ///< of a linear layer with offset in front of the last one; 0: none
  std::int64_t swish_from = -1;  ///< the first row with hard_swish, which stem and head then also have; -1: none
};
/// 224 x 224 images, 1,000 classes. A row with as many hidden as input channels has no first convolution.
NetworkSize mobile(const MobileNetwork& network);

/// megvii-model/SinglePathOneShot: 0, 1, 2: kernel 3, 5, 7; 3: Xception.
NetworkSize spos(const std::array<int, 20>& blocks);

}  // namespace lanista::mutate::tables
