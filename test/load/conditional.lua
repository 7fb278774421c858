-- For wrk: asks with the ETag of the answer before, as an integration does that keeps what it got. Nearly all answers are 304.
--
--   KEY=service_live_… wrk -t1 -c8 -d10s -s test/load/conditional.lua 'http://127.0.0.1:8080/v1/videos?limit=50'
--
-- A key may make 60 requests in a minute: set `requests_per_minute = 0` in [limits] while measuring.

local etag

function init(args)
    wrk.headers["Authorization"] = "Bearer " .. assert(os.getenv("KEY"), "KEY is the API key")
end

function request()
    wrk.headers["If-None-Match"] = etag
    return wrk.format()
end

function response(status, headers, body)
    etag = headers["ETag"] or etag
end
