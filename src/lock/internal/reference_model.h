#pragma once
#include <algorithm>
#include <deque>
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "lock/lock_mode.h"

// The rules of the lock manager once more, for tests: slow, obvious, without threads. Owners are
// small numbers. It decides no victims; it knows whether there is a cycle.
namespace basalt::lock::test {

class ReferenceModel {
 public:
  enum class Answer { kHeldAlready, kGranted, kWaits };

  Answer request(int owner, const std::string& key, LockMode mode) {
    Queue& queue = queues_[key];
    const auto held = queue.holders.find(owner);
    const bool is_upgrade = held != queue.holders.end();
    if (is_upgrade && held->second >= mode) return Answer::kHeldAlready;
    waits_[owner] = key;
    if (is_upgrade) {
      queue.upgrades.insert(owner);
    } else {
      queue.waiters.emplace_back(owner, mode);
    }
    grant(queue);
    return waits_.count(owner) != 0 ? Answer::kWaits : Answer::kGranted;
  }

  // Locks [lower, upper) against inserts by others.
  void lock_gap(int owner, const std::string& lower, const std::string& upper) {
    gaps_.push_back({owner, lower, upper});
  }

  Answer insert(int owner, const std::string& key) {
    inserts_[owner] = key;
    grant_inserts();
    return inserts_.count(owner) != 0 ? Answer::kWaits : Answer::kGranted;
  }

  // Ends the waits of `owners`, all at once.
  void cancel(const std::set<int>& owners) {
    std::set<Queue*> changed;
    for (const int owner : owners) {
      if (inserts_.erase(owner) != 0) continue;
      Queue& queue = queues_.at(waits_.at(owner));
      waits_.erase(owner);
      queue.upgrades.erase(owner);
      std::erase_if(queue.waiters, [&](const auto& waiter) { return waiter.first == owner; });
      changed.insert(&queue);
    }
    for (Queue* queue : changed) grant(*queue);
  }

  void release(int owner, const std::string& key) {
    queues_.at(key).holders.erase(owner);
    grant(queues_.at(key));
  }

  void release_all(int owner) {
    for (const auto& key : keys_of(owner)) release(owner, key);
    std::erase_if(gaps_, [&](const Gap& gap) { return gap.owner == owner; });
    grant_inserts();
  }

  bool is_waiting(int owner) const {
    return waits_.count(owner) != 0 || inserts_.count(owner) != 0;
  }

  std::vector<std::string> keys_of(int owner) const {
    std::vector<std::string> keys;
    for (const auto& [key, queue] : queues_) {
      if (queue.holders.count(owner) != 0) keys.push_back(key);
    }
    return keys;
  }

  bool holds(int owner, const std::string& key, LockMode at_least) const {
    const auto queue = queues_.find(key);
    if (queue == queues_.end()) return false;
    const auto held = queue->second.holders.find(owner);
    return held != queue->second.holders.end() && held->second >= at_least;
  }

  // All owners that `owner` waits for.
  std::set<int> blockers_of(int owner) const {
    std::set<int> result;
    if (!is_waiting(owner)) return result;
    if (const auto insert = inserts_.find(owner); insert != inserts_.end()) {
      return owners_of_gaps_around(insert->second, owner);
    }
    const Queue& queue = queues_.at(waits_.at(owner));
    const bool is_upgrade = queue.upgrades.count(owner) != 0;
    const LockMode mode = is_upgrade ? LockMode::kExclusive : queue.mode_asked_by(owner);
    for (const auto& [holder, held] : queue.holders) {
      if (holder != owner && conflicts(mode, held)) result.insert(holder);
    }
    if (is_upgrade) return result;
    result.insert(queue.upgrades.begin(), queue.upgrades.end());
    for (const auto& [waiter, asked] : queue.waiters) {
      if (waiter == owner) break;
      if (conflicts(mode, asked)) result.insert(waiter);
    }
    return result;
  }

  // All owners that `owner` waits for, directly or through others; itself if it is in a cycle.
  std::set<int> reachable_from(int owner) const {
    std::set<int> result;
    std::deque<int> to_visit = {owner};
    while (!to_visit.empty()) {
      for (const int blocker : blockers_of(to_visit.front())) {
        if (result.insert(blocker).second) to_visit.push_back(blocker);
      }
      to_visit.pop_front();
    }
    return result;
  }
  bool is_in_cycle(int owner) const { return reachable_from(owner).count(owner) != 0; }

  // The owners of gaps that hold the key, but for `owner`.
  std::set<int> owners_of_gaps_around(const std::string& key, int owner) const {
    std::set<int> result;
    for (const Gap& gap : gaps_) {
      if (gap.owner != owner && gap.lower <= key && key < gap.upper) result.insert(gap.owner);
    }
    return result;
  }

  // Owner, key, mode, granted: what LockManager::snapshot() must show.
  using Lock = std::tuple<int, std::string, LockMode, bool>;
  std::multiset<Lock> locks() const {
    std::multiset<Lock> result;
    for (const auto& [key, queue] : queues_) {
      for (const auto& [owner, mode] : queue.holders) result.emplace(owner, key, mode, true);
      for (const auto& [owner, mode] : queue.waiters) result.emplace(owner, key, mode, false);
      for (const int owner : queue.upgrades) {
        result.emplace(owner, key, LockMode::kExclusive, false);
      }
    }
    for (const auto& [owner, key] : inserts_) {
      result.emplace(owner, key, LockMode::kExclusive, false);
    }
    return result;
  }

 private:
  struct Queue {
    std::map<int, LockMode> holders;
    std::set<int> upgrades;
    std::deque<std::pair<int, LockMode>> waiters;

    LockMode mode_asked_by(int owner) const {
      const auto is_owners = [&](const auto& waiter) { return waiter.first == owner; };
      return std::find_if(waiters.begin(), waiters.end(), is_owners)->second;
    }
    bool is_compatible(LockMode mode) const {
      return std::none_of(holders.begin(), holders.end(),
                          [&](const auto& holder) { return conflicts(mode, holder.second); });
    }
  };

  void grant(Queue& queue) {
    if (!queue.upgrades.empty()) {
      const int owner = *queue.upgrades.begin();
      if (queue.holders.size() > 1) return;
      queue.holders[owner] = LockMode::kExclusive;
      queue.upgrades.clear();
      waits_.erase(owner);
    }
    while (!queue.waiters.empty() && queue.is_compatible(queue.waiters.front().second)) {
      queue.holders.insert(queue.waiters.front());
      waits_.erase(queue.waiters.front().first);
      queue.waiters.pop_front();
    }
  }

  struct Gap {
    int owner;
    std::string lower;
    std::string upper;
  };

  void grant_inserts() {
    std::erase_if(inserts_, [this](const auto& insert) {
      return owners_of_gaps_around(insert.second, insert.first).empty();
    });
  }

  std::map<std::string, Queue> queues_;
  std::map<int, std::string> waits_;  // owner -> key
  std::vector<Gap> gaps_;
  std::map<int, std::string> inserts_;  // that wait: owner -> key
};

}  // namespace basalt::lock::test
