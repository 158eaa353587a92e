-- The clients of the insert benchmark that write. An event is one INSERT of --rows-per-commit rows,
-- committed by itself, and with --delete-per-insert one DELETE of so many of the oldest rows.
--
-- `prepare` fills the tables, which exist already, with --rows rows each; what it writes hangs on
-- --rand-seed alone, times included.

local random = require("random")
local recorder = require("recorder")
local rows = require("rows")

sysbench.cmdline.options = recorder.options({
   tables = {"Tables; a thread uses the one of its number, from the first on again", 1},
   shape = {"Columns and indexes: 2017 or current", "2017"},
   rows = {"prepare: rows of each table", 0},
   ["rows-per-commit"] = {"Rows of each INSERT", 100},
   ["delete-per-insert"] = {"Oldest rows deleted after each INSERT", 0},
})

local RUNNING, PREPARING = 1, 2 -- streams of random numbers
local PREPARED_COMMITS_PER_SECOND = 100
local PREPARED_TIME = 1485216000 -- 24 January 2017, UTC

local con, writer, delete_start, has_inserted
local oldest = 0
local table_number

local function text_of(time)
   return os.date("!%Y-%m-%d %H:%M:%S", time)
end

local function new_writer(number)
   return rows.writer({table = number, client = sysbench.tid,
                       rows_per_commit = sysbench.opt.rows_per_commit,
                       is_2017 = sysbench.opt.shape == "2017"})
end

local function fill(number)
   random.seed(sysbench.opt.rand_seed, number, PREPARING)
   writer = new_writer(number)
   local left, commits = sysbench.opt.rows, 0
   while left > 0 do
      local count = math.min(left, sysbench.opt.rows_per_commit)
      local second = math.floor(commits / PREPARED_COMMITS_PER_SECOND)
      con:query(writer.statement(text_of(PREPARED_TIME + second), count))
      writer.committed()
      left, commits = left - count, commits + 1
   end
end

local function prepare()
   con = sysbench.sql.driver():connect()
   for number = sysbench.tid + 1, sysbench.opt.tables, sysbench.opt.threads do
      fill(number)
   end
   con:disconnect()
end

sysbench.cmdline.commands = {prepare = {prepare, sysbench.cmdline.PARALLEL_COMMAND}}

function thread_init()
   con = sysbench.sql.driver():connect()
   random.seed(sysbench.opt.rand_seed, sysbench.tid, RUNNING)
   table_number = sysbench.tid % sysbench.opt.tables + 1
   writer = new_writer(table_number)
   delete_start = "DELETE FROM purchases" .. table_number .. " WHERE transactionid >= "
   if sysbench.opt.delete_per_insert > 0 then
      oldest = tonumber(con:query_row("SELECT COALESCE(MIN(transactionid), 1) FROM purchases"
                                      .. table_number))
   end
end

local time_of_text, text = 0, ""

local function insert()
   local time = os.time()
   if time ~= time_of_text then
      time_of_text, text = time, text_of(time)
   end
   con:query(writer.statement(text))
   writer.committed()
end

local function delete()
   local count = sysbench.opt.delete_per_insert
   con:query(delete_start .. oldest .. " ORDER BY transactionid LIMIT " .. count)
   -- Where ids are missing this is too low, which costs the server a little and no row.
   oldest = oldest + count
end

function event()
   if sysbench.opt.delete_per_insert == 0 then
      recorder.run("insert", insert)
      return
   end
   -- An event is begun again after a deadlock: what it has committed stays.
   if not has_inserted then
      recorder.run("insert", insert)
      has_inserted = true
   end
   recorder.run("delete", delete)
   has_inserted = false
end

function thread_done()
   recorder.write()
   con:disconnect()
end
