#include <rocksdb/utilities/transaction.h>
#include <rocksdb/utilities/transaction_db.h>
#include <rocksdb/utilities/write_batch_with_index.h>

#include <algorithm>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "bulk/sst_writer.h"
#include "rdb/slice.h"
#include "rdb/status_conversion.h"
#include "txn/transaction.h"
#include "txn/transaction_manager.h"

// What a transaction does with rows in files: txn/loaded_files.h.
namespace basalt::txn {
namespace {

// The entries that a batch puts, in the order of their families and keys; of one key the last. They
// point into the batch.
class BatchEntries : public rdb::WriteBatch::Handler {
 public:
  struct Entry {
    kv::FamilyId family;
    std::string_view key;
    std::string_view value;
  };

  rdb::Status PutCF(std::uint32_t family, const rdb::Slice& key, const rdb::Slice& value) override {
    entries_.push_back({family, {key.data(), key.size()}, {value.data(), value.size()}});
    return rdb::Status::OK();
  }
  rdb::Status DeleteCF(std::uint32_t, const rdb::Slice&) override { return refuse(); }
  rdb::Status SingleDeleteCF(std::uint32_t, const rdb::Slice&) override { return refuse(); }
  rdb::Status MarkNoop(bool) override { return rdb::Status::OK(); }

  std::vector<Entry>& sorted() {
    const auto place = [](const Entry& entry) { return std::tie(entry.family, entry.key); };
    std::ranges::stable_sort(entries_, {}, place);
    const auto same = [&](const Entry& a, const Entry& b) { return place(a) == place(b); };
    // Unique keeps the first of equal ones.
    std::ranges::reverse(entries_);
    entries_.erase(std::unique(entries_.begin(), entries_.end(), same), entries_.end());
    std::ranges::reverse(entries_);
    return entries_;
  }

 private:
  static rdb::Status refuse() {
    return rdb::Status::NotSupported("a transaction with rows in files removes others");
  }

