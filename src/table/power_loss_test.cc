#include <atomic>
#include <cstdlib>
#include <deque>
#include <iostream>
#include <map>
#include <memory>
#include <mutex>
#include <random>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "table/index_builder.h"
#include "table/test_support.h"
#include "wal/power_loss_file_system.h"

// Goal: whenever the machine stops, what was acknowledged as durable is there, what is there is the
// history up to some moment, indexes agree with rows, tables with the dictionary, and prepared
// transactions wait for their decision. Method: transactions of every kind, definitions, builds of
// indexes, flushes and compactions on a file system that forgets what was not synced. At syncs,
// also those of a recovery, the machine stops, and what it finds is compared with a model.
// BASALT_TEST_SEED repeats the choices of a run, BASALT_TEST_POWER_LOSSES says how many images each
// run checks.
namespace basalt::table {
namespace {

using basalt::test::must;
using test::Row;
using wal::test::PowerLossFileSystem;

constexpr auto kKeys = test::Keys::kId;
constexpr int kTransactions = 400;
constexpr int kUsersTransactions = 12;
constexpr std::int32_t kRows = 40;          // ids below are changed all the time
constexpr std::int32_t kUsersRows = 1'000;  // and so many are those of prepared transactions
constexpr std::int32_t kNumbers = 10'000;   // and from here on one row is a transaction's number
constexpr std::int32_t kBuiltRows = 300;

std::uint32_t number_of(const char* variable, std::uint32_t otherwise) {
  const char* const setting = std::getenv(variable);
  return setting == nullptr ? otherwise
                            : static_cast<std::uint32_t>(std::strtoul(setting, nullptr, 10));
}

Row row_of(std::int32_t id, const std::string& note) {
  return {id,     "e" + std::to_string(id),       "City" + std::to_string(note.size() % 7),
          id % 5, static_cast<std::uint32_t>(id), note};
}

using Rows = std::map<std::int32_t, Row>;

// Moves the transaction's changes to files; of twelve and more some are merged by a thread then.
void spill(txn::Transaction& transaction) {
  transaction.set_memory_limits(
      {.spills_at = 1, .writes_meanwhile = true, .merges_meanwhile = true});
  must(transaction.spill_if_large());
  transaction.set_memory_limits({});
}

// How far a transaction that a user prepares has come.
enum class Phase : std::uint8_t { kNone, kPreparing, kPrepared, kDeciding, kDecided };
struct UsersTransaction {
  Phase phase = Phase::kNone;
  bool is_committed = false;  // or will be
};
// Whether a table or an index is there; while it is changed it may be or not.
enum class Presence : std::uint8_t { kAbsent, kUnsure, kPresent };

// What is known at a moment, beside the rows.
struct Knowledge {
  int durable = 0;  // transactions up to this one are acknowledged, and were synced
  int begun = 0;
  std::set<std::string> decided;  // as in a binary log that is synced
  std::vector<UsersTransaction> users = std::vector<UsersTransaction>(kUsersTransactions);
  std::map<std::string, Presence> tables;
  Presence built = Presence::kAbsent;  // the indexes of the table "test/built"
};

// The machine stops between two moments.
struct Stop {
  PowerLossFileSystem::Image image;
  Knowledge before;
  Knowledge after;
};

Result<std::unique_ptr<kv::Database>> open_database(
    const std::string& path, const std::shared_ptr<PowerLossFileSystem>& files) {
  kv::DatabaseOptions options = kv::test::small_options(path);
  options.memtable_bytes = 128 << 10;
  return kv::Database::open(options, files);
}

// The parts of the engine on a database.
struct Machine {
  explicit Machine(std::unique_ptr<kv::Database> opened) : database(std::move(opened)) {
    catalog = std::make_unique<catalog::Catalog>(*database);
    must(catalog->load());
    transactions = std::make_unique<txn::TransactionManager>(*database, locks);
    must(transactions->recover());
  }
  std::unique_ptr<Table> open(const catalog::TablePointer& definition) const {
    return std::make_unique<Table>(definition, test::make_layout(),
                                   std::make_shared<TableState>(*catalog, definition->id));
  }
  std::unique_ptr<txn::Transaction> begin() const {
    return transactions->make_transaction(nullptr);
  }

