#include <gtest/gtest.h>

#include <chrono>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "lock/internal/reference_model.h"
#include "lock/internal/test_support.h"
#include "lock/lock_manager.h"

// Goal: random schedules do exactly what the rules say: each grant, each wait, each end of a wait,
// a deadlock if and only if there is a cycle.
// Method: one thread per owner, one step at a time. After each step everything has come to rest
// (each thread is idle, or asleep in a wait), and must look like the reference model.
namespace basalt::lock {
namespace {

using test::kLong;
using test::kNoWait;
using test::ReferenceModel;

// Threads that do one job at a time, and a controller that knows when all is quiet.
class Players final : public WaitObserver {
 public:
  enum class Phase { kIdle, kRunning, kWaiting };

  struct Player {
    explicit Player(int number) : owner(static_cast<std::uint64_t>(number), this) {}
    LockOwner owner;
    Phase phase = Phase::kIdle;
    std::function<ErrorCode()> job;
    std::optional<ErrorCode> result;  // of the last lock(), until taken
    bool is_new = false;              // of the last lock(), valid when it has ended
    std::thread thread;
  };

  explicit Players(int count) {
    for (int i = 0; i < count; ++i) players_.push_back(std::make_unique<Player>(i));
    for (auto& player : players_) {
      player->thread = std::thread([this, p = player.get()] { run(*p); });
    }
  }
  ~Players() override {
    {
      const std::lock_guard guard(mutex_);
      is_over_ = true;
    }
    changed_.notify_all();
    for (auto& player : players_) player->thread.join();
  }

  Player& operator[](int number) { return *players_[static_cast<std::size_t>(number)]; }

  // Returns when the job has ended or is asleep in a wait; false if neither happens.
  bool start(int number, std::function<ErrorCode()> job) {
    Player& player = (*this)[number];
    std::unique_lock guard(mutex_);
    player.job = std::move(job);
    player.phase = Phase::kRunning;
    changed_.notify_all();
    return await(guard, [&] { return player.phase != Phase::kRunning; });
  }
  // What the player's wait ended with; nothing if it does not end.
  std::optional<ErrorCode> result_of(int number) {
    Player& player = (*this)[number];
    std::unique_lock guard(mutex_);
    if (!await(guard, [&] { return player.phase == Phase::kIdle; })) return std::nullopt;
    return std::exchange(player.result, std::nullopt);
  }
  Phase phase_of(int number) {
    const std::lock_guard guard(mutex_);
    return (*this)[number].phase;
  }
  // The players whose wait ended with kDeadlock and whose result was not asked for yet; waits until
  // there are `count`.
  std::set<int> await_victims(std::size_t count) {
    std::set<int> victims;
    std::unique_lock guard(mutex_);
    await(guard, [&] {
      for (std::size_t i = 0; i < players_.size(); ++i) {
        if (players_[i]->result == ErrorCode::kDeadlock) victims.insert(static_cast<int>(i));
      }
      return victims.size() >= count;
    });
    return victims;
  }

  void wait_begins(LockOwner&) override {}
  void wait_ends(LockOwner& waiter) override { set_phase(waiter, Phase::kRunning); }
  // Comes after the search for deadlocks, and only if the request still waits.
  void waits_for(LockOwner& waiter, LockOwner&) override { set_phase(waiter, Phase::kWaiting); }

 private:
  template <typename Condition>
  bool await(std::unique_lock<std::mutex>& guard, Condition condition) {
    return changed_.wait_for(guard, std::chrono::seconds(120), condition);
  }
  void set_phase(LockOwner& owner, Phase phase) {
    const std::lock_guard guard(mutex_);
    static_cast<Player*>(owner.user())->phase = phase;
    changed_.notify_all();
  }
  void run(Player& player) {
    std::unique_lock guard(mutex_);
    while (true) {
      changed_.wait(guard, [&] { return is_over_ || player.job; });
      if (is_over_) return;
      const auto job = std::exchange(player.job, nullptr);
      guard.unlock();
      const ErrorCode result = job();
      guard.lock();
      player.result = result;
      player.phase = Phase::kIdle;
      changed_.notify_all();
    }
  }

  std::mutex mutex_;  // guards all players and is_over_
  std::condition_variable changed_;
  std::vector<std::unique_ptr<Player>> players_;
  bool is_over_ = false;
};

class LockModelTest : public testing::Test {
 protected:
  static constexpr int kPlayers = 6;
  static constexpr int kKeys = 4;

  ~LockModelTest() override {
    for (int i = 0; i < kPlayers; ++i) manager_.interrupt(players_[i].owner);
    for (int i = 0; i < kPlayers; ++i) players_.result_of(i);
    for (int i = 0; i < kPlayers; ++i) manager_.release_all(players_[i].owner);
  }

