"""Mistakes about single operations."""

from __future__ import annotations

from graphs import D, given
from mistakes import NOT_SUPPORTED, SHAPE, UNSET, VALUE, out, wrong, x

import portadnn.graph as cudnn

M, P, R = cudnn.norm_forward_phase, cudnn.resample_mode, cudnn.reduction_mode

# pointwise


@wrong("PG-POINTWISE-001", UNSET, "2 for ADD", "1")
def one_operand(g):
    g._graph.add("pointwise", {"IN_0": x(g, 3)}, {"mode": "ADD"})


@wrong("PG-POINTWISE-001", UNSET, "1 for RELU_FWD", "2")
def two_operands_for_relu(g):
    g._graph.add("pointwise", {"IN_0": x(g, 3), "IN_1": x(g, 3)}, {"mode": "RELU_FWD"})


@wrong("PG-POINTWISE-002", SHAPE, "'b'", "'a'", "16 or 1 in dim 1", "15", "make dim 1 of IN_1 16 or 1")
def operands_that_do_not_broadcast(g):
    out(g.add(x(g, 8, 16, name="a"), x(g, 8, 15, name="b"), name="sum"))


@wrong("PG-POINTWISE-002", SHAPE, "IN_2")
def a_mask_that_does_not_broadcast(g):
    out(g.binary_select(x(g, 4, 1), x(g, 4, 3), x(g, 3, 3)))


@wrong("PG-POINTWISE-003", VALUE, "0 to 1", "2")
def an_axis_outside(g):
    out(g.gen_index(x(g, 2, 3), axis=2))


@wrong("PG-POINTWISE-004", VALUE, "swish_beta")
def a_parameter_of_another_mode(g):
    g._graph.add("pointwise", {"IN_0": x(g, 3)}, {"mode": "TANH_FWD", "swish_beta": 2.0})


@wrong("PG-POINTWISE-005", SHAPE, "[2, 3]", "[1, 3]")
def an_output_that_is_too_small(g):
    out(g.relu(x(g, 2, 3))).set_dim([1, 3])


@wrong("PG-POINTWISE-006", VALUE, "upper_clip = 1")
def clips_in_the_wrong_order(g):
    out(g.relu(x(g, 3), lower_clip=2, upper_clip=1))


# matmul and convolution


@wrong("PG-MATMUL-001", SHAPE, "matmul 'qk'", "B.dim[-2] = 4", "got 5", "[2, 4, 6]")
def inner_dims_that_differ(g):
    out(g.matmul(x(g, 2, 3, 4, name="q"), x(g, 2, 5, 6, name="k"), name="qk"))


@wrong("PG-MATMUL-002", SHAPE, "3 dims", "ones in front")
def ranks_that_differ(g):
    out(g.matmul(x(g, 2, 3, 4), x(g, 4, 5)))


@wrong("PG-MATMUL-003", SHAPE, "[2]", "[3]", "repeat")
def batches_that_differ(g):
    out(g.matmul(x(g, 2, 3, 4), x(g, 3, 4, 5)))


def image(g):
    return x(g, 2, 4, 7, 7, name="image")


@wrong("PG-CONV-001", VALUE, "padding", "2 values", "[1]")
def one_padding_for_two(g):
    out(g.conv_fprop(image(g), x(g, 6, 4, 3, 3), padding=[1]))


@wrong("PG-CONV-002", VALUE, "dilation", ">= 1", "[0, 1]")
def no_dilation(g):
    out(g.conv_fprop(image(g), x(g, 6, 4, 3, 3), dilation=[0, 1]))


@wrong("PG-CONV-002", VALUE, "pre_padding", ">= 0")
def negative_padding(g):
    out(g.conv_fprop(image(g), x(g, 6, 4, 3, 3), padding=[-1, 0]))


@wrong("PG-CONV-003", SHAPE, "4 dims", "3")
def a_filter_in_3d(g):
    out(g.conv_fprop(image(g), x(g, 6, 4, 3)))


