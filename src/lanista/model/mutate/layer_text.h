#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "lanista/base/result.h"
#include "lanista/model/mutate/op_words.h"
#include "lanista/model/mutate/pattern.h"

namespace lanista::mutate {

/// A layer as an option of a mutator describes it in text.
///
/// The text is a word of `family_words`, such as "relu" or "conv3x3", or an operator with attributes, such as
/// "conv2d(out=16, bias=false)". In it, $NAME.ATTRIBUTE stands for an attribute of the node NAME of a pattern, as in
/// "linear(out=$a.out)".
class LayerText {
 public:
  /// Reads one layer. `captures` are the names that may follow $. Errors: kInvalidArgument for a syntax error, an
  /// unknown word or an invalid attribute; kNotFound for an unknown operator. The message has the text and the nearest
  /// name.
  static Result<LayerText> parse(std::string_view text, const std::vector<std::string>& captures = {});

  /// Reads a chain of at most 16 layers, such as "conv2d(out=16) >> relu". Errors as in parse(), also for an empty
  /// text.
  static Result<std::vector<LayerText>> parse_chain(std::string_view text,
                                                    const std::vector<std::string>& captures = {});

  /// The text of the layer, without spaces at its ends.
  const std::string& text() const { return text_; }

  /// The operator and attributes for an input of type `input`. A convolution word keeps the number of channels, and
  /// `linear` without attributes the number of features. `match` has the nodes for $NAME. Errors: kNotApplicable if the
  /// layer does not accept the input.
  Result<Replacement> on(const ModelView& view, const graph::ValueType& input, const Match* match = nullptr) const;
  /// The operator and attributes that replace those of `node`. A word keeps the width, stride, groups and bias of the
  /// node. An operator without attributes keeps those attributes of the node that it has too; with attributes it is
  /// used as written. Errors: kNotApplicable if the layer does not accept the inputs of the node.
  Result<Replacement> in_place_of(const ModelView& view, const graph::Node& node) const;

 private:
  Result<Replacement> written(const ModelView& view, const Match* match) const;

  std::string text_;
  bool is_word_ = false;  ///< a bare name
};

}  // namespace lanista::mutate
