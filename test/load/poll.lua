-- For wrk: polls the feed of events as an integration does, from the beginning to its end and then on: each request with the
-- `next_cursor` of the answer before it.
--
--   KEY=service_live_… wrk -t1 -c1 -d10s -s test/load/poll.lua http://127.0.0.1:8080/v1/events
--
-- One connection (-c1): several would each ask with what another got. A key may make 60 requests in a minute: set
-- `requests_per_minute = 0` in [limits] while measuring.

local after

function init(args)
    wrk.headers["Authorization"] = "Bearer " .. assert(os.getenv("KEY"), "KEY is the API key")
end

function request()
    return wrk.format("GET", wrk.path .. "?limit=100" .. (after and "&after=" .. after or ""))
end

function response(status, headers, body)
    -- null at the end: the cursor stays.
    after = body:match('"next_cursor":%s*"([^"]+)"') or after
end
