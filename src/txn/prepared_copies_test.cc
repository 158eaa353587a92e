#include <algorithm>
#include <filesystem>
#include <fstream>
#include <string>
#include <utility>

#include "txn/spill_test_support.h"

// Goal: what a user has prepared, with changes in files, is decided as well in a copy of the
// database as where it was prepared; and it locks what it has changed, however much that is.
namespace basalt::txn {
namespace {

namespace fs = std::filesystem;

using basalt::test::must;
using test::key_of;
using test::kFamily;
using test::kIndex;
using test::kNoWait;
using test::kSingle;
using test::Map;

class PreparedCopiesTest : public test::SpillTest {
 protected:
  // What is there when it is committed.
  Map prepare(const std::string& name) {
    Map rows = begin_with_rows();
    auto transaction = store_.begin();
    transaction->begin_statement(test::kRr);
    for (int part = 0; part < 3; ++part) {
      for (int i = 0; i < 10; ++i) change(*transaction, rows);
      spill(*transaction);
    }
    must(transaction->prepare(name, kv::Durability::kSynced, /*keeps_value_locks=*/true));
    store_.transactions().detach_prepared(std::move(transaction));
    return rows;
  }
  // Inserts every second key from `first` to `last`.
  void prepare_inserts(const std::string& name, std::uint32_t first, std::uint32_t last) {
    auto transaction = store_.begin();
    transaction->begin_statement(test::kRr);
    transaction->lock_owner().set_most_keys(last);
    for (std::uint32_t i = first; i <= last; i += 2) test::put(*transaction, key_of(i), "row");
    spill(*transaction);
    must(transaction->prepare(name, kv::Durability::kSynced, /*keeps_value_locks=*/true));
    store_.transactions().detach_prepared(std::move(transaction));
  }
  std::string directory() { return store_.database().options().directory; }
  std::string copy() {
    std::string made = directory() + "-copy";
    must(store_.database().create_checkpoint(made));
    for (const auto& file : fs::directory_iterator(made)) {
      EXPECT_FALSE(file.is_directory()) << file.path();
    }
    return made;
  }
  static std::size_t copied_files(const std::string& directory) {
    std::size_t count = 0;
    for (const auto& file : fs::directory_iterator(directory)) {
      if (file.path().filename().string().starts_with("load-")) ++count;
    }
    return count;
  }
  bool is_locked(const std::string& key) {
    const auto other = store_.begin();
    return !other->lock(key, lock::LockMode::kShared, kNoWait).is_ok();
  }
};

// mariadb-backup copies files and no directories.
TEST_F(PreparedCopiesTest, WhatAUserHasPreparedIsCommittedInACopyOfACopy) {
  const Map rows = prepare("x");
  const Map before = committed();
  auto running = store_.begin();
  running->begin_statement(test::kRr);
  test::put(*running, key_of(1000), "row");
  spill(*running);
  std::string copied = copy();
  EXPECT_GT(copied_files(copied), 1u) << "and the mark";
  const auto is_mark = [](const fs::directory_entry& file) {
    return file.path().filename().string().ends_with("-copied");
  };
  const fs::directory_iterator files(copied);
  EXPECT_EQ(std::count_if(fs::begin(files), fs::end(files), is_mark), 1) << "of what is prepared";
  must(running->rollback());
  running.reset();
  EXPECT_TRUE(store_.decide(false)) << "which changes nothing there";
  for (int generation = 0; generation < 2; ++generation) {
    store_.go_on_in(copied);
    EXPECT_TRUE(has_directories());
    EXPECT_EQ(copied_files(directory()), 0u);
    EXPECT_EQ(committed(), before);
    copied = copy();
  }
  store_.crash();
  EXPECT_TRUE(store_.decide(true));
  EXPECT_EQ(committed(), rows);
  EXPECT_FALSE(has_directories());
}

// The machine may stop amid that.
TEST_F(PreparedCopiesTest, FilesOfACopyThatAreInTheirPlaceAlreadyStayThere) {
  const Map rows = prepare("x");
  const std::string copied = copy();
  const std::string number = load_directory().filename();
  for (const auto& file : fs::directory_iterator(copied)) {
    const std::string name = file.path().filename();
    const std::string prefix = "load-" + number + "-";
    if (!name.starts_with(prefix)) continue;
    fs::create_directories(fs::path(copied) / "loads" / number);
    fs::rename(file.path(), fs::path(copied) / "loads" / number / name.substr(prefix.size()));
    break;
  }
  EXPECT_TRUE(store_.decide(false));
  store_.go_on_in(copied);
  EXPECT_TRUE(store_.decide(true));
  EXPECT_EQ(committed(), rows);
}

// An older engine leaves the files of a copy where they are, and the number to another load.
TEST_F(PreparedCopiesTest, AFileInThePlaceOfACopiedOneIsKept) {
  const Map rows = prepare("x");
  const fs::path load = load_directory();
  for (const auto& file : fs::directory_iterator(load)) {
    std::ofstream(directory() + "/load-" + load.filename().string() + "-" +
                  file.path().filename().string())
        << "another's";
  }
  store_.reopen();
  EXPECT_TRUE(store_.decide(true));
  EXPECT_EQ(committed(), rows);
}

TEST_F(PreparedCopiesTest, WhatIsLeftOfAnUnfinishedCopyIsNoPartOfTheNext) {
  prepare("x");
  const std::string copied = directory() + "-copy";
  fs::create_directory(copied + ".unfinished");
  std::ofstream(copied + ".unfinished/left") << "of a copy that was not completed";
  EXPECT_EQ(copy(), copied);
  EXPECT_FALSE(fs::exists(copied + ".unfinished"));
  EXPECT_FALSE(fs::exists(copied + "/left"));
}

// A transaction has ranges in place of more locks than it may have; those of one that is recovered
// may be more, and others' keys are between them.
TEST_F(PreparedCopiesTest, ManyRecoveredKeysOfTwoTransactionsAreLockedOneByOne) {
  constexpr std::uint32_t kMany = 2 * lock::LockOwner::kKeysMax + 10;
  prepare_inserts("x", 2, kMany);
  prepare_inserts("y", 3, 101);
  store_.set_most_recovered_keys(kMany);
  store_.reopen();
  EXPECT_TRUE(is_locked(key_of(kMany)));
  EXPECT_TRUE(is_locked(key_of(101)));
  EXPECT_FALSE(is_locked(key_of(103)));
  EXPECT_TRUE(store_.decide(false, "x"));
  EXPECT_TRUE(is_locked(key_of(101)));
  EXPECT_TRUE(store_.decide(true, "y"));
}

}  // namespace
}  // namespace basalt::txn
