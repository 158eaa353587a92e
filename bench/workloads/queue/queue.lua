-- A table as a queue. The first half of the threads put rows at its end, the other half take its
-- oldest rows. An event is one INSERT of ten rows, or transactions that take ten. With several
-- names the table is as many queues: each thread goes from one to the next.
--
-- THE LENGTH of the queue stays: neither side gets more than --ahead events ahead of the other. How
-- many more events a side may do is the count of a semaphore of the operating system; threads of
-- sysbench share no Lua. A wait for the other side is no part of the recorder's times, but it is
-- one of sysbench's. At its end the run may leave a side waiting, whose event then does nothing.

local ffi = require("ffi")
local recorder = require("recorder")

sysbench.cmdline.options = recorder.options({
   ahead = {"Events by which either side may be ahead of the other", 50},
   names = {"Queues in the table", 1},
})

-- struct timespec of 64-bit machines has another name here: sysbench may know it, too.
ffi.cdef[[
   typedef struct { int64_t s, ns; } queue_time;
   typedef struct queue_semaphore queue_semaphore;
   int queue_clock(int clock, queue_time *time) __asm__("clock_gettime");
   int getpid(void);
   queue_semaphore *sem_open(const char *name, int flags, ...);
   int sem_unlink(const char *name);
   int sem_post(queue_semaphore *semaphore);
   int sem_trywait(queue_semaphore *semaphore);
   int sem_timedwait(queue_semaphore *semaphore, const queue_time *until);
]]

local C = ffi.C
local ROWS = 10
local CLOCK_REALTIME = 0
local CREATE, OWNER_MAY = 64, 384 -- O_CREAT, and the mode 0600
local MOMENT = 5e7 -- nanoseconds between two looks whether the run has ended

local con
local own, other -- semaphores: what this side, and what the other, may still do
local name_of_own, names_are_there
local ends -- when the run is over, in the recorder's microseconds
local work
local may_go, left = false, ROWS -- of the event that is being done
local name -- the queue of that event, from 0
local producers, numbers = {}, {} -- of each queue: who this thread is there, its last row put
local of_name -- the condition for the rows of a queue

local function open(name)
   local semaphore = C.sem_open(name, CREATE, ffi.cast("unsigned int", OWNER_MAY),
                                ffi.cast("unsigned int", sysbench.opt.ahead))
   assert(semaphore ~= nil, "there is no semaphore " .. name)
   return semaphore
end

-- The next ten rows, which are put again as they were if that fails.
local function put()
   local rows = {}
   for at = 1, ROWS do
      local number = numbers[name] + at
      rows[at] = string.format("('name%d',%d,%d,'%s')", name, producers[name], number,
                               string.format("%010d", number):rep(10))
   end
   con:query("INSERT INTO queue (name, producer, number, body) VALUES "
             .. table.concat(rows, ","))
   numbers[name] = numbers[name] + ROWS
end

-- One transaction; it may get fewer rows than it asks for when others take at the same time.
local function take()
   con:query("BEGIN")
   local rows = con:query("SELECT id, body FROM queue" .. of_name:format(name)
                          .. " ORDER BY id LIMIT " .. left .. " FOR UPDATE")
   local ids = {}
   for at = 1, rows.nrows do
      ids[at] = rows:fetch_row()[1]
   end
   rows:free()
   if #ids > 0 then
      con:query("DELETE FROM queue WHERE id IN (" .. table.concat(ids, ",") .. ")")
   end
   con:query("COMMIT")
   left = left - #ids
end

local function put_ten()
   recorder.run("put", put)
end

local function take_ten()
   repeat
      recorder.run("take", take)
   until left == 0
   left = ROWS
end

local soon = ffi.new("queue_time")

local function wait_a_moment()
   C.queue_clock(CLOCK_REALTIME, soon)
   local ns = tonumber(soon.ns) + MOMENT
   soon.s, soon.ns = soon.s + math.floor(ns / 1e9), ns % 1e9
   return C.sem_timedwait(own, soon) == 0
end

-- Waits until the other side is not too far behind; false when the run ends before.
local function pass()
   if C.sem_trywait(own) == 0 then
      return true
   end
   -- A run of so many events ends when the other side has done its last.
   local last = sysbench.opt.time > 0 and ends or recorder.now() + 1e6
   repeat
      if wait_a_moment() then
         return true
      end
   until recorder.now() > last
   return false
end

function thread_init()
   con = sysbench.sql.driver():connect()
   local threads, names = sysbench.opt.threads, sysbench.opt.names
   local thread = sysbench.tid % threads
   local is_putting = thread < threads / 2
   local semaphores = "/basalt-queue-" .. C.getpid()
   name_of_own = semaphores .. (is_putting and "-put" or "-take")
   own = open(name_of_own)
   other = open(semaphores .. (is_putting and "-take" or "-put"))
   names_are_there = true
   work = is_putting and put_ten or take_ten
   name = thread % names
   of_name = names > 1 and " WHERE name = 'name%d'" or ""
   for at = 0, names - 1 do
      producers[at] = thread + 1 + threads * at
      numbers[at] = tonumber((con:query_row(
         "SELECT COALESCE(MAX(number), 0) FROM queue WHERE producer = " .. producers[at])))
   end
   ends = recorder.now() + sysbench.opt.time * 1e6
end

function event()
   if names_are_there then
      -- All threads have begun, and nobody needs to find the semaphores any more.
      C.sem_unlink(name_of_own)
      names_are_there = false
   end
   -- What is tried again after a deadlock has been let go already.
   may_go = may_go or pass()
   if may_go then
      work()
      may_go = false
      name = (name + 1) % sysbench.opt.names
      C.sem_post(other)
   end
end

function thread_done()
   recorder.write()
   con:disconnect()
end
