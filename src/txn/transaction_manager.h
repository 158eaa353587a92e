#pragma once
#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "base/status.h"
#include "kv/database.h"
#include "lock/lock_manager.h"
#include "txn/change_tracker.h"
#include "txn/insert_registry.h"
#include "txn/transaction.h"

// All transactions of one database: makes them, and decides prepared ones by name.
//
// Threads     Safe from any thread.
namespace basalt::txn {

class TransactionManager {
 public:
  TransactionManager(kv::Database& database, lock::LockManager& locks)
      : database_(database), locks_(locks) {}
  ~TransactionManager();
  TransactionManager(const TransactionManager&) = delete;
  TransactionManager& operator=(const TransactionManager&) = delete;

  kv::Database& database() { return database_; }
  lock::LockManager& locks() { return locks_; }
  ChangeTracker& changes() { return *changes_; }
  InsertRegistry& inserts() { return *inserts_; }

  std::unique_ptr<Transaction> make_transaction(void* user);

  // Brings back the transactions that were prepared when the database was closed or crashed,
  // with the locks of the rows they changed. To be called once, before any other transaction.
  Status recover();
  // Takes a prepared transaction out of its session, to be decided by name later.
  void detach_prepared(std::unique_ptr<Transaction> transaction);
  // The names of the prepared transactions that no session holds.
  std::vector<std::string> prepared_names() const;
  // `found` is false if there is no such prepared transaction.
  Status commit_prepared(const std::string& name, bool& found);
  Status rollback_prepared(const std::string& name, bool& found);

 private:
  std::unique_ptr<Transaction> take_prepared(const std::string& name);

  kv::Database& database_;
  lock::LockManager& locks_;
  const std::unique_ptr<ChangeTracker> changes_ = std::make_unique<ChangeTracker>();
  const std::unique_ptr<InsertRegistry> inserts_ = std::make_unique<InsertRegistry>();
  std::atomic<std::uint64_t> next_id_{1};
  mutable std::mutex mutex_;
  std::map<std::string, std::unique_ptr<Transaction>> prepared_;
};

}  // namespace basalt::txn
