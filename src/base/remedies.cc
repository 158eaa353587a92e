#include "base/remedies.h"

namespace basalt {
namespace {

Remedies& installed() {
  static Remedies remedies;
  return remedies;
}

}  // namespace

const Remedies& remedies() { return installed(); }

void set_remedies(const Remedies& remedies) { installed() = remedies; }

}  // namespace basalt
