// Arguments of the lane kernels. `vector_width` is 4 where elements are read and written in fours, else 1; a kernel
// then has a quarter of the threads.
// The compilers of the host and of the GPU read this text, so it contains only numbers and pointers. Pointers to values
// are void, because each kernel exists for float and for double. NOLINTBEGIN

/// Arguments of y = f(x) or f(x, dy), element by element. All have the same layout.
struct Elementwise {
  const void* x;
  const void* dy;
  void* y;
  double a, b;  // attributes of the operator
  long long vector_width;
};

/// Arguments of a sum of up to four values, added in order.
struct Sum {
  const void* x[4];
  void* y;
  long long terms, vector_width;
};

/// Arguments of an embedding: rows of the lanes' tables [lanes, vocab, dim], with the lanes `stride` apart. Adds the
/// row of `position`, if there is one.
struct Embedding {
  const long long* tokens;  // [lanes, each], lanes `token_stride` apart
  const void* table;
  const void* position;  // [lanes, positions, dim], lanes `position_stride` apart; or null
  void* y;
  long long each, vocab, dim, stride, token_stride, positions, position_stride, vector_width;
};

/// Arguments of a kernel on [lanes, rows, columns] and one value per column and lane.
struct Columns {
  const void* x;
  const void* by;  // [lanes, columns], lanes `stride` apart
  void* y;
  long long per_lane, columns, stride, vector_width;
  long long can_load_fours;  // whether `by` may be read in fours too
};

/// Activation that a product or a normalisation applies to an element before it is stored.
enum ActivationFn { kNoActivation, kRelu, kGelu, kSilu, kHardSwish, kClip };

/// Where an update writes: parameters and optimiser slots in the states of the lanes, with a state every `lane`
/// elements. Also the inputs of the update.
struct UpdateTarget {
  const long long* active;  // [lanes]: 1 if the lane takes part
  const double* hyper;      // [lanes, columns]: UpdateHyperTable
  void* parameters;
  void* slots[2];
  long long lane, columns;
};

/// Update rule of an optimiser.
#define LANE_RULE_NUMBER(name, Name) k##Name,
enum UpdateRule { kNoUpdate, DEVICE_UPDATE_RULES(LANE_RULE_NUMBER) };
#undef LANE_RULE_NUMBER

/// Strides in elements of the matrices [outer, inner, rows, columns] of a product.
struct Matrices {
  long long outer, inner, row, column;
};

/// Arguments of a product: y = scale left right + bias + other, [outer, inner, m, n]. The epilogue returns f(y) in
/// addition to y, or y f'(pre_activation) instead of y. All have the layout of y.
struct Product {
  const void* left;            // [m, k] per matrix
  const void* right;           // [k, n]
  const void* bias;            // [outer, n], `bias_outer` apart; may be null
  const void* other;           // with the layout of y, added to it; or null
  const void* pre_activation;  // with the layout of y; null if the epilogue computes f or nothing
  void* y;
  void* activated;                   // f(y); or null
  void* column_sums;                 // [outer inner, n], of `right`; or null
  Matrices left_at, right_at, y_at;  // a row of y is contiguous
  long long inner, m, n, k, bias_outer;
  long long y_can_load_fours, bias_can_load_fours;  // y and its like, and the bias, may be read in fours
  double scale;                                     // of the product, before the bias
  double a, b;                                      // of f
  long long activation;                             // f, an ActivationFn

  UpdateTarget to;         // parameters [m, n] of each lane, in the order of y; y is their gradient
  long long fused_update;  // UpdateRule that is applied instead of storing y; or kNoUpdate
};

/// Arguments of sums over rows of [lanes, rows, columns], in parts of `each` rows: [lanes, parts, columns] in double. A
/// normalisation sums two quantities per column.
struct ColumnSum {
  const void* x;
  const void* dy;       // gradient, for gradients of normalisations
  const void* mean;     // [lanes, columns]
  const void* inverse;  // with row normalisation, mean and inverse are [lanes, rows]
  void* out;
  long long rows, columns, each, parts;
};

