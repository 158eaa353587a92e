#pragma once
#include <memory>

#include "base/test_support.h"
#include "catalog/catalog.h"
#include "kv/test_directory.h"
#include "lock/lock_manager.h"
#include "txn/transaction_manager.h"

namespace basalt::table::test {

// For fixtures to derive from: a database without tables, with its dictionary and transactions.
class NewDatabase {
 protected:
  NewDatabase() {
    basalt::test::must(catalog_.load());
    basalt::test::must(transactions_.recover());
  }

  kv::test::TestDirectory directory_;
  const std::unique_ptr<kv::Database> database_ = kv::test::open_database(directory_ / "db");
  catalog::Catalog catalog_{*database_};
  lock::LockManager locks_{lock::LockManager::Options{}};
  txn::TransactionManager transactions_{*database_, locks_};
};

}  // namespace basalt::table::test
