#pragma once
#include <string>

// Ends of key ranges.
namespace basalt::codec {

// Replaces `key` by the smallest byte string that is greater than every string that begins with
// it. Returns false, leaving `key` empty, if there is none: it was empty or all 0xFF.
bool make_successor(std::string& key);

}  // namespace basalt::codec
