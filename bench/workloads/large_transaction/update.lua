-- An event is one UPDATE of every row of the table, in one transaction.

local con

function thread_init()
   con = sysbench.sql.driver():connect()
end

function event()
   con:query("UPDATE source FORCE INDEX (PRIMARY) SET version = version + 1 WHERE id > 0")
end

function thread_done()
   con:disconnect()
end
