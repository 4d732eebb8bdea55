# 17: a rate limit is waited out as the server asked; the retries are in the log
model fail 429 retry-after 2000
model fail 503
model say "Third time lucky."
prompt hello
wait 4000
| opened mock/alpha prompt
| turn
| user Prompt "hello"
| retry 1 of 3 after 2000 ms: RateLimited
| retry 2 of 3 after 1000 ms: Provider
| assistant "Third time lucky." Stop
| end EndTurn rounds 0 tokens 63/5
~ mock/alpha U "hello"
~ mock/alpha U "hello"
~ mock/alpha U "hello"
