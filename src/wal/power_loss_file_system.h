#pragma once
#include <rocksdb/file_system.h>

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <map>
#include <memory>
#include <mutex>
#include <random>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "rdb/rocksdb_fwd.h"

// For tests: a file system that knows what of its files is on disk, and so what a machine finds
// that stops without warning.
//
// What a sync of a file or a directory has covered is there. Of what came later any part may be, in
// any order: pages of 4 KB of a file, some of them only in part, and its size; and in a directory
// each new, removed and renamed name, wholly or not. A page that lies inside the file and has not
// arrived is what it was before: zeros where nothing was. Now and then pages arrive by themselves.
// The files that the database works on are real ones; nothing is ever synced.
namespace basalt::wal::test {

class PowerLossFileSystem : public rdb::FileSystemWrapper {
 public:
  using Chance = std::mt19937;
  // Contents by path, relative to a directory.
  using Image = std::map<std::string, std::string>;
  static constexpr std::size_t kPageBytes = 4096;
  static constexpr std::size_t kSectorBytes = 512;

  struct File {
    std::string now;
    std::string disk;
    std::set<std::size_t> changed;  // pages of `now` that are perhaps not on disk
  };
  using FilePointer = std::shared_ptr<File>;

  explicit PowerLossFileSystem(std::uint32_t seed)
      : FileSystemWrapper(rdb::FileSystem::Default()), chance_(seed) {}
  const char* Name() const override { return "PowerLossFileSystem"; }

  // Called before a file or a directory is synced, in the thread that syncs.
  void set_hook(std::function<void(const std::string& path)> hook) {
    const std::lock_guard guard(mutex_);
    hook_ = std::move(hook);
  }
  int syncs() const {
    const std::lock_guard guard(mutex_);
    return syncs_;
  }

  // What is in the directory now is on disk.
  void adopt(const std::string& directory) {
    const std::lock_guard guard(mutex_);
    for (const auto& entry : std::filesystem::recursive_directory_iterator(directory)) {
      if (!entry.is_regular_file()) continue;
      std::ifstream in(entry.path(), std::ios::binary);
      auto file = std::make_shared<File>();
      file->disk.assign(std::istreambuf_iterator<char>(in), {});
      file->now = file->disk;
      names_[entry.path()] = names_on_disk_[entry.path()] = std::move(file);
    }
  }

  // Only the first bytes of the file are on disk after all.
  void forget_sync(const std::string& path, std::size_t kept_bytes) {
    const FilePointer file = find(path);
    const std::lock_guard guard(mutex_);
    file->disk.resize(kept_bytes);
    note_pages(*file, kept_bytes, file->now.size());
  }

  // What the directory may hold if the machine stops now. `arrives`: how likely it is that what was
  // not synced of a file is there; below 0: drawn for each file.
  Image draw(const std::string& directory, Chance& chance,
             const std::function<double(const std::string& path)>& arrives) const {
    const std::lock_guard guard(mutex_);
    std::map<std::string, FilePointer> names = names_on_disk_;
    const double names_arrive = some_share(chance);
    for (const NameChange& change : name_changes_) {
      if (happens(names_arrive, chance)) apply(change, names);
    }
    Image image;
    for (const auto& [path, file] : names) {
      if (!path.starts_with(directory + "/")) continue;
      double share = arrives ? arrives(path) : -1;
      if (share < 0) share = some_share(chance);
      image[path.substr(directory.size() + 1)] = draw_file(*file, share, chance);
    }
    return image;
  }
  Image draw(const std::string& directory, Chance& chance) const {
    return draw(directory, chance, nullptr);
  }

  static void write(const Image& image, const std::string& directory) {
    std::filesystem::create_directories(directory);
    for (const auto& [name, content] : image) {
      const std::filesystem::path path = std::filesystem::path(directory) / name;
      std::filesystem::create_directories(path.parent_path());
      std::ofstream(path, std::ios::binary) << content;
    }
  }

  // ---- what files do

