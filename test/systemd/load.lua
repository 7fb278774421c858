-- wrk: sends GET requests with a key, or POST requests if the first argument is "post".
function init(args)
    if args[1] == "post" then
        wrk.method = "POST"
        wrk.body = "token=none&client_id=" .. args[2]
        wrk.headers["Content-Type"] = "application/x-www-form-urlencoded"
    else
        wrk.headers["Authorization"] = "Bearer " .. args[2]
    end
end
