// Simulates the kernel driver of a graphics card for a program of Mesa's Vulkan drivers
// (LD_PRELOAD). The card can compile; what is submitted never runs. CARD names it:
//
//   arc bmg lnl mtl   Intel: answers what ANV asks of the kernel driver Xe. Debian's
//                     mesa-drm-shim has none for Intel
//   a740              Adreno 740: changes answers of libfreedreno_noop_drm_shim.so,
//                     which simulates a 630, and follows this file in LD_PRELOAD
//
// Intel's cards write files in /sys and /dev/dri, which must be empty and writable, as
// in tools/isa.sh. Written from the kernel's headers in linux-libc-dev and libdrm-dev.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <drm/drm.h>
#include <drm/msm_drm.h>
#include <drm/xe_drm.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <time.h>
#include <unistd.h>

#define NODE "/dev/dri/renderD128"
#define SYS "/sys/dev/char/226:128/device/"
#define COUNT(array) (sizeof(array) / sizeof *(array))

// Intel's cards. Numbers of cores and threads do not change the code that is compiled.
static const struct xe {
	const char *name;
	unsigned device, revision, cores, units;
	int wide; // vector units of 16 lanes, not 8
	__u64 vram;
	unsigned major, minor; // of the graphics IP
} cards[] = {
	{"arc", 0x56a0, 8, 32, 16, 0, 16ull << 30, 12, 55}, // Arc A770 (DG2)
	{"mtl", 0x7d55, 4, 8, 16, 0, 0, 12, 71},            // Core Ultra 100 (Meteor Lake)
	{"lnl", 0x64a0, 4, 8, 8, 1, 0, 20, 4},              // Core Ultra 200V (Lunar Lake)
	{"bmg", 0xe20b, 0, 20, 8, 1, 12ull << 30, 20, 1},   // Arc B580 (Battlemage)
};
static const struct xe *xe; // the card, NULL for another maker's
static int adreno;

static int fail(int error) {
	errno = error;
	return -1;
}

// Buffers are parts of one sparse file, by handle.

static struct { __u64 at, size; } buffers[1 << 16];
static __u64 end = 1 << 16;
static int memory = -1;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static __u32 create(__u64 size) {
	__u32 handle = 0;
	pthread_mutex_lock(&lock);
	if (memory < 0)
		memory = memfd_create("card", MFD_CLOEXEC);
	for (__u32 i = 1; i < COUNT(buffers) && !handle; i++)
		if (!buffers[i].size)
			handle = i;
	size = (size + 0xffff) & ~0xffffull;
	if (handle && !ftruncate(memory, end + size)) {
		buffers[handle].at = end;
		buffers[handle].size = size;
		end += size;
	} else {
		handle = 0;
	}
	pthread_mutex_unlock(&lock);
	return handle;
}

static void destroy(__u32 handle) {
	pthread_mutex_lock(&lock);
	if (handle < COUNT(buffers) && buffers[handle].size) {
		fallocate(memory, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, buffers[handle].at, buffers[handle].size);
		buffers[handle].size = 0;
	}
	pthread_mutex_unlock(&lock);
}

// reply answers a query with its size, if the caller asked for that, or with its data.
static int reply(struct drm_xe_device_query *q, const void *data, unsigned size) {
	if (!q->size)
		q->size = size;
	else
		memcpy((void *)(uintptr_t)q->data, data, q->size < size ? q->size : size);
	return 0;
}

