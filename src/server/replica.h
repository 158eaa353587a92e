#pragma once

namespace basalt::server {

// Whether this server applies what another one has done, or may do so: it knows of a source, also
// if it does not run. True as long as that cannot be told. Does not wait; any thread.
bool may_be_replica();

}  // namespace basalt::server
