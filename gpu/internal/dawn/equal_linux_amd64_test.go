package dawn

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"tessera/gpu/internal/driver"
	"tessera/gpu/internal/driver/drivertest"
	"tessera/tests/testenv"
)

// twoDrivers returns the environment in which lavapipe is there twice, as two drivers,
// each of which has one adapter. They look alike.
func twoDrivers(t *testing.T) []string {
	testenv.Watch()
	found, _ := filepath.Glob("/usr/lib/*/libvulkan_lvp.so")
	if len(found) == 0 {
		t.Skip("no lavapipe to copy")
	}
	library, err := os.ReadFile(found[0])
	require.NoError(t, err)
	var files []string
	for i := range 2 {
		dir := t.TempDir()
		files = append(files, filepath.Join(dir, "icd.json"))
		copied := filepath.Join(dir, fmt.Sprintf("libvulkan_lvp%d.so", i))
		require.NoError(t, os.WriteFile(copied, library, 0o755))
		require.NoError(t, os.WriteFile(files[i], fmt.Appendf(nil, `{"file_format_version":"1.0.0","ICD":{"library_path":%q,"api_version":"1.4.0"}}`, copied), 0o644))
	}
	list := strings.Join(files, ":")
	return []string{"VK_DRIVER_FILES=" + list, "VK_ICD_FILENAMES=" + list}
}

// Of equal adapters each is listed, opens and computes, if each has its own card; an
// adapter that two drivers have is listed once.
func TestEqualAdapters(t *testing.T) {
	if os.Getenv("TESSERA_CHILD") == "" {
		env := twoDrivers(t)
		for _, l := range apiVersions() {
			child(t, "^TestEqualAdapters$", append(env, "TESSERA_CHILD=it", "TESSERA_DAWN="+l.path)...)
		}
		return
	}
	once, err := Adapters(driver.Options{})
	require.NoError(t, err)
	assert.Len(t, once, 1)

	l, err := load("")
	require.NoError(t, err)
	in, err := newInstance(l)
	require.NoError(t, err)
	o := requestAdapterOptions{powerPreference: powerHigh, featureLevel: featureLevelCore, backendType: backendVulkan}
	cards := vulkanCards()
	require.Len(t, cards, 2)
	require.Equal(t, cards[0], cards[1])
	cards[1].uuid[0]++
	list := onePerCard(in.enumerate(o), func() []vulkanCard { return cards })
	require.Len(t, list, 2)
	require.Equal(t, list[0].id, list[1].id)
	require.Len(t, withNew(withNew(nil, list), in.enumerate(o)), 2)
	for i, a := range list {
		assert.Equal(t, i, a.info.Index)
		d, err := openDevice(a, true)
		require.NoError(t, err)
		drivertest.Alive(t, d)
	}
	assert.Len(t, onePerCard(in.enumerate(o), func() []vulkanCard { return nil }), 1)
}