static int query(struct drm_xe_device_query *q) {
	switch (q->query) {
	case DRM_XE_DEVICE_QUERY_ENGINES: {
		static const int classes[] = {DRM_XE_ENGINE_CLASS_RENDER, DRM_XE_ENGINE_CLASS_COPY, DRM_XE_ENGINE_CLASS_COMPUTE};
		struct { struct drm_xe_query_engines head; struct drm_xe_engine e[3]; } r = {{3}};
		for (int i = 0; i < 3; i++)
			r.e[i].instance.engine_class = classes[i];
		return reply(q, &r, sizeof r);
	}
	case DRM_XE_DEVICE_QUERY_MEM_REGIONS: {
		struct { struct drm_xe_query_mem_regions head; struct drm_xe_mem_region m[2]; } r = {{xe->vram ? 2 : 1}};
		r.m[0] = (struct drm_xe_mem_region){.mem_class = DRM_XE_MEM_REGION_CLASS_SYSMEM, .min_page_size = 4096, .total_size = 32ull << 30};
		r.m[1] = (struct drm_xe_mem_region){.mem_class = DRM_XE_MEM_REGION_CLASS_VRAM, .instance = 1, .min_page_size = 65536, .total_size = xe->vram, .cpu_visible_size = xe->vram};
		return reply(q, &r, sizeof r.head + r.head.num_mem_regions * sizeof r.m[0]);
	}
	case DRM_XE_DEVICE_QUERY_CONFIG: {
		struct { struct drm_xe_query_config head; __u64 info[5]; } r = {{5}};
		r.info[DRM_XE_QUERY_CONFIG_REV_AND_DEVICE_ID] = xe->revision << 16 | xe->device;
		r.info[DRM_XE_QUERY_CONFIG_FLAGS] = xe->vram ? DRM_XE_QUERY_CONFIG_FLAG_HAS_VRAM : 0;
		r.info[DRM_XE_QUERY_CONFIG_MIN_ALIGNMENT] = xe->vram ? 65536 : 4096;
		r.info[DRM_XE_QUERY_CONFIG_VA_BITS] = 48;
		r.info[DRM_XE_QUERY_CONFIG_MAX_EXEC_QUEUE_PRIORITY] = 1;
		return reply(q, &r, sizeof r);
	}
	case DRM_XE_DEVICE_QUERY_GT_LIST: {
		struct { struct drm_xe_query_gt_list head; struct drm_xe_gt g; } r = {{1}};
		r.g.reference_clock = 19200000;
		r.g.near_mem_regions = xe->vram ? 2 : 1;
		r.g.ip_ver_major = xe->major;
		r.g.ip_ver_minor = xe->minor;
		return reply(q, &r, sizeof r);
	}
	case DRM_XE_DEVICE_QUERY_HWCONFIG: { // key, length, value: the table of Intel's firmware
		__u32 r[][3] = {
			{1, 1, 8}, {2, 1, 32}, {3, 1, xe->units}, {15, 1, 8},                 // slices, cores, units of a core, threads of a unit
			{16, 1, 546}, {17, 1, 336}, {18, 1, 336}, {19, 1, 546}, {21, 1, 128}, // threads of the stages
			{29, 1, 64}, {30, 1, 2384}, {33, 1, 0}, {34, 1, 1024}, {35, 1, 0}, {36, 1, 1024}, {37, 1, 34}, {38, 1, 1536},
			{64, 1, 512}, {65, 1, 128}, {68, 1, 768}, {70, 1, 4}, {71, 1, xe->units}, {73, 1, 128},
		};
		return reply(q, r, sizeof r);
	}
	case DRM_XE_DEVICE_QUERY_GT_TOPOLOGY: {
		struct { struct drm_xe_query_topology_mask h; __u8 mask[8]; } __attribute__((packed)) r[4] = {0};
		const int types[] = {DRM_XE_TOPO_DSS_GEOMETRY, DRM_XE_TOPO_DSS_COMPUTE, DRM_XE_TOPO_L3_BANK, xe->wide ? DRM_XE_TOPO_SIMD16_EU_PER_DSS : DRM_XE_TOPO_EU_PER_DSS};
		const unsigned bits[] = {xe->cores, xe->cores, 16, xe->units};
		for (int i = 0; i < 4; i++) {
			__u64 mask = (1ull << bits[i]) - 1;
			r[i].h.type = types[i];
			r[i].h.num_bytes = sizeof mask;
			memcpy(r[i].mask, &mask, sizeof mask);
		}
		return reply(q, r, sizeof r);
	}
	case DRM_XE_DEVICE_QUERY_UC_FW_VERSION: {
		struct drm_xe_query_uc_fw_version *r = (void *)(uintptr_t)q->data;
		if (!q->size) {
			q->size = sizeof *r;
			return 0;
		}
		r->branch_ver = 0;
		r->major_ver = 70;
		r->minor_ver = 44;
		r->patch_ver = 1;
		return 0;
	}
	case DRM_XE_DEVICE_QUERY_ENGINE_CYCLES: {
		struct drm_xe_query_engine_cycles *r = (void *)(uintptr_t)q->data;
		if (!q->size) {
			q->size = sizeof *r;
			return 0;
		}
		struct timespec t;
		clock_gettime(CLOCK_MONOTONIC, &t);
		r->width = 36;
		r->cpu_timestamp = t.tv_sec * 1000000000ull + t.tv_nsec;
		r->cpu_delta = 1;
		r->engine_cycles = r->cpu_timestamp / 52;
		return 0;
	}
	}
	return fail(EINVAL);
}

