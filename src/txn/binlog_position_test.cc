#include "txn/binlog_position.h"

#include <algorithm>
#include <random>
#include <vector>

#include "base/test_support.h"
#include "kv/test_directory.h"

// Goal: what is stored last in the binary log's order is what is read, however the commits
// interleave and wherever a crash cuts them off.
namespace basalt::txn {
namespace {

using basalt::test::must;
using namespace std::string_literals;

// Pins the stored format. If this fails, positions stored by earlier versions are not found: add a
// record type instead of editing the expectation.
TEST(BinlogPosition, StoredFormatIsFrozen) {
  EXPECT_EQ(binlog_position_key(0x01020304), "\x07\x01\x02\x03\x04"s);
  EXPECT_EQ(pack_binlog_position(300, {"bin.000001", 1000}),
            "\xAC\x02\xE8\x07\x0A"s
            "bin.000001");
}

TEST(BinlogPosition, WhatIsPackedComesBackAndNothingElseDoes) {
  const std::string packed = pack_binlog_position(7, {"mysqld-bin.000123", 1ULL << 40});
  std::uint64_t number = 0;
  BinlogPosition position;
  ASSERT_TRUE(parse_binlog_position(packed, number, position));
  EXPECT_EQ(number, 7u);
  EXPECT_EQ(position, (BinlogPosition{"mysqld-bin.000123", 1ULL << 40}));
  for (std::size_t size = 0; size < packed.size(); ++size) {
    EXPECT_FALSE(parse_binlog_position(packed.substr(0, size), number, position)) << size;
  }
  EXPECT_FALSE(parse_binlog_position(packed + "x", number, position));
}

class BinlogPositionsTest : public testing::Test {
 protected:
  BinlogPositionsTest() { must(positions_->load(*database_)); }

  void write(const std::optional<BinlogPositions::Record>& record) {
    if (!record) return;
    kv::WriteBatch batch;
    batch.put(kv::kSystemFamily, record->key, record->value);
    must(database_->write(batch, kv::Durability::kBuffered));
  }
  static BinlogPosition position(std::uint64_t ticket) { return {"bin.000001", ticket * 100}; }
  void commit(std::uint64_t ticket, const BinlogPosition& at) {
    const auto record = positions_->begin_commit(ticket, at);
    write(record);
    if (record) positions_->end_commit(*record, ticket, at, true);
  }
  void restart() {
    positions_ = std::make_unique<BinlogPositions>();
    must(positions_->load(*database_));
  }

  kv::test::TestDirectory directory_;
  std::unique_ptr<kv::Database> database_ = kv::test::open_database(directory_ / "db");
  std::unique_ptr<BinlogPositions> positions_ = std::make_unique<BinlogPositions>();
};

TEST_F(BinlogPositionsTest, WithoutCommitsThereIsNone) {
  EXPECT_FALSE(positions_->newest());
  restart();
  EXPECT_FALSE(positions_->newest());
}

TEST_F(BinlogPositionsTest, TheNewestCommitIsRememberedOverRestarts) {
  for (int run = 0; run < 3; ++run) {
    commit(1, {"bin.000009", 900});
    // RESET MASTER: files count from one again, and later is later all the same.
    commit(2, {"bin.000001", static_cast<std::uint64_t>(400 + run)});
    restart();
    EXPECT_EQ(positions_->newest(),
              (BinlogPosition{"bin.000001", static_cast<std::uint64_t>(400 + run)}));
  }
}

TEST_F(BinlogPositionsTest, CommitsOneAfterAnotherUseOneSlot) {
  for (std::uint64_t ticket = 1; ticket <= 100; ++ticket) commit(ticket, position(ticket));
  KeyRange all{binlog_position_key(0), binlog_position_key(UINT32_MAX)};
  EXPECT_EQ(kv::test::count_entries(*database_, kv::kSystemFamily, all), 1u);
}

TEST_F(BinlogPositionsTest, ACommitThatIsOvertakenBeforeItBeginsStoresNothing) {
  commit(2, position(2));
  EXPECT_FALSE(positions_->begin_commit(1, position(1)));
  EXPECT_EQ(positions_->newest(), position(2));
}

TEST_F(BinlogPositionsTest, AFailedWriteChangesNothingAndItsSlotIsNotUsedAgain) {
  commit(1, position(1));
  const auto failed = positions_->begin_commit(2, position(2));
  ASSERT_TRUE(failed);
  positions_->end_commit(*failed, 2, position(2), false);
  EXPECT_EQ(positions_->newest(), position(1));
  const auto next = positions_->begin_commit(3, position(3));
  ASSERT_TRUE(next);
  EXPECT_NE(next->slot, failed->slot);
}

TEST_F(BinlogPositionsTest, ADamagedRecordIsLeftOutOfAccount) {
  commit(5, position(5));
  kv::WriteBatch batch;
  batch.put(kv::kSystemFamily, binlog_position_key(9), "damaged");
  must(database_->write(batch, kv::Durability::kBuffered));
  restart();
  EXPECT_EQ(positions_->newest(), position(5));
}

// Commits in flight begin, reach the store and end in random order; after each write a crash would
// find the greatest ticket that was written.
TEST_F(BinlogPositionsTest, AtAnyMomentTheStoreHasTheGreatestPlaceThatReachedIt) {
  struct InFlight {
    std::uint64_t ticket;
    std::optional<BinlogPositions::Record> record;
    int step = 0;
  };
  std::minstd_rand random(7);
  std::vector<InFlight> flights;
  std::uint64_t next_place = 1;
  std::uint64_t greatest_written = 0;
  for (int step = 0; step < 3000; ++step) {
    if (flights.empty() || (flights.size() < 12 && random() % 3 == 0)) {
      flights.push_back({next_place++, std::nullopt});
      continue;
    }
    const std::size_t chosen = random() % flights.size();
    InFlight& flight = flights[chosen];
    const BinlogPosition at = position(flight.ticket);
    if (flight.step == 0) {
      flight.record = positions_->begin_commit(flight.ticket, at);
      flight.step = flight.record ? 1 : 2;
    } else if (flight.step == 1) {
      write(flight.record);
      greatest_written = std::max(greatest_written, flight.ticket);
      flight.step = 2;
      BinlogPositions after_crash;
      must(after_crash.load(*database_));
      ASSERT_EQ(after_crash.newest(), position(greatest_written)) << "step " << step;
    } else {
      if (flight.record) positions_->end_commit(*flight.record, flight.ticket, at, true);
      flights.erase(flights.begin() + static_cast<std::ptrdiff_t>(chosen));
    }
  }
  EXPECT_GT(greatest_written, 500u);
}

}  // namespace
}  // namespace basalt::txn
