-- Fills the tables of sysbench's OLTP scripts, which exist already: ids from 1 to --table-size, k
-- uniform in the same range, c and pad of random digits. One thread fills a table, in the order of
-- its ids; what it writes hangs on --rand-seed and the number of the table alone.

local ffi = require("ffi")
local bytes = require("bytes")
local random = require("random")

sysbench.cmdline.options = {
   tables = {"Number of tables", 1},
   table_size = {"Number of rows per table", 10000},
}

local ROWS_OF_INSERT = 400
local BYTES_OF_ROW = 216 -- more than the longest row has
local C_GROUPS, PAD_GROUPS = 10, 5
local DASH, QUOTE, COMMA, OPEN, CLOSE = 45, 39, 44, 40, 41

local buffer = ffi.new("uint8_t[?]", 100 + ROWS_OF_INSERT * BYTES_OF_ROW)

local function put(at, character)
   buffer[at] = character
   return at + 1
end

-- Groups of 11 random digits with dashes between them, in quotes.
local function put_groups(at, count)
   at = put(at, QUOTE)
   for group = 1, count do
      at = bytes.put_padded(buffer, at, random.uniform(0, 99999999999), 11)
      at = put(at, group < count and DASH or QUOTE)
   end
   return at
end

local function put_row(at, id)
   at = bytes.put_number(buffer, put(at, OPEN), id)
   at = bytes.put_number(buffer, put(at, COMMA), random.uniform(1, sysbench.opt.table_size))
   at = put_groups(put(at, COMMA), C_GROUPS)
   at = put_groups(put(at, COMMA), PAD_GROUPS)
   return put(put(at, CLOSE), COMMA)
end

local function fill(con, number)
   random.seed(sysbench.opt.rand_seed, number)
   local head = "INSERT INTO sbtest" .. number .. " (id, k, c, pad) VALUES "
   ffi.copy(buffer, head, #head)
   for first = 1, sysbench.opt.table_size, ROWS_OF_INSERT do
      local at = #head
      for id = first, math.min(first + ROWS_OF_INSERT - 1, sysbench.opt.table_size) do
         at = put_row(at, id)
      end
      con:query(ffi.string(buffer, at - 1))
   end
end

local function prepare()
   local con = sysbench.sql.driver():connect()
   for number = sysbench.tid + 1, sysbench.opt.tables, sysbench.opt.threads do
      fill(con, number)
   end
   con:disconnect()
end

sysbench.cmdline.commands = {prepare = {prepare, sysbench.cmdline.PARALLEL_COMMAND}}
