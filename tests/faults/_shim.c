/* Lets calls of the system fail, in a process that is started with this library in LD_PRELOAD.
 *
 * BASALT_FAULTS names a file with a struct plan, which a test maps into memory and changes while
 * the process runs. A call is meant if its kind is among plan.calls and the file's path matches
 * plan.pattern. The first plan.skipped of these succeed, the next plan.count fail with plan.cause.
 * A torn write leaves half of its bytes. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { CALL_WRITE = 1, CALL_SYNC = 2, CALL_CREATE = 4, CALL_RENAME = 8, CALL_TRUNCATE = 16,
       CALL_READ = 32 };

struct plan {
  int32_t calls;
  int32_t cause;
  int32_t skipped;
  int32_t count;
  int32_t is_torn;
  int32_t failures; /* so far; counted here */
  char pattern[232];
};

static struct plan* plan;

__attribute__((constructor)) static void start(void) {
  const char* path = getenv("BASALT_FAULTS");
  int file = path == NULL ? -1 : open(path, O_RDWR | O_CLOEXEC);
  if (file < 0) return;
  void* memory = mmap(NULL, sizeof(struct plan), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  if (memory != MAP_FAILED) plan = memory;
  close(file);
}

static int fails_on(int call, const char* path) {
  if (plan == NULL || (__atomic_load_n(&plan->calls, __ATOMIC_ACQUIRE) & call) == 0) return 0;
  if (path == NULL || fnmatch(plan->pattern, path, 0) != 0) return 0;
  if (__atomic_fetch_sub(&plan->skipped, 1, __ATOMIC_RELAXED) > 0) return 0;
  if (__atomic_fetch_sub(&plan->count, 1, __ATOMIC_RELAXED) <= 0) return 0;
  __atomic_fetch_add(&plan->failures, 1, __ATOMIC_RELAXED);
  return plan->cause;
}

static int fails_on_file(int call, int file) {
  char link[64];
  char path[4096];
  if (plan == NULL || (__atomic_load_n(&plan->calls, __ATOMIC_ACQUIRE) & call) == 0) return 0;
  snprintf(link, sizeof link, "/proc/self/fd/%d", file);
  ssize_t size = readlink(link, path, sizeof path - 1);
  if (size < 0) return 0;
  path[size] = '\0';
  return fails_on(call, path);
}

#define REAL(name) \
  static __typeof__(&name) real; \
  if (real == NULL) real = (__typeof__(&name))dlsym(RTLD_NEXT, #name)
#define FAIL_IF(check) \
  do { \
    int cause = (check); \
    if (cause != 0) { errno = cause; return -1; } \
  } while (0)
/* The last argument of open(), which is there only if a file may be made. */
#define MODE_OF(flags, mode) \
  mode_t mode = 0; \
  if ((flags) & (O_CREAT | O_TMPFILE)) { \
    va_list arguments; \
    va_start(arguments, flags); \
    mode = va_arg(arguments, mode_t); \
    va_end(arguments); \
  }

ssize_t write(int file, const void* bytes, size_t size) {
  REAL(write);
  int cause = fails_on_file(CALL_WRITE, file);
  if (cause == 0) return real(file, bytes, size);
  if (plan->is_torn && size > 1 && real(file, bytes, size / 2) < 0) return -1;
  errno = cause;
  return -1;
}

ssize_t pwrite64(int file, const void* bytes, size_t size, off64_t offset) {
  REAL(pwrite64);
  int cause = fails_on_file(CALL_WRITE, file);
  if (cause == 0) return real(file, bytes, size, offset);
  if (plan->is_torn && size > 1 && real(file, bytes, size / 2, offset) < 0) return -1;
  errno = cause;
  return -1;
}

ssize_t pwrite(int file, const void* bytes, size_t size, off_t offset) {
  return pwrite64(file, bytes, size, offset);
}

ssize_t pread64(int file, void* bytes, size_t size, off64_t offset) {
  REAL(pread64);
  FAIL_IF(fails_on_file(CALL_READ, file));
  return real(file, bytes, size, offset);
}

ssize_t pread(int file, void* bytes, size_t size, off_t offset) {
  return pread64(file, bytes, size, offset);
}

int fsync(int file) {
  REAL(fsync);
  FAIL_IF(fails_on_file(CALL_SYNC, file));
  return real(file);
}

int fdatasync(int file) {
  REAL(fdatasync);
  FAIL_IF(fails_on_file(CALL_SYNC, file));
  return real(file);
}

int ftruncate64(int file, off64_t size) {
  REAL(ftruncate64);
  FAIL_IF(fails_on_file(CALL_TRUNCATE, file));
  return real(file, size);
}

int ftruncate(int file, off_t size) { return ftruncate64(file, size); }

int rename(const char* from, const char* to) {
  REAL(rename);
  FAIL_IF(fails_on(CALL_RENAME, to));
  return real(from, to);
}

int open64(const char* path, int flags, ...) {
  REAL(open64);
  MODE_OF(flags, mode);
  if (flags & O_CREAT) FAIL_IF(fails_on(CALL_CREATE, path));
  return real(path, flags, mode);
}

int open(const char* path, int flags, ...) {
  MODE_OF(flags, mode);
  return open64(path, flags, mode);
}
