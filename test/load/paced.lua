-- For wrk: keys.lua at a moderate rate. Each connection waits PAUSE_MS (0.5 to 1.5 times, at random) before each request; wrk's
-- times begin after that.

dofile(os.getenv("KEYS_LUA"))

local pause = tonumber(os.getenv("PAUSE_MS"))

function delay()
    return math.floor(pause * (0.5 + math.random()) + 0.5)
end