/// Arguments of the end of a batch norm's statistics: mean, inverse deviation and new buffers from the sums [lanes, 2
/// columns].
struct NormFinalize {
  const double* sums;  // [lanes, parts, 2 columns]
  const void* x;       // input; differences are to its first row
  const void* old_mean;
  const void* old_var;  // [lanes, columns], lanes `stride` apart
  const double* momentum;
  void* mean;
  void* inverse;
  void* new_mean;
  void* new_var;
  double eps;
  long long rows, columns, stride, momentum_stride, parts;
};

/// Arguments of the values of a batch norm, or of its gradient: [lanes, rows, columns].
struct NormApply {
  const void* x;
  const void* dy;
  const void* mean;
  const void* inverse;
  const void* slope;  // [lanes, columns], lanes `stride` apart; may be null
  const void* shift;
  const void* dot;
  const void* sum;
  void* y;
  void* activated;  // f(y); or null
  long long rows, columns, stride, vector_width;
  double a, b;           // of f
  long long activation;  // f, an ActivationFn
};

/// Arguments of kernels on rows of `len` elements: softmax, layer norm and their gradients.
struct Rows {
  const void* x;
  const void* dy;
  const void* weight;  // [lanes, len], lanes `stride` apart; may be null
  const void* bias;
  const void* other;  // with the layout of y, added to a layer norm's gradient; or null
  void* y;
  void* mean;  // one value per row
  void* inverse;
  double eps;
  double scale;  // scale of a softmax gradient
  long long len, rows_per_lane, stride;
};

/// Arguments of the gradient of normalised rows [lanes, rows, len]. It also gives sums over a block's rows of dy times
/// the normalised x, and of dy. Rows must fit into the registers of the threads that share them.
struct RowGrad {
  static constexpr int kThreads = 256, kEach = 8;  // threads of a block; rows per thread
  const void* x;
  const void* dy;    // one row for every `rows_per_dy` rows of x
  const void* mean;  // [lanes, rows]
  const void* inverse;
  const void* weight;  // [lanes, len], lanes `stride` apart; may be null
  const void* other;   // with the layout of y, added to it; or null
  void* y;
  double* sums;  // [lanes, parts, 2 len], where a part is the rows of a block
  long long len, rows, parts, stride, rows_per_dy;
  long long fours, weight_can_load_fours;  // whether rows and weights may be read in fours
};

/// Arguments of the mean over the normalised rows [lanes, samples, rows, len] of a sample: [lanes, samples, len].
struct RowMean {
  static constexpr int kThreads = RowGrad::kThreads;
  const void* x;
  const void* weight;  // [lanes, len], lanes `stride` apart; may be null
  const void* bias;
  void* y;
  void* mean;  // [lanes, samples, rows]
  void* inverse;
  double eps;
  long long len, rows, samples, stride, fours;
};

/// Strides in elements of a value [lanes, samples, channels, rows, columns].
struct Image {
  long long lane, sample, channel, row, column;
};

/// Arguments of a copy of the windows of images, which are first spread if `spread` is above one: [lanes groups, n oh
/// ow, kh kw c/groups].
struct Windows {
  const void* x;
  void* y;
  Image at;
  long long samples, h, w, oh, ow, kh, kw, stride_h, stride_w, dilation_h, dilation_w, top, left, spread_h, spread_w,
      groups, each;
};

/// Arguments of a convolution with eight output channels per thread: [lanes, samples, oh, ow, co]. In the gradient by
/// x, x is dy, spread by the stride, and weights are flipped.
struct Convolution {
  const void* x;
  const void* weight;  // [kh, kw, ci, co] of a lane, lanes `weight_stride` apart
  const void* bias;    // [co], lanes `bias_stride` apart; may be null
  void* y;
  Image at;
  long long samples, h, w, ci, oh, ow, co, kh, kw, stride_h, stride_w, dilation_h, dilation_w, top, left, spread_h,
      spread_w, weight_stride, bias_stride, fours;  // fours: input channels may be read in fours
};

/// Arguments of the gradient of a convolution by its weights, with four input channels and eight outputs per thread:
/// [lanes, parts, kh, kw, ci, co]. A part is `each` rows of the output.
struct ConvolutionGrad {
  const void* x;
  const void* dy;
  void* y;
  Image at, dy_at;
  long long samples, h, w, ci, oh, ow, co, kh, kw, stride_h, stride_w, dilation_h, dilation_w, top, left, each, parts,
      fours;
};

