// Package kubernetes contains only a test: it compares job.yaml, field by field, with
// Kubernetes' own types, which a separate module provides.
package kubernetes

import (
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/json"
	"sigs.k8s.io/yaml"
)

func read(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile("job.yaml")
	require.NoError(t, err)
	return string(text)
}

// decoded parses the Job of a manifest as an API server does that refuses unknown fields.
func decoded(text string) (job batchv1.Job, err error) {
	data, err := yaml.YAMLToJSONStrict([]byte(text))
	if err != nil {
		return job, err
	}
	unknown, err := json.UnmarshalStrict(data, &job)
	return job, errors.Join(append(unknown, err)...)
}

// Every field is one of a batch/v1 Job, with its type; none is repeated.
func TestSchema(t *testing.T) {
	job, err := decoded(read(t))
	require.NoError(t, err)
	require.Equal(t, "batch/v1", job.APIVersion)
	require.Equal(t, "Job", job.Kind)
	for _, change := range [][2]string{{"  backoffLimitPerIndex", "  backoffLimitPerindex"}, {"  parallelism", "  completions"}, {"completions: 8", "completions: eight"}, {"values: [2, 3, 5]", "values: [a]"}} {
		_, err := decoded(strings.Replace(read(t), change[0], change[1], 1))
		require.Error(t, err, change[1])
	}
}

// The parts, retries and exit codes meet the requirements of the API server and the
// program.
func TestMeaning(t *testing.T) {
	job, err := decoded(read(t))
	require.NoError(t, err)
	s := job.Spec
	require.Equal(t, batchv1.IndexedCompletion, *s.CompletionMode)
	require.Positive(t, *s.BackoffLimitPerIndex, "which takes Indexed and Never")
	require.LessOrEqual(t, *s.MaxFailedIndexes, *s.Completions)
	require.LessOrEqual(t, *s.Parallelism, *s.Completions)
	pod := s.Template.Spec
	require.Equal(t, corev1.RestartPolicyNever, pod.RestartPolicy)
	require.Len(t, pod.Containers, 1)
	c := pod.Containers[0]
	require.Contains(t, c.Args, "--shard=$(PART)/8")
	require.Equal(t, int32(8), *s.Completions)
	require.Equal(t, "PART", c.Env[0].Name)
	require.Contains(t, c.Env[0].ValueFrom.FieldRef.FieldPath, batchv1.JobCompletionIndexAnnotation)

	rules := s.PodFailurePolicy.Rules
	require.Len(t, rules, 2)
	require.Equal(t, batchv1.PodFailurePolicyActionIgnore, rules[0].Action)
	require.Equal(t, corev1.DisruptionTarget, rules[0].OnPodConditions[0].Type)
	require.Equal(t, batchv1.PodFailurePolicyActionFailIndex, rules[1].Action)
	require.Equal(t, c.Name, *rules[1].OnExitCodes.ContainerName)
	require.Equal(t, batchv1.PodFailurePolicyOnExitCodesOpIn, rules[1].OnExitCodes.Operator)
	require.Equal(t, []int32{2, 3, 5}, rules[1].OnExitCodes.Values)

	volumes := map[string]bool{}
	for _, v := range pod.Volumes {
		volumes[v.Name] = true
	}
	for _, m := range c.VolumeMounts {
		require.True(t, volumes[m.Name], m.Name)
	}
	require.False(t, c.Resources.Limits.Name("nvidia.com/gpu", "DecimalSI").IsZero())
}