  std::unique_ptr<kv::Database> database;
  lock::LockManager locks{lock::LockManager::Options{}};
  std::unique_ptr<catalog::Catalog> catalog;
  std::unique_ptr<txn::TransactionManager> transactions;
};

Rows rows_of(const Machine& found, const Table& table) {
  const auto transaction = found.begin();
  transaction->begin_statement(txn::IsolationLevel::kRepeatableRead);
  Cursor cursor(table);
  cursor.open(*transaction, test::kPrimary, {}, codec::ColumnSet(test::kColumns, true), false);
  test::Record record;
  Rows rows;
  bool has_row = false;
  must(cursor.seek_first(record.data(), has_row));
  while (has_row) {
    rows[record.row().id] = record.row();
    must(cursor.next(record.data(), has_row));
  }
  cursor.close();
  transaction->end_statement();
  must(transaction->rollback());
  return rows;
}

catalog::TableDefinition definition_of(const std::string& name, bool has_all_indexes) {
  catalog::TableDefinition definition = test::make_definition(kKeys);
  definition.name = name;
  if (!has_all_indexes) {
    definition.indexes.erase(definition.indexes.begin() + test::kByAmount);
    definition.indexes.erase(definition.indexes.begin() + test::kByCity);
  }
  return definition;
}

class PowerLossTest : public testing::TestWithParam<std::uint32_t> {
 protected:
  PowerLossTest() : chance_(seed_) {
    std::cout << "BASALT_TEST_SEED=" << seed_ << "\n";
    files_->set_hook([this](const std::string&) { perhaps_stop(); });
    machine_ = std::make_unique<Machine>(must(open_database(path_, files_)));
    states_.emplace_back();
    create("test/orders", true);
    create("test/built", false);
    orders_ = machine_->open(machine_->catalog->find("test/orders"));
  }

  bool one_in(std::uint32_t choices) { return chance_() % choices == 0; }
  void know(const std::function<void(Knowledge&)>& change) {
    const std::lock_guard guard(mutex_);
    change(knowledge_);
  }
  Knowledge knowledge() const {
    const std::lock_guard guard(mutex_);
    return knowledge_;
  }

  // ---- the machine stops

  // In the thread that is about to sync something.
  void perhaps_stop() {
    {
      const std::lock_guard guard(mutex_);
      const std::uint32_t seen = syncs_++;
      if (seen % every_ != 0 || stops_.size() > 8 || wanted_ == 0) return;
      --wanted_;
    }
    Stop stop;
    stop.before = knowledge();
    {
      const std::lock_guard guard(draw_mutex_);
      stop.image = files_->draw(path_, draw_chance_);
    }
    stop.after = knowledge();
    const std::lock_guard guard(mutex_);
    stops_.push_back(std::move(stop));
  }
  // What the machine finds after the stops so far.
  void check_stops() {
    while (!HasFailure()) {
      Stop stop;
      {
        const std::lock_guard guard(mutex_);
        if (stops_.empty()) return;
        stop = std::move(stops_.front());
        stops_.pop_front();
      }
      check(stop, one_in(3) ? 1 : 0);
    }
  }
  // `stops_again`: that often it stops while it recovers.
  void check(Stop& stop, int stops_again) {
    ++images_;
    const kv::test::TestDirectory directory;
    const std::string path = directory / "db";
    PowerLossFileSystem::write(stop.image, path);
    auto files = std::make_shared<PowerLossFileSystem>(chance_());
    files->adopt(path);
    Stop again{{}, stop.before, stop.after};
    std::atomic<int> syncs = 0;
    const int stops_at = static_cast<int>(chance_() % 12);
    PowerLossFileSystem::Chance chance(chance_());
    files->set_hook([&](const std::string&) {
      if (stops_again > 0 && syncs++ == stops_at) again.image = files->draw(path, chance);
    });
    {
      SCOPED_TRACE("image " + std::to_string(images_));
      expect_sound(path, files, stop.before, stop.after);
    }
    if (HasFailure()) keep(stop.image);
    if (!again.image.empty() && !HasFailure()) check(again, stops_again - 1);
  }
  void keep(const PowerLossFileSystem::Image& image) const {
    const char* const directory = std::getenv("BASALT_TEST_KEEP");
    if (directory != nullptr) PowerLossFileSystem::write(image, directory);
  }

