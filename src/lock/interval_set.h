#pragma once
#include <cstddef>
#include <functional>
#include <map>
#include <string>
#include <string_view>

// A set of byte strings, kept as disjoint half-open intervals [lower, upper).
//
// Purpose     What one owner has locked of an index: a scan adds piece by piece, each beginning
//             where the last one ended, and the set stays as small as the number of scans.
// Threads     One at a time.
namespace basalt::lock {

class IntervalSet {
 public:
  // Adds [lower, upper), which must not be empty. Intervals that touch become one; growing one at
  // either end allocates nothing but what its bound needs.
  void add(std::string_view lower, std::string_view upper);
  bool contains(std::string_view key) const;
  // Whether a key of [lower, upper) is in the set.
  bool overlaps(std::string_view lower, std::string_view upper) const;
  // The first string of [lower, upper) that is in the set; false if none is.
  bool find(std::string_view lower, std::string_view upper, std::string& found) const;
  void clear() { intervals_.clear(); }

  bool is_empty() const { return intervals_.empty(); }
  std::size_t size() const { return intervals_.size(); }
  // Calls visit(lower, upper) in order.
  template <typename Visit>
  void for_each(Visit visit) const {
    for (const auto& [lower, upper] : intervals_) visit(lower, upper);
  }

 private:
  using Intervals = std::map<std::string, std::string, std::less<>>;  // lower -> upper
  void absorb_followers(Intervals::iterator grown);

  Intervals intervals_;
};

}  // namespace basalt::lock