  void change(File& file, std::uint64_t offset, const rdb::Slice& data) {
    const std::lock_guard guard(mutex_);
    if (file.now.size() < offset + data.size()) file.now.resize(offset + data.size(), '\0');
    file.now.replace(offset, data.size(), data.data(), data.size());
    note_pages(file, offset, offset + data.size());
  }
  void append(File& file, const rdb::Slice& data) { change(file, size_of(file), data); }
  void truncate(File& file, std::uint64_t size) {
    const std::lock_guard guard(mutex_);
    const std::uint64_t before = file.now.size();
    file.now.resize(size, '\0');
    note_pages(file, std::min(before, size), std::max(before, size));
  }
  void sync(File& file, const std::string& path) {
    call_hook(path);
    const std::lock_guard guard(mutex_);
    ++syncs_;
    file.disk.resize(file.now.size());
    for (const std::size_t page : file.changed) copy_page(file, page, file.disk);
    file.changed.clear();
    let_something_arrive();
  }
  void sync_names(const std::string& directory) {
    call_hook(directory);
    const std::lock_guard guard(mutex_);
    ++syncs_;
    std::erase_if(name_changes_, [&](const NameChange& change) {
      const bool is_covered = directory_of(change.path) == directory;
      if (is_covered) apply(change, names_on_disk_);
      return is_covered;
    });
  }

  rdb::IOStatus NewWritableFile(const std::string& path, const rdb::FileOptions& options,
                                std::unique_ptr<rdb::FSWritableFile>* file,
                                rdb::IODebugContext* debug) override;
  rdb::IOStatus NewRandomRWFile(const std::string& path, const rdb::FileOptions& options,
                                std::unique_ptr<rdb::FSRandomRWFile>* file,
                                rdb::IODebugContext* debug) override;
  rdb::IOStatus NewDirectory(const std::string& path, const rdb::IOOptions& options,
                             std::unique_ptr<rdb::FSDirectory>* directory,
                             rdb::IODebugContext* debug) override;
  rdb::IOStatus SyncFile(const std::string& path, const rdb::FileOptions&, const rdb::IOOptions&,
                         bool, rdb::IODebugContext*) override {
    if (const FilePointer file = find(path)) sync(*file, path);
    return {};
  }
  rdb::IOStatus Truncate(const std::string& path, std::size_t size, const rdb::IOOptions& options,
                         rdb::IODebugContext* debug) override {
    const rdb::IOStatus status = FileSystemWrapper::Truncate(path, size, options, debug);
    const FilePointer file = find(path);
    if (status.ok() && file) truncate(*file, size);
    return status;
  }
  rdb::IOStatus DeleteFile(const std::string& path, const rdb::IOOptions& options,
                           rdb::IODebugContext* debug) override {
    const rdb::IOStatus status = FileSystemWrapper::DeleteFile(path, options, debug);
    if (status.ok()) note_name({path, "", nullptr});
    return status;
  }
  rdb::IOStatus RenameFile(const std::string& from, const std::string& to,
                           const rdb::IOOptions& options, rdb::IODebugContext* debug) override {
    const FilePointer file = find(from);
    const rdb::IOStatus status = FileSystemWrapper::RenameFile(from, to, options, debug);
    if (status.ok() && file) note_name({to, from, file});
    return status;
  }
  rdb::IOStatus LinkFile(const std::string& from, const std::string& to,
                         const rdb::IOOptions& options, rdb::IODebugContext* debug) override {
    const FilePointer file = find(from);
    const rdb::IOStatus status = FileSystemWrapper::LinkFile(from, to, options, debug);
    if (status.ok() && file) note_name({to, "", file});
    return status;
  }

 private:
  // A name that is new, removed (no file), or has come from another one.
  struct NameChange {
    std::string path;
    std::string from;
    FilePointer file;
  };

