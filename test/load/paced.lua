-- wrk script: keys.lua at a moderate rate. Each connection waits 0.5 to 1.5 times PAUSE_MS before each request; latency is measured
-- after the wait.

dofile(os.getenv("KEYS_LUA"))

local pause = tonumber(os.getenv("PAUSE_MS"))

function delay()
    return math.floor(pause * (0.5 + math.random()) + 0.5)
end
