/* Writes down what a process does to the files of a directory, in a process that is started with
 * this library in LD_PRELOAD: what was written, truncated, synced, made, renamed and removed, in
 * order. From that a test makes what the disk holds if the machine stops (_disk.py).
 *
 * BASALT_JOURNAL_ROOT names the directory, BASALT_JOURNAL the file that records are appended to.
 * A record is a struct record, two paths relative to the root, and data. A call and its record are
 * made under one lock; nothing is really synced, so a sync counts from its record on. Files whose
 * names begin with LOG, RocksDB's diary, are left out. What other calls than these change is not
 * seen: the test compares the files at the end with what the journal makes of them. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

enum { KIND_WRITE = 1, KIND_TRUNCATE, KIND_SYNC, KIND_CREATE, KIND_RENAME, KIND_LINK, KIND_UNLINK,
       KIND_SYNC_DIRECTORY };

struct record {
  uint32_t kind;
  uint32_t path_bytes;
  uint32_t to_bytes;
  uint32_t reserved;
  uint64_t inode;
  uint64_t offset; /* or the new size */
  uint64_t bytes;
};

struct mapping {
  char* begin;
  size_t bytes;
  uint64_t inode;
  uint64_t offset;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int journal = -1;
static char root[2048];
static size_t root_bytes;
static struct mapping mappings[64];

#define REAL(name) \
  static __typeof__(&name) real; \
  if (real == NULL) real = (__typeof__(&name))dlsym(RTLD_NEXT, #name)

__attribute__((constructor)) static void start(void) {
  const char* path = getenv("BASALT_JOURNAL");
  const char* directory = getenv("BASALT_JOURNAL_ROOT");
  if (path == NULL || directory == NULL || realpath(directory, root) == NULL) return;
  root_bytes = strlen(root);
  journal = (int)syscall(SYS_openat, AT_FDCWD, path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC,
                         0600);
}

/* The part of a path below the root, or NULL if it is not there or not of interest. */
static const char* below_root(const char* path) {
  if (journal < 0 || strncmp(path, root, root_bytes) != 0) return NULL;
  if (path[root_bytes] == '\0') return ".";
  if (path[root_bytes] != '/') return NULL;
  const char* name = strrchr(path, '/') + 1;
  return strncmp(name, "LOG", 3) == 0 ? NULL : path + root_bytes + 1;
}

static const char* path_of_file(int file, char* buffer, size_t size) {
  char link[64];
  snprintf(link, sizeof link, "/proc/self/fd/%d", file);
  ssize_t length = readlink(link, buffer, size - 1);
  if (length < 0) return NULL;
  buffer[length] = '\0';
  if (length > 10 && strcmp(buffer + length - 10, " (deleted)") == 0) return NULL;
  return below_root(buffer);
}

/* A path as it was given, made absolute; its last part need not exist. */
static const char* path_at(int directory, const char* path, char* buffer, size_t size) {
  char base[2048];
  if (path[0] == '/') {
    snprintf(buffer, size, "%s", path);
  } else {
    if (directory == AT_FDCWD) {
      if (getcwd(base, sizeof base) == NULL) return NULL;
    } else {
      char link[64];
      snprintf(link, sizeof link, "/proc/self/fd/%d", directory);
      ssize_t length = readlink(link, base, sizeof base - 1);
      if (length < 0) return NULL;
      base[length] = '\0';
    }
    snprintf(buffer, size, "%s/%s", base, path);
  }
  char* last = strrchr(buffer, '/');
  char directory_path[2048];
  *last = '\0';
  if (realpath(buffer[0] == '\0' ? "/" : buffer, directory_path) == NULL) return NULL;
  char name[512];
  snprintf(name, sizeof name, "%s", last + 1);
  snprintf(buffer, size, "%s/%s", directory_path, name);
  return below_root(buffer);
}

static void note(uint32_t kind, uint64_t inode, uint64_t offset, const char* path, const char* to,
                 const void* data, size_t bytes) {
  struct record record = {kind, path == NULL ? 0 : (uint32_t)strlen(path),
                          to == NULL ? 0 : (uint32_t)strlen(to), 0, inode, offset, bytes};
  struct iovec parts[4] = {{&record, sizeof record}, {(void*)path, record.path_bytes},
                           {(void*)to, record.to_bytes}, {(void*)data, bytes}};
  size_t size = sizeof record + record.path_bytes + record.to_bytes + bytes;
  if (syscall(SYS_writev, journal, parts, 4) != (ssize_t)size) abort();
}

static uint64_t inode_of(int file, uint64_t* size) {
  struct stat found;
  if (fstat(file, &found) != 0) return 0;
  if (size != NULL) *size = (uint64_t)found.st_size;
  return S_ISREG(found.st_mode) ? found.st_ino : 0;
}

/* ---- contents */

static ssize_t do_write(int file, const void* bytes, size_t size, int64_t offset) {
  char buffer[4096];
  int is_seen = path_of_file(file, buffer, sizeof buffer) != NULL;
  if (!is_seen) {
    return offset < 0 ? syscall(SYS_write, file, bytes, size)
                      : syscall(SYS_pwrite64, file, bytes, size, offset);
  }
  pthread_mutex_lock(&lock);
  uint64_t end = 0;
  uint64_t inode = inode_of(file, &end);
  uint64_t at = (uint64_t)offset;
  if (offset < 0) {
    int is_appending = (fcntl(file, F_GETFL) & O_APPEND) != 0;
    at = is_appending ? end : (uint64_t)lseek(file, 0, SEEK_CUR);
  }
  ssize_t done = offset < 0 ? syscall(SYS_write, file, bytes, size)
                            : syscall(SYS_pwrite64, file, bytes, size, offset);
  int cause = errno;
  if (done > 0 && inode != 0) note(KIND_WRITE, inode, at, NULL, NULL, bytes, (size_t)done);
  pthread_mutex_unlock(&lock);
  errno = cause;
  return done;
}

ssize_t write(int file, const void* bytes, size_t size) {
  return do_write(file, bytes, size, -1);
}
ssize_t pwrite64(int file, const void* bytes, size_t size, off64_t offset) {
  return do_write(file, bytes, size, offset);
}
ssize_t pwrite(int file, const void* bytes, size_t size, off_t offset) {
  return do_write(file, bytes, size, offset);
}

/* Runs `call`, which may change the file's size, and notes the new one. */
#define WITH_SIZE(call) \
  char buffer[4096]; \
  if (path_of_file(file, buffer, sizeof buffer) == NULL) return call; \
  pthread_mutex_lock(&lock); \
  uint64_t before = 0, after = 0; \
  uint64_t inode = inode_of(file, &before); \
  int result = call; \
  int cause = errno; \
  inode_of(file, &after); \
  if (result == 0 && before != after) note(KIND_TRUNCATE, inode, after, NULL, NULL, NULL, 0); \
  pthread_mutex_unlock(&lock); \
  errno = cause; \
  return result

int ftruncate64(int file, off64_t size) {
  REAL(ftruncate64);
  WITH_SIZE(real(file, size));
}
int ftruncate(int file, off_t size) { return ftruncate64(file, size); }
int fallocate64(int file, int mode, off64_t offset, off64_t size) {
  REAL(fallocate64);
  WITH_SIZE(real(file, mode, offset, size));
}
int fallocate(int file, int mode, off_t offset, off_t size) {
  return fallocate64(file, mode, offset, size);
}
int posix_fallocate64(int file, off64_t offset, off64_t size) {
  REAL(posix_fallocate64);
  WITH_SIZE(real(file, offset, size));
}
int posix_fallocate(int file, off_t offset, off_t size) {
  return posix_fallocate64(file, offset, size);
}

static int do_sync(int file) {
  char buffer[4096];
  const char* path = path_of_file(file, buffer, sizeof buffer);
  if (path == NULL) return 0;
  usleep(100); /* so that others come together, as they do on a disk */
  pthread_mutex_lock(&lock);
  uint64_t inode = inode_of(file, NULL);
  if (inode != 0) {
    note(KIND_SYNC, inode, 0, path, NULL, NULL, 0);
  } else {
    note(KIND_SYNC_DIRECTORY, 0, 0, path, NULL, NULL, 0);
  }
  pthread_mutex_unlock(&lock);
  return 0;
}
int fsync(int file) { return do_sync(file); }
int fdatasync(int file) { return do_sync(file); }

void* mmap64(void* address, size_t bytes, int protection, int flags, int file, off64_t offset) {
  REAL(mmap64);
  void* begin = real(address, bytes, protection, flags, file, offset);
  char buffer[4096];
  const int is_written = (protection & PROT_WRITE) != 0 && (flags & MAP_SHARED) != 0;
  if (begin == MAP_FAILED || file < 0 || !is_written ||
      path_of_file(file, buffer, sizeof buffer) == NULL) {
    return begin;
  }
  pthread_mutex_lock(&lock);
  for (size_t i = 0; i < sizeof mappings / sizeof *mappings; ++i) {
    if (mappings[i].begin != NULL) continue;
    mappings[i] = (struct mapping){begin, bytes, inode_of(file, NULL), (uint64_t)offset};
    break;
  }
  pthread_mutex_unlock(&lock);
  return begin;
}
void* mmap(void* address, size_t bytes, int protection, int flags, int file, off_t offset) {
  return mmap64(address, bytes, protection, flags, file, offset);
}

int munmap(void* address, size_t bytes) {
  REAL(munmap);
  if (journal >= 0) {
    pthread_mutex_lock(&lock);
    for (size_t i = 0; i < sizeof mappings / sizeof *mappings; ++i) {
      if (mappings[i].begin == address) mappings[i].begin = NULL;
    }
    pthread_mutex_unlock(&lock);
  }
  return real(address, bytes);
}

int msync(void* address, size_t bytes, int flags) {
  (void)flags;
  pthread_mutex_lock(&lock);
  for (size_t i = 0; i < sizeof mappings / sizeof *mappings; ++i) {
    struct mapping* mapping = &mappings[i];
    char* begin = address;
    if (mapping->begin == NULL || begin < mapping->begin ||
        begin >= mapping->begin + mapping->bytes) {
      continue;
    }
    uint64_t offset = mapping->offset + (uint64_t)(begin - mapping->begin);
    note(KIND_WRITE, mapping->inode, offset, NULL, NULL, begin, bytes);
    note(KIND_SYNC, mapping->inode, 0, NULL, NULL, NULL, 0);
  }
  pthread_mutex_unlock(&lock);
  return 0;
}

/* ---- names */

static int do_open(int directory, const char* path, int flags, mode_t mode) {
  char buffer[4096];
  const char* name = (flags & (O_CREAT | O_TRUNC)) == 0 || (flags & O_TMPFILE) == O_TMPFILE
                         ? NULL
                         : path_at(directory, path, buffer, sizeof buffer);
  if (name == NULL) return (int)syscall(SYS_openat, directory, path, flags, mode);
  pthread_mutex_lock(&lock);
  struct stat found;
  int was_there = fstatat(directory, path, &found, 0) == 0;
  int file = (int)syscall(SYS_openat, directory, path, flags, mode);
  int cause = errno;
  if (file >= 0 && !was_there) note(KIND_CREATE, inode_of(file, NULL), 0, name, NULL, NULL, 0);
  if (file >= 0 && was_there && (flags & O_TRUNC) != 0 && found.st_size != 0) {
    note(KIND_TRUNCATE, found.st_ino, 0, NULL, NULL, NULL, 0);
  }
  pthread_mutex_unlock(&lock);
  errno = cause;
  return file;
}

#define MODE_OF(flags) \
  mode_t mode = 0; \
  if ((flags) & (O_CREAT | O_TMPFILE)) { \
    va_list arguments; \
    va_start(arguments, flags); \
    mode = va_arg(arguments, mode_t); \
    va_end(arguments); \
  }

int open64(const char* path, int flags, ...) {
  MODE_OF(flags);
  return do_open(AT_FDCWD, path, flags, mode);
}
int open(const char* path, int flags, ...) {
  MODE_OF(flags);
  return do_open(AT_FDCWD, path, flags, mode);
}
int openat64(int directory, const char* path, int flags, ...) {
  MODE_OF(flags);
  return do_open(directory, path, flags, mode);
}
int openat(int directory, const char* path, int flags, ...) {
  MODE_OF(flags);
  return do_open(directory, path, flags, mode);
}
int creat(const char* path, mode_t mode) {
  return do_open(AT_FDCWD, path, O_CREAT | O_WRONLY | O_TRUNC, mode);
}

static int do_change(uint32_t kind, const char* from, const char* to, int directory, int flags) {
  char buffers[2][4096];
  const char* name = path_at(directory, from, buffers[0], sizeof buffers[0]);
  const char* other = to == NULL ? NULL : path_at(AT_FDCWD, to, buffers[1], sizeof buffers[1]);
  pthread_mutex_lock(&lock);
  long result = kind == KIND_RENAME ? syscall(SYS_rename, from, to)
                : kind == KIND_LINK ? syscall(SYS_link, from, to)
                                    : syscall(SYS_unlinkat, directory, from, flags);
  int cause = errno;
  if (result == 0 && name != NULL && (to == NULL || other != NULL)) {
    note(kind, 0, 0, name, other, NULL, 0);
  }
  pthread_mutex_unlock(&lock);
  errno = cause;
  return (int)result;
}

int rename(const char* from, const char* to) {
  return do_change(KIND_RENAME, from, to, AT_FDCWD, 0);
}
int link(const char* from, const char* to) { return do_change(KIND_LINK, from, to, AT_FDCWD, 0); }
int unlink(const char* path) { return do_change(KIND_UNLINK, path, NULL, AT_FDCWD, 0); }
int unlinkat(int directory, const char* path, int flags) {
  return do_change(KIND_UNLINK, path, NULL, directory, flags);
}
int remove(const char* path) {
  struct stat found;
  if (lstat(path, &found) == 0 && S_ISDIR(found.st_mode)) return rmdir(path);
  return unlink(path);
}