// string writes a text to a buffer of length bytes, and its length.
static void string(char *to, __kernel_size_t *length, const char *text) {
	size_t n = strlen(text);
	if (to)
		memcpy(to, text, *length < n ? *length : n);
	*length = n;
}

static int xe_ioctl(unsigned long request, void *arg) {
	static __u32 last; // the last handle of a sync object or queue
	switch (_IOC_NR(request)) {
	case _IOC_NR(DRM_IOCTL_VERSION): {
		struct drm_version *v = arg;
		v->version_major = 1;
		v->version_minor = 1;
		v->version_patchlevel = 0;
		string(v->name, &v->name_len, "xe");
		string(v->date, &v->date_len, "20240101");
		string(v->desc, &v->desc_len, "none");
		return 0;
	}
	case _IOC_NR(DRM_IOCTL_GET_CLIENT):
		((struct drm_client *)arg)->auth = 1;
		return 0;
	case _IOC_NR(DRM_IOCTL_GET_CAP): {
		struct drm_get_cap *c = arg;
		c->value = c->capability == DRM_CAP_SYNCOBJ || c->capability == DRM_CAP_SYNCOBJ_TIMELINE || c->capability == DRM_CAP_TIMESTAMP_MONOTONIC;
		return 0;
	}
	case _IOC_NR(DRM_IOCTL_SYNCOBJ_CREATE):
		((struct drm_syncobj_create *)arg)->handle = __atomic_add_fetch(&last, 1, __ATOMIC_RELAXED);
		return 0;
	case _IOC_NR(DRM_IOCTL_SYNCOBJ_QUERY): { // every point is reached
		struct drm_syncobj_timeline_array *a = arg;
		for (__u32 i = 0; i < a->count_handles; i++)
			((__u64 *)(uintptr_t)a->points)[i] = INT64_MAX;
		return 0;
	}
	case _IOC_NR(DRM_IOCTL_GEM_CLOSE):
		destroy(((struct drm_gem_close *)arg)->handle);
		return 0;
	case DRM_COMMAND_BASE + DRM_XE_DEVICE_QUERY:
		return query(arg);
	case DRM_COMMAND_BASE + DRM_XE_GEM_CREATE: {
		struct drm_xe_gem_create *c = arg;
		c->handle = create(c->size);
		return c->handle ? 0 : fail(ENOMEM);
	}
	case DRM_COMMAND_BASE + DRM_XE_GEM_MMAP_OFFSET: {
		struct drm_xe_gem_mmap_offset *m = arg;
		if (m->handle >= COUNT(buffers) || !buffers[m->handle].size)
			return fail(ENOENT);
		m->offset = buffers[m->handle].at;
		return 0;
	}
	case DRM_COMMAND_BASE + DRM_XE_VM_CREATE:
		((struct drm_xe_vm_create *)arg)->vm_id = 1;
		return 0;
	case DRM_COMMAND_BASE + DRM_XE_EXEC_QUEUE_CREATE:
		((struct drm_xe_exec_queue_create *)arg)->exec_queue_id = __atomic_add_fetch(&last, 1, __ATOMIC_RELAXED);
		return 0;
	case DRM_COMMAND_BASE + DRM_XE_EXEC_QUEUE_GET_PROPERTY:
		((struct drm_xe_exec_queue_get_property *)arg)->value = 0;
		return 0;
	case _IOC_NR(DRM_IOCTL_SYNCOBJ_DESTROY):
	case _IOC_NR(DRM_IOCTL_SYNCOBJ_WAIT):
	case _IOC_NR(DRM_IOCTL_SYNCOBJ_TIMELINE_WAIT):
	case _IOC_NR(DRM_IOCTL_SYNCOBJ_RESET):
	case _IOC_NR(DRM_IOCTL_SYNCOBJ_SIGNAL):
	case _IOC_NR(DRM_IOCTL_SYNCOBJ_TIMELINE_SIGNAL):
	case _IOC_NR(DRM_IOCTL_SYNCOBJ_TRANSFER):
	case DRM_COMMAND_BASE + DRM_XE_VM_DESTROY:
	case DRM_COMMAND_BASE + DRM_XE_VM_BIND:
	case DRM_COMMAND_BASE + DRM_XE_EXEC_QUEUE_DESTROY:
	case DRM_COMMAND_BASE + DRM_XE_EXEC:
	case DRM_COMMAND_BASE + DRM_XE_WAIT_USER_FENCE:
		return 0;
	}
	return fail(EINVAL);
}

