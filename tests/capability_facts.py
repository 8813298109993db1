"""What foreign libraries take, in examples: written from their documents and sources, not from the tables.

Each row has the answer, words of the reason, a problem line, and the algorithm that is asked for, if any. A rule that
no row misses once it is gone is a rule that nobody needs, or one that nobody checks; the tests find it.
"""

MIOPEN_1 = (
    # key differences of the porting guide
    ("no", "fp32", "softmax_forward x=f16:2x5x3x7 algorithm=accurate mode=channel"),
    ("no", "fp32", "convolution_forward x=f64:1x3x8x8 w=f64:4x3x3x3"),
    ("no", "4-D", "convolution_forward x=f32:1x3x4x8x8 w=f32:4x3x3x3x3"),
    ("no", "4-D", "pooling_forward x=f32:1x3x4x8x8 mode=max window=2,2,2"),
    ("no", "NCHW", "activation_forward x=f32:1x3x8x8:nhwc mode=sigmoid"),
    ("no", "NCHW", "convolution_forward x=f32:1x3x8x8:nhwc w=f32:4x3x3x3:nhwc"),
    ("no", "Transform", "transform_tensor x=f32:2x3x5x7 y=f32:2x3x5x7"),
    ("no", "no dropout", "dropout_forward x=f32:2x3x5x7 dropout=0.5"),
    ("no", "RNN", "rnn_forward_inference x=f32:2x2x3 w=f32:200x1x1 hidden_size=5"),
    ("no", "divisive", "divisive_normalization_forward x=f32:1x2x5x6"),
    ("no", "CHANNEL", "softmax_forward x=f32:2x5x3x7 mode=instance algorithm=accurate"),
    ("yes", "", "convolution_forward x=f32:1x3x8x8 w=f32:4x3x3x3"),
    ("yes", "", "convolution_backward_data w=f32:4x3x3x3 dy=f32:1x4x6x6 dx=f32:1x3x8x8"),
    ("yes", "", "convolution_backward_filter x=f32:1x3x8x8 dy=f32:1x4x6x6 dw=f32:4x3x3x3"),
    ("yes", "", "convolution_backward_bias dy=f32:3x5x7x9"),
    ("yes", "", "pooling_forward x=f32:2x3x9x7 mode=max window=2,2 stride=2,2"),
    ("yes", "", "softmax_forward x=f32:2x5x3x7 mode=channel algorithm=accurate"),
    # what it lacks besides
    ("no", "spatial transformer", "spatial_tf_grid_generator_forward theta=f32:2x2x3 dims=2,1,3,4"),
    ("no", "reductions", "reduce_tensor a=f32:2x3x5x8 c=f32:2x3x5x1 operation=add"),
    ("no", "normalization", "normalization_forward x=f32:3x4x2x5 mode=layer_norm scale=f32:1x4x2x5 bias=f32:1x4x2x5"),
    ("no", "fused", "convolution_bias_activation_forward x=f32:2x5x7x4 w=f32:9x5x3x3 activation=relu"),
    # tensors
    ("limits", "strides", "scale_tensor y=f32:2x3x5x8/200,40,8,1"),
    ("no", "lengths", "set_tensor y=f32:0x3x5x8"),
    ("no", "strides must be above 0", "activation_forward x=f32:2x3x5x7/0,35,7,1 y=f32:2x3x5x7 mode=sigmoid"),
    ("yes", "", "set_tensor y=f32:2x3x5x7"),
    ("yes", "", "op_tensor a=f32:2x3x5x7 b=f32:1x3x1x1 c=f32:2x3x5x7 operation=mul"),
    ("limits", "alpha2", "op_tensor a=f32:2x3x5x7 b=f32:1x3x1x1 c=f32:2x3x5x7 operation=add alpha2=2"),
    (
        "limits",
        "NaN",
        "op_tensor a=f32:2x3x5x7 b=f32:1x3x1x1 c=f32:2x3x5x7 operation=max nan_propagation=propagate_nan",
    ),
    ("limits", "miopenOpTensor", "add_tensor a=f32:1x3x1x1 c=f32:2x3x5x7"),
    # convolution
    ("yes", "", "convolution_forward x=f32:1x3x8x8 w=f32:4x3x3x3", "winograd"),
    ("no", "GEMM, Direct, FFT", "convolution_forward x=f32:1x3x8x8 w=f32:4x3x3x3", "implicit_gemm"),
    ("yes", "", "convolution_backward_data w=f32:4x3x3x3 dy=f32:1x4x6x6 dx=f32:1x3x8x8", "algo_1"),
    ("no", "ALGO_0", "convolution_backward_data w=f32:4x3x3x3 dy=f32:1x4x6x6 dx=f32:1x3x8x8", "fft_tiling"),
    ("limits", "in place of", "convolution_backward_filter x=f32:1x3x8x8 dy=f32:1x4x6x6 dw=f32:4x3x3x3", "algo_0"),
    ("no", "are GEMM and", "convolution_backward_filter x=f32:1x3x8x8 dy=f32:1x4x6x6 dw=f32:4x3x3x3", "algo_3"),
    ("no", "flip", "convolution_forward x=f32:1x3x8x8 w=f32:4x3x3x3 mode=convolution"),
    ("no", "alpha must", "convolution_forward x=f32:1x3x8x8 w=f32:4x3x3x3 alpha=2"),
    ("no", "beta must", "convolution_backward_filter x=f32:1x3x8x8 dy=f32:1x4x6x6 dw=f32:4x3x3x3 beta=1"),
    ("no", "groups", "convolution_forward x=f32:1x4x8x8 w=f32:4x2x3x3 groups=2"),
    ("limits", "1.0.1", "convolution_forward x=f32:1x3x8x8 w=f32:4x3x3x3 dilation=1,2"),
    ("limits", "math type", "convolution_forward x=f32:1x3x8x8 w=f32:4x3x3x3 math=tf32"),
    # softmax and pooling
    ("no", "ACCURATE", "softmax_forward x=f32:2x5x3x7 mode=channel algorithm=log"),
    ("no", "alpha must", "softmax_forward x=f32:2x5x3x7 mode=channel algorithm=accurate alpha=2"),
    ("no", "beta must", "softmax_backward y=f32:2x5x3x7 mode=channel algorithm=accurate beta=1"),
    ("no", "leaves the padding out", "pooling_forward x=f32:2x3x9x7 mode=average_count_include_padding window=2,2"),
    ("yes", "", "pooling_forward x=f32:2x3x9x7 mode=average_count_exclude_padding window=2,2"),
    ("limits", "NaN", "pooling_forward x=f32:2x3x9x7 mode=max window=2,2 nan_propagation=propagate_nan"),
    ("no", "alpha must", "pooling_forward x=f32:2x3x9x7 mode=max window=2,2 alpha=2"),
    ("no", "beta must", "pooling_backward x=f32:2x3x9x7 mode=max window=2,2 beta=1"),
    ("no", "bytes", "pooling_backward x=f32:1x1x17x17 mode=max window=17,15"),
    ("yes", "", "pooling_forward x=f32:1x1x17x17 mode=max window=17,15"),
    # activations
    ("yes", "", "activation_forward x=f32:2x3x5x7 mode=sigmoid"),
    ("no", "ELU", "activation_forward x=f32:2x3x5x7 mode=elu coef=0.5"),
    ("no", "swish", "activation_forward x=f32:2x3x5x7 mode=swish"),
    ("limits", "tanh", "activation_forward x=f32:2x3x5x7 mode=tanh"),
    ("limits", "NaN", "activation_forward x=f32:2x3x5x7 mode=relu nan_propagation=propagate_nan"),
    ("no", "alpha must", "activation_forward x=f32:2x3x5x7 mode=sigmoid alpha=2"),
    ("no", "beta must", "activation_backward x=f32:2x3x5x7 mode=sigmoid beta=1"),
    # normalisations
    ("yes", "", "lrn_cross_channel_forward x=f32:2x7x3x5 lrn_n=5"),
    ("no", "alpha is ignored", "lrn_cross_channel_forward x=f32:2x7x3x5 lrn_n=5 alpha=2"),
    ("no", "beta is ignored", "lrn_cross_channel_backward x=f32:2x7x3x5 lrn_n=5 beta=1"),
    ("limits", "even", "lrn_cross_channel_forward x=f32:2x7x3x5 lrn_n=4"),
    ("yes", "", "batch_normalization_forward_training x=f32:3x5x2x3 mode=spatial"),
    ("limits", "PERSISTENT", "batch_normalization_forward_training x=f32:3x5x2x3 mode=spatial_persistent"),
    ("no", "alpha must", "batch_normalization_forward_inference x=f32:3x5x2x3 mode=spatial alpha=2"),
    ("no", "beta must", "batch_normalization_forward_training x=f32:3x5x2x3 mode=spatial beta=1"),
    ("no", "alphaDataDiff", "batch_normalization_backward x=f32:3x5x2x3 alpha_data_diff=2"),
    ("no", "betaDataDiff", "batch_normalization_backward x=f32:3x5x2x3 beta_data_diff=1"),
    ("no", "alphaParamDiff", "batch_normalization_backward x=f32:3x5x2x3 alpha_param_diff=2"),
    ("no", "betaParamDiff", "batch_normalization_backward x=f32:3x5x2x3 beta_param_diff=1"),
)

FACTS = {"miopen-1": MIOPEN_1}
