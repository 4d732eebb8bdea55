# 17: the wait alone is aborted: the turn fails with what it was waiting on
prompt fail 429 retry-after 20000
abort-retry
| opened mock/alpha prompt
| turn
| user Prompt "fail 429 retry-after 20000"
| retry 1 of 3 after 20000 ms: RateLimited
| end Error RateLimited rounds 0 tokens 0/0
~ mock/alpha U "fail 429 retry-after 20000"
