-- Latencies per kind of operation, as histograms in a file.
--
--    local recorder = require("recorder")
--    sysbench.cmdline.options = recorder.options({ scale = {"Warehouses", 10} })
--    function event() recorder.run("payment", payment) end    -- payment() does the work
--    function thread_done() recorder.write() end
--
-- Where an operation is not one function: local started = recorder.now(), and after the work
-- recorder.add("payment", started).
--
-- The time of an operation begins when its function is called: with --rate it does not hold the
-- wait in sysbench's queue, which sysbench's own latency does. An attempt that ends in an error,
-- such as a deadlock, counts as "payment.failed"; the attempt that follows counts by itself.
--
-- THE FILE is what --ops-file names; without a name nothing is measured. Each thread appends its
-- lines, in one write, when it ends. A line has three fields with a space between them:
--
--    payment 1043 17          17 payments took at most 1043 us, and more than the bucket before
--    payment max 90817        the longest of this thread's payments took 90817 us
--
-- so whoever reads it adds the counts of equal operations and bounds, and takes the largest max.
-- Bounds are whole microseconds; buckets are 1 us wide up to 50 us and 2 % wide above; the last
-- bound, about 18 minutes, also stands for all that is longer. Empty buckets have no line.
-- With --ops-after=N, operations that begin in the thread's first N seconds are left out.

local ffi = require("ffi")

local recorder = {}

local GROWTH = 1.02
local NARROW = 50 -- up to here a bucket is one microsecond wide
local LOG_GROWTH = math.log(GROWTH)
local BUCKETS = NARROW + 850
local CLOCK_MONOTONIC = 1

-- The halves of struct timespec on little-endian 64-bit machines. Read as 32-bit numbers they
-- are plain Lua numbers: a 64-bit field would make a garbage-collected object of every reading.
ffi.cdef[[
   typedef struct { uint32_t s, s_high, ns, ns_high; } recorder_time;
   int recorder_clock(int clock, recorder_time *time) __asm__("clock_gettime");
]]

local time = ffi.new("recorder_time")
local operations = {} -- by name: the counts of its buckets, as doubles; [0] is the max
local counted_from -- operations that began earlier are left out

local ceil, floor, log, max = math.ceil, math.floor, math.log, math.max

-- Adds the recorder's own options to a script's.
function recorder.options(options)
   options["ops-file"] = {"File to which latencies per operation are appended", ""}
   options["ops-after"] = {"Seconds at the start in which they are not measured", 0}
   return options
end

-- Microseconds of a clock that never goes back.
function recorder.now()
   ffi.C.recorder_clock(CLOCK_MONOTONIC, time)
   return time.s * 1e6 + time.ns * 1e-3
end

-- The bucket of a whole number of microseconds, from 1 on.
local function bucket_of(us)
   if us <= NARROW then
      return us
   end
   -- What falls on a bound belongs below it, also where the logarithm is rounded up.
   local bucket = NARROW + ceil(log(us / NARROW) / LOG_GROWTH - 1e-9)
   return bucket < BUCKETS and bucket or BUCKETS
end

-- The greatest whole number of microseconds that falls into a bucket.
local function bound_of(bucket)
   if bucket <= NARROW then
      return bucket
   end
   return floor(NARROW * GROWTH ^ (bucket - NARROW))
end

-- Counts an operation that began at `started`, a value of now().
function recorder.add(operation, started)
   if not counted_from then
      counted_from = sysbench.opt.ops_file ~= "" and started + sysbench.opt.ops_after * 1e6
         or math.huge
   end
   if started < counted_from then
      return
   end
   local counts = operations[operation]
   if not counts then
      counts = ffi.new("double[?]", BUCKETS + 1)
      operations[operation] = counts
   end
   local us = max(1, ceil(recorder.now() - started))
   local bucket = bucket_of(us)
   counts[bucket] = counts[bucket] + 1
   if us > counts[0] then
      counts[0] = us
   end
end

-- Calls work(argument) and counts it; an error of it is passed on.
function recorder.run(operation, work, argument)
   local started = recorder.now()
   local is_done, result = pcall(work, argument)
   if is_done then
      recorder.add(operation, started)
      return result
   end
   recorder.add(operation .. ".failed", started)
   error(result, 0)
end

-- Appends what the thread has counted to the file; to be called by the script's thread_done().
function recorder.write()
   local lines = {}
   for operation, counts in pairs(operations) do
      for bucket = 1, BUCKETS do
         if counts[bucket] > 0 then
            lines[#lines + 1] = string.format("%s %d %d\n", operation, bound_of(bucket),
                                              counts[bucket])
         end
      end
      lines[#lines + 1] = string.format("%s max %d\n", operation, counts[0])
   end
   operations = {}
   if #lines == 0 then
      return
   end
   local text = table.concat(lines)
   local file = assert(io.open(sysbench.opt.ops_file, "a"))
   -- Without a buffer it is one write of the operating system, so that lines of other threads do
   -- not get between ours; with one, whatever its size, the C library splits it.
   assert(file:setvbuf("no"))
   assert(file:write(text))
   assert(file:close())
end

return recorder