@wrong("PG-CONV-004", SHAPE, "4 channels of X = tensor 'image'", "got 3", "use W.dim[1] = 4")
def channels_that_differ(g):
    out(g.conv_fprop(image(g), x(g, 6, 3, 3, 3)))


@wrong("PG-CONV-005", SHAPE, "2 groups", "got 5", "use W.dim[0] = 6")
def filters_that_do_not_group(g):
    out(g.conv_fprop(image(g), x(g, 5, 2, 3, 3)))


@wrong("PG-CONV-006", SHAPE, "at most 7 in dim 2", "got 9", "pad more")
def a_filter_that_is_too_large(g):
    out(g.conv_fprop(image(g), x(g, 6, 4, 9, 3)))


@wrong("PG-CONV-007", UNSET, "dx.set_dim([2, 4, 7, 7])")
def a_gradient_without_dims(g):
    out(g.conv_dgrad(x(g, 2, 6, 5, 5), x(g, 6, 4, 3, 3)))


@wrong("PG-CONV-008", UNSET, "dw.set_dim([6, 4, R, S])")
def a_filters_gradient_without_dims(g):
    out(g.conv_wgrad(image(g), x(g, 2, 6, 5, 5)))


# reductions and normalisations


@wrong("PG-REDUCE-001", SHAPE, "3 dims", "keep reduced dims as 1")
def a_reduction_that_drops_dims(g):
    out(g.reduction(x(g, 2, 3, 4), R.ADD)).set_dim([2, 3])


@wrong("PG-REDUCE-002", SHAPE, "dim[1] = 3", "got 2", "Y.set_dim([2, 1, 4])")
def a_reduction_by_a_part(g):
    out(g.reduction(x(g, 2, 3, 4), R.ADD)).set_dim([2, 2, 4])


@wrong("PG-REDUCE-003", NOT_SUPPORTED, "ADD", "AVG", "divide")
def an_average_of_groups(g):
    g.reduction(x(g, 1, 6, 4), R.AVG, group_offset=x(g, 2, 1, 1))


@wrong("PG-NODE-007", SHAPE, "group_offset", "(groups, 1, 1)", "[1, 2, 1]")
def groups_along_another_dim(g):
    g.reduction(x(g, 1, 6, 4), R.ADD, group_offset=x(g, 1, 2, 1))


@wrong("PG-TENSOR-017", VALUE, "group_offset", "list")
def groups_of_numbers(g):
    g.reduction(x(g, 1, 6, 4), R.ADD, group_offset=[0, 3])


@wrong("PG-NODE-009", NOT_SUPPORTED, "gdn", "CuTe DSL")
def linear_attention(g):
    g.gdn(x(g, 1, 6, 4), x(g, 1, 6, 4))


@wrong("PG-NODE-009", NOT_SUPPORTED, "group_offset")
def blocks_quantised_by_groups(g):
    g.block_scale_quantize(x(g, 1, 64, 64), 32, group_offset=x(g, 2, 1, 1))


@wrong("PG-NODE-003", UNSET, "reduction_mode")
def a_reduction_without_mode(g):
    g.reduction(x(g, 2, 3), R.NOT_SET)


@wrong("PG-NORM-001", VALUE, "EPSILON", "one element", "[4]")
def many_epsilons(g):
    g.layernorm(M.TRAINING, x(g, 2, 4), x(g, 1, 4), x(g, 1, 4), x(g, 4))


@wrong("PG-NORM-002", SHAPE, "[3, 4]", "use dims [1, 4]")
def a_scale_without_pattern(g):
    g.layernorm(M.TRAINING, x(g, 3, 4), x(g, 1, 1), x(g, 1, 1), 1e-5)


@wrong("PG-NORM-002", SHAPE, "SCALE", "[4]")
def a_scale_of_one_dim(g):
    g.rmsnorm(M.TRAINING, x(g, 3, 4), x(g, 4), epsilon=1e-5)


