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
/// The text is a word of `family_words`, such as "relu" or "conv3x3", or a built-in operator with or without
/// attributes, such as "batch_norm" or "conv2d(out=16, bias=false)". In it, $NAME.ATTRIBUTE stands for an attribute of
/// the node NAME of a pattern, as in "linear(out=$a.out)".
class LayerText {
 public:
  /// Reads one layer. `captures` are the names that may follow $. In a text with $, attributes are checked by on()
  /// only. Errors: kInvalidArgument for a syntax error, a text over 4,096 bytes, an unknown word, a $NAME that is not
  /// in `captures`, an invalid attribute or an operator that cannot have one input; kNotFound for an unknown operator
  /// with attributes. The message has the text and the nearest name.
  static Result<LayerText> parse(std::string_view text, const std::vector<std::string>& captures = {});

  /// Reads a chain of at most 16 layers, such as "conv2d(out=16) >> relu". Errors as in parse(), also for an empty
  /// text.
  static Result<std::vector<LayerText>> parse_chain(std::string_view text,
                                                    const std::vector<std::string>& captures = {});

  /// The text of the layer, without spaces at its ends.
  const std::string& text() const { return text_; }

  /// The operator and attributes for an input of type `input`. A convolution word keeps the image type, and `linear`
  /// without attributes the number of features. `match` has the nodes for $NAME; null is a bug if the text has $.
  /// Errors: kNotApplicable if the layer does not accept the input, or if a node for $NAME lacks the attribute.
  Result<Replacement> on(const ModelView& view, const graph::ValueType& input, const Match* match = nullptr) const;
  /// The operator and attributes that replace those of `node`. A word of `words_of_family` is rewritten as in
  /// `rewrite`, if the type of the node stays. Other operators without attributes keep those attributes of the node
  /// that they have too; with attributes they are used as written. A text with $ is a bug of the caller. Errors:
  /// kNotApplicable if the layer does not accept the inputs of the node.
  Result<Replacement> in_place_of(const ModelView& view, const graph::Node& node) const;

 private:
  Result<Replacement> written(const ModelView& view, const Match* match) const;

  std::string text_;
  bool is_word_ = false;  ///< a bare name
};

}  // namespace lanista::mutate
