#include "table/checker.h"

#include <string>
#include <vector>

#include "table/test_support.h"

// Goal: the checker finds every kind of damage in every index, and nothing in a sound table.
// Method: damage is planted with writes past the row writer.
namespace basalt::table {
namespace {

using basalt::test::fails_with;
using basalt::test::must;
using test::Keys;
using test::Row;
using Problems = std::vector<std::string>;

class CheckerTest : public testing::TestWithParam<Keys> {
 protected:
  CheckerTest() {
    for (int i = 1; i <= 20; ++i) must(insert(i));
    session_.commit();
    must(store_.database().flush());
  }

  Status insert(int i) {
    std::optional<std::string> email;
    if (i % 3 != 0) email = "e" + std::to_string(i);
    return session_.insert({i, email, "City" + std::to_string(i % 4), i % 5,
                            static_cast<std::uint32_t>(i), std::string("n")});
  }
  // The seventh entry of an index.
  std::pair<std::string, std::string> some_entry(std::size_t index_number) {
    const Table& table = store_.table();
    kv::Iterator iterator = store_.database().new_iterator(table.family(index_number), {},
                                                           table.whole_range(index_number));
    iterator.seek_to_first();
    for (int i = 0; i < 6; ++i) iterator.next();
    return {std::string(iterator.key()), std::string(iterator.value())};
  }
  void plant(std::string_view key, std::string_view value) {
    kv::WriteBatch batch;
    batch.put(store_.family_of(key), key, value);
    must(store_.database().write(batch, kv::Durability::kBuffered));
  }
  void remove(std::string_view key) {
    kv::WriteBatch batch;
    batch.remove(store_.family_of(key), key);
    must(store_.database().write(batch, kv::Durability::kBuffered));
  }
  std::string name(std::size_t index_number) const {
    return "index '" + store_.table().index(index_number).name + "'";
  }

  test::Store store_{GetParam()};
  test::Session session_{store_};
};

INSTANTIATE_TEST_SUITE_P(AllKeys, CheckerTest, testing::ValuesIn(test::kAllKeys), test::name_of);

TEST_P(CheckerTest, ASoundTableHasNoProblems) { EXPECT_EQ(store_.check(), Problems()); }

TEST_P(CheckerTest, UncommittedChangesAreNoDamage) {
  must(insert(21));
  EXPECT_EQ(store_.check(), Problems());
}

TEST_P(CheckerTest, AMissingEntryIsFound) {
  for (std::size_t i = 1; i < test::kIndexes; ++i) {
    const auto [key, value] = some_entry(i);
    remove(key);
    EXPECT_EQ(store_.check(),
              (Problems{name(i) + ": 1 rows have no entry or a wrong one",
                        name(i) + " has 19 entries, of which 0 do not decode; the table has "
                                  "20 rows"}));
    plant(key, value);
  }
}

TEST_P(CheckerTest, AnEntryWithoutARowIsFound) {
  for (std::size_t i = 1; i < test::kIndexes; ++i) {
    std::string key = some_entry(i).first;
    const std::string value = some_entry(i).second;
    key.back() = static_cast<char>(key.back() ^ 0x40);
    plant(key, value);
    const Problems problems = store_.check();
    ASSERT_EQ(problems.size(), 1u) << name(i);
    EXPECT_TRUE(problems[0].starts_with(name(i) + " has 21 entries")) << problems[0];
    remove(key);
  }
}

TEST_P(CheckerTest, AnEntryOfTheWrongRowIsFoundThoughTheNumbersAgree) {
  const auto [key, value] = some_entry(test::kByCode);
  std::string other = key;
  other.back() = 99;
  remove(key);
  plant(other, value);
  EXPECT_EQ(store_.check(),
            (Problems{name(test::kByCode) + ": 1 rows have no entry or a wrong one"}));
}

TEST_P(CheckerTest, AWrongValueIsFound) {
  for (std::size_t i = 1; i < test::kIndexes; ++i) {
    const auto [key, value] = some_entry(i);
    plant(key, value + "x");
    const Problems problems = store_.check();
    ASSERT_FALSE(problems.empty()) << name(i);
    EXPECT_EQ(problems[0], name(i) + ": 1 rows have no entry or a wrong one");
    plant(key, value);
  }
}

TEST_P(CheckerTest, AnEntryThatDoesNotDecodeIsFound) {
  const auto [key, value] = some_entry(test::kByCity);
  remove(key);
  plant(key.substr(0, 5), value);
  const Problems problems = store_.check();
  ASSERT_EQ(problems.size(), 2u);
  EXPECT_EQ(problems[1], name(test::kByCity) +
                             " has 20 entries, of which 1 do not decode; the table has 20 rows");
}

TEST_P(CheckerTest, ARowThatDoesNotDecodeIsFound) {
  const auto [key, value] = some_entry(test::kPrimary);
  plant(key, value.substr(0, 3));
  EXPECT_EQ(store_.check(), Problems{"1 rows do not decode"});
}

TEST_P(CheckerTest, ARowThatIsGoneIsFoundInEveryIndex) {
  remove(some_entry(test::kPrimary).first);
  EXPECT_EQ(store_.check().size(), test::kIndexes - 1);
}

TEST_P(CheckerTest, AnInterruptedCheckIsAnErrorAndNotAVerdict) {
  for (int i = 21; i <= 1100; ++i) must(insert(i));
  session_.commit();
  const test::AlwaysInterrupted always;
  test::Record record;
  Checker checker(store_.database(), store_.table(), always);
  EXPECT_TRUE(fails_with(
      ErrorCode::kInterrupted,
      checker.run(
          record.data(), [](std::uint8_t*) { return Status::ok(); }, [](const std::string&) {})));
}

}  // namespace
}  // namespace basalt::table
