#pragma once

namespace basalt::server {

// Lets the server coordinate transactions of several engines although this one comes late.
//
// The server chooses how to coordinate when it starts. With one engine that can prepare and no
// binary log it needs nothing, and an engine that is loaded later would be kept from preparing:
// no XA, and a transaction in two engines could be committed in one of them. What the server would
// have chosen is put in place here. To be called at the end of the plugin's init.
void ensure_transaction_coordinator();

}  // namespace basalt::server
