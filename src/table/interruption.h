#pragma once

namespace basalt::table {

// Asked now and then during long scans, by any thread.
class Interruption {
 public:
  virtual ~Interruption() = default;
  virtual bool is_raised() const = 0;
};

}  // namespace basalt::table
