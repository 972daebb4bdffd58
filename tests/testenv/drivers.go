package testenv

import (
	"os"
	"strings"
	"testing"
)

// TwoDrivers returns the manifests of Mesa's lavapipe and of Chromium's SwiftShader, two
// Vulkan drivers that compute on the processor. Without both the test skips.
func TwoDrivers(t testing.TB) (lavapipe, swiftShader string) {
	t.Helper()
	lavapipe, swiftShader = "/usr/share/vulkan/icd.d/lvp_icd.json", "/usr/lib/chromium/vk_swiftshader_icd.json"
	for _, file := range []string{lavapipe, swiftShader} {
		if _, err := os.Stat(file); err != nil {
			t.Skipf("no second driver: %v", err)
		}
	}
	return lavapipe, swiftShader
}

// DriverVariables are the environment variables by which a child process sees only these
// Vulkan drivers.
func DriverVariables(manifests ...string) []string {
	list := strings.Join(manifests, string(os.PathListSeparator))
	return []string{"VK_DRIVER_FILES=" + list, "VK_ICD_FILENAMES=" + list}
}