  std::vector<Entry> entries_;
};

}  // namespace

void Transaction::note_loaded_row(const std::shared_ptr<TableChanges>& table) {
  activate();
  mark_statement();
  changed_tables_.note(table, 1);
}

// Announced first, then asked, as inserts are: who locks a range from now on waits for the end of
// this transaction, and who has locked one is waited for.
Status Transaction::add_loaded(LoadedFiles loaded, const lock::WaitPolicy& policy) {
  BASALT_ASSERT(state_ == State::kIdle || state_ == State::kActive);
  BASALT_ASSERT(loaded.directory != nullptr && !loaded.keys.empty());
  {
    const BatchGuard guard(*this);
    BASALT_TRY(begin_writing());
  }
  for (const LoadedKeys& keys : loaded.keys) {
    inserts_->note_loaded(keys);
    changed_indexes_.note(KeySpans::index_of(keys.first));
  }
  if (!inserts_are_open_) {
    manager_.inserts().add(inserts_);
    inserts_are_open_ = true;
  }
  for (const LoadedKeys& keys : loaded.keys) {
    manager_.empty_ranges().note_inserts(keys.first, keys.last);
  }
  loaded_.push_back(std::move(loaded));
  const lock::LockManager& locks = manager_.locks();
  std::string key;
  for (const LoadedKeys& keys : loaded_.back().keys) {
    const std::string upper = keys.last + '\0';
    while (locks.find_blocked_insert(owner_, keys.first, upper, key)) {
      BASALT_TRY(await_insert(key, policy));
    }
  }
  return Status::ok();
}

// A snapshot of between the commit and the ingestion is to see all of the transaction, or nothing:
// what the batch has comes in files, too.
Status Transaction::move_batch_to_files() {
  kv::Database& database = manager_.database();
  BatchEntries batched;
  BASALT_TRY(rdb::from_rocksdb(batch().Iterate(&batched)));
  LoadedFiles& loaded = loaded_.front();
  const std::vector<BatchEntries::Entry>& entries = batched.sorted();
  for (auto first = entries.begin(); first != entries.end();) {
    const kv::FamilyId family = first->family;
    const auto end = std::find_if(first, entries.end(),
                                  [&](const auto& entry) { return entry.family != family; });
    const auto writer = database.new_sst_writer(
        family, loaded.directory->path() + "/batch" + std::to_string(family) + "-");
    for (auto entry = first; entry != end; ++entry) {
      BASALT_TRY(writer->put(entry->key, entry->value));
    }
    BASALT_TRY(writer->finish());
    loaded.files.push_back({family, writer->paths()});
    // Who looks for them finds them no longer in the batch.
    for (; first != end;) {
      const std::uint32_t index = KeySpans::index_of(first->key);
      const auto next = std::find_if(
          first, end, [&](const auto& entry) { return KeySpans::index_of(entry.key) != index; });
      inserts_->note_loaded(
          {std::string(first->key), std::string(first->value), std::string(std::prev(next)->key)});
      first = next;
    }
  }
  scans_.leave_own_changes();
  drop_batch();
  has_writes_ = false;
  return begin_writing();
}

Status Transaction::queue_loaded(bool is_for_copies) {
  if (!spilled_.is_empty()) {
    BASALT_TRY(take_spilled());
  } else if (!loaded_.empty()) {
    BASALT_TRY(move_batch_to_files());
  }
  for (const LoadedFiles& loaded : loaded_) {
    if (is_for_copies) BASALT_TRY(loaded.directory->belong_to_copies());
    BASALT_TRY(loaded.directory->sync());
    const std::string key = loaded_files_key(loaded.directory->number());
    const std::string value = pack_loaded_files(loaded);
    BASALT_TRY(rdb::from_rocksdb(
        writes_->PutUntracked(manager_.database().family_handle(kv::kSystemFamily),
                              rdb::slice_of(key), rdb::slice_of(value))));
  }
  return Status::ok();
}

Status Transaction::prepare_ingestion() {
  if (loaded_.empty() || !ingestion_.is_empty()) return Status::ok();
  Result<kv::PreparedIngestion> ready = txn::prepare_ingestion(manager_.database(), loaded_);
  if (ready.is_ok()) ingestion_ = std::move(ready.value());
  return ready.take_status();
}

Status Transaction::write_and_publish() {
  BASALT_DEBUG_ASSERT(!loaded_.empty());
  kv::Database& database = manager_.database();
  const bool is_repeated = is_commit_written_;
  // Else no start could take the files in that the commit tells of.
  if (std::ranges::any_of(loaded_, [](const LoadedFiles& loaded) { return loaded.keys.empty(); })) {
    return Status(ErrorCode::kCorruption, "its rows are in files that cannot be read");
  }
  const StepScope scope(progress_, TransactionStep::kIngesting);
  if (!is_repeated) BASALT_TRY(prepare_ingestion());
  const MutexLock guard(database.publication_mutex());
  if (!is_repeated) {
    Status written = write_commit();
    // It may stay prepared for long.
    if (!written.is_ok()) ingestion_ = {};
    BASALT_TRY(std::move(written));
  }
  is_commit_written_ = true;
  Status status = is_repeated ? publish_again(database, loaded_)
                              : publish_loaded_files(database, loaded_, std::move(ingestion_));
  // It cannot be rolled back any more.
  if (!status.is_ok()) state_ = State::kOrdered;
  return status;
}

Status Transaction::cancel_loaded() {
  BASALT_ASSERT(state_ == State::kOrdered && is_commit_written_ && !loaded_.empty());
  // Synced: the tables go, and no later start may take the files in.
  BASALT_TRY(forget_loaded_files(manager_.database(), loaded_, kv::Durability::kSynced));
  {
    const BatchGuard guard(*this);
    drop_batch();
  }
  finish();
  return Status::ok();
}

}  // namespace basalt::txn
