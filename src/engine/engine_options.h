#pragma once
#include <cstdint>
#include <functional>

#include "kv/options.h"
#include "lock/lock_manager.h"
#include "txn/transaction_manager.h"

namespace basalt::engine {

// How to start an engine: what its parts need to know.
struct EngineOptions {
  kv::DatabaseOptions database;
  lock::LockManager::Options locks;
  // With more in files a transaction that is found prepared locks ranges.
  std::uint64_t most_row_locks = txn::TransactionManager::kMostKeys;
  // Whether compactions take rows that are expired.
  bool takes_expired_rows = true;
  // As kv::ExpiryClock::set_is_replica(); null: it is none.
  std::function<bool()> is_replica;
};

}  // namespace basalt::engine
