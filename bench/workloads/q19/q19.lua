-- One statement, again and again; an event is one run of it.
--
-- Options: --statement is the SQL text.

sysbench.cmdline.options = {
  statement = {"The SQL text of the query", ""},
}

local connection

function thread_init()
  connection = sysbench.sql.driver():connect()
end

function event()
  connection:query(sysbench.opt.statement)
end

function thread_done()
  connection:disconnect()
end
