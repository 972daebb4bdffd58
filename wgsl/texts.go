package wgsl

import _ "embed"

// The shaders, each in a variable: embed.FS would bring a file system into the
// page's engine.
var (
	//go:embed attention_scores.wgsl
	attentionScoresText string
	//go:embed attention_scores_fours.wgsl
	attentionScoresFoursText string
	//go:embed attention_softmax.wgsl
	attentionSoftmaxText string
	//go:embed attention_values.wgsl
	attentionValuesText string
	//go:embed attention_values_fours.wgsl
	attentionValuesFoursText string
	//go:embed avg_down_3d.wgsl
	avgDown3dText string
	//go:embed conv3d.wgsl
	conv3dText string
	//go:embed conv3d_staged.wgsl
	conv3dStagedText string
	//go:embed conv3d_strided.wgsl
	conv3dStridedText string
	//go:embed conv_pairs.wgsl
	convPairsText string
	//go:embed conv_up.wgsl
	convUpText string
	//go:embed conv_up_pairs.wgsl
	convUpPairsText string
	//go:embed conv3d_strided_staged.wgsl
	conv3dStridedStagedText string
	//go:embed dup_up_3d.wgsl
	dupUp3dText string
	//go:embed feather_blend.wgsl
	featherBlendText string
	//go:embed feather_normalise.wgsl
	featherNormaliseText string
	//go:embed fold.wgsl
	foldText string
	//go:embed group_norm_apply.wgsl
	groupNormApplyText string
	//go:embed group_norm_merge.wgsl
	groupNormMergeText string
	//go:embed group_norm_partial.wgsl
	groupNormPartialText string
	//go:embed group_norm_partial_apart.wgsl
	groupNormPartialApartText string
	//go:embed pair_taps.wgsl
	pairTapsText string
	//go:embed pointwise.wgsl
	pointwiseText string
	//go:embed pointwise_staged.wgsl
	pointwiseStagedText string
	//go:embed rms_norm.wgsl
	rmsNormText string
	//go:embed sample.wgsl
	sampleText string
	//go:embed sum_taps.wgsl
	sumTapsText string
	//go:embed to_rgba8.wgsl
	toRgba8Text string
	//go:embed unpatchify.wgsl
	unpatchifyText string
	//go:embed shared/attention_maximum.wgsl
	sharedAttentionMaximumText string
	//go:embed shared/attention_params.wgsl
	sharedAttentionParamsText string
	//go:embed shared/attention_scores.wgsl
	sharedAttentionScoresText string
	//go:embed shared/attention_values.wgsl
	sharedAttentionValuesText string
	//go:embed shared/conv3d.wgsl
	sharedConv3dText string
	//go:embed shared/conv3d_params.wgsl
	sharedConv3dParamsText string
	//go:embed shared/conv3d_staged.wgsl
	sharedConv3dStagedText string
	//go:embed shared/conv_up.wgsl
	sharedConvUpText string
	//go:embed shared/conv_up_params.wgsl
	sharedConvUpParamsText string
	//go:embed shared/elem_f16.wgsl
	sharedElemF16Text string
	//go:embed shared/elem_f32.wgsl
	sharedElemF32Text string
	//go:embed shared/elem_packed.wgsl
	sharedElemPackedText string
	//go:embed shared/group_norm_partial.wgsl
	sharedGroupNormPartialText string
	//go:embed shared/fours.wgsl
	sharedFoursText string
	//go:embed shared/pairs.wgsl
	sharedPairsText string
	//go:embed shared/frames_fused.wgsl
	sharedFramesFusedText string
	//go:embed shared/frames_written.wgsl
	sharedFramesWrittenText string
	//go:embed shared/multiply_loops.wgsl
	sharedMultiplyLoopsText string
	//go:embed shared/multiply_written.wgsl
	sharedMultiplyWrittenText string
	//go:embed shared/frames_passes.wgsl
	sharedFramesPassesText string
	//go:embed shared/points_each.wgsl
	sharedPointsEachText string
	//go:embed shared/pointwise_params.wgsl
	sharedPointwiseParamsText string
	//go:embed shared/products.wgsl
	sharedProductsText string
	//go:embed shared/rows.wgsl
	sharedRowsText string
	//go:embed shared/several.wgsl
	sharedSeveralText string
	//go:embed shared/silu.wgsl
	sharedSiluText string
	//go:embed shared/sources_each.wgsl
	sharedSourcesEachText string
	//go:embed shared/staged_each.wgsl
	sharedStagedEachText string
	//go:embed shared/taps.wgsl
	sharedTapsText string
	//go:embed shared/under_each.wgsl
	sharedUnderEachText string
	//go:embed shared/under_written.wgsl
	sharedUnderWrittenText string
	//go:embed shared/weight_f32.wgsl
	sharedWeightF32Text string
	//go:embed shared/weight_packed.wgsl
	sharedWeightPackedText string
	//go:embed shared/weights_each.wgsl
	sharedWeightsEachText string
	//go:embed shared/weights_of_4.wgsl
	sharedWeightsOf4Text string
	//go:embed shared/weights_of_8.wgsl
	sharedWeightsOf8Text string
)

