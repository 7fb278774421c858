"""The test harness: a viewtally in its own directory, its clock, an HTTP client, real Redis and nginx.

Nothing here sleeps for a fixed time: wait.until() watches a condition and gives up at a deadline.
"""