// a740 makes a 740 of a 630.
static void a740(unsigned long request, void *arg) {
	struct drm_msm_param *p = arg;
	if (_IOC_NR(request) != DRM_COMMAND_BASE + DRM_MSM_GET_PARAM)
		return;
	switch (p->param) {
	case MSM_PARAM_GPU_ID: p->value = 740; break;
	case MSM_PARAM_CHIP_ID: p->value = 0x43050a01; break;
	case MSM_PARAM_GMEM_SIZE: p->value = 3 << 20; break;
	case MSM_PARAM_RAYTRACING: p->value = 0; break;
	case MSM_PARAM_HIGHEST_BANK_BIT: p->value = 14; break;
	case MSM_PARAM_MACROTILE_MODE: p->value = 2; break;
	}
}

// file writes a file and creates its folders. It returns whether that worked.
static int file(const char *path, const char *format, ...) {
	char folder[200];
	for (const char *p = path; (p = strchr(p + 1, '/'));) {
		snprintf(folder, sizeof folder, "%.*s", (int)(p - path), path);
		if (mkdir(folder, 0755) && errno != EEXIST)
			return 0;
	}
	FILE *f = fopen(path, "w");
	if (!f)
		return 0;
	va_list args;
	va_start(args, format);
	vfprintf(f, format, args);
	va_end(args);
	return !fclose(f);
}

static __attribute__((constructor)) void start(void) {
	const char *name = getenv("CARD");
	if (!name)
		return;
	adreno = !strcmp(name, "a740");
	for (unsigned i = 0; i < COUNT(cards); i++)
		if (!strcmp(name, cards[i].name))
			xe = &cards[i];
	if (!xe)
		return;
	if (!file(SYS "uevent", "DRIVER=xe\nPCI_CLASS=30000\nPCI_ID=8086:%X\nPCI_SUBSYS_ID=8086:1234\nPCI_SLOT_NAME=0000:00:02.0\n", xe->device) ||
		!file(SYS "vendor", "0x8086\n") || !file(SYS "device", "0x%x\n", xe->device) || !file(SYS "revision", "0x%x\n", xe->revision) ||
		!file(SYS "subsystem_vendor", "0x8086\n") || !file(SYS "subsystem_device", "0x1234\n") || !file(SYS "drm/renderD128/dev", "226:128\n") ||
		(symlink("/sys/bus/pci", SYS "subsystem") && errno != EEXIST) || (mkdir("/dev/dri", 0755) && errno != EEXIST) ||
		(mknod(NODE, S_IFCHR | 0666, makedev(226, 128)) && errno != EEXIST))
		fprintf(stderr, "card: cannot write to /sys and /dev/dri: %s\n", strerror(errno));
}

// The functions of libc that this file replaces.

#define NEXT(name) ({ static __typeof__(name) *next; if (!next) next = (__typeof__(name) *)dlsym(RTLD_NEXT, #name); next; })

// No driver of the kernel opens the node, but a descriptor of its path can be asked what
// it is.
#define OPEN(name) int name(const char *path, int flags, ...) { \
	va_list args; \
	va_start(args, flags); \
	mode_t mode = flags & (O_CREAT | __O_TMPFILE) ? va_arg(args, mode_t) : 0; \
	va_end(args); \
	return xe && !strcmp(path, NODE) ? NEXT(name)(path, O_PATH | O_CLOEXEC) : NEXT(name)(path, flags, mode); \
}
OPEN(open)
OPEN(open64)

static int is_card(int fd) {
	struct stat s;
	return xe && fd >= 0 && !fstat(fd, &s) && S_ISCHR(s.st_mode) && s.st_rdev == makedev(226, 128);
}

void *mmap(void *at, size_t size, int protection, int flags, int fd, off_t offset) {
	return NEXT(mmap)(at, size, protection, flags, is_card(fd) ? memory : fd, offset);
}

void *mmap64(void *at, size_t size, int protection, int flags, int fd, off64_t offset) {
	return NEXT(mmap64)(at, size, protection, flags, is_card(fd) ? memory : fd, offset);
}

int ioctl(int fd, unsigned long request, ...) {
	va_list args;
	va_start(args, request);
	void *arg = va_arg(args, void *);
	va_end(args);
	if (_IOC_TYPE(request) != DRM_IOCTL_BASE)
		return NEXT(ioctl)(fd, request, arg);
	if (xe)
		return xe_ioctl(request, arg);
	int result = NEXT(ioctl)(fd, request, arg);
	if (!result && adreno)
		a740(request, arg);
	return result;
}
