package dawn

import (
	"testing"
	"unsafe"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"tessera/gpu/internal/driver"
)

// A card is found by its LUID, and no other by one that no card has. So each of several
// equal cards is found.
func TestAdapterByLUID(t *testing.T) {
	assert.EqualValues(t, 312, unsafe.Sizeof(dxgiDescription{}))
	l, err := load("")
	require.NoError(t, err)
	in, err := newInstance(l)
	require.NoError(t, err)
	defer in.release()
	o := requestAdapterOptions{powerPreference: powerHigh, featureLevel: featureLevelCore, backendType: backendD3D12}
	first, err := in.requestAdapter(o)
	if err != nil {
		t.Skipf("no Direct3D 12: %v", err)
	}
	defer first.release()
	cards := dxgiCards()
	require.NotEmpty(t, cards)
	list := in.everyAdapter(o)
	defer releaseOthers(list, nil)
	require.Len(t, list, len(cards))
	assert.Equal(t, first.id, list[0].id)

	cards[0].LowPart ^= 0x5a5a5a5a
	o.nextInChain = unsafe.Pointer(&requestAdapterOptionsLUID{chain: chainedStruct{sType: sTypeLUID}, luid: cards[0]})
	none, err := in.requestAdapter(o)
	if !assert.Error(t, err) {
		none.release()
	}
	o.backendType = backendVulkan
	assert.Nil(t, in.everyAdapter(o))
	_, err = Adapters(driver.Options{})
	require.NoError(t, err)
}
