-- The TPC-C-like workload's clients: `prepare` fills tables that are there and empty, `run` makes
-- the load. Both speak the text protocol.

local load = require("tpcc_load")
local random = require("random")
local recorder = require("recorder")
local transactions = require("tpcc_transactions")

local ISOLATION = {RC = "READ COMMITTED", RR = "REPEATABLE READ", SER = "SERIALIZABLE"}

sysbench.cmdline.options = recorder.options({
   tables = {"Sets of the nine tables", 1},
   scale = {"Warehouses in each set", 10},
   customers = {"Customers of a district, and its orders after prepare", 3000},
   items = {"Items, and stock rows of a warehouse", 100000},
   incompressible = {"Texts that do not compress, instead of one letter repeated", false},
   logic = {"Transactions of the studies (quirks) or of the specification (spec)", "quirks"},
   ["stock-level"] = {"Stock level as one join (case1) or a query per item (case2)", "case1"},
   isolation = {"RC, RR or SER", "RC"},
   ["foreign-keys"] = {"Whether transactions check foreign keys; prepare does not", false},
})

local connection
local mix -- by a number from 1 to 23: the name and the function of a transaction

local function connect()
   connection = sysbench.sql.driver():connect()
   connection:query("SET NAMES latin1")
   connection:query("SET foreign_key_checks = 0")
end

local function prepare()
   connect()
   load.run(connection, sysbench.opt)
   connection:disconnect()
end

sysbench.cmdline.commands = {prepare = {prepare, sysbench.cmdline.PARALLEL_COMMAND}}

function thread_init()
   connect()
   if sysbench.opt.foreign_keys then
      connection:query("SET foreign_key_checks = 1")
   end
   connection:query("SET SESSION TRANSACTION ISOLATION LEVEL "
                    .. assert(ISOLATION[sysbench.opt.isolation], "isolation is RC, RR or SER"))
   connection:query("SET autocommit = 0")
   -- Two threads of one run, and two runs with different seeds, draw different numbers.
   random.seed(sysbench.opt.rand_seed, sysbench.tid + 1)
   mix = transactions.mix(connection, sysbench.opt)
end

function event()
   local chosen = mix[random.uniform(1, #mix)]
   recorder.run(chosen.name, chosen.run)
end

-- A deadlock or a lock wait timeout: sysbench calls event() again, which draws anew.
function sysbench.hooks.before_restart_event()
   connection:query("ROLLBACK")
end

function thread_done()
   recorder.write()
   connection:disconnect()
end
