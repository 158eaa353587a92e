#pragma once
#include <rocksdb/utilities/transaction_db.h>
#include <rocksdb/write_batch.h>

#include <string_view>

#include "base/test_support.h"
#include "kv/database.h"
#include "kv/rocksdb_reads.h"
#include "rdb/status_conversion.h"

// For tests that write entries as transactions do, without one.
namespace basalt::kv::test {

class Batch {
 public:
  explicit Batch(Database& database, FamilyId family = kDefaultFamily)
      : database_(database), family_(database.family_handle(family)) {}

  void put(std::string_view key, std::string_view value) {
    basalt::test::must(
        rdb::from_rocksdb(batch_.Put(family_, rdb::slice_of(key), rdb::slice_of(value))));
  }
  void remove(std::string_view key) {
    basalt::test::must(rdb::from_rocksdb(batch_.Delete(family_, rdb::slice_of(key))));
  }
  // Removes a key that was put once: a flush that finds both drops both.
  void remove_single(std::string_view key) {
    basalt::test::must(rdb::from_rocksdb(batch_.SingleDelete(family_, rdb::slice_of(key))));
  }
  void write() {
    basalt::test::must(rdb::from_rocksdb(database_.rocksdb().GetBaseDB()->Write({}, &batch_)));
  }

 private:
  Database& database_;
  rdb::ColumnFamilyHandle* const family_;
  rdb::WriteBatch batch_;
};

}  // namespace basalt::kv::test