  void expect_sound(const std::string& path, const std::shared_ptr<PowerLossFileSystem>& files,
                    const Knowledge& before, const Knowledge& after) {
    Result<std::unique_ptr<kv::Database>> opened = open_database(path, files);
    ASSERT_TRUE(basalt::test::succeeds(opened.status()));
    const Machine found(std::move(opened.value()));
    const std::set<std::string> prepared = decide(found, before);
    expect_tables(found, before, after);
    const catalog::TablePointer orders = found.catalog->find("test/orders");
    if (orders == nullptr) return;
    Rows rows = rows_of(found, *found.open(orders));
    expect_users(rows, prepared, before, after);
    expect_history(rows, before, after);
  }
  // As the server does with its binary log; returns the names that only users may decide.
  static std::set<std::string> decide(const Machine& found, const Knowledge& before) {
    std::set<std::string> users;
    for (const std::string& name : found.transactions->prepared_names()) {
      bool is_found = false;
      if (name.starts_with("user")) {
        users.insert(name);
      } else if (before.decided.contains(name)) {
        must(found.transactions->commit_prepared(name, is_found));
      } else {
        must(found.transactions->rollback_prepared(name, is_found));
      }
    }
    return users;
  }
  static void expect_tables(const Machine& found, const Knowledge& before, const Knowledge& after) {
    for (const auto& [name, presence] : before.tables) {
      if (presence == Presence::kUnsure || after.tables.at(name) != presence) continue;
      EXPECT_EQ(found.catalog->find(name) != nullptr, presence == Presence::kPresent) << name;
    }
    for (const catalog::TablePointer& definition : found.catalog->all_tables()) {
      const std::unique_ptr<Table> table = found.open(definition);
      const test::NeverInterrupted never;
      test::Record record;
      Checker checker(*found.database, *table, never);
      must(checker.run(
          record.data(), [](std::uint8_t*) { return Status::ok(); },
          [&](const std::string& problem) {
            ADD_FAILURE() << definition->name << ": " << problem;
          }));
      if (definition->name != "test/built" || before.built != after.built) continue;
      if (before.built == Presence::kPresent) {
        EXPECT_EQ(definition->indexes.size(), std::size_t{test::kIndexes});
        EXPECT_EQ(rows_of(found, *table).size(), std::size_t{kBuiltRows});
      }
    }
  }
  // Takes their rows out of `rows`.
  static void expect_users(Rows& rows, const std::set<std::string>& prepared,
                           const Knowledge& before, const Knowledge& after) {
    for (int i = 0; i < kUsersTransactions; ++i) {
      const std::string name = "user" + std::to_string(i);
      const Phase first = before.users[static_cast<std::size_t>(i)].phase;
      const Phase last = after.users[static_cast<std::size_t>(i)].phase;
      const bool is_committed = after.users[static_cast<std::size_t>(i)].is_committed;
      const bool is_there = rows.erase(kUsersRows + i) > 0;
      const bool is_prepared = prepared.contains(name);
      EXPECT_FALSE(is_there && is_prepared) << name;
      if (first == Phase::kPrepared && last == Phase::kPrepared) {
        EXPECT_TRUE(is_prepared) << name;
      }
      if (is_prepared) {
        EXPECT_GE(last, Phase::kPreparing) << name;
        EXPECT_FALSE(first == Phase::kDecided && is_committed) << name;
      }
      if (is_there) {
        EXPECT_TRUE(is_committed && last >= Phase::kDeciding) << name;
      } else if (first == Phase::kDecided) {
        EXPECT_FALSE(is_committed) << name;
      }
    }
  }
  void expect_history(Rows& rows, const Knowledge& before, const Knowledge& after) {
    int last = 0;
    while (rows.erase(kNumbers + last + 1) > 0) ++last;
    EXPECT_TRUE(rows.empty() || rows.rbegin()->first < kNumbers)
        << "transaction " << rows.rbegin()->first - kNumbers << " is there, " << last + 1
        << " is not";
    EXPECT_GE(last, before.durable) << "acknowledged and synced";
    ASSERT_LE(last, after.begun);
    std::erase_if(rows, [](const auto& row) { return row.first >= kNumbers; });
    EXPECT_EQ(rows, states_[static_cast<std::size_t>(last)]) << "after transaction " << last;
  }

  // ---- what the engine does meanwhile

