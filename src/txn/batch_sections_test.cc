#include "txn/batch_sections.h"

#include <rocksdb/write_batch.h>

#include <algorithm>
#include <random>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "rdb/status_conversion.h"
#include "txn/test_support.h"

// Goal: the entries of a batch come in the order of their keys, those of one key as they were
// written, whatever keys have in common. Method: a stable sort of the same entries.
namespace basalt::txn {
namespace {

using basalt::test::must;

struct Written {
  std::string key;
  std::string value;
};

class BatchSectionsTest : public testing::Test {
 protected:
  void put(const std::string& key) {
    written_.push_back({key, std::to_string(written_.size())});
    must(rdb::from_rocksdb(
        batch_.Put(store_.database().family_handle(test::kFamily), key, written_.back().value)));
  }
  void expect_order() {
    auto sections = must(BatchSections::of(store_.database(), batch_, {}));
    std::vector<BatchEntry> sorted = sections.take().front();
    sort_entries(sorted);
    std::ranges::stable_sort(written_, {}, &Written::key);
    ASSERT_EQ(sorted.size(), written_.size());
    for (std::size_t i = 0; i < sorted.size(); ++i) {
      ASSERT_EQ(sorted[i].key(), written_[i].key) << i;
      ASSERT_EQ(sorted[i].value(), written_[i].value) << i;
    }
  }

  std::mt19937 random_{1};
  test::Store store_;
  rdb::WriteBatch batch_;
  std::vector<Written> written_;
};

TEST_F(BatchSectionsTest, KeysOfRowsAndOfIndexesAreTakenApart) {
  for (std::uint32_t i = 0; i < 5000; ++i) {
    std::string row;
    append_be32(row, 300);
    append_be64(row, i);
    put(row);
    for (const std::uint32_t version : {0u, 1u}) {
      std::string entry;
      append_be32(entry, 301);
      append_be32(entry, version);
      append_be64(entry, i % 1000);
      put(entry);
    }
  }
  expect_order();
}

TEST_F(BatchSectionsTest, KeysThatEndWhereOthersGoOnWithZerosComeBeforeThem) {
  for (int i = 0; i < 20'000; ++i) {
    std::string key(random_() % 20, '\0');
    for (char& byte : key) byte = static_cast<char>(random_() % 4 == 0 ? random_() % 3 : 0);
    put(key);
  }
  expect_order();
}

TEST_F(BatchSectionsTest, LongKeysDifferInTheirLastBytesOnly) {
  for (int i = 0; i < 2000; ++i) {
    std::string key(500, 'x');
    append_be32(key, random_() % 1500);
    put(key);
  }
  expect_order();
}

TEST_F(BatchSectionsTest, BytesAboveTheMiddleComeLast) {
  for (int i = 0; i < 3000; ++i) {
    std::string key;
    append_be64(key, (std::uint64_t{random_()} << 32) | random_());
    put(key);
  }
  expect_order();
}

}  // namespace
}  // namespace basalt::txn
