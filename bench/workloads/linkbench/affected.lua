-- How many rows the last statement of a connection changed. sysbench counts them, but gives the
-- result to Lua only for statements that return rows.
--
--    local affected = require("affected")(connection)
--    connection:query("UPDATE ...")
--    affected()

local ffi = require("ffi")

-- sysbench 1.0's connection begins with these. The fields up to the driver are those that it tells
-- Lua about; the result follows behind a pointer. The number of rows is that of the last statement
-- that changed any, and the kind tells whether this one did.
ffi.cdef[[
   typedef struct {
      int error, sql_errno;
      const char *sql_state, *sql_errmsg;
      void *driver, *driver_data;
      struct { int kind; uint32_t rows; } result;
   } linkbench_connection;
]]

local WRITE = 2

return function(connection)
   local seen = ffi.cast("linkbench_connection *", connection)

   local function affected()
      return seen.result.kind == WRITE and seen.result.rows or 0
   end

   local function expect(rows, statement)
      connection:query(statement)
      assert(affected() == rows, "this sysbench keeps its results elsewhere: 1.0.20 is needed")
   end

   expect(0, "CREATE TEMPORARY TABLE affected (a INT PRIMARY KEY) ENGINE=MEMORY")
   expect(3, "INSERT INTO affected VALUES (1), (2), (3)")
   expect(0, "INSERT INTO affected VALUES (1) ON DUPLICATE KEY UPDATE a = 1")
   expect(2, "INSERT INTO affected VALUES (1) ON DUPLICATE KEY UPDATE a = 4")
   expect(0, "DROP TEMPORARY TABLE affected")
   return affected
end
