#include "codec/search_bounds.h"

namespace basalt::codec {

bool make_successor(std::string& key) {
  while (!key.empty() && key.back() == '\xFF') key.pop_back();
  if (key.empty()) return false;
  ++key.back();
  return true;
}

}  // namespace basalt::codec
