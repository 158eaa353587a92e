#include "txn/spilled_run.h"

#include <rocksdb/comparator.h>
#include <rocksdb/iterator.h>
#include <rocksdb/options.h>
#include <rocksdb/sst_file_reader.h>
#include <rocksdb/utilities/transaction_db.h>
#include <rocksdb/utilities/types_util.h>

#include <algorithm>
#include <filesystem>
#include <system_error>
#include <utility>

#include "base/assert.h"
#include "rdb/slice.h"
#include "rdb/status_conversion.h"

namespace basalt::txn {
namespace {

// RocksDB shows a file's removals to its table iterators alone, whose keys have type and sequence
// number behind them.
class FileChanges final : public ChangeSource {
 public:
  FileChanges(rdb::SstFileReader& file, std::shared_ptr<const void> owner)
      : owner_(std::move(owner)), entries_(file.NewTableIterator()) {}
  ~FileChanges() override { status().ignore("whoever gives it up has seen all that mattered"); }

  bool is_valid() const override { return is_valid_; }
  std::string_view key() const override { return rdb::view_of(entry_.user_key); }
  std::string_view value() const override { return rdb::view_of(entries_->value()); }
  ChangeKind kind() const override {
    if (entry_.type == rdb::kEntryPut) return ChangeKind::kPut;
    if (entry_.type == rdb::kEntrySingleDelete) return ChangeKind::kRemoveSingle;
    BASALT_DEBUG_ASSERT(entry_.type == rdb::kEntryDelete);
    return ChangeKind::kRemove;
  }

  void seek(std::string_view key) override {
    entries_->Seek(internal_key(key, &rdb::GetInternalKeyForSeek));
    read_entry();
  }
  void seek_for_previous(std::string_view key) override {
    entries_->SeekForPrev(internal_key(key, &rdb::GetInternalKeyForSeekForPrev));
    read_entry();
  }
  void seek_to_first() override {
    entries_->SeekToFirst();
    read_entry();
  }
  void seek_to_last() override {
    entries_->SeekToLast();
    read_entry();
  }
  void next() override {
    BASALT_DEBUG_ASSERT(is_valid());
    entries_->Next();
    read_entry();
  }
  void previous() override {
    BASALT_DEBUG_ASSERT(is_valid());
    entries_->Prev();
    read_entry();
  }
  Status status() const override {
    return parsed_.is_ok() ? rdb::from_rocksdb(entries_->status()) : parsed_.clone();
  }

 private:
  using MakeKey = rdb::Status (*)(const rdb::Slice&, const rdb::Comparator*, std::string*);

  rdb::Slice internal_key(std::string_view key, MakeKey make) {
    const rdb::Status made = make(rdb::slice_of(key), rdb::BytewiseComparator(), &sought_);
    BASALT_ASSERT(made.ok());
    return sought_;
  }

  void read_entry() {
    is_valid_ = entries_->Valid();
    if (!is_valid_) return;
    parsed_ =
        rdb::from_rocksdb(rdb::ParseEntry(entries_->key(), rdb::BytewiseComparator(), &entry_));
    is_valid_ = parsed_.is_ok();
  }

  const std::shared_ptr<const void> owner_;
  const std::unique_ptr<rdb::Iterator> entries_;
  bool is_valid_ = false;
  rdb::ParsedEntryInfo entry_;
  Status parsed_;
  std::string sought_;
};

}  // namespace

std::unique_ptr<ChangeSource> changes_of_file(rdb::SstFileReader& file,
                                              std::shared_ptr<const void> owner) {
  return std::make_unique<FileChanges>(file, std::move(owner));
}

Status visit_sorted_file(
    kv::Database& database, kv::FamilyId family, const std::string& path,
    const std::function<Status(std::string_view key, std::string_view value)>& visit) {
  auto file = open_sorted_file(database, family, path);
  if (!file.is_ok()) return file.take_status();
  const std::unique_ptr<ChangeSource> entries = changes_of_file(*file.value());
  for (entries->seek_to_first(); entries->is_valid(); entries->next()) {
    if (entries->kind() != ChangeKind::kPut) {
      return Status(ErrorCode::kCorruption, "'" + path + "' removes a key");
    }
    BASALT_TRY(visit(entries->key(), entries->value()));
  }
  return entries->status();
}

Result<std::unique_ptr<rdb::SstFileReader>> open_sorted_file(kv::Database& database,
                                                             kv::FamilyId family,
                                                             const std::string& path) {
  const rdb::Options options =
      database.rocksdb().GetBaseDB()->GetOptions(database.family_handle(family));
  auto file = std::make_unique<rdb::SstFileReader>(options);
  BASALT_TRY(rdb::from_rocksdb(file->Open(path)));
  return file;
}

SpilledRun::SpilledRun(Content content) : content_(std::move(content)) {}

SpilledRun::~SpilledRun() = default;

Result<std::shared_ptr<const SpilledRun>> SpilledRun::open(kv::Database& database,
                                                           Content content) {
  BASALT_ASSERT(!content.files.empty());
  std::shared_ptr<SpilledRun> run(new SpilledRun(std::move(content)));
  for (const File& file : run->files()) {
    auto opened = open_sorted_file(database, file.family, file.path);
    if (!opened.is_ok()) return opened.take_status();
    run->readers_.push_back(std::move(opened.value()));
  }
  return std::shared_ptr<const SpilledRun>(std::move(run));
}

rdb::SstFileReader* SpilledRun::file_of(kv::FamilyId family) const {
  BASALT_DEBUG_ASSERT(readers_.size() == files().size());
  const auto found = std::ranges::find(files(), family, &File::family);
  if (found == files().end()) return nullptr;
  return readers_[static_cast<std::size_t>(found - files().begin())].get();
}

std::unique_ptr<ChangeSource> SpilledRun::changes(kv::FamilyId family) const {
  rdb::SstFileReader* const file = file_of(family);
  return file == nullptr ? nullptr : changes_of_file(*file, shared_from_this());
}

// What is put is found by the file's filter, which most keys pass without a read. That way does not
// tell what is removed from what is not there.
Status SpilledRun::find(kv::FamilyId family, std::string_view key, OwnVersion& version,
                        std::string& value) const {
  version = OwnVersion::kNone;
  if (!keys().may_have(key)) return Status::ok();
  rdb::SstFileReader* const file = file_of(family);
  if (file == nullptr) return Status::ok();
  const rdb::Status put = file->Get(rdb::ReadOptions(), rdb::slice_of(key), &value);
  if (put.ok()) version = OwnVersion::kPut;
  if (!put.IsNotFound()) return rdb::from_rocksdb(put);
  const auto& removals = content_.with_removals;
  if (std::ranges::find(removals, KeySpans::index_of(key)) == removals.end()) return Status::ok();
  const std::unique_ptr<ChangeSource> changes = changes_of_file(*file);
  changes->seek(key);
  if (!changes->is_valid()) return changes->status();
  if (changes->key() == key) version = OwnVersion::kRemoved;
  return Status::ok();
}

// What cannot be removed goes with its directory.
void SpilledRun::remove_files() const {
  for (const File& file : files()) {
    std::error_code ignored;
    std::filesystem::remove(file.path, ignored);
  }
}

}  // namespace basalt::txn
