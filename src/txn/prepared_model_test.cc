#include <array>
#include <filesystem>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/bytes.h"
#include "bulk/sst_writer.h"
#include "txn/test_support.h"

// Goal: a stop or a crash changes nothing of what a prepared transaction keeps from others, nor of
// what its decision does, whether its changes are in its batch or in files.
// Method: random transactions are prepared; others are asked what they may do, before and after
// each restart; the rows are compared with a map.
namespace basalt::txn {
namespace {

using basalt::test::must;
using test::kFamily;
using test::kNoWait;
using test::Map;

constexpr std::array<std::uint32_t, 3> kIndexes{300, 301, 302};
constexpr std::uint32_t kNumbers = 24;

std::string key_of(std::uint32_t index, std::uint32_t number) {
  std::string key;
  append_be32(key, index);
  append_be32(key, number);
  return key;
}

class PreparedModelTest : public testing::Test {
 protected:
  struct Prepared {
    std::string name;
    Map puts;
    std::vector<std::string> removals;
    std::vector<std::string> values;  // locked values that no key is equal to
    bool keeps_values = false;
  };
  // What another transaction is told of one key.
  struct Answer {
    bool is_locked = false;
    bool is_pending = false;
  };
  using Answers = std::map<std::string, Answer>;

  std::uint32_t below(std::uint32_t end) {
    return std::uniform_int_distribution<std::uint32_t>(0, end - 1)(random_);
  }
  std::vector<std::string> all_keys() const {
    std::vector<std::string> keys;
    for (const std::uint32_t index : kIndexes) {
      for (std::uint32_t number = 0; number < kNumbers; ++number) {
        keys.push_back(key_of(index, number));
      }
    }
    return keys;
  }

  // Puts keys that are not there, all of them, with a load.
  LoadedFiles load(Transaction& transaction, const Map& puts) {
    LoadedFiles loaded;
    loaded.directory = must(bulk::BuildDirectory::make_load(store_.database().build_place()));
    loaded.row_key = puts.begin()->first;
    loaded.files = {{kFamily, {}}};
    for (const std::uint32_t index : kIndexes) {
      const KeyRange range = index_key_range(index);
      const auto first = puts.lower_bound(range.lower);
      const auto end = puts.lower_bound(range.upper);
      if (first == end) continue;
      // An index of two files, if it has more than one entry.
      const std::string path = loaded.directory->path() + "/" + std::to_string(index) + "-";
      for (auto at = first; at != end;) {
        const auto files = store_.database().new_sst_writer(
            kFamily, path + std::to_string(load_be32(at->first.data() + 4)) + "-");
        const auto until = std::next(at) == end || at != first ? end : std::next(at);
        for (; at != until; ++at) {
          must(transaction.lock(at->first, lock::LockMode::kExclusive, kNoWait));
          must(files->put(at->first, at->second));
        }
        must(files->finish());
        for (const std::string& file : files->paths()) loaded.files[0].paths.push_back(file);
      }
      loaded.keys.push_back({first->first, first->second, std::prev(end)->first});
    }
    return loaded;
  }

  // Prepares a transaction that changes some of the keys that are `free`, which it takes.
  void prepare(const std::string& name, std::vector<std::string>& free) {
    Prepared prepared;
    prepared.name = name;
    const bool loads = below(2) == 0;
    Map loaded;
    auto transaction = store_.begin();
    transaction->begin_statement(test::kRr);
    for (std::uint32_t change = 1 + below(12); change > 0 && !free.empty(); --change) {
      std::swap(free[below(static_cast<std::uint32_t>(free.size()))], free.back());
      const std::string key = std::move(free.back());
      free.pop_back();
      const bool is_there = rows_.contains(key);
      const std::string value = name + std::to_string(change);
      if (is_there && !loads && below(2) == 0) {
        test::remove(*transaction, key);
        prepared.removals.push_back(key);
        continue;
      }
      prepared.puts[key] = value;
      if (loads && !is_there && below(4) != 0) {
        loaded[key] = value;
        continue;
      }
      must(transaction->lock(key, lock::LockMode::kExclusive, kNoWait));
      const std::string_view new_key = key;
      must(test::put_locked(*transaction, key, value, kFamily,
                            std::span(&new_key, is_there ? 0 : 1)));
    }
    prepared.keeps_values = below(2) == 0;
    if (below(2) == 0) {
      prepared.values.push_back(key_of(kIndexes[below(3)], 100) + name);
      must(transaction->lock_value(kFamily, prepared.values.back(), kNoWait));
    }
    if (!loaded.empty()) {
      must(transaction->add_loaded(load(*transaction, loaded), kNoWait));
    }
    must(transaction->prepare(name, kv::Durability::kSynced, prepared.keeps_values));
    store_.transactions().detach_prepared(std::move(transaction));
    prepared_.push_back(std::move(prepared));
  }

