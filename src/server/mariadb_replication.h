#pragma once

// MariaDB's headers of replication, behind those of server/mariadb.h. To be included last, too.
// clang-format off
#include "server/mariadb.h"
#include <rpl_mi.h>
#include <slave.h>
// clang-format on
