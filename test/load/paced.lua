-- wrk script: keys.lua at a moderate rate. Each connection waits 0.5 to 1.5 times PAUSE_MS before each request; latency is measured
-- after the wait. KEYS_LUA is the path of keys.lua, which reads KEYS.
--
--   KEYS_LUA=test/load/keys.lua KEYS=keys.txt PAUSE_MS=1000 wrk -t1 -c64 -d10s --latency -s test/load/paced.lua URL

dofile(os.getenv("KEYS_LUA"))

local pause = tonumber(os.getenv("PAUSE_MS"))

function delay()
    return math.floor(pause * (0.5 + math.random()) + 0.5)
end
