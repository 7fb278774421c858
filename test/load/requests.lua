-- wrk script: sends the requests of a file one after another, repeatedly.
--
--   REQUESTS=requests.txt wrk -t1 -c64 -d10s --latency -s test/load/requests.lua http://127.0.0.1:8080
--
-- A line is `KEY TARGET`, and behind another space, if need be, the ETag for If-None-Match:
--
--   service_live_… /v1/account
--   service_live_… /v1/videos?limit=50 "0123456789abcdef0123456789abcdef"
--
-- START is the line to begin with (0), so that several runs use up the keys of a file evenly: a key may make 60 requests in
-- a minute. Prints a line `RESULT {…}` for programs behind wrk's own report; `refused` counts responses other than 2xx and 3xx.

local requests = {}
local next_request = 0
local threads = 0

function setup(thread)
    thread:set("number", threads)
    threads = threads + 1
end

function init(args)
    local name = assert(os.getenv("REQUESTS"), "REQUESTS names the file with the requests")
    for line in io.lines(name) do
        local key, target, etag = line:match("^(%S+) (%S+) ?(%S*)$")
        assert(key, "not KEY TARGET [ETAG]: " .. line)
        wrk.headers["Authorization"] = "Bearer " .. key
        wrk.headers["If-None-Match"] = etag ~= "" and etag or nil
        requests[#requests + 1] = wrk.format("GET", target)
    end
    assert(#requests > 0, "no requests in " .. name)
    -- Threads begin at different ones.
    next_request = ((tonumber(os.getenv("START")) or 0) + number * 7919) % #requests
end

function request()
    next_request = next_request % #requests + 1
    return requests[next_request]
end

function done(summary, latency, _)
    local errors = summary.errors
    io.write(string.format(
        'RESULT {"requests": %d, "seconds": %.6f, "bytes": %d, "p50_us": %d, "p99_us": %d, "max_us": %d, "refused": %d, "broken": %d}\n',
        summary.requests, summary.duration / 1e6, summary.bytes, latency:percentile(50), latency:percentile(99), latency.max,
        errors.status, errors.connect + errors.read + errors.write + errors.timeout))
end