  static std::string directory_of(const std::string& path) {
    return path.substr(0, path.rfind('/'));
  }
  static void apply(const NameChange& change, std::map<std::string, FilePointer>& names) {
    if (!change.from.empty()) names.erase(change.from);
    if (change.file) {
      names[change.path] = change.file;
    } else {
      names.erase(change.path);
    }
  }
  static bool happens(double share, Chance& chance) {
    return std::uniform_real_distribution<double>(0, 1)(chance) < share;
  }
  static double some_share(Chance& chance) {
    static constexpr double kShares[] = {0, 0, 0.2, 0.5, 0.9, 1, 1};
    return kShares[chance() % std::size(kShares)];
  }
  static std::string draw_file(const File& file, double share, Chance& chance) {
    std::string content = file.disk;
    if (file.now.size() != content.size() && happens(share, chance)) {
      const std::size_t least = std::min(file.now.size(), content.size());
      const std::size_t most = std::max(file.now.size(), content.size());
      content.resize(happens(0.5, chance) ? file.now.size() : least + chance() % (most - least + 1),
                     '\0');
    }
    for (const std::size_t page : file.changed) {
      if (!happens(share, chance)) continue;
      const bool is_torn = chance() % 16 == 0;
      const std::size_t end = std::min({(page + 1) * kPageBytes, file.now.size(), content.size()});
      for (std::size_t at = page * kPageBytes; at < end; at += kSectorBytes) {
        const std::size_t bytes = std::min(kSectorBytes, end - at);
        if (!is_torn || chance() % 2 == 0) content.replace(at, bytes, file.now, at, bytes);
      }
    }
    return content;
  }
  static void copy_page(const File& file, std::size_t page, std::string& to) {
    const std::size_t begin = page * kPageBytes;
    const std::size_t end = std::min({begin + kPageBytes, file.now.size(), to.size()});
    if (begin < end) to.replace(begin, end - begin, file.now, begin, end - begin);
  }
  static void note_pages(File& file, std::uint64_t begin, std::uint64_t end) {
    for (std::uint64_t page = begin / kPageBytes; page * kPageBytes < end; ++page) {
      file.changed.insert(page);
    }
  }

  // As the system writes when it finds the time: a page of some file.
  void let_something_arrive() {
    if (names_.empty() || chance_() % 4 != 0) return;
    File& file =
        *std::next(names_.begin(), static_cast<std::ptrdiff_t>(chance_() % names_.size()))->second;
    if (file.changed.empty()) return;
    const auto page = std::next(file.changed.begin(),
                                static_cast<std::ptrdiff_t>(chance_() % file.changed.size()));
    const std::size_t end = std::min((*page + 1) * kPageBytes, file.now.size());
    if (file.disk.size() < end) file.disk.resize(end, '\0');
    copy_page(file, *page, file.disk);
    file.changed.erase(page);
  }
  std::uint64_t size_of(const File& file) const {
    const std::lock_guard guard(mutex_);
    return file.now.size();
  }
  FilePointer find(const std::string& path) const {
    const std::lock_guard guard(mutex_);
    const auto found = names_.find(path);
    return found == names_.end() ? nullptr : found->second;
  }
  void note_name(NameChange change) {
    const std::lock_guard guard(mutex_);
    apply(change, names_);
    name_changes_.push_back(std::move(change));
  }
  void call_hook(const std::string& path) {
    std::function<void(const std::string&)> hook;
    {
      const std::lock_guard guard(mutex_);
      hook = hook_;
    }
    if (hook) hook(path);
  }

  mutable std::mutex mutex_;
  std::function<void(const std::string& path)> hook_;
  Chance chance_;
  std::map<std::string, FilePointer> names_;
  std::map<std::string, FilePointer> names_on_disk_;
  std::vector<NameChange> name_changes_;  // not on disk, oldest first
  int syncs_ = 0;
};

class PowerLossFile : public rdb::FSWritableFileOwnerWrapper {
 public:
  PowerLossFile(std::unique_ptr<rdb::FSWritableFile>&& target, PowerLossFileSystem& files,
                std::string path, PowerLossFileSystem::FilePointer file)
      : FSWritableFileOwnerWrapper(std::move(target)),
        files_(files),
        path_(std::move(path)),
        file_(std::move(file)) {}

  rdb::IOStatus Append(const rdb::Slice& data, const rdb::IOOptions& options,
                       rdb::IODebugContext* debug) override {
    files_.append(*file_, data);
    return FSWritableFileOwnerWrapper::Append(data, options, debug);
  }
  rdb::IOStatus Append(const rdb::Slice& data, const rdb::IOOptions& options,
                       const rdb::DataVerificationInfo&, rdb::IODebugContext* debug) override {
    return Append(data, options, debug);
  }
  rdb::IOStatus Truncate(std::uint64_t size, const rdb::IOOptions& options,
                         rdb::IODebugContext* debug) override {
    files_.truncate(*file_, size);
    return FSWritableFileOwnerWrapper::Truncate(size, options, debug);
  }
  rdb::IOStatus Sync(const rdb::IOOptions&, rdb::IODebugContext*) override {
    files_.sync(*file_, path_);
    return {};
  }
  rdb::IOStatus Fsync(const rdb::IOOptions&, rdb::IODebugContext*) override {
    files_.sync(*file_, path_);
    return {};
  }
  rdb::IOStatus RangeSync(std::uint64_t, std::uint64_t, const rdb::IOOptions&,
                          rdb::IODebugContext*) override {
    return {};
  }
  bool IsSyncThreadSafe() const override { return true; }

