#pragma once
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "base/test_support.h"
#include "kv/test_directory.h"
#include "lock/lock_manager.h"
#include "txn/row_change.h"
#include "txn/transaction.h"
#include "txn/transaction_manager.h"

// What the tests of transactions share: a database with its transactions, and short words for
// what sessions do.
namespace basalt::txn::test {

inline constexpr kv::FamilyId kFamily = kv::kDefaultFamily;
inline constexpr lock::WaitPolicy kNoWait{.may_wait = false};
inline constexpr auto kRc = IsolationLevel::kReadCommitted;
inline constexpr auto kRr = IsolationLevel::kRepeatableRead;

// Why a decision cannot be written, where a test does not let it fail.
inline Status failed_write() { return Status(ErrorCode::kIoError, "a write failed"); }

// A database and its transactions, which can be closed and opened again.
class Store {
 public:
  Store() { open(); }
  ~Store() { close(); }

  // All transactions must be gone.
  void close() {
    transactions_.reset();
    locks_.reset();
    database_.reset();
  }
  void open() {
    database_ = kv::test::open_database(path_);
    locks_ = std::make_unique<lock::LockManager>(lock::LockManager::Options{});
    transactions_ = std::make_unique<TransactionManager>(*database_, *locks_);
    basalt::test::must(transactions_->recover(most_recovered_keys_));
  }
  void reopen() {
    close();
    open();
  }
  // Goes on with what a crash at this moment leaves behind.
  void crash() {
    const std::string image = path_ + "x";
    kv::test::copy_crash_image(path_, image);
    go_on_in(image);
  }
  // Goes on with the database there.
  void go_on_in(const std::string& path) {
    close();
    path_ = path;
    open();
  }

  // As a resume of a database that is read-only for no cause but this.
  void complete_decided() {
    const std::uint64_t mark = database_->health().mark();
    basalt::test::must(transactions_->write_decided([&] {
      BASALT_ASSERT(database_->health().clear(mark));
      return Status::ok();
    }));
  }

  // Ends what is prepared and no session's; false if there is nothing of that name.
  bool decide(bool commits, const std::string& name = "x") {
    bool found = false;
    basalt::test::must(commits ? transactions_->commit_prepared(name, found)
                               : transactions_->rollback_prepared(name, found));
    return found;
  }
  // From the next start on.
  void set_most_recovered_keys(std::uint64_t count) { most_recovered_keys_ = count; }

  kv::Database& database() { return *database_; }
  TransactionManager& transactions() { return *transactions_; }
  lock::LockManager& locks() { return *locks_; }
  std::unique_ptr<Transaction> begin() { return transactions_->make_transaction(nullptr); }

 private:
  kv::test::TestDirectory directory_;
  std::string path_ = directory_ / "db";
  std::unique_ptr<kv::Database> database_;
  std::unique_ptr<lock::LockManager> locks_;
  std::unique_ptr<TransactionManager> transactions_;
  std::uint64_t most_recovered_keys_ = TransactionManager::kMostKeys;
};

// What a consistent read in the current statement sees, or "(none)".
inline std::string read(Transaction& transaction, std::string_view key) {
  kv::PinnedValue value;
  bool found = false;
  basalt::test::must(transaction.get(kFamily, key, transaction.consistent_view(), value, found));
  return found ? std::string(value.view()) : "(none)";
}

// What a locking read sees: the newest committed value, and own changes.
inline std::string read_newest(Transaction& transaction, std::string_view key) {
  kv::PinnedValue value;
  bool found = false;
  basalt::test::must(transaction.get(kFamily, key, {}, value, found));
  return found ? std::string(value.view()) : "(none)";
}

// Puts a key that the transaction has locked, and that is there already unless `new_keys` has it.
inline Status put_locked(Transaction& transaction, std::string_view key, std::string_view value,
                         kv::FamilyId family = kFamily,
                         std::span<const std::string_view> new_keys = {}) {
  return change_row(transaction, {.new_keys = new_keys, .policy = kNoWait},
                    [&](RowChange& change) { return change.put(family, key, value); });
}

inline void put(Transaction& transaction, std::string_view key, std::string_view value) {
  basalt::test::must(transaction.lock(key, lock::LockMode::kExclusive, kNoWait));
  basalt::test::must(put_locked(transaction, key, value));
}

// The same, and readers with locks that are older are told.
inline void put_noted(Transaction& transaction, std::string_view key, std::string_view value) {
  basalt::test::must(transaction.lock(key, lock::LockMode::kExclusive, kNoWait));
  basalt::test::must(change_row(transaction, {.policy = kNoWait}, [&](RowChange& change) {
    change.note_row(key);
    return change.put(kFamily, key, value);
  }));
}

// Commits versions of a row until they make a large memtable.
inline constexpr std::uint64_t kLargeMemtable = std::uint64_t{1} << 20;
inline std::uint64_t memtable_bytes(Store& store) {
  return std::stoull(store.database().property(kFamily, "rocksdb.cur-size-all-mem-tables"));
}
inline void put_large_row(Store& store, std::string_view key) {
  while (memtable_bytes(store) <= kLargeMemtable) {
    const auto transaction = store.begin();
    transaction->begin_statement(kRc);
    put(*transaction, key, std::string(100'000, 'x'));
    basalt::test::must(transaction->commit(kv::Durability::kBuffered));
  }
}

inline void remove(Transaction& transaction, std::string_view key) {
  basalt::test::must(transaction.lock(key, lock::LockMode::kExclusive, kNoWait));
  basalt::test::must(change_row(transaction, {.policy = kNoWait},
                                [&](RowChange& change) { return change.remove(kFamily, key); }));
}

inline void remove_single(Transaction& transaction, std::string_view key) {
  basalt::test::must(transaction.lock(key, lock::LockMode::kExclusive, kNoWait));
  basalt::test::must(change_row(transaction, {.policy = kNoWait}, [&](RowChange& change) {
    return change.remove_single(kFamily, key);
  }));
}

inline void commit(Transaction& transaction) {
  transaction.end_statement();
  basalt::test::must(transaction.commit(kv::Durability::kBuffered));
}

using Map = std::map<std::string, std::string>;

// Everything a transaction sees, by iterating in one direction.
inline Map scan(Transaction& transaction, bool forward = true) {
  Map map;
  kv::Iterator iterator = transaction.new_iterator(kFamily, transaction.consistent_view(), {});
  if (forward) {
    for (iterator.seek_to_first(); iterator.is_valid(); iterator.next()) {
      map.emplace(iterator.key(), iterator.value());
    }
  } else {
    for (iterator.seek_to_last(); iterator.is_valid(); iterator.previous()) {
      map.emplace(iterator.key(), iterator.value());
    }
  }
  basalt::test::must(iterator.status());
  return map;
}

}  // namespace basalt::txn::test
