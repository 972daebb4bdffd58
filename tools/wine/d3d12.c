/*
 * A d3d12.dll for tests under Wine, and for nothing else.
 *
 * It hands everything on to Wine's own d3d12.dll, here called d3d12r.dll (see
 * d3d12.def), and replaces functions in the tables of the devices that come from
 * there.
 *
 * CreateSharedHandle: Dawn's D3D12 backend makes a fence when it opens a device and
 * asks for its shared handle, which Wine does not have: the device then fails to open.
 * The handle here is an event's: Dawn keeps it and never looks inside, since only
 * another graphics API would.
 *
 * With TESSERA_CARD=rtx the device also says what an RTX card says, so that Dawn
 * compiles with DXC (dxcompiler.c). Wine cannot run DXIL, so compute pipelines get an
 * empty shader in place of it: everything compiles, and nothing is computed.
 */
#define COBJMACROS
#define INITGUID
#include <windows.h>
#include <d3d12.h>
#include <stdlib.h>
#include <string.h>

static ID3D12DeviceVtbl real; /* functions of Wine's device */
static const char empty[] = "[numthreads(1, 1, 1)] void main() {}";

static HRESULT WINAPI shared_handle(ID3D12Device *device, ID3D12DeviceChild *object, const SECURITY_ATTRIBUTES *attributes,
                                    DWORD access, const WCHAR *name, HANDLE *handle)
{
	*handle = CreateEventW(NULL, TRUE, FALSE, NULL);
	return *handle ? S_OK : E_FAIL;
}

/* support answers where the card's answer matters to Dawn. */
static HRESULT WINAPI support(ID3D12Device *device, D3D12_FEATURE feature, void *data, UINT size)
{
	HRESULT hr = real.CheckFeatureSupport(device, feature, data, size);
	if (feature == D3D12_FEATURE_SHADER_MODEL) {
		D3D12_FEATURE_DATA_SHADER_MODEL *model = data;
		model->HighestShaderModel = D3D_SHADER_MODEL_6_6;
		return S_OK;
	}
	if (FAILED(hr))
		return hr;
	if (feature == D3D12_FEATURE_D3D12_OPTIONS1) {
		D3D12_FEATURE_DATA_D3D12_OPTIONS1 *options = data;
		options->WaveOps = TRUE;
		options->WaveLaneCountMin = options->WaveLaneCountMax = 32;
	} else if (feature == D3D12_FEATURE_D3D12_OPTIONS4) {
		D3D12_FEATURE_DATA_D3D12_OPTIONS4 *options = data;
		options->Native16BitShaderOpsSupported = TRUE;
	} else if (feature == D3D12_FEATURE_ARCHITECTURE || feature == D3D12_FEATURE_ARCHITECTURE1) {
		D3D12_FEATURE_DATA_ARCHITECTURE *memory = data; /* ARCHITECTURE1 begins like it */
		memory->UMA = memory->CacheCoherentUMA = FALSE;
	}
	return hr;
}

/* empty_shader returns what FXC makes of `empty`, in a blob that is kept. */
static ID3DBlob *empty_shader(void)
{
	typedef HRESULT(WINAPI *compile)(const void *, SIZE_T, const char *, const void *, void *, const char *, const char *, UINT,
	                                 UINT, ID3DBlob **, ID3DBlob **);
	static ID3DBlob *code;
	compile fxc = (compile)(void *)GetProcAddress(LoadLibraryW(L"d3dcompiler_47.dll"), "D3DCompile");
	if (!code && fxc)
		fxc(empty, sizeof empty - 1, NULL, NULL, NULL, "main", "cs_5_1", 0, 0, &code, NULL);
	return code;
}

static HRESULT WINAPI cached_blob(ID3D12PipelineState *pipeline, ID3DBlob **blob)
{
	*blob = empty_shader();
	ID3D10Blob_AddRef(*blob);
	return S_OK;
}

static void replace(void **function, void *with)
{
	DWORD old;
	if (VirtualProtect(function, sizeof(void *), PAGE_READWRITE, &old)) {
		*function = with;
		VirtualProtect(function, sizeof(void *), old, &old);
	}
}

static HRESULT WINAPI pipeline(ID3D12Device *device, const D3D12_COMPUTE_PIPELINE_STATE_DESC *desc, const GUID *iid, void **made)
{
	D3D12_COMPUTE_PIPELINE_STATE_DESC with = *desc;
	ID3DBlob *code = empty_shader();
	if (!code)
		return E_FAIL;
	with.CS.pShaderBytecode = ID3D10Blob_GetBufferPointer(code);
	with.CS.BytecodeLength = ID3D10Blob_GetBufferSize(code);
	memset(&with.CachedPSO, 0, sizeof with.CachedPSO);
	HRESULT hr = real.CreateComputePipelineState(device, &with, iid, made);
	if (SUCCEEDED(hr)) /* Wine has no such blobs, which Dawn logs for each pipeline */
		replace((void **)&((ID3D12PipelineState *)*made)->lpVtbl->GetCachedBlob, (void *)cached_blob);
	return hr;
}

typedef HRESULT(WINAPI *create_device)(IUnknown *, D3D_FEATURE_LEVEL, const GUID *, void **);

HRESULT WINAPI D3D12CreateDevice(IUnknown *adapter, D3D_FEATURE_LEVEL level, const GUID *iid, void **device)
{
	create_device make = (create_device)(void *)GetProcAddress(LoadLibraryW(L"d3d12r.dll"), "D3D12CreateDevice");
	HRESULT hr = make ? make(adapter, level, iid, device) : E_FAIL;
	if (FAILED(hr) || !device || !*device)
		return hr;
	ID3D12DeviceVtbl *table = ((ID3D12Device *)*device)->lpVtbl;
	if (!real.CreateSharedHandle)
		real = *table;
	replace((void **)&table->CreateSharedHandle, (void *)shared_handle);
	const char *card = getenv("TESSERA_CARD");
	if (card && !strcmp(card, "rtx")) {
		replace((void **)&table->CheckFeatureSupport, (void *)support);
		replace((void **)&table->CreateComputePipelineState, (void *)pipeline);
	}
	return hr;
}

/* The tables stay replaced, so this library must, too: Dawn unloads it with an instance. */
BOOL WINAPI DllMain(HINSTANCE self, DWORD reason, void *reserved)
{
	HMODULE pinned;
	if (reason == DLL_PROCESS_ATTACH)
		GetModuleHandleExW(GET_MODULE_HANDLE_EX_FLAG_PIN | GET_MODULE_HANDLE_EX_FLAG_FROM_ADDRESS, (const WCHAR *)(void *)DllMain, &pinned);
	return TRUE;
}