 private:
  PowerLossFileSystem& files_;
  const std::string path_;
  const PowerLossFileSystem::FilePointer file_;
};

class PowerLossRewrittenFile : public rdb::FSRandomRWFileOwnerWrapper {
 public:
  PowerLossRewrittenFile(std::unique_ptr<rdb::FSRandomRWFile>&& target, PowerLossFileSystem& files,
                         std::string path, PowerLossFileSystem::FilePointer file)
      : FSRandomRWFileOwnerWrapper(std::move(target)),
        files_(files),
        path_(std::move(path)),
        file_(std::move(file)) {}

  rdb::IOStatus Write(std::uint64_t offset, const rdb::Slice& data, const rdb::IOOptions& options,
                      rdb::IODebugContext* debug) override {
    files_.change(*file_, offset, data);
    return FSRandomRWFileOwnerWrapper::Write(offset, data, options, debug);
  }
  rdb::IOStatus Sync(const rdb::IOOptions&, rdb::IODebugContext*) override {
    files_.sync(*file_, path_);
    return {};
  }
  rdb::IOStatus Fsync(const rdb::IOOptions&, rdb::IODebugContext*) override {
    files_.sync(*file_, path_);
    return {};
  }

 private:
  PowerLossFileSystem& files_;
  const std::string path_;
  const PowerLossFileSystem::FilePointer file_;
};

class PowerLossDirectory : public rdb::FSDirectoryWrapper {
 public:
  PowerLossDirectory(std::unique_ptr<rdb::FSDirectory>&& target, PowerLossFileSystem& files,
                     std::string path)
      : FSDirectoryWrapper(std::move(target)), files_(files), path_(std::move(path)) {
    if (path_.ends_with('/')) path_.pop_back();
  }
  rdb::IOStatus Fsync(const rdb::IOOptions&, rdb::IODebugContext*) override {
    files_.sync_names(path_);
    return {};
  }
  rdb::IOStatus FsyncWithDirOptions(const rdb::IOOptions&, rdb::IODebugContext*,
                                    const rdb::DirFsyncOptions&) override {
    files_.sync_names(path_);
    return {};
  }

 private:
  PowerLossFileSystem& files_;
  std::string path_;
};

inline rdb::IOStatus PowerLossFileSystem::NewWritableFile(
    const std::string& path, const rdb::FileOptions& options,
    std::unique_ptr<rdb::FSWritableFile>* file, rdb::IODebugContext* debug) {
  const rdb::IOStatus status = FileSystemWrapper::NewWritableFile(path, options, file, debug);
  if (!status.ok()) return status;
  auto made = std::make_shared<File>();
  note_name({path, "", made});
  *file = std::make_unique<PowerLossFile>(std::move(*file), *this, path, std::move(made));
  return status;
}

inline rdb::IOStatus PowerLossFileSystem::NewRandomRWFile(
    const std::string& path, const rdb::FileOptions& options,
    std::unique_ptr<rdb::FSRandomRWFile>* file, rdb::IODebugContext* debug) {
  const rdb::IOStatus status = FileSystemWrapper::NewRandomRWFile(path, options, file, debug);
  const FilePointer found = find(path);
  if (!status.ok() || !found) return status;
  *file = std::make_unique<PowerLossRewrittenFile>(std::move(*file), *this, path, found);
  return status;
}

inline rdb::IOStatus PowerLossFileSystem::NewDirectory(const std::string& path,
                                                       const rdb::IOOptions& options,
                                                       std::unique_ptr<rdb::FSDirectory>* directory,
                                                       rdb::IODebugContext* debug) {
  const rdb::IOStatus status = FileSystemWrapper::NewDirectory(path, options, directory, debug);
  if (status.ok()) {
    *directory = std::make_unique<PowerLossDirectory>(std::move(*directory), *this, path);
  }
  return status;
}

}  // namespace basalt::wal::test