@wrong("PG-NODE-007", SHAPE, "BIAS", "[1, 4]")
def a_bias_unlike_scale(g):
    g.layernorm(M.TRAINING, x(g, 3, 4), x(g, 1, 4), x(g, 4), 1e-5)


@wrong("PG-NORM-003", UNSET, "PREV_RUNNING_VAR", "all three or none")
def half_of_the_running_statistics(g):
    p = (1, 4, 1, 1)
    g.batchnorm(x(g, 2, 4, 3, 3), given(g, p), given(g, p), given(g, p), None, 1e-3, 0.1)


@wrong("PG-NORM-004", NOT_SUPPORTED, "1 * 4 * 4 packed elements", "dims [2, 16]")
def a_peer_buffer_of_another_size(g):
    p = (1, 4, 1, 1)
    g.batchnorm(x(g, 2, 4, 3, 3), given(g, p), given(g, p), epsilon=1e-3, peer_stats=[x(g, 2, 16)])


@wrong("PG-NORM-004", NOT_SUPPORTED, "32 tensors at most")
def too_many_peers(g):
    p, peers = (1, 4, 1, 1), [x(g, 33, 16, 1, 1) for _ in range(33)]
    g.batchnorm(x(g, 2, 4, 3, 3), given(g, p), given(g, p), epsilon=1e-3, peer_stats=peers)


@wrong("PG-NORM-004", NOT_SUPPORTED, "a rank from 0 to 1")
def a_rank_beyond_the_peers(g):
    p, peers = (1, 4, 1, 1), [x(g, 2, 16, 1, 1) for _ in range(2)]
    g.batchnorm(x(g, 2, 4, 3, 3), given(g, p), given(g, p), epsilon=1e-3, peer_stats=peers, peer_rank=2)


@wrong("PG-NORM-005", UNSET, "pass both or none")
def half_of_the_saved_statistics(g):
    g.instancenorm_backward(image(g), image(g).set_name("dy"), x(g, 1, 4, 1, 1), x(g, 2, 4, 1, 1))


# resampling


@wrong("PG-RESAMPLE-001", VALUE, "window", "2 values")
def a_window_of_one_dim(g):
    out(g.resample(image(g), P.MAXPOOL, [2])[0])


@wrong("PG-RESAMPLE-002", VALUE, "strides above 0")
def no_step(g):
    out(g.resample(image(g), P.MAXPOOL, [2, 2], stride=[0, 1])[0])


@wrong("PG-RESAMPLE-003", VALUE, "whole numbers for MAXPOOL")
def half_a_step(g):
    out(g.resample(image(g), P.MAXPOOL, [2, 2], stride=[0.5, 1])[0])


@wrong("PG-RESAMPLE-004", VALUE, "NEG_INF_PAD for MAXPOOL", "padding_mode.NEG_INF_PAD")
def maxima_of_zeros(g):
    out(g.resample(image(g), P.MAXPOOL, [2, 2], padding_mode=cudnn.padding_mode.ZERO_PAD)[0])


@wrong("PG-RESAMPLE-005", SHAPE, "the window 8 in dim 2", "7")
def a_window_that_is_too_large(g):
    out(g.resample(image(g), P.MAXPOOL, [8, 2])[0])


@wrong("PG-RESAMPLE-006", VALUE, "only MAXPOOL")
def indices_of_averages(g):
    out(g.resample(image(g), P.AVGPOOL_INCLUDE_PADDING, [2, 2], generate_index=True)[0])


@wrong("PG-RESAMPLE-007", VALUE, "FLOAT", "INT8")
def indices_of_floats(g):
    y, index = g.resample(image(g), P.MAXPOOL, [2, 2], generate_index=True)
    out(y)
    out(index).set_data_type(D.FLOAT)


@wrong("PG-RESAMPLE-008", NOT_SUPPORTED, "BILINEAR")
def gradient_of_an_interpolation(g):
    out(g.resample_backward(image(g), P.BILINEAR, [2, 2]))


