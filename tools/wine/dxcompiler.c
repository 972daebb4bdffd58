/*
 * A dxcompiler.dll for tools/windows.sh's step dxc, which lists what the real one, here
 * called dxcompilerr.dll, makes of each shader. On stderr:
 *
 *   dxc: compiled in 120 ms, 20480 bytes, signed
 *   the assembly of the DXIL
 *   dxc: end
 *
 * The time is the compiling thread's processor time.
 */
#include <windows.h>
#include <stdio.h>
#include <string.h>

/* What is used here of dxcapi.h, which is for C++: the tables of its interfaces. */
typedef struct blob {
	struct {
		void *query;
		ULONG(WINAPI *add_ref)(struct blob *);
		ULONG(WINAPI *release)(struct blob *);
		void *(WINAPI *pointer)(struct blob *);
		SIZE_T(WINAPI *size)(struct blob *);
	} *table;
} blob;

typedef struct result { /* IDxcResult */
	struct {
		void *query, *add_ref;
		ULONG(WINAPI *release)(struct result *);
		HRESULT(WINAPI *status)(struct result *, HRESULT *);
		void *get_result, *get_error_buffer, *has_output;
		HRESULT(WINAPI *output)(struct result *, int kind, const GUID *, void **, void **name);
	} *table;
} result;

typedef struct {
	const void *data;
	SIZE_T size;
	UINT encoding;
} text;

typedef struct compiler { /* IDxcCompiler3 */
	struct {
		void *query, *add_ref, *release;
		HRESULT(WINAPI *compile)(struct compiler *, const text *, const WCHAR **, UINT, void *, const GUID *, void **);
		HRESULT(WINAPI *disassemble)(struct compiler *, const text *, const GUID *, void **);
	} *table;
} compiler;

enum { OBJECT = 1, ERRORS = 2, DISASSEMBLY = 5 }; /* kinds of output */

static const GUID IID_compiler = {0x228b4687, 0x5a6a, 0x4730, {0x90, 0x0c, 0x97, 0x02, 0xb2, 0x20, 0x3f, 0x54}};
static const GUID IID_result = {0x58346cda, 0xdde7, 0x4497, {0x94, 0x61, 0x6f, 0x87, 0xaf, 0x5e, 0x06, 0x59}};
static const GUID IID_blob = {0x8ba5fb08, 0x5195, 0x40e2, {0xac, 0x58, 0x0d, 0x98, 0x9c, 0x3a, 0x01, 0x02}};

static HRESULT(WINAPI *real_compile)(compiler *, const text *, const WCHAR **, UINT, void *, const GUID *, void **);
static SRWLOCK listing = SRWLOCK_INIT;

/* processor_ms is this thread's processor time. */
static double processor_ms(void)
{
	FILETIME created, ended, kernel, user;
	if (!GetThreadTimes(GetCurrentThread(), &created, &ended, &kernel, &user))
		return 0;
	ULARGE_INTEGER k = {.LowPart = kernel.dwLowDateTime, .HighPart = kernel.dwHighDateTime};
	ULARGE_INTEGER u = {.LowPart = user.dwLowDateTime, .HighPart = user.dwHighDateTime};
	return (k.QuadPart + u.QuadPart) / 1e4;
}

static blob *output(result *r, int kind)
{
	void *b = NULL;
	return SUCCEEDED(r->table->output(r, kind, &IID_blob, &b, NULL)) ? b : NULL;
}

static void print(blob *b)
{
	if (b) {
		fwrite(b->table->pointer(b), 1, b->table->size(b), stderr);
		b->table->release(b);
	}
}

/* is_signed reports whether DXIL has the hash that validation puts in. */
static int is_signed(const unsigned char *dxil, SIZE_T size)
{
	static const unsigned char none[16];
	return size >= 20 && memcmp(dxil + 4, none, sizeof none);
}

static void list(compiler *c, result *r, double ms)
{
	blob *object = output(r, OBJECT);
	HRESULT status = E_FAIL;
	r->table->status(r, &status);
	if (FAILED(status) || !object) {
		fprintf(stderr, "\ndxc: failed with %08lx\n", (unsigned long)status);
		print(output(r, ERRORS));
	} else {
		text dxil = {object->table->pointer(object), object->table->size(object), 0};
		result *assembly = NULL;
		fprintf(stderr, "\ndxc: compiled in %.0f ms, %u bytes, %s\n", ms, (unsigned)dxil.size, is_signed(dxil.data, dxil.size) ? "signed" : "unsigned");
		if (SUCCEEDED(c->table->disassemble(c, &dxil, &IID_result, (void **)&assembly))) {
			print(output(assembly, DISASSEMBLY));
			assembly->table->release(assembly);
		}
	}
	if (object)
		object->table->release(object);
	fprintf(stderr, "\ndxc: end\n");
	fflush(stderr);
}

static HRESULT WINAPI compile(compiler *c, const text *source, const WCHAR **arguments, UINT count, void *include, const GUID *iid, void **made)
{
	double begun = processor_ms();
	HRESULT hr = real_compile(c, source, arguments, count, include, iid, made);
	double ms = processor_ms() - begun;
	if (SUCCEEDED(hr) && !memcmp(iid, &IID_result, sizeof *iid)) {
		AcquireSRWLockExclusive(&listing);
		list(c, *made, ms);
		ReleaseSRWLockExclusive(&listing);
	}
	return hr;
}

/* with_listing replaces Compile in the table of a new compiler. */
static HRESULT with_listing(HRESULT hr, const GUID *iid, void **made)
{
	if (FAILED(hr) || memcmp(iid, &IID_compiler, sizeof *iid))
		return hr;
	compiler *c = *made;
	DWORD old;
	if (c->table->compile != compile && VirtualProtect(&c->table->compile, sizeof(void *), PAGE_READWRITE, &old)) {
		real_compile = c->table->compile;
		c->table->compile = compile;
		VirtualProtect(&c->table->compile, sizeof(void *), old, &old);
	}
	return hr;
}

static void *real(const char *name) { return (void *)GetProcAddress(LoadLibraryW(L"dxcompilerr.dll"), name); }

HRESULT WINAPI DxcCreateInstance(const GUID *class, const GUID *iid, void **made)
{
	HRESULT(WINAPI *create)(const GUID *, const GUID *, void **) = real("DxcCreateInstance");
	return with_listing(create ? create(class, iid, made) : E_FAIL, iid, made);
}

HRESULT WINAPI DxcCreateInstance2(void *allocator, const GUID *class, const GUID *iid, void **made)
{
	HRESULT(WINAPI *create)(void *, const GUID *, const GUID *, void **) = real("DxcCreateInstance2");
	return with_listing(create ? create(allocator, class, iid, made) : E_FAIL, iid, made);
}