  int random(int count) { return static_cast<int>(random_() % static_cast<unsigned>(count)); }

  // All keys are in one space.
  static std::string key_name(int key) { return "tab1" + std::to_string(key); }
  void lock(int player, const std::string& key, LockMode mode, bool may_wait);
  void lock_gap(int player, const std::string& lower, const std::string& upper);
  void insert(int player, const std::string& key, bool may_wait);
  void check_request(int player, ReferenceModel::Answer answer, bool may_wait,
                     const std::set<int>& waiting_before, std::uint64_t deadlocks_before);
  void check_victims(int requester, const std::optional<DeadlockInfo>& last, std::size_t count);
  void unlock(int player, const std::string& key);
  void release_all(int player);
  void interrupt(int player);
  void step();
  void check_grants(const std::set<int>& waiting_before);
  void check_state();

  std::set<int> waiting() const {
    std::set<int> result;
    for (int i = 0; i < kPlayers; ++i) {
      if (model_.is_waiting(i)) result.insert(i);
    }
    return result;
  }

  Players players_{kPlayers};
  LockManager manager_{LockManager::Options{.shards = 2}, &players_};
  ReferenceModel model_;
  std::mt19937_64 random_;
};

void LockModelTest::lock(int player, const std::string& key, LockMode mode, bool may_wait) {
  const auto before = waiting();
  const std::uint64_t deadlocks_before = manager_.deadlock_count();
  const bool had_lock = model_.holds(player, key, LockMode::kShared);
  // The job outlives this call if it waits.
  ASSERT_TRUE(players_.start(player, [this, &self = players_[player], key, mode, may_wait] {
    const WaitPolicy policy = may_wait ? kLong : kNoWait;
    return manager_.lock(self.owner, key, mode, policy, &self.is_new).code();
  }));
  const auto answer = model_.request(player, key, mode);
  check_request(player, answer, may_wait, before, deadlocks_before);
  const bool is_granted = answer != ReferenceModel::Answer::kWaits;
  ASSERT_EQ(players_[player].is_new && is_granted, !had_lock && is_granted);
}

void LockModelTest::lock_gap(int player, const std::string& lower, const std::string& upper) {
  const auto before = waiting();
  manager_.lock_gap(players_[player].owner, lower, upper);
  model_.lock_gap(player, lower, upper);
  check_grants(before);
}

void LockModelTest::insert(int player, const std::string& key, bool may_wait) {
  const auto before = waiting();
  const std::uint64_t deadlocks_before = manager_.deadlock_count();
  ASSERT_EQ(manager_.is_insert_blocked(players_[player].owner, key),
            !model_.owners_of_gaps_around(key, player).empty());
  ASSERT_TRUE(players_.start(player, [this, &self = players_[player], key, may_wait] {
    return manager_.await_insert(self.owner, key, may_wait ? kLong : kNoWait).code();
  }));
  check_request(player, model_.insert(player, key), may_wait, before, deadlocks_before);
}

// What became of a request, and of those that it closed a cycle with.
void LockModelTest::check_request(int player, ReferenceModel::Answer answer, bool may_wait,
                                  const std::set<int>& waiting_before,
                                  std::uint64_t deadlocks_before) {
  if (answer != ReferenceModel::Answer::kWaits) {
    ASSERT_EQ(players_.result_of(player), ErrorCode::kOk);
  } else if (!may_wait) {
    model_.cancel({player});
    ASSERT_EQ(players_.result_of(player), ErrorCode::kLockTimeout);
  } else {
    const auto deadlocks = static_cast<std::size_t>(manager_.deadlock_count() - deadlocks_before);
    ASSERT_EQ(deadlocks != 0, model_.is_in_cycle(player));
    if (deadlocks != 0) check_victims(player, manager_.last_deadlock(), deadlocks);
  }
  auto waited = waiting_before;
  if (answer == ReferenceModel::Answer::kWaits && may_wait) waited.insert(player);
  check_grants(waited);
}

// The `count` victims of a request that closed a cycle: each is in a cycle with the requester, and
// without them there is none. For a single victim the reported cycle is checked edge by edge.
void LockModelTest::check_victims(int requester, const std::optional<DeadlockInfo>& last,
                                  std::size_t count) {
  ASSERT_TRUE(last.has_value());
  const auto victims = players_.await_victims(count);
  ASSERT_EQ(victims.size(), count);
  if (count == 1) {
    ASSERT_EQ(*victims.begin(), static_cast<int>(last->victim_id));
    ASSERT_EQ(last->cycle.front().owner_id, static_cast<std::uint64_t>(requester));
    for (std::size_t i = 0; i < last->cycle.size(); ++i) {
      const auto from = static_cast<int>(last->cycle[i].owner_id);
      const auto to = static_cast<int>(last->cycle[(i + 1) % last->cycle.size()].owner_id);
      ASSERT_EQ(model_.blockers_of(from).count(to), 1u) << from << " for " << to;
      ASSERT_GE(players_[from].owner.weight(), players_[*victims.begin()].owner.weight());
    }
  }
  const auto from_requester = model_.reachable_from(requester);
  for (const int victim : victims) {
    ASSERT_EQ(from_requester.count(victim), 1u);
    ASSERT_EQ(model_.reachable_from(victim).count(requester), 1u);
  }
  model_.cancel(victims);
  for (const int victim : victims) {
    ASSERT_EQ(players_.result_of(victim), ErrorCode::kDeadlock);
  }
  ASSERT_FALSE(model_.is_in_cycle(requester));
}

void LockModelTest::unlock(int player, const std::string& key) {
  const auto before = waiting();
  manager_.unlock(players_[player].owner, key);
  model_.release(player, key);
  check_grants(before);
}

void LockModelTest::release_all(int player) {
  const auto before = waiting();
  manager_.release_all(players_[player].owner);
  model_.release_all(player);
  check_grants(before);
}

void LockModelTest::interrupt(int player) {
  auto before = waiting();
  manager_.interrupt(players_[player].owner);
  model_.cancel({player});
  ASSERT_EQ(players_.result_of(player), ErrorCode::kInterrupted);
  manager_.clear_interrupt(players_[player].owner);
  before.erase(player);
  check_grants(before);
}

// A player that no longer waits and has not been asked about was granted its lock.
void LockModelTest::check_grants(const std::set<int>& waiting_before) {
  for (const int player : waiting_before) {
    if (model_.is_waiting(player)) continue;
    const auto result = players_.result_of(player);
    if (result.has_value()) {
      ASSERT_EQ(result, ErrorCode::kOk);
    } else {
      ASSERT_EQ(players_.phase_of(player), Players::Phase::kIdle) << "a wait did not end";
    }
  }
}

void LockModelTest::check_state() {
  std::multiset<ReferenceModel::Lock> locks;
  for (const LockInfo& lock : manager_.snapshot()) {
    locks.emplace(static_cast<int>(lock.owner_id), lock.key, lock.mode, lock.granted);
  }
  ASSERT_EQ(locks, model_.locks());
  for (int player = 0; player < kPlayers; ++player) {
    ASSERT_EQ(players_[player].owner.held_count(), model_.keys_of(player).size());
    ASSERT_EQ(players_.phase_of(player) == Players::Phase::kWaiting, model_.is_waiting(player));
    for (int key = 0; key < kKeys; ++key) {
      const auto name = key_name(key);
      for (const LockMode mode : {LockMode::kShared, LockMode::kExclusive}) {
        ASSERT_EQ(manager_.holds(players_[player].owner, name, mode),
                  model_.holds(player, name, mode));
      }
    }
  }
}

void LockModelTest::step() {
  const int player = random(kPlayers);
  const auto held = model_.keys_of(player);
  if (model_.is_waiting(player)) {
    if (random(10) == 0) interrupt(player);
  } else if (random(10) < 6) {
    const LockMode mode = random(2) == 0 ? LockMode::kShared : LockMode::kExclusive;
    lock(player, key_name(random(kKeys)), mode, random(6) != 0);
  } else if (random(10) < 2) {
    const int lower = random(kKeys);
    lock_gap(player, key_name(lower), key_name(lower + 1 + random(kKeys - lower)));
  } else if (random(10) < 4) {
    insert(player, key_name(random(kKeys)), random(6) != 0);
  } else if (!held.empty() && random(2) == 0) {
    unlock(player, held[static_cast<std::size_t>(random(static_cast<int>(held.size())))]);
  } else if (random(2) == 0) {
    release_all(player);
  } else {
    players_[player].owner.add_weight(static_cast<std::uint64_t>(random(3)));
  }
}

TEST_F(LockModelTest, RandomSchedulesDoWhatTheModelDoes) {
  const std::uint64_t seed = basalt::test::seed();
  random_.seed(seed);
  int waits = 0;
  for (int i = 0; i < 20'000; ++i) {
    SCOPED_TRACE(testing::Message() << "seed " << seed << ", step " << i);
    step();
    if (!HasFatalFailure()) check_state();
    if (HasFatalFailure()) return;
    waits += static_cast<int>(waiting().size());
    ASSERT_LT(waiting().size(), static_cast<std::size_t>(kPlayers)) << "nobody is left to go on";
  }
  EXPECT_GT(manager_.deadlock_count(), 100u) << "the schedules are too tame";
  EXPECT_GT(waits, 1000) << "the schedules are too tame";
}

}  // namespace
}  // namespace basalt::lock