  // Begins the next transaction: changes of rows with even or odd ids, and its number.
  std::unique_ptr<txn::Transaction> change_rows(std::int32_t parity) {
    Rows rows = states_.back();
    auto transaction = machine_->begin();
    transaction->begin_statement(txn::IsolationLevel::kReadCommitted);
    RowWriter writer(*orders_);
    const bool spills = one_in(4);
    const std::uint32_t changes = spills && one_in(4) ? 14 : 1;
    for (std::uint32_t i = changes + chance_() % 3; i > 0; --i) {
      const std::int32_t id = static_cast<std::int32_t>(chance_() % (kRows / 2)) * 2 + parity;
      const auto old = rows.find(id);
      const Row row = row_of(id, std::string(chance_() % 3'000, static_cast<char>('a' + id % 26)));
      if (old == rows.end()) {
        must(writer.insert(*transaction, test::Record(row).data()));
        rows[id] = row;
      } else if (one_in(4)) {
        must(writer.remove(*transaction, test::Record(old->second).data(), {}));
        rows.erase(old);
      } else {
        must(writer.update(*transaction, test::Record(old->second).data(), test::Record(row).data(),
                           {}));
        rows[id] = row;
      }
      if (spills) spill(*transaction);
    }
    const auto number = static_cast<std::int32_t>(states_.size());
    must(writer.insert(*transaction, test::Record(row_of(kNumbers + number, "n")).data()));
    transaction->end_statement();
    states_.push_back(std::move(rows));
    know([&](Knowledge& known) { known.begun = number; });
    return transaction;
  }
  int newest() const { return static_cast<int>(states_.size()) - 1; }
  void note_durable() {
    know([&](Knowledge& known) { known.durable = newest(); });
  }

  void commit_at_once() {
    const bool is_synced = one_in(3);
    must(change_rows(0)->commit(is_synced ? kv::Durability::kSynced : kv::Durability::kBuffered));
    if (is_synced) note_durable();
  }
  // As a group of the binary log; the second one becomes visible first.
  void commit_in_order() {
    std::vector<std::unique_ptr<txn::Transaction>> group;
    std::vector<std::string> names;
    for (std::int32_t parity = 0; parity < 2; ++parity) {
      group.push_back(change_rows(parity));
      names.push_back("group" + std::to_string(newest()));
      must(group.back()->prepare(names.back(), kv::Durability::kSynced));
    }
    know([&](Knowledge& known) { known.decided.insert(names.begin(), names.end()); });
    const auto offset = static_cast<std::uint64_t>(newest()) * 100;
    for (const auto& transaction : group) transaction->take_commit_ticket("bin.000001", offset);
    for (auto at = group.rbegin(); at != group.rend(); ++at) {
      must((*at)->commit(kv::Durability::kSynced));
    }
    note_durable();
  }
  // What only a user decides, many transactions later.
  void prepare_or_decide_for_user() {
    const std::size_t number = chance_() % kUsersTransactions;
    const UsersTransaction now = knowledge().users[number];
    const std::string name = "user" + std::to_string(number);
    const auto set = [&](Phase phase, bool is_committed) {
      know([&](Knowledge& known) { known.users[number] = {phase, is_committed}; });
    };
    if (now.phase == Phase::kNone) {
      set(Phase::kPreparing, false);
      auto transaction = machine_->begin();
      transaction->begin_statement(txn::IsolationLevel::kReadCommitted);
      const std::int32_t id = kUsersRows + static_cast<std::int32_t>(number);
      RowWriter writer(*orders_);
      must(writer.insert(*transaction, test::Record(row_of(id, "user")).data()));
      if (one_in(2)) spill(*transaction);
      must(transaction->prepare(name, kv::Durability::kSynced, true));
      set(Phase::kPrepared, false);
      users_[name] = std::move(transaction);
    } else if (now.phase == Phase::kPrepared) {
      const bool commits = one_in(2);
      set(Phase::kDeciding, commits);
      decide_for_user(*users_[name], commits);
      set(Phase::kDecided, commits);
      users_.erase(name);
    }
  }
  void decide_for_user(txn::Transaction& transaction, bool commits) {
    if (!commits) return must(transaction.rollback());
    if (one_in(2))
      transaction.take_commit_ticket("bin.000001", static_cast<std::uint64_t>(newest()));
    must(transaction.commit(kv::Durability::kSynced));
  }
  void set_presence(const std::string& name, Presence presence) {
    know([&](Knowledge& known) { known.tables[name] = presence; });
  }
  void create(const std::string& name, bool has_all_indexes) {
    set_presence(name, Presence::kUnsure);
    must(machine_->catalog->create(definition_of(name, has_all_indexes)));
    set_presence(name, Presence::kPresent);
  }
  void change_definitions() {
    const std::string name = "test/extra" + std::to_string(chance_() % 3);
    if (machine_->catalog->find(name) == nullptr) return create(name, true);
    if (one_in(3)) return static_cast<void>(must(machine_->catalog->truncate(name)));
    set_presence(name, Presence::kUnsure);
    must(machine_->catalog->drop(name));
    set_presence(name, Presence::kAbsent);
  }
  void fill_table_to_build() {
    const std::unique_ptr<Table> table = machine_->open(machine_->catalog->find("test/built"));
    const auto transaction = machine_->begin();
    RowWriter writer(*table);
    for (std::int32_t id = 1; id <= kBuiltRows; ++id) {
      must(writer.insert(*transaction, test::Record(row_of(id, "built")).data()));
    }
    must(transaction->commit(kv::Durability::kSynced));
  }
  void build_indexes() {
    know([](Knowledge& known) { known.built = Presence::kUnsure; });
    const auto built = must(machine_->catalog->reserve_indexes(definition_of("test/built", true)));
    const std::unique_ptr<Table> table = machine_->open(built);
    constexpr std::size_t kNew[] = {test::kByCity, test::kByAmount};
    const test::NeverInterrupted never;
    const auto now = machine_->database->take_snapshot();
    must(IndexBuilder(*machine_->database, {*table}, kNew, *now, never, {1 << 20, 2}).run());
    must(machine_->catalog->publish_altered(built));
    know([](Knowledge& known) { known.built = Presence::kPresent; });
  }
  void tidy_up() {
    switch (chance_() % 4) {
      case 0: return must(machine_->database->flush());
      case 1: return must(machine_->database->compact(kv::kDefaultFamily, {}));
      default: must(machine_->database->sync_wal()); return note_durable();
    }
  }
  void act() {
    switch (chance_() % 16) {
      case 0: return change_definitions();
      case 1: return tidy_up();
      case 2:
      case 3: return prepare_or_decide_for_user();
      case 4:
      case 5:
      case 6:
      case 7:
      case 8: return commit_in_order();
      default: return commit_at_once();
    }
  }
  void run() {
    while (newest() < kTransactions && !HasFailure()) {
      act();
      if (newest() >= kTransactions / 4 && !is_filled_) {
        is_filled_ = true;
        fill_table_to_build();
      }
      if (newest() >= kTransactions / 2 && !is_built_) {
        is_built_ = true;
        build_indexes();
      }
      check_stops();
    }
    for (auto& [name, transaction] : users_) {
      machine_->transactions->detach_prepared(std::move(transaction));
    }
  }

  const std::uint32_t seed_ = number_of("BASALT_TEST_SEED", GetParam());
  std::mt19937 chance_;
  kv::test::TestDirectory directory_;
  const std::string path_ = directory_ / "db";
  const std::shared_ptr<PowerLossFileSystem> files_ = std::make_shared<PowerLossFileSystem>(seed_);
  std::mutex draw_mutex_;
  PowerLossFileSystem::Chance draw_chance_{seed_};  // guarded by draw_mutex_
  mutable std::mutex mutex_;
  Knowledge knowledge_;                                               // guarded by mutex_
  std::deque<Stop> stops_;                                            // guarded by mutex_
  std::uint32_t syncs_ = 0;                                           // guarded by mutex_
  std::uint32_t wanted_ = number_of("BASALT_TEST_POWER_LOSSES", 25);  // guarded by mutex_
  // A run has some hundred syncs.
  const std::uint32_t every_ = std::max(1U, 600 / std::max(1U, wanted_));
  std::vector<Rows> states_;  // after each transaction
  std::map<std::string, std::unique_ptr<txn::Transaction>> users_;
  std::unique_ptr<Machine> machine_;
  std::unique_ptr<Table> orders_;
  bool is_filled_ = false;
  bool is_built_ = false;
  int images_ = 0;
};

INSTANTIATE_TEST_SUITE_P(Seeds, PowerLossTest, testing::Values(1, 2));

TEST_P(PowerLossTest, WhatIsFoundIsSoundAndHasWhatWasAcknowledged) {
  run();
  std::cout << images_ << " images, " << files_->syncs() << " syncs, " << newest()
            << " transactions\n";
  EXPECT_GT(images_, 0);
}

}  // namespace
}  // namespace basalt::table
