-- wrk script: sends each request with the next API key of a file.
--
--   KEYS=keys.txt wrk -t1 -c64 -d10s --latency -s test/load/keys.lua http://127.0.0.1:8080/v1/account
--   KEYS=keys.txt wrk -t1 -c64 -d10s --latency -s test/load/keys.lua 'http://127.0.0.1:8080/v1/videos?limit=50'
--
-- A line of the file is a key, and behind a space, if need be, what stands in front of the path for it (bench.py asks a
-- file server for each author's own file that way). A key may make 60 requests in a minute: at 50,000 requests a second,
-- 10 seconds take 8,400 keys, or `requests_per_minute = 0` in [limits].
--
-- Prints a line `RESULT {…}` for programs behind wrk's own report; `refused` counts responses other than 2xx and 3xx.

local requests = {}
local next_request = 0
local threads = 0

function setup(thread)
    thread:set("number", threads)
    threads = threads + 1
end

function init(args)
    local name = assert(os.getenv("KEYS"), "KEYS names the file with the keys")
    for line in io.lines(name) do
        local key, prefix = line:match("^(%S+)%s*(%S*)$")
        if key then
            wrk.headers["Authorization"] = "Bearer " .. key
            requests[#requests + 1] = wrk.format("GET", prefix .. wrk.path)
        end
    end
    assert(#requests > 0, "no keys in " .. name)
    -- Threads begin at different keys.
    next_request = (number * 7919) % #requests
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
