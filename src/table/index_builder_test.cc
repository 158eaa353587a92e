#include "table/index_builder.h"

#include <filesystem>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "table/test_database.h"
#include "table/test_support.h"

// Goal: an index that is built has exactly the entries that rows give it when they are written, in
// tables with every kind of primary key. Method: the same rows in a table that has had the index
// from its beginning; and the checker.
namespace basalt::table {
namespace {

using basalt::test::fails_with;
using basalt::test::must;
using basalt::test::succeeds;
using test::Keys;
using test::Row;

constexpr std::size_t kMemory = std::size_t{1} << 20;
constexpr std::size_t kThreads = 3;
// Enough for several threads to read them, too few for their entries to be shared as well.
constexpr int kSharedRows = 20'000;

// Notes which threads ask.
class CountsThreads final : public Interruption {
 public:
  bool is_raised() const override {
    const std::lock_guard guard(mutex_);
    threads_.insert(std::this_thread::get_id());
    return false;
  }
  std::size_t count() const { return threads_.size(); }

 private:
  mutable std::mutex mutex_;
  mutable std::set<std::thread::id> threads_;
};

class IndexBuilderTest : public testing::TestWithParam<Keys>, protected test::NewDatabase {
 protected:
  IndexBuilderTest() { create(); }

  void create() {
    catalog::TableDefinition definition = test::make_definition(GetParam());
    definition.indexes.erase(definition.indexes.begin() + test::kByAmount);
    definition.indexes.erase(definition.indexes.begin() + test::kByCity);
    table_ = open(must(catalog_.create(std::move(definition))));
  }
  void create_anew() {
    must(catalog_.drop("test/orders"));
    create();
  }
  std::unique_ptr<Table> open(const catalog::TablePointer& definition) {
    return std::make_unique<Table>(definition, test::make_layout(),
                                   std::make_shared<TableState>(catalog_, definition->id));
  }
  void insert(const Table& table, int count) {
    const auto transaction = transactions_.make_transaction(nullptr);
    RowWriter writer(table);
    for (int i = 1; i <= count; ++i) {
      const std::string number = std::to_string(i);
      const Row row{i,
                    i % 3 != 0 ? std::optional("e" + number) : std::nullopt,
                    "City" + std::to_string(i * 7919 % 1000),
                    i % 5 != 0 ? std::optional(i * 7919 % 100 - 50) : std::nullopt,
                    static_cast<std::uint32_t>(i),
                    std::string("n")};
      must(writer.insert(*transaction, test::Record(row).data()));
    }
    must(transaction->commit(kv::Durability::kBuffered));
  }
  // The entries of an index without its id, in order.
  std::vector<std::pair<std::string, std::string>> entries(const Table& table,
                                                           std::size_t index_number) {
    std::vector<std::pair<std::string, std::string>> entries;
    kv::Iterator iterator =
        database_->new_iterator(kv::kDefaultFamily, {}, table.whole_range(index_number));
    for (iterator.seek_to_first(); iterator.is_valid(); iterator.next()) {
      entries.emplace_back(iterator.key().substr(4), iterator.value());
    }
    return entries;
  }
  // The table with all its indexes, of which two are new.
  std::unique_ptr<Table> reserve() {
    return open(must(catalog_.reserve_indexes(test::make_definition(GetParam()))));
  }
  Result<std::uint64_t> build(const Table& altered, const Interruption& interruption) {
    constexpr std::size_t kNew[] = {test::kByCity, test::kByAmount};
    const auto snapshot = database_->take_snapshot();
    return IndexBuilder(*database_, {altered}, kNew, *snapshot, interruption, {kMemory, kThreads})
        .run();
  }
  bool is_sound(const Table& table) {
    const std::vector<std::string> problems = test::check(*database_, table);
    for (const std::string& problem : problems) ADD_FAILURE() << problem;
    return problems.empty();
  }

