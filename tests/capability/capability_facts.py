"""What libraries take, in examples to be held against their documents and sources, or asked of the library itself.

Each row of ``capability_facts_*.txt`` has the answer and its effect, words of the reason, a problem line, and the
algorithm that is asked for, if any. A rule or a part of one that no row misses once it is gone is one that nobody
needs, or one that nobody checks; the tests find it.
"""

from pathlib import Path


def rows(name):
    """Return the rows of a library: answer, words, line and perhaps an algorithm."""
    lines = Path(__file__).with_name(f"capability_facts_{name}.txt").read_text("utf-8").splitlines()
    return [tuple(cell.strip() for cell in line.split("|")) for line in lines if line and not line.startswith("#")]


PLAIN = {  # what becomes of the plainest problem of each operation
    "cudnn-5": {
        "yes": """
            activation_backward activation_forward add_tensor batch_normalization_backward
            batch_normalization_forward_inference batch_normalization_forward_training convolution_backward_bias
            convolution_backward_data convolution_backward_filter convolution_forward
            divisive_normalization_backward divisive_normalization_forward dropout_backward dropout_forward
            lrn_cross_channel_backward lrn_cross_channel_forward op_tensor pooling_backward pooling_forward
            rnn_backward_data rnn_backward_weights rnn_forward_inference rnn_forward_training scale_tensor
            set_dropout_descriptor set_tensor softmax_backward softmax_forward
            spatial_tf_grid_generator_backward spatial_tf_grid_generator_forward spatial_tf_sampler_backward
            spatial_tf_sampler_forward transform_tensor
        """,
        "no": """
            adam cat_forward getitem_backward glu_backward glu_forward kthvalue_forward multi_margin_loss_forward
            prelu_backward rope_backward rope_forward soft_margin_loss_backward
            soft_margin_loss_forward
            multi_head_attn_backward_data multi_head_attn_backward_weights multi_head_attn_forward
            batch_normalization_apply batch_normalization_backward_apply batch_normalization_backward_statistics
            batch_normalization_statistics
            ctc_loss
            convolution_bias_activation_forward normalization_backward normalization_forward reduce_tensor
        """,
    },
    "cudnn": {
        "yes": """
            ctc_loss
            activation_backward activation_forward add_tensor batch_normalization_backward
            batch_normalization_forward_inference batch_normalization_forward_training convolution_backward_bias
            convolution_backward_data convolution_backward_filter convolution_bias_activation_forward
            convolution_forward divisive_normalization_backward divisive_normalization_forward dropout_backward
            lrn_cross_channel_backward lrn_cross_channel_forward op_tensor pooling_backward pooling_forward
            reduce_tensor rnn_backward_data rnn_backward_weights rnn_forward_inference rnn_forward_training
            scale_tensor set_dropout_descriptor set_tensor softmax_backward softmax_forward
            spatial_tf_grid_generator_backward spatial_tf_grid_generator_forward spatial_tf_sampler_backward
            spatial_tf_sampler_forward transform_tensor
        """,
        "limits": """
            dropout_forward
        """,
        "no": """
            adam cat_forward getitem_backward glu_backward glu_forward kthvalue_forward multi_margin_loss_forward
            prelu_backward rope_backward rope_forward soft_margin_loss_backward
            soft_margin_loss_forward
            multi_head_attn_backward_data multi_head_attn_backward_weights multi_head_attn_forward
            batch_normalization_apply batch_normalization_backward_apply batch_normalization_backward_statistics
            batch_normalization_statistics
            normalization_backward normalization_forward
        """,
    },
    "cudnn-9": {
        "yes": """
            multi_head_attn_backward_data multi_head_attn_backward_weights multi_head_attn_forward
            ctc_loss
            activation_backward activation_forward add_tensor batch_normalization_backward
            batch_normalization_forward_inference batch_normalization_forward_training convolution_backward_bias
            convolution_backward_data convolution_backward_filter convolution_bias_activation_forward
            convolution_forward divisive_normalization_backward divisive_normalization_forward dropout_backward
            dropout_forward lrn_cross_channel_backward lrn_cross_channel_forward op_tensor pooling_backward
            pooling_forward reduce_tensor scale_tensor set_dropout_descriptor set_tensor softmax_backward
            softmax_forward spatial_tf_grid_generator_backward spatial_tf_grid_generator_forward
            spatial_tf_sampler_backward spatial_tf_sampler_forward transform_tensor
        """,
        "limits": """
            rnn_backward_data rnn_backward_weights rnn_forward_inference rnn_forward_training
        """,
        "no": """
            adam cat_forward getitem_backward glu_backward glu_forward kthvalue_forward multi_margin_loss_forward
            prelu_backward rope_backward rope_forward soft_margin_loss_backward
            soft_margin_loss_forward
            batch_normalization_apply batch_normalization_backward_apply batch_normalization_backward_statistics
            batch_normalization_statistics
            normalization_backward normalization_forward
        """,
    },
    "miopen-1": {
        "yes": """
            activation_backward activation_forward batch_normalization_backward
            batch_normalization_forward_inference batch_normalization_forward_training convolution_backward_bias
            convolution_backward_data convolution_backward_filter convolution_forward lrn_cross_channel_backward
            lrn_cross_channel_forward op_tensor pooling_backward pooling_forward scale_tensor set_tensor
            softmax_backward softmax_forward
        """,
        "limits": """
            add_tensor
        """,
        "no": """
            adam cat_forward getitem_backward glu_backward glu_forward kthvalue_forward multi_margin_loss_forward
            prelu_backward rope_backward rope_forward soft_margin_loss_backward
            soft_margin_loss_forward
            multi_head_attn_backward_data multi_head_attn_backward_weights multi_head_attn_forward
            batch_normalization_apply batch_normalization_backward_apply batch_normalization_backward_statistics
            batch_normalization_statistics
            ctc_loss
            convolution_bias_activation_forward divisive_normalization_backward divisive_normalization_forward
            dropout_backward dropout_forward normalization_backward normalization_forward reduce_tensor
            rnn_backward_data rnn_backward_weights rnn_forward_inference rnn_forward_training
            set_dropout_descriptor spatial_tf_grid_generator_backward spatial_tf_grid_generator_forward
            spatial_tf_sampler_backward spatial_tf_sampler_forward transform_tensor
        """,
    },
    "miopen-3": {
        "yes": """
            adam cat_forward getitem_backward glu_backward glu_forward kthvalue_forward multi_margin_loss_forward
            prelu_backward rope_backward rope_forward soft_margin_loss_backward
            soft_margin_loss_forward
            ctc_loss
            activation_backward activation_forward batch_normalization_backward
            batch_normalization_forward_inference batch_normalization_forward_training convolution_backward_data
            convolution_backward_filter convolution_bias_activation_forward
            convolution_forward dropout_backward dropout_forward lrn_cross_channel_backward
            lrn_cross_channel_forward op_tensor pooling_backward pooling_forward reduce_tensor scale_tensor
            set_dropout_descriptor set_tensor softmax_backward softmax_forward transform_tensor
        """,
        "limits": """
            add_tensor normalization_backward normalization_forward rnn_backward_data rnn_backward_weights
            rnn_forward_inference rnn_forward_training
        """,
        "no": """
            multi_head_attn_backward_data multi_head_attn_backward_weights multi_head_attn_forward
            batch_normalization_apply batch_normalization_backward_apply batch_normalization_backward_statistics
            batch_normalization_statistics
            convolution_backward_bias divisive_normalization_backward divisive_normalization_forward
            spatial_tf_grid_generator_backward spatial_tf_grid_generator_forward spatial_tf_sampler_backward
            spatial_tf_sampler_forward
        """,
    },
}