@wrong("PG-RESAMPLE-009", UNSET, "an index tensor or X")
def maxima_from_nowhere(g):
    out(g.resample_backward(image(g), P.MAXPOOL, [2, 2])).set_dim([2, 4, 8, 8])


@wrong("PG-RESAMPLE-010", UNSET, "dx.set_dim(")
def a_pools_gradient_without_dims(g):
    out(g.resample_backward(image(g), P.AVGPOOL_INCLUDE_PADDING, [2, 2]))


# moving elements, random numbers, softmax


@wrong("PG-SHAPE-001", VALUE, "at most 2", "3")
def too_many_slices(g):
    out(g.slice(x(g, 2, 3), [slice(None)] * 3))


@wrong("PG-SHAPE-002", VALUE, "-1")
def a_slice_backwards(g):
    out(g.slice(x(g, 2, 3), [slice(None, None, -1)]))


@wrong("PG-SHAPE-003", VALUE, "slices[1]", "within 3 elements")
def an_empty_slice(g):
    out(g.slice(x(g, 2, 3), [slice(None), slice(3, 5)]))


@wrong("PG-SHAPE-004", UNSET, "6 elements")
def a_reshape_without_dims(g):
    out(g.reshape(x(g, 2, 3)))


@wrong("PG-SHAPE-005", SHAPE, "6 elements", "8 of [2, 4]")
def a_reshape_that_adds(g):
    out(g.reshape(x(g, 2, 3))).set_dim([2, 4])


@wrong("PG-SHAPE-006", VALUE, "0 to 1", "[0, 0]")
def a_permutation_with_an_axis_twice(g):
    out(g.transpose(x(g, 2, 3), [0, 0]))


@wrong("PG-NODE-002", UNSET, "IN")
def nothing_to_concatenate(g):
    g.concatenate([], axis=0)


@wrong("PG-SHAPE-008", VALUE, "2 dims", "2")
def concatenated_outside(g):
    out(g.concatenate([x(g, 2, 3), x(g, 2, 3)], axis=2))


@wrong("PG-NODE-007", SHAPE, "IN_1", "[2, 4]")
def concatenated_unlike(g):
    out(g.concatenate([x(g, 2, 3), x(g, 3, 4)], axis=1))


@wrong("PG-SHAPE-009", VALUE, "0 to 1")
def in_place_of_no_input(g):
    out(g.concatenate([x(g, 2, 3), x(g, 2, 3)], axis=0, in_place_index=2))


@wrong("PG-RNG-001", UNSET, "set_dim(")
def random_numbers_without_dims(g):
    node = g._graph.add("rng", {}, {"distribution": "UNIFORM", "seed": 1})
    out(node.outputs["Y"])


@wrong("PG-RNG-002", UNSET, "seed")
def no_seed(g):
    out(g.rng([4], cudnn.rng_distribution.UNIFORM, seed=None))


@wrong("PG-RNG-003", VALUE, "0 to 1", "1.5")
def a_probability_above_one(g):
    out(g.rng([4], cudnn.rng_distribution.BERNOULLI, seed=1, bernoulli_probability=1.5))


@wrong("PG-RNG-004", VALUE, "maximum = -1")
def an_empty_range(g):
    out(g.rng([4], cudnn.rng_distribution.UNIFORM, seed=1, maximum=-1.0))


@wrong("PG-RNG-005", VALUE, "INT32 or INT64", "FLOAT")
def an_offset_with_a_fraction(g):
    out(g.rng([4], cudnn.rng_distribution.UNIFORM, seed=1, offset=1.5))


@wrong("PG-SOFTMAX-001", VALUE, "2 dims")
def softmax_outside(g):
    out(g.softmax(x(g, 2, 3), axis=2)[0])


# rows of tokens


@wrong("PG-ROPE-001", VALUE, "rope_dim", "at most 8", "got 3")
def an_odd_number_of_elements_to_turn(g):
    out(g.rope(x(g, 1, 2, 4, 8), x(g, 4, 1, 1, 4), rope_dim=3))


