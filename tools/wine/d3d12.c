/*
 * A d3d12.dll for tests under Wine, and for nothing else.
 *
 * Dawn's D3D12 backend makes a fence when it opens a device and asks for its
 * shared handle, which Wine does not have: the device then fails to open. This
 * library hands everything on to Wine's own d3d12.dll, here called d3d12r.dll
 * (see d3d12.def), and puts a CreateSharedHandle into the devices that come
 * from there. The handle is an event's: Dawn keeps it and never looks inside,
 * since only another graphics API would.
 */
#define COBJMACROS
#include <windows.h>

enum { CreateSharedHandle = 31 }; /* its place in ID3D12Device's table */

static HRESULT WINAPI shared_handle(void *device, void *object, const SECURITY_ATTRIBUTES *attributes,
                                    DWORD access, const WCHAR *name, HANDLE *handle)
{
	*handle = CreateEventW(NULL, TRUE, FALSE, NULL);
	return *handle ? S_OK : E_FAIL;
}

typedef HRESULT (WINAPI *create_device)(IUnknown *, int, const GUID *, void **);

HRESULT WINAPI D3D12CreateDevice(IUnknown *adapter, int level, const GUID *iid, void **device)
{
	create_device real = (create_device)(void *)GetProcAddress(LoadLibraryW(L"d3d12r.dll"), "D3D12CreateDevice");
	HRESULT hr = real ? real(adapter, level, iid, device) : E_FAIL;
	if (SUCCEEDED(hr) && device && *device) {
		void **table = *(void ***)*device;
		DWORD old;
		if (!VirtualProtect(&table[CreateSharedHandle], sizeof(void *), PAGE_READWRITE, &old))
			return E_FAIL;
		table[CreateSharedHandle] = (void *)shared_handle;
		VirtualProtect(&table[CreateSharedHandle], sizeof(void *), old, &old);
	}
	return hr;
}
