#include "kv/expiry_filter.h"

#include <rocksdb/utilities/transaction_db.h>

#include <map>
#include <string>

#include "base/bytes.h"
#include "base/test_support.h"
#include "kv/test_directory.h"

// Goal: compactions take what is expired of the indexes that have times, and nothing else.
namespace basalt::kv {
namespace {

using basalt::test::must;

class Lifetimes final : public LifetimeSource {
 public:
  bool has_lifetimes(std::uint32_t) override { return has_any; }
  std::optional<RowLifetime> lifetime_of(std::uint32_t index) override {
    ++asked;
    const auto found = by_index.find(index);
    return found == by_index.end() ? std::nullopt : std::optional(found->second);
  }

  bool has_any = true;
  int asked = 0;
  std::map<std::uint32_t, RowLifetime> by_index;
};

class ExpiryFilterTest : public testing::Test {
 protected:
  ExpiryFilterTest() {
    database_->expiry_clock().set_now([this] { return now_; });
    database_->set_lifetimes(&lifetimes_);
    lifetimes_.by_index[7] = {.seconds = 10};
  }
  ~ExpiryFilterTest() override { database_->set_lifetimes(nullptr); }

  static std::string key(std::uint32_t index, const std::string& rest) {
    std::string bytes;
    append_be32(bytes, index);
    return bytes + rest;
  }
  void put(std::uint32_t index, const std::string& rest, std::uint64_t time) {
    std::string value = "v";
    prepend_row_time(time, value);
    WriteBatch batch;
    batch.put(kDefaultFamily, key(index, rest), value);
    must(database_->write(batch, Durability::kBuffered));
  }
  bool has(std::uint32_t index, const std::string& rest, const ReadView& view = {}) {
    PinnedValue value;
    bool found = false;
    must(database_->get(kDefaultFamily, key(index, rest), view, value, found));
    return found;
  }
  void compact() {
    must(database_->flush());
    must(database_->compact(kDefaultFamily, {}));
  }

  test::TestDirectory directory_;
  std::uint64_t now_ = 1000;
  Lifetimes lifetimes_;
  std::unique_ptr<Database> database_ = test::open_database(directory_ / "db");
};

TEST_F(ExpiryFilterTest, OnlyWhatIsExpiredGoesAndOnlyOfIndexesWithTimes) {
  put(6, "a", 0);
  put(7, "a", 990);
  put(7, "b", 991);
  put(8, "a", 0);
  compact();
  EXPECT_TRUE(has(6, "a"));
  EXPECT_FALSE(has(7, "a"));
  EXPECT_TRUE(has(7, "b"));
  EXPECT_TRUE(has(8, "a"));
  EXPECT_EQ(database_->events().count(Event::kRowExpired), 1u);
}

TEST_F(ExpiryFilterTest, NothingIsAskedWhereNoIndexHasTimes) {
  lifetimes_.has_any = false;
  put(7, "a", 0);
  compact();
  EXPECT_TRUE(has(7, "a"));
  EXPECT_EQ(lifetimes_.asked, 0);
}

TEST_F(ExpiryFilterTest, AReaderHoldsBackWhatItMaySee) {
  put(7, "a", 995);
  const std::uint64_t reader = database_->expiry_clock().begin_reading();
  const std::unique_ptr<Snapshot> snapshot = database_->take_snapshot();
  now_ = 2000;
  compact();
  EXPECT_TRUE(has(7, "a"));
  EXPECT_TRUE(has(7, "a", {.snapshot = snapshot.get()}));
  database_->expiry_clock().end_reading(reader);
  compact();
  EXPECT_FALSE(has(7, "a"));
}

// The version that is expired goes, and what it has replaced does not come back.
TEST_F(ExpiryFilterTest, AnOlderVersionThatWouldLiveLongerDoesNotComeBack) {
  put(7, "a", 5000);
  compact();
  put(7, "a", 0);
  must(database_->flush());
  compact();
  EXPECT_FALSE(has(7, "a"));
}

TEST_F(ExpiryFilterTest, ADamagedValueStays) {
  WriteBatch batch;
  batch.put(kDefaultFamily, key(7, "a"), "short");
  must(database_->write(batch, Durability::kBuffered));
  compact();
  EXPECT_TRUE(has(7, "a"));
}

TEST_F(ExpiryFilterTest, FilesAreCompactedWeeklyAsLongAsThatIsAskedForAndNobodyHasSaidOtherwise) {
  const auto period = [this] {
    return database_->rocksdb()
        .GetOptions(database_->family_handle(kDefaultFamily))
        .periodic_compaction_seconds;
  };
  EXPECT_EQ(period(), 0u);
  must(database_->set_compacts_weekly(kDefaultFamily, true));
  EXPECT_EQ(period(), 604801u);
  must(database_->set_compacts_weekly(kDefaultFamily, true));
  EXPECT_EQ(period(), 604801u);
  must(database_->set_compacts_weekly(kDefaultFamily, false));
  EXPECT_EQ(period(), 0u);
  must(database_->set_family_options("default={periodic_compaction_seconds=3600}"));
  must(database_->set_compacts_weekly(kDefaultFamily, true));
  must(database_->set_compacts_weekly(kDefaultFamily, false));
  EXPECT_EQ(period(), 3600u);
}

}  // namespace
}  // namespace basalt::kv
