-- For wrk: one key above its limit. Counts what was admitted and what was refused.
--
--   KEY=service_live_… wrk -t1 -c8 -d10s -s test/load/refused.lua http://127.0.0.1:8080/v1/account
--
-- Run for less than a minute it must admit 60 at most, whatever the number of connections and of servers.

local threads = {}

function setup(thread)
    threads[#threads + 1] = thread
end

function init(args)
    wrk.headers["Authorization"] = "Bearer " .. assert(os.getenv("KEY"), "KEY is the API key")
    admitted, refused, other = 0, 0, 0
end

function response(status, headers, body)
    if status == 200 then admitted = admitted + 1
    elseif status == 429 then refused = refused + 1
    else other = other + 1 end
end

function done(summary, latency, _)
    local totals = {admitted = 0, refused = 0, other = 0}
    for _, thread in ipairs(threads) do
        for name in pairs(totals) do totals[name] = totals[name] + thread:get(name) end
    end
    io.write(string.format("admitted %d, refused %d, other %d\n", totals.admitted, totals.refused, totals.other))
end
