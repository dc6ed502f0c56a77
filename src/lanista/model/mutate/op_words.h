#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "lanista/model/mutate/model_view.h"

// Operators that can stand in each other's place, under short words ("conv3x3", "sep5x5", "relu").
namespace lanista::mutate {

/// All words, for option lists: activations, convolutions, pools.
std::vector<std::string> family_words();
/// Words of convolutions ("conv3x3"), without identity.
std::vector<std::string> conv_words();

/// The word for what the node does now: kernel and operator, whatever its stride, groups or bias; empty if none.
/// Convolutions have one only with "same" padding and without dilation.
std::string word_of(const ModelView& view, const graph::Node& node);

/// The words of the node's family, its own included; empty if it has no family. An identity on images stands for an
/// activation or for a convolution.
std::vector<std::string> words_of_family(const ModelView& view, const graph::Node& node);

struct Replacement {
  std::string op;
  graph::Attrs attrs;
};

/// The node rewritten as `word`: width, stride, groups and bias are kept. nullopt if the result would have another
/// type, or the word is of another family.
std::optional<Replacement> rewrite(const ModelView& view, const graph::Node& node, std::string_view word);

/// A convolution of the image type `type` onto itself (stride 1), as `word` says.
std::optional<Replacement> same_conv(const graph::OpTable& ops, const graph::ValueType& type, std::string_view word);

}  // namespace lanista::mutate