/// Arguments of the transposition of a convolution's weights for the backward pass: flipped windows, exchanged
/// channels.
struct WeightTranspose {
  const void* x;  // [kh, kw, ci, co], lanes `lane` apart
  void* y;        // [kh, kw, co, ci], dense
  long long windows, ci, co, lane;
};

/// Arguments of a depthwise convolution or its gradients. Everything that is written has its channels last.
struct Depthwise {
  const void* x;
  const void* dy;
  const void* weight;  // [kh, kw, c] of a lane, lanes `weight_stride` apart
  void* y;
  Image at, dy_at;
  long long samples, channels, h, w, oh, ow, kh, kw, stride_h, stride_w, dilation_h, dilation_w, top, left,
      weight_stride, each, parts, vector_width;
};

/// Arguments of a pool or its gradient. Everything that is written has its channels last.
struct Pool {
  const void* x;
  unsigned char* winning_cell;  // index of the largest cell of each window
  void* y;
  Image at;               // strides of x
  Image winning_cell_at;  // strides of `winning_cell` when it is read
  long long samples, channels, h, w, oh, ow, kh, kw, stride_h, stride_w, top, left, bottom, right, padding,
      vector_width;
};

/// Arguments of the cross-entropy of samples with several positions each, or of its gradient.
struct CrossEntropy {
  const void* x;            // [lanes, samples positions, classes]: logits, or probabilities for a gradient
  const long long* labels;  // [lanes, samples positions], lanes `label_stride` apart
  const double* smoothing;  // one per lane, `smoothing_stride` apart
  const void* weights;      // [lanes, samples], or null
  void* loss;               // [lanes, samples]
  void* y;                  // probabilities or the gradient
  void* gradient;           // gradient in addition to probabilities; or null
  long long samples, positions, classes, label_stride, smoothing_stride;
  double share;  // weight of a row in the mean
};

/// Ranges of all lanes' states that a kernel replaces or updates. The elements of all ranges of a lane are counted
/// together: element k belongs to the last range with `first` <= k, unless k is beyond its length.
struct StateRanges {
  static constexpr int kMaxRanges = 24;
  long long count;  // elements of all ranges in a lane, each range rounded up to fours
  int items;
  int fours[kMaxRanges];        // whether the range is read and written in fours
  long long first[kMaxRanges];  // first element of each range in this count
  long long length[kMaxRanges];
  long long begin[kMaxRanges];        // first element in the parameters or buffers
  const void* from[kMaxRanges];       // gradients, or new values
  long long from_stride[kMaxRanges];  // elements between two lanes of `from`
};

/// Where the losses of a step are added to the totals of its chunk. Rows of totals are `lanes` apart.
struct LossRecord {
  const long long* active;  // [lanes]: 1 if the lane takes part
  const void* losses;       // [lanes, samples]
  const long long* step;    // number of the step in its chunk
  double* totals;           // [rows, lanes]: sum of losses, last loss, first non-finite step
  long long samples, lanes;
};

/// Arguments of an update of parameters.
struct Update {
  StateRanges of;
  UpdateTarget to;
  const void* scale;  // factor of each lane's gradients; or null
  long long updates;  // number of fours of all lanes
  LossRecord note;    // losses, recorded by the threads after the updates
};

/// Arguments of a copy of new buffers into the states of active lanes.
struct Renew {
  StateRanges of;
  const long long* active;
  void* to;
  long long lane;
};

/// Arguments of the factor of gradient clipping of each lane.
struct Clip {
  const void* gradients;  // [lanes, count], lanes `lane` apart
  double* partial;        // [lanes, parts]: sums of squares
  const double* hyper;    // [lanes, columns]: UpdateHyperTable
  void* scale;            // output: factor of each lane
  long long count, lane, parts, columns, clip;
};

/// Arguments of dropout of [lanes, samples, each].
struct Dropout {
  const void* x;
  void* y;
  const long long* active;
  const long long* keys;     // [lanes, 2]: seed and step
  const long long* samples;  // sample numbers, lanes `sample_stride` apart
  const double* lane_attrs;  // lanes `lane_attr_stride` apart
  long long batch, each, sample_stride, lane_attr_stride, origin;
};
// NOLINTEND
