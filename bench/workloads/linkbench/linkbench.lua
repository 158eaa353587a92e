-- LinkBench's client for sysbench: `prepare` fills the empty tables that the Python module has
-- made, `run` does operations in the proportions of a mix.
--
-- Times of operations, by their LinkBench names, are the recorder's: see recorder.lua.

local load_data = require("load")
local operations = require("operations")
local random = require("random")
local recorder = require("recorder")

sysbench.cmdline.options = recorder.options({
   ids = {"Nodes that are loaded; LinkBench's maxid1 is one more", 10000},
   mix = {"Operations and sizes of payloads: 2011 or 2017", "2011"},
})

local function options()
   local mix = tostring(sysbench.opt.mix)
   assert(operations.mixes[mix], "--mix is 2011 or 2017")
   assert(sysbench.opt.ids >= 10, "--ids is at least 10")
   return {ids = sysbench.opt.ids, mix = mix, rand_seed = sysbench.opt.rand_seed}
end

-- A connection on which bytes above 127 mean themselves.
local function connect(driver)
   local connection = driver:connect()
   connection:query("SET NAMES latin1")
   return connection
end

local function prepare()
   local connection = connect(sysbench.sql.driver())
   load_data(connection, options(), sysbench.tid, sysbench.opt.threads)
   connection:disconnect()
end

sysbench.cmdline.commands = {prepare = {prepare, sysbench.cmdline.PARALLEL_COMMAND}}

local reader, writer, mixed
local operation, request -- what is being done

function thread_init()
   local driver = sysbench.sql.driver()
   reader, writer = connect(driver), connect(driver)
   random.seed(sysbench.opt.rand_seed, 3, sysbench.tid)
   mixed = operations.new(options(), reader, writer)
   writer:query("SET autocommit = 0")
end

function event()
   if operation then
      writer:query("ROLLBACK") -- sysbench tries again what ended in a deadlock
   else
      operation = mixed.draw()
      request = operation.request()
   end
   recorder.run(operation.name, operation.work, request)
   operation = nil
end

function thread_done()
   recorder.write()
   reader:disconnect()
   writer:disconnect()
end