  Answers ask() {
    Answers answers;
    std::vector<std::string> keys = all_keys();
    for (const Prepared& prepared : prepared_) {
      if (!prepared.keeps_values) continue;
      keys.insert(keys.end(), prepared.values.begin(), prepared.values.end());
    }
    for (const std::string& key : keys) {
      const auto other = store_.begin();
      Answer& answer = answers[key];
      answer.is_locked = !other->lock(key, lock::LockMode::kShared, kNoWait).is_ok();
      std::string found;
      std::string value;
      answer.is_pending = other->find_pending_insert(kFamily, key, key + '\0', found, value);
    }
    return answers;
  }

  void expect_kept(const Answers& before) {
    const Answers after = ask();
    for (const auto& [key, answer] : before) {
      SCOPED_TRACE(std::to_string(load_be32(key.data())) + ", " +
                   std::to_string(load_be32(key.data() + 4)) + key.substr(8));
      EXPECT_EQ(after.at(key).is_locked, answer.is_locked);
    }
    for (const Prepared& prepared : prepared_) {
      for (const auto& [key, value] : prepared.puts) {
        expect_undecided(key, after);
        EXPECT_TRUE(rows_.contains(key) || after.at(key).is_pending);
      }
      for (const std::string& key : prepared.removals) expect_undecided(key, after);
    }
  }
  void expect_undecided(const std::string& key, const Answers& answers) {
    EXPECT_TRUE(answers.at(key).is_locked);
    EXPECT_TRUE(store_.transactions().undecided().exist_in(std::array{load_be32(key.data())}));
  }

  void restart() {
    const Answers before = ask();
    if (below(3) == 0) {
      store_.reopen();
    } else {
      store_.crash();
    }
    expect_kept(before);
  }

  void decide() {
    std::swap(prepared_[below(static_cast<std::uint32_t>(prepared_.size()))], prepared_.back());
    const Prepared decided = std::move(prepared_.back());
    prepared_.pop_back();
    const bool commits = below(2) == 0;
    bool found = false;
    TransactionManager& manager = store_.transactions();
    must(commits ? manager.commit_prepared(decided.name, found)
                 : manager.rollback_prepared(decided.name, found));
    ASSERT_TRUE(found);
    if (!commits) return;
    for (const auto& [key, value] : decided.puts) rows_[key] = value;
    for (const std::string& key : decided.removals) rows_.erase(key);
  }

  void expect_rows() {
    EXPECT_EQ(test::scan(*store_.begin()), rows_);
    for (const auto& [key, answer] : ask()) EXPECT_FALSE(answer.is_locked);
    const std::string loads = store_.database().options().directory + "/loads";
    EXPECT_TRUE(!std::filesystem::exists(loads) || std::filesystem::is_empty(loads));
    EXPECT_TRUE(store_.transactions().undecided().indexes().empty());
  }

  std::mt19937 random_{basalt::test::seed()};
  test::Store store_;
  Map rows_;
  std::vector<Prepared> prepared_;
};

TEST_F(PreparedModelTest, WhatIsPreparedIsKeptFromOthersOverRestarts) {
  for (int round = 0; round < 12 && !HasFailure(); ++round) {
    SCOPED_TRACE(round);
    std::vector<std::string> free = all_keys();
    for (std::uint32_t i = 1 + below(3); i > 0; --i) prepare("x" + std::to_string(i), free);
    while (!prepared_.empty()) {
      if (below(2) == 0) restart();
      decide();
    }
    expect_rows();
    store_.crash();
    expect_rows();
  }
}

}  // namespace
}  // namespace basalt::txn