ALGORITHMS = {  # by which algorithms it is computed
    "cudnn-5": {
        "convolution_forward": "IMPLICIT_GEMM IMPLICIT_PRECOMP_GEMM GEMM FFT FFT_TILING WINOGRAD",
        "convolution_backward_data": "ALGO_0 ALGO_1 FFT FFT_TILING WINOGRAD",
        "convolution_backward_filter": "ALGO_0 ALGO_1 FFT ALGO_3",
        "convolution_bias_activation_forward": "",
    },
    "cudnn": {
        "convolution_forward": "IMPLICIT_GEMM IMPLICIT_PRECOMP_GEMM GEMM FFT FFT_TILING WINOGRAD_NONFUSED",
        "convolution_backward_data": "ALGO_0 ALGO_1 FFT FFT_TILING WINOGRAD_NONFUSED",
        "convolution_backward_filter": "ALGO_0 ALGO_1 FFT ALGO_3 WINOGRAD_NONFUSED",
        "convolution_bias_activation_forward": "IMPLICIT_GEMM IMPLICIT_PRECOMP_GEMM GEMM"
        " FFT FFT_TILING WINOGRAD_NONFUSED",
    },
    "cudnn-9": {
        "convolution_forward": "IMPLICIT_GEMM IMPLICIT_PRECOMP_GEMM GEMM FFT FFT_TILING WINOGRAD_NONFUSED",
        "convolution_backward_data": "ALGO_0 ALGO_1 FFT FFT_TILING WINOGRAD WINOGRAD_NONFUSED",
        "convolution_backward_filter": "ALGO_0 ALGO_1 FFT ALGO_3 WINOGRAD_NONFUSED FFT_TILING",
        "convolution_bias_activation_forward": "IMPLICIT_GEMM IMPLICIT_PRECOMP_GEMM GEMM"
        " FFT FFT_TILING WINOGRAD_NONFUSED",
    },
    "miopen-1": {
        "convolution_forward": "GEMM DIRECT FFT WINOGRAD",
        "convolution_backward_data": "ALGO_0 ALGO_1 FFT WINOGRAD",
        "convolution_backward_filter": "ALGO_0 ALGO_1",
        "convolution_bias_activation_forward": "",
    },
    "miopen-3": {
        "convolution_forward": "IMPLICIT_GEMM GEMM DIRECT FFT WINOGRAD",
        "convolution_backward_data": "ALGO_0 ALGO_1 FFT WINOGRAD",
        "convolution_backward_filter": "ALGO_0 ALGO_1 WINOGRAD",
        "convolution_bias_activation_forward": "IMPLICIT_GEMM GEMM DIRECT FFT WINOGRAD",
    },
}

FACTS = {name: rows(name) for name in PLAIN}