// embedded is a file of this folder.
type embedded struct {
	file string
	text *string
}

// texts are the shaders by their files' names. That they are pointers spares
// the code that would fill the table.
var texts = []embedded{
	{"attention_scores.wgsl", &attentionScoresText},
	{"attention_scores_fours.wgsl", &attentionScoresFoursText},
	{"attention_softmax.wgsl", &attentionSoftmaxText},
	{"attention_values.wgsl", &attentionValuesText},
	{"attention_values_fours.wgsl", &attentionValuesFoursText},
	{"avg_down_3d.wgsl", &avgDown3dText},
	{"conv3d.wgsl", &conv3dText},
	{"conv3d_staged.wgsl", &conv3dStagedText},
	{"conv3d_strided.wgsl", &conv3dStridedText},
	{"conv_pairs.wgsl", &convPairsText},
	{"conv_up.wgsl", &convUpText},
	{"conv_up_pairs.wgsl", &convUpPairsText},
	{"conv3d_strided_staged.wgsl", &conv3dStridedStagedText},
	{"dup_up_3d.wgsl", &dupUp3dText},
	{"feather_blend.wgsl", &featherBlendText},
	{"feather_normalise.wgsl", &featherNormaliseText},
	{"fold.wgsl", &foldText},
	{"group_norm_apply.wgsl", &groupNormApplyText},
	{"group_norm_merge.wgsl", &groupNormMergeText},
	{"group_norm_partial.wgsl", &groupNormPartialText},
	{"group_norm_partial_apart.wgsl", &groupNormPartialApartText},
	{"pair_taps.wgsl", &pairTapsText},
	{"pointwise.wgsl", &pointwiseText},
	{"pointwise_staged.wgsl", &pointwiseStagedText},
	{"rms_norm.wgsl", &rmsNormText},
	{"sample.wgsl", &sampleText},
	{"sum_taps.wgsl", &sumTapsText},
	{"to_rgba8.wgsl", &toRgba8Text},
	{"unpatchify.wgsl", &unpatchifyText},
	{"shared/attention_maximum.wgsl", &sharedAttentionMaximumText},
	{"shared/attention_params.wgsl", &sharedAttentionParamsText},
	{"shared/attention_scores.wgsl", &sharedAttentionScoresText},
	{"shared/attention_values.wgsl", &sharedAttentionValuesText},
	{"shared/conv3d.wgsl", &sharedConv3dText},
	{"shared/conv3d_params.wgsl", &sharedConv3dParamsText},
	{"shared/conv3d_staged.wgsl", &sharedConv3dStagedText},
	{"shared/conv_up.wgsl", &sharedConvUpText},
	{"shared/conv_up_params.wgsl", &sharedConvUpParamsText},
	{"shared/elem_f16.wgsl", &sharedElemF16Text},
	{"shared/elem_f32.wgsl", &sharedElemF32Text},
	{"shared/elem_packed.wgsl", &sharedElemPackedText},
	{"shared/group_norm_partial.wgsl", &sharedGroupNormPartialText},
	{"shared/fours.wgsl", &sharedFoursText},
	{"shared/pairs.wgsl", &sharedPairsText},
	{"shared/frames_fused.wgsl", &sharedFramesFusedText},
	{"shared/frames_written.wgsl", &sharedFramesWrittenText},
	{"shared/multiply_loops.wgsl", &sharedMultiplyLoopsText},
	{"shared/multiply_written.wgsl", &sharedMultiplyWrittenText},
	{"shared/frames_passes.wgsl", &sharedFramesPassesText},
	{"shared/points_each.wgsl", &sharedPointsEachText},
	{"shared/pointwise_params.wgsl", &sharedPointwiseParamsText},
	{"shared/products.wgsl", &sharedProductsText},
	{"shared/rows.wgsl", &sharedRowsText},
	{"shared/several.wgsl", &sharedSeveralText},
	{"shared/silu.wgsl", &sharedSiluText},
	{"shared/sources_each.wgsl", &sharedSourcesEachText},
	{"shared/staged_each.wgsl", &sharedStagedEachText},
	{"shared/taps.wgsl", &sharedTapsText},
	{"shared/under_each.wgsl", &sharedUnderEachText},
	{"shared/under_written.wgsl", &sharedUnderWrittenText},
	{"shared/weight_f32.wgsl", &sharedWeightF32Text},
	{"shared/weight_packed.wgsl", &sharedWeightPackedText},
	{"shared/weights_each.wgsl", &sharedWeightsEachText},
	{"shared/weights_of_4.wgsl", &sharedWeightsOf4Text},
	{"shared/weights_of_8.wgsl", &sharedWeightsOf8Text},
}

// text is a shader as its file has it.
func text(file string) (string, bool) {
	for _, some := range [...][]embedded{texts, nativeTexts} {
		for _, t := range some {
			if t.file == file {
				return *t.text, true
			}
		}
	}
	return "", false
}
