"""The smallest arguments that make a model of each kind: `COMMON` by the name of a parameter, `SIZES` for a class.

A class is made of what both say about its constructor's parameters, `SIZES` first; parameters with a default that
neither names keep it. So a text model of a new family needs no line here as long as its parameters are named as usual.
The numbers are ours or those of keras-hub's own tests; different sizes differ, so that none can be taken for another.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Part:
    """A class that is made for a parameter of another one.

    name: in keras_hub.models or keras_hub.layers, or a path below keras_hub.src.models. sizes: instead of those in
    `SIZES`. config: the parameter takes the part's configuration in its place.
    """

    name: str
    sizes: dict[str, Any] = field(default_factory=dict)
    config: bool = False


VOCABULARY = 50

COMMON: dict[str, Any] = {
    "vocabulary_size": VOCABULARY, "vocab_size": VOCABULARY, "text_vocab_size": VOCABULARY, "num_layers": 2,
    "num_heads": 2, "num_attention_heads": 4, "num_query_heads": 4, "num_key_value_heads": 2, "head_dim": 8,
    "head_size": 8, "hidden_dim": 16, "hidden_size": 16, "embedding_dim": 12, "intermediate_dim": 24, "mlp_dim": 24,
    "key_value_dim": 6, "max_sequence_length": 64,
    "sliding_window": 4, "sliding_window_size": 4, "num_experts": 4, "top_k": 2, "moe_intermediate_dim": 12,
    "shared_expert_intermediate_dim": 20, "shared_expert_intermediate_size": 20,
    "image_shape": (32, 32, 3), "image_size": 16, "patch_size": 4, "num_classes": 3, "layer_norm_epsilon": 1e-5,
}  # fmt: skip

_RESNET = Part(
    "ResNetBackbone",
    {
        "input_conv_filters": [64], "input_conv_kernel_sizes": [7], "stackwise_num_filters": [64, 12, 16, 20],
        "stackwise_num_blocks": [1, 2, 1, 1], "stackwise_num_strides": [1, 2, 2, 2], "block_type": "basic_block",
        "image_shape": (None, None, 3),
    },
)  # fmt: skip
_MIT = Part("MiTBackbone")
_HGNET = Part(
    "HGNetV2Backbone",
    {
        "stem_channels": [3, 8, 8], "stackwise_stage_filters": [[8, 8, 16, 1, 1, 3], [16, 8, 32, 1, 1, 3]],
        "apply_downsample": [False, True], "use_lightweight_conv_block": [False, False], "depths": [1, 1],
        "hidden_sizes": [16, 32], "embedding_size": 8, "use_learnable_affine_block": True, "hidden_act": "relu",
        "image_shape": (None, None, 3), "out_features": ["stage1", "stage2"],
    },
)  # fmt: skip
_DINO = Part(
    "DINOV2Backbone",
    {
        "patch_size": 14, "num_layers": 4, "layer_scale_init_value": 1.0, "num_register_tokens": 0,
        "image_shape": (126, 126, 3), "apply_layernorm": True,
    },
)  # fmt: skip
_ANCHORS = Part(
    "AnchorGenerator",
    {
        "bounding_box_format": "yxyx", "min_level": 3, "max_level": 5, "num_scales": 3,
        "aspect_ratios": [0.5, 1.0, 2.0], "anchor_size": 4,
    },
)  # fmt: skip
_T5GEMMA = {
    f"{side}_{name}": value
    for side in ("encoder", "decoder")
    for name, value in {
        "hidden_dim": 16, "intermediate_dim": 24, "num_layers": 2, "num_attention_heads": 4, "num_key_value_heads": 2,
        "head_dim": 8, "layer_types": ["sliding_attention", "full_attention"],
    }.items()
} | {"cross_attention_hidden_size": 16, "attn_logit_softcapping": 50.0}  # fmt: skip
_LINEAR_ATTENTION = {
    "num_layers": 4, "layer_types": [*["linear_attention"] * 3, "full_attention"], "linear_num_key_heads": 2,
    "linear_num_value_heads": 4, "linear_key_head_dim": 4, "linear_value_head_dim": 6, "linear_conv_kernel_dim": 4,
}  # fmt: skip
_SAM3 = {"hidden_dim": 16, "intermediate_dim": 24, "num_heads": 2, "num_layers": 2}
_VAE = "vae.vae_backbone.VAEBackbone"
_SD3_TEXT = {"embedding_dim": 16, "intermediate_output_index": -2}
_TWO_TOWERS = {"projection_dim": 10}
_MOBILENETV5_BLOCKS = {
    "block_types": [["er"], ["uir", "uir"]], "num_blocks": [1, 2], "num_filters": [[8], [16, 16]],
    "strides": [[2], [2, 1]], "act_layers": [["relu"], ["relu", "relu"]], "exp_ratios": [[4.0], [6.0, 6.0]],
    "se_ratios": [[0.0], [0.0, 0.0]], "dw_kernel_sizes": [[0], [5, 5]], "dw_start_kernel_sizes": [[0], [0, 0]],
    "dw_end_kernel_sizes": [[0], [0, 0]], "exp_kernel_sizes": [[3], [0, 0]], "pw_kernel_sizes": [[1], [0, 0]],
    "num_heads": [[0], [0, 0]], "key_dims": [[0], [0, 0]], "value_dims": [[0], [0, 0]], "kv_strides": [[0], [0, 0]],
    "use_cpe": [[False], [False, False]],
}  # fmt: skip
_MOBILENETV5 = {f"stackwise_{name}": value for name, value in _MOBILENETV5_BLOCKS.items()} | {
    "stem_size": 8, "use_msfa": False,
}  # fmt: skip
_GEMMA3N_AUDIO = {
    "hidden_size": 4, "input_feat_size": 16, "sscp_conv_channel_size": [2, 4],
    "sscp_conv_kernel_size": [(1, 1), (1, 1)],
    "sscp_conv_stride_size": [(2, 2), (2, 2)], "sscp_conv_group_norm_eps": 1e-5, "num_hidden_layers": 1,
    "rms_norm_eps": 1e-6, "gradient_clipping": 1.0, "residual_weight": 0.5, "num_attention_heads": 1,
    "attention_chunk_size": 2, "num_attention_context_right": 1, "num_attention_context_left": 1,
    "attention_logit_cap": 50.0, "conv_kernel_size": 3, "reduction_factor": 1,
}  # fmt: skip
_GEMMA3N_TEXT = {
    "text_hidden_size": 8, "num_hidden_layers": 2, "pad_token_id": 0, "num_attention_heads": 2,
    "num_key_value_heads": 1, "head_dim": 4, "intermediate_size": [16, 16], "hidden_activation": "gelu_approximate",
    "layer_types": ["sliding_attention", "full_attention"], "rope_theta": 10000.0, "max_position_embeddings": 64,
    "vocab_size_per_layer_input": VOCABULARY, "hidden_size_per_layer_input": 2, "altup_num_inputs": 2, "laurel_rank": 1,
}  # fmt: skip

# Names with a "/" are further configurations of the class in front of it.
SIZES: dict[str, dict[str, Any]] = {
    "BASNetBackbone": {"image_encoder": _RESNET, "num_classes": 1, "image_shape": (64, 64, 3)},
    "BLIP2Backbone": {
        "vision_encoder": Part("BLIP2VisionEncoder"), "qformer": Part("BLIP2QFormer"),
        "language_model": Part("BLIP2CustomOPT"),
    },
    "BLIP2Backbone/t5": {
        "vision_encoder": Part("BLIP2VisionEncoder"), "qformer": Part("BLIP2QFormer"),
        "language_model": Part("BLIP2FlanT5"),
    },
    "BLIP2CausalLM": {"backbone": Part("BLIP2Backbone")},
    "BLIP2Seq2SeqLM": {"backbone": Part("BLIP2Backbone/t5")},
    "BLIP2CustomOPT": {"num_query_tokens": 3, "qformer_hidden_dim": 20, "dropout": 0.0},
    "BLIP2FlanT5": {"num_query_tokens": 3, "qformer_hidden_dim": 20},
    "BLIP2QFormer": {
        "num_query_tokens": 3, "hidden_dim": 20, "vision_dim": 16, "cross_attention_frequency": 2, "dropout": 0.0,
    },
    "BLIP2VisionEncoder": {
        "image_size": 32, "use_patch_bias": True, "use_class_token": True, "use_mha_bias": True, "use_mlp_bias": True,
        "dropout_rate": 0.0, "initializer_range": 0.02,
    },
    "BloomBackbone": {"num_heads": 4},
    "CLIPBackbone": {
        "vision_encoder": Part("CLIPVisionEncoder"), "text_encoder": Part("CLIPTextEncoder"), **_TWO_TOWERS,
    },
    "CLIPTextEncoder": {"embedding_dim": 16},
    "CSPNetBackbone": {
        "stem_filters": 8, "stem_kernel_size": 3, "stem_strides": 1, "stackwise_strides": 2,
        "stackwise_depth": [1, 2, 3], "stackwise_num_filters": [8, 12, 16], "image_shape": (None, None, 3),
        "down_growth": True, "bottle_ratio": (0.5, 1.0), "block_ratio": (1.0, 0.5), "expand_ratio": (2.0, 1.0),
        "block_type": "dark_block", "stage_type": "csp", "stem_padding": "same",
    },
    "DFineBackbone": {
        "backbone": _HGNET, "decoder_in_channels": [16, 16], "encoder_hidden_dim": 16, "num_denoising": 0,
        "num_labels": 4, "learn_initial_query": False, "num_queries": 10, "anchor_image_size": (32, 32),
        "feat_strides": [4, 8], "num_feature_levels": 2, "encoder_in_channels": [16, 32], "encode_proj_layers": [1],
        "num_attention_heads": 2, "encoder_ffn_dim": 32, "num_encoder_layers": 1, "hidden_expansion": 0.5,
        "depth_multiplier": 0.5, "eval_idx": -1, "num_decoder_layers": 3, "decoder_attention_heads": 2,
        "decoder_ffn_dim": 32, "decoder_n_points": [2, 2], "lqe_hidden_dim": 16, "num_lqe_layers": 2,
        "out_features": ["stage1", "stage2"], "image_shape": (32, 32, 3), "seed": 0,
    },
    "DFineObjectDetector": {"num_classes": 4, "bounding_box_format": "yxyx"},
    "DINOV2Backbone": _DINO.sizes,
    "DINOV3Backbone": {
        "patch_size": 8, "layer_scale_init_value": 1.0, "num_register_tokens": 2, "use_gated_mlp": True,
    },
    "DeepLabV3Backbone": {
        "image_encoder": _RESNET, "low_level_feature_key": "P2", "spatial_pyramid_pooling_key": "P4",
        "dilation_rates": [2, 3], "upsampling_size": 4, "image_shape": (64, 64, 3),
    },
    "DenseNetBackbone": {"stackwise_num_repeats": [1, 2, 2], "compression_ratio": 0.5, "growth_rate": 4},
    "DepthAnythingBackbone": {
        "image_encoder": _DINO, "reassemble_factors": [4, 2, 1, 0.5], "neck_hidden_dims": [8, 12, 16, 20],
        "fusion_hidden_dim": 16, "head_hidden_dim": 8, "head_in_index": -1,
        "feature_keys": ["stage1", "stage2", "stage3", "stage4"],
    },
    "DepthAnythingDepthEstimator": {"depth_estimation_type": "metric", "max_depth": 10.0},
    "EdRecBackbone": {"num_layers_enc": 2, "num_layers_dec": 2},
    "EfficientNetBackbone": {
        "stackwise_kernel_sizes": [3, 5], "stackwise_num_repeats": [2, 2], "stackwise_input_filters": [8, 12],
        "stackwise_output_filters": [12, 16], "stackwise_expansion_ratios": [1, 4],
        "stackwise_squeeze_and_excite_ratios": [0.0, 0.25], "stackwise_strides": [1, 2],
        "stackwise_block_types": ["fused", "unfused"], "stackwise_force_input_filters": [0] * 2,
        "stackwise_nores_option": [False] * 2, "width_coefficient": 1.0, "depth_coefficient": 1.0,
    },
    "FluxBackbone": {
        "input_channels": 12, "hidden_size": 64, "mlp_ratio": 2.0, "num_heads": 4, "depth": 1, "depth_single_blocks": 2,
        "axes_dim": [4, 6, 6], "theta": 10_000, "use_bias": True, "guidance_embed": True, "image_shape": (16, 12),
        "text_shape": (8, 12), "image_ids_shape": (16, 3), "text_ids_shape": (8, 3), "y_shape": (20,),
    },
    "Gemma3Backbone": {"use_query_key_norm": True, "use_post_ffw_norm": True, "use_post_attention_norm": True},
    "Gemma3Backbone/images": {
        "use_query_key_norm": True, "use_post_ffw_norm": True, "use_post_attention_norm": True,
        "vision_encoder": Part("Gemma3VisionEncoder"),
    },
    "Gemma3VisionEncoder": {"pool_size": 2, "output_dim": 16},
    "Gemma3nBackbone": _GEMMA3N_TEXT,
    "Gemma3nBackbone/images-audio": {
        **_GEMMA3N_TEXT, "vision_hidden_size": 16,
        "vision_encoder_config": Part("MobileNetV5Backbone", {**_MOBILENETV5, "num_features": 16}, config=True),
        "audio_encoder_config": _GEMMA3N_AUDIO, "audio_hidden_size": 4,
    },
    "Gemma4AssistantCausalLM": {
        "backbone_hidden_size": 16, "num_centroids": 5, "centroid_intermediate_top_k": 2,
        "use_ordered_embeddings": True,
    },
    "Gemma4AudioEncoder": {"input_feat_size": 8, "num_heads": 2, "num_layers": 2, "output_dim": 16},
    "Gemma4Backbone": {"num_layers": 6},
    "Gemma4Backbone/audio": {
        "num_layers": 6, "audio_encoder": Part("Gemma4AudioEncoder"), "num_audio_tokens_per_clip": 4,
    },
    "Gemma4Backbone/images": {"num_layers": 6, "vision_encoder": Part("Gemma4VisionEncoder")},
    "Gemma4VisionEncoder": {"pool_size": 2, "num_key_value_heads": 2, "output_dim": 16},
    "HGNetV2Backbone": _HGNET.sizes,
    "MetaCLIP2Backbone": {
        "vision_encoder": Part("MetaCLIP2VisionEncoder"), "text_encoder": Part("MetaCLIP2TextEncoder"), **_TWO_TOWERS,
    },
    "MetaCLIP2TextEncoder": {"embedding_dim": 16},
    "MiTBackbone": {
        "layerwise_depths": [2, 2], "hidden_dims": [4, 8], "layerwise_num_heads": [1, 2], "layerwise_sr_ratios": [8, 4],
        "max_drop_path_rate": 0.1, "layerwise_patch_sizes": [7, 3], "layerwise_strides": [4, 2],
    },
    "MobileNetBackbone": {
        "stackwise_expansion": [[12, 20], [24, 36, 36]], "stackwise_num_blocks": [2, 3],
        "stackwise_num_filters": [[8, 8], [12, 12, 12]], "stackwise_kernel_size": [[3, 3], [5, 5, 5]],
        "stackwise_num_strides": [[2, 1], [2, 1, 1]], "stackwise_se_ratio": [[None, None], [0.25, 0.25, 0.25]],
        "stackwise_activation": [["relu", "relu"], ["hard_swish"] * 3], "stackwise_padding": [[1, 1], [2, 2, 2]],
        "output_num_filters": 24, "input_activation": "hard_swish", "output_activation": "hard_swish",
        "input_num_filters": 8, "depthwise_filters": 8, "depthwise_stride": 2, "depthwise_residual": False,
        "squeeze_and_excite": 0.5, "last_layer_filter": 24,
    },
    "MobileNetV5Backbone": _MOBILENETV5,
    "MoonshineBackbone": {
        "filter_dim": 16, "encoder_num_layers": 2, "decoder_num_layers": 2, "encoder_num_heads": 2,
        "decoder_num_heads": 2,
    },
    "PARSeqBackbone": {
        "image_encoder": Part("ViTBackbone", {
            "image_shape": (16, 32, 3), "patch_size": (4, 8), "use_class_token": False,
        }),
        "max_label_length": 31, "decoder_hidden_dim": 16, "num_decoder_layers": 1, "num_decoder_heads": 2,
        "decoder_mlp_dim": 24,
    },
    "PARSeqCausalLM": {
        "preprocessor": Part("PARSeqCausalLMPreprocessor", {
            "tokenizer": Part("PARSeqTokenizer", {"max_label_length": 31}),
        }),
    },
    "PaliGemmaBackbone": {
        "vit_patch_size": 4, "vit_num_layers": 2, "vit_num_heads": 2, "vit_hidden_dim": 8, "vit_intermediate_dim": 12,
    },
    "Qwen3_5Backbone": {**_LINEAR_ATTENTION, "partial_rotary_factor": 0.25},
    "Qwen3_5MoeBackbone": {**_LINEAR_ATTENTION, "partial_rotary_factor": 0.25},
    "RQVAEBackbone": {
        "input_dim": 16, "encoder_layer_dims": [12, 10], "output_dim": 8, "decoder_layer_dims": [10, 12],
        "num_embeddings": 4, "num_quantizers": 2,
    },
    "RWKV7Backbone": {"head_size": 4, "gate_lora": 12, "mv_lora": 10, "aaa_lora": 8, "decay_lora": 6},
    "ResNetBackbone": _RESNET.sizes,
    "ResNetBackbone/v2": {**_RESNET.sizes, "block_type": "bottleneck_block", "use_pre_activation": True},
    "RetinaNetBackbone": {"image_encoder": _RESNET, "min_level": 3, "max_level": 5, "use_p5": False},
    "RetinaNetObjectDetector": {
        "label_encoder": Part("retinanet.retinanet_label_encoder.RetinaNetLabelEncoder", {
            "anchor_generator": _ANCHORS, "bounding_box_format": "yxyx",
        }),
        "anchor_generator": _ANCHORS, "bounding_box_format": "yxyx",
    },
    "SAM3PromptableConceptBackbone": {
        "vision_encoder": Part("SAM3VisionEncoder"), "text_encoder": Part("SAM3TextEncoder"),
        "geometry_encoder": Part("SAM3GeometryEncoder", {**_SAM3, "roi_size": 7}),
        "detr_encoder": Part("SAM3DetrEncoder", _SAM3),
        "detr_decoder": Part("SAM3DetrDecoder", {
            **_SAM3, "image_shape": (28, 28, 3), "patch_size": 14, "num_queries": 8,
        }),
        "mask_decoder": Part("SAM3MaskDecoder", {"num_upsampling_stages": 3, "hidden_dim": 16, "num_heads": 2}),
    },
    "SAM3TextEncoder": {"embedding_dim": 16, "max_sequence_length": 32},
    "SAM3VisionEncoder": {
        **_SAM3, "image_shape": (28, 28, 3), "patch_size": 14, "fpn_hidden_dim": 16,
        "fpn_scale_factors": [4.0, 2.0, 1.0, 0.5], "pretrain_image_shape": (42, 42, 3), "window_size": 2,
        "global_attn_indexes": [1, 2],
    },
    "SAMBackbone": {
        "image_encoder": Part("ViTDetBackbone", {
            "image_shape": (32, 32, 3), "patch_size": 8, "num_output_channels": 8, "window_size": 2,
            "global_attention_layer_indices": [1],
        }),
        "prompt_encoder": Part("SAMPromptEncoder", {
            "hidden_size": 8, "image_embedding_size": (4, 4), "input_image_size": (32, 32), "mask_in_channels": 6,
        }),
        "mask_decoder": Part("SAMMaskDecoder", {
            "num_layers": 2, "hidden_size": 8, "intermediate_dim": 12, "num_heads": 2, "embedding_dim": 8,
            "num_multimask_outputs": 3, "iou_head_depth": 3, "iou_head_hidden_dim": 6,
        }),
    },
    "SegFormerBackbone": {"image_encoder": _MIT, "projection_filters": 12},
    "SigLIPBackbone": {"vision_encoder": Part("SigLIPVisionEncoder"), "text_encoder": Part("SigLIPTextEncoder")},
    # It takes texts of just this length.
    "SigLIPTextEncoder": {"embedding_dim": 16, "max_sequence_length": 16},
    "SmolLM3Backbone": {
        "attention_bias": False, "attention_dropout": 0.0, "rope_layer_enabled_list": [True, False],
        "layer_types": ["attention", "attention"], "mlp_bias": False, "max_position_embeddings": 64,
        "rope_theta": 10000.0, "partial_rotary_factor": 1.0,
    },
    "StableDiffusion3Backbone": {
        "mmdit_patch_size": 2, "mmdit_hidden_dim": 16, "mmdit_num_layers": 2, "mmdit_num_heads": 2,
        "mmdit_position_size": 48, "mmdit_qk_norm": None, "mmdit_dual_attention_indices": None,
        "vae": Part(_VAE), "clip_l": Part("CLIPTextEncoder", {**_SD3_TEXT, "name": "clip_l"}),
        "clip_g": Part("CLIPTextEncoder", {**_SD3_TEXT, "name": "clip_g"}), "image_shape": (64, 64, 3),
    },
    "SwinTransformerBackbone": {"embed_dim": 8, "depths": (2, 2), "num_heads": (2, 4), "window_size": 4},
    "T5Gemma2Backbone": {**_T5GEMMA, "use_query_key_norm": True},
    "T5GemmaBackbone": _T5GEMMA,
    _VAE: {
        "encoder_num_filters": [32, 32, 32, 32], "encoder_num_blocks": [1, 1, 1, 1],
        "decoder_num_filters": [32, 32, 32, 32], "decoder_num_blocks": [1, 1, 1, 1], "sampler_method": "mode",
    },
    "VGGBackbone": {"stackwise_num_repeats": [2, 2], "stackwise_num_filters": [8, 12]},
    "ViTBackbone": {"patch_size": (4, 4), "use_mha_bias": True},
    "ViTDetBackbone": {"global_attention_layer_indices": [1], "num_output_channels": 8, "window_size": 2},
    "VideoPrismBackbone": {
        "num_frames": 4, "num_spatial_layers": 1, "num_temporal_layers": 1, "num_auxiliary_layers": 1,
        "vocabulary_size": 0, "num_text_layers": 0,
    },
    "WhisperBackbone": {"num_mels": 10, "max_encoder_sequence_length": 32, "max_decoder_sequence_length": 32},
    "XceptionBackbone": {
        "stackwise_conv_filters": [[8, 12], [16, 16], [20, 20]], "stackwise_pooling": [False, True, False],
        "image_shape": (None, None, 3),
    },
}  # fmt: skip

# Configurations of the sizes that are published, and one kind of each: 0.9 to 1.4 GB of weights.
REAL: dict[str, dict[str, Any]] = {
    "BertBackbone/large": {
        "vocabulary_size": 30522, "num_layers": 24, "num_heads": 16, "hidden_dim": 1024, "intermediate_dim": 4096,
        "max_sequence_length": 512,
    },
    "GPT2Backbone/medium": {
        "vocabulary_size": 50257, "num_layers": 24, "num_heads": 16, "hidden_dim": 1024, "intermediate_dim": 4096,
        "max_sequence_length": 1024,
    },
    "Gemma3Backbone/270m": {
        "vocabulary_size": 262144, "num_layers": 18, "num_query_heads": 4, "num_key_value_heads": 1, "head_dim": 256,
        "hidden_dim": 640, "intermediate_dim": 2048, "sliding_window_size": 512, "use_query_key_norm": True,
        "use_post_ffw_norm": True, "use_post_attention_norm": True,
    },
    "ViTBackbone/large": {
        "image_shape": (224, 224, 3), "patch_size": (16, 16), "num_layers": 24, "num_heads": 16, "hidden_dim": 1024,
        "mlp_dim": 4096, "use_mha_bias": True,
    },
    "WhisperBackbone/small": {
        "vocabulary_size": 51865, "num_layers": 12, "num_heads": 12, "hidden_dim": 768, "intermediate_dim": 3072,
        "num_mels": 80, "max_encoder_sequence_length": 3000, "max_decoder_sequence_length": 448,
    },
}  # fmt: skip
REAL_KINDS = (
    "BertTextClassifier/large", "GPT2CausalLM/medium", "Gemma3CausalLM/270m", "ViTImageClassifier/large",
    "WhisperBackbone/small",
)  # fmt: skip