@wrong("PG-ROPE-002", SHAPE, "FREQS", "at least 4 positions", "[3, 1, 1, 4]")
def a_table_of_too_few_positions(g):
    out(g.rope(x(g, 1, 2, 4, 8), x(g, 3, 1, 1, 4)))


def experts(g, tokens=(1, 6, 4), kind=D.INT32, **more):
    """Add a product of two experts."""
    rows = tensor_of(g, kind, 2, 1, 1)
    return g.moe_grouped_matmul(x(g, *tokens), x(g, 2, 4, 3), rows, **more)


def tensor_of(g, kind, *dims):
    """Make a tensor of a type."""
    return x(g, *dims).set_data_type(kind)


@wrong("PG-MOE-001", VALUE, "FIRST_TOKEN_OFFSET", "INT32", "got INT64")
def offsets_of_64_bits(g):
    out(experts(g, kind=D.INT64))


@wrong("PG-MOE-002", SHAPE, "TOKEN", "[1, 12, 4]")
def tokens_in_batches(g):
    out(experts(g, (2, 6, 4)))


@wrong("PG-MOE-003", NOT_SUPPORTED, "top_k_scores", "6 rows", "[1, 2, 2]")
def scores_of_fewer_rows(g):
    mode = cudnn.moe_grouped_matmul_mode.COMBINE
    out(experts(g, mode=mode, token_index=tensor_of(g, D.INT32, 1, 6, 1), top_k_scores=x(g, 1, 2, 2)))


@wrong("PG-MOE-004", VALUE, "top_k_scores", "with COMBINE")
def results_combined_without_scores(g):
    out(experts(g, mode=cudnn.moe_grouped_matmul_mode.COMBINE))


@wrong("PG-MOE-004", VALUE, "TOKEN_INDEX for GATHER", "got none")
def nothing_to_gather_by(g):
    out(experts(g, mode=cudnn.moe_grouped_matmul_mode.GATHER))


# block scaling


def quantised(g, kind=D.FP8_E4M3, scale=D.FP8_E8M0, dims=(2, 8), **options):
    """Add a quantisation of rows of 8."""
    y, scales = g.block_scale_quantize(x(g, *dims), **{"block_size": 4, **options})
    scales.set_output(True).set_data_type(scale)
    return y.set_output(True).set_data_type(kind)


@wrong("PG-SCALE-001", VALUE, "Y", "FP4_E2M1", "got HALF")
def quantised_to_16_bits(g):
    quantised(g, D.HALF)


@wrong("PG-SCALE-001", VALUE, "SCALE", "FP8_E8M0", "got FLOAT")
def scales_of_32_bits(g):
    quantised(g, scale=D.FLOAT)


def scaled_back(g, scales=(2, 2), **options):
    """Add X of 2 x 8 times its scales."""
    data = tensor_of(g, D.FP8_E4M3, 2, 8)
    return g.block_scale_dequantize(data, tensor_of(g, D.FP8_E8M0, *scales), **{"block_size": [4], **options})


@wrong("PG-SCALE-002", SHAPE, "[2, 2] scales", "[2, 3]")
def a_scale_too_many(g):
    out(g.relu(scaled_back(g, (2, 3))))


@wrong("PG-SCALE-003", VALUE, "block_size", "a divisor of 8", "got 3")
def blocks_that_do_not_divide(g):
    quantised(g, block_size=3)


@wrong("PG-SCALE-003", VALUE, "axis", "2 dims", "got 2")
def blocks_along_no_axis(g):
    quantised(g, axis=2)


@wrong("PG-SCALE-003", VALUE, "block_size", "1 to 2 sizes", "got [1, 1, 4]")
def a_block_of_too_many_dims(g):
    out(g.relu(scaled_back(g, block_size=[1, 1, 4])))


@wrong("PG-SCALE-004", VALUE, "virtual", "identity()")
def a_result_that_is_only_scaled_back(g):
    out(scaled_back(g))