  std::unique_ptr<Table> table_;
  const test::NeverInterrupted never_;
};

INSTANTIATE_TEST_SUITE_P(AllKeys, IndexBuilderTest, testing::ValuesIn(test::kAllKeys),
                         test::name_of);

TEST_P(IndexBuilderTest, ABuiltIndexHasTheEntriesThatItsRowsWouldHaveWritten) {
  for (const int count : {1, 1000, 70'000}) {
    create_anew();
    insert(*table_, count);
    // Files say where rows can be divided among threads.
    must(database_->flush());
    const std::unique_ptr<Table> altered = reserve();
    const Result<std::uint64_t> rows = build(*altered, never_);
    ASSERT_TRUE(succeeds(rows));
    EXPECT_EQ(rows.value(), static_cast<std::uint64_t>(count));
    EXPECT_TRUE(is_sound(*altered));
    catalog::TableDefinition twin = test::make_definition(GetParam());
    twin.name = "test/twin" + std::to_string(count);
    const std::unique_ptr<Table> written = open(must(catalog_.create(std::move(twin))));
    insert(*written, count);
    const kv::IndexFiles files =
        must(database_->index_files(kv::kDefaultFamily, altered->index(test::kByCity).id));
    EXPECT_EQ(files.properties.size() > 1, count > 1000) << "each thread writes files of its own";
    for (const std::size_t i : {test::kByCity, test::kByAmount}) {
      EXPECT_TRUE(entries(*altered, i) == entries(*written, i)) << count << ", " << i;
    }
    EXPECT_TRUE(std::filesystem::is_empty(directory_ / "db/build"));
  }
}

TEST_P(IndexBuilderTest, AnEmptyTableGivesAnEmptyIndex) {
  const std::unique_ptr<Table> altered = reserve();
  EXPECT_EQ(must(build(*altered, never_)), 0u);
  EXPECT_TRUE(entries(*altered, test::kByCity).empty());
}

// The table lacks its unique indexes, on email and on code, instead of the others.
class UniqueIndexBuilderTest : public IndexBuilderTest {
 protected:
  UniqueIndexBuilderTest() {
    must(catalog_.drop("test/orders"));
    catalog::TableDefinition definition = test::make_definition(GetParam());
    definition.indexes.erase(definition.indexes.begin() + test::kByCode);
    definition.indexes.erase(definition.indexes.begin() + test::kByEmail);
    table_ = open(must(catalog_.create(std::move(definition))));
  }
  void insert_row(std::optional<std::string> email, std::uint32_t code) {
    const auto transaction = transactions_.make_transaction(nullptr);
    const Row row{1'000'000 + rows_++, std::move(email), "City", 1, code, std::string("n")};
    must(RowWriter(*table_).insert(*transaction, test::Record(row).data()));
    must(transaction->commit(kv::Durability::kBuffered));
  }
  Result<std::uint64_t> build_unique(std::optional<DuplicateRow>& duplicate) {
    altered_ = reserve();
    constexpr std::size_t kNew[] = {test::kByEmail, test::kByCode};
    const auto snapshot = database_->take_snapshot();
    IndexBuilder builder(*database_, {*altered_}, kNew, *snapshot, never_, {kMemory, kThreads});
    Result<std::uint64_t> rows = builder.run();
    duplicate = builder.duplicate();
    return rows;
  }

  std::unique_ptr<Table> altered_;
  int rows_ = 0;
};

INSTANTIATE_TEST_SUITE_P(AllKeys, UniqueIndexBuilderTest, testing::ValuesIn(test::kAllKeys),
                         test::name_of);

TEST_P(UniqueIndexBuilderTest, RowsWithDifferentValuesOrNullGiveAUniqueIndex) {
  constexpr int kRows = 70'000;
  insert(*table_, kRows);  // every third email is NULL
  must(database_->flush());
  std::optional<DuplicateRow> duplicate;
  ASSERT_TRUE(succeeds(build_unique(duplicate)));
  EXPECT_TRUE(is_sound(*altered_));
  EXPECT_EQ(entries(*altered_, test::kByEmail).size(), std::size_t{kRows});
}

TEST_P(UniqueIndexBuilderTest, ADuplicateIsFoundAmongFewAndManyRowsAndNamed) {
  insert_row("Twin", 1'000'001);
  insert_row("tWIN", 1'000'002);
  for (const int more : {0, kSharedRows}) {
    if (more != 0) insert(*table_, more);
    must(database_->flush());
    std::optional<DuplicateRow> duplicate;
    EXPECT_TRUE(fails_with(ErrorCode::kDuplicateKey, build_unique(duplicate)));
    ASSERT_TRUE(duplicate.has_value());
    EXPECT_EQ(duplicate->index_number, test::kByEmail);
    test::Record record;
    const codec::ReadPlan plan = table_->primary().plan(codec::ColumnSet(test::kColumns, true));
    must(table_->primary().read(duplicate->primary_key, duplicate->row, plan, record.data()));
    EXPECT_TRUE(record.row().email == "Twin" || record.row().email == "tWIN");
    EXPECT_TRUE(std::filesystem::is_empty(directory_ / "db/build"));
    catalog_.abandon_indexes(catalog_.find_by_index(altered_->index(test::kByCode).id));
  }
}

TEST_P(IndexBuilderTest, ABuiltIndexIsKeptUpByLaterWrites) {
  insert(*table_, 100);
  const std::unique_ptr<Table> altered = reserve();
  must(build(*altered, never_));
  must(catalog_.publish_altered(catalog_.find_by_index(altered->index(test::kByCity).id)));
  const auto transaction = transactions_.make_transaction(nullptr);
  RowWriter writer(*altered);
  kv::Iterator row = database_->new_iterator(kv::kDefaultFamily, {}, altered->whole_range(0));
  row.seek_to_first();
  const codec::ReadPlan plan = altered->primary().plan(codec::ColumnSet(test::kColumns, true));
  test::Record old_record;
  must(altered->primary().read(row.key(), row.value(), plan, old_record.data()));
  Row changed = old_record.row();
  changed.amount = 1000;
  must(writer.update(*transaction, old_record.data(), test::Record(changed).data(), row.key()));
  must(transaction->commit(kv::Durability::kBuffered));
  EXPECT_TRUE(is_sound(*altered));
  must(database_->flush());
  must(database_->compact(kv::kDefaultFamily, {}));
  EXPECT_TRUE(is_sound(*altered));
}

TEST_P(IndexBuilderTest, ThreadsShareTheRowsOfFiles) {
  insert(*table_, kSharedRows);
  must(database_->flush());
  const CountsThreads counts;
  must(build(*reserve(), counts));
  EXPECT_GE(counts.count(), 2u);
}

TEST_P(IndexBuilderTest, AnInterruptedBuildLeavesNoFiles) {
  for (const int count : {3000, kSharedRows}) {
    create_anew();
    insert(*table_, count);
    must(database_->flush());
    const std::unique_ptr<Table> altered = reserve();
    EXPECT_TRUE(fails_with(ErrorCode::kInterrupted, build(*altered, test::AlwaysInterrupted())));
    EXPECT_TRUE(entries(*altered, test::kByCity).empty());
    EXPECT_TRUE(std::filesystem::is_empty(directory_ / "db/build"));
  }
}

TEST_P(IndexBuilderTest, ARowThatDoesNotDecodeIsCorruptionWhicheverThreadMeetsIt) {
  for (const int count : {10, kSharedRows}) {
    for (const char* const place : {"", "\x90", "\xFF\xFF"}) {
      create_anew();
      insert(*table_, count);
      kv::WriteBatch damage;
      damage.put(kv::kDefaultFamily, table_->whole_range(0).lower + place, "no row");
      must(database_->write(damage, kv::Durability::kBuffered));
      must(database_->flush());
      const std::unique_ptr<Table> altered = reserve();
      EXPECT_TRUE(fails_with(ErrorCode::kCorruption, build(*altered, never_)));
      EXPECT_TRUE(std::filesystem::is_empty(directory_ / "db/build"));
    }
  }
}

}  // namespace
}  // namespace basalt::table
