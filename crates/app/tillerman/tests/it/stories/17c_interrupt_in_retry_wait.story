# 17: an interrupt ends the wait at once
prompt fail 429 retry-after 20000
interrupt
prompt say "still here"
| opened mock/alpha prompt
| turn
| user Prompt "fail 429 retry-after 20000"
| retry 1 of 3 after 20000 ms: RateLimited
| cut Asked
| end Interrupted rounds 0 tokens 0/0
| turn
| user Prompt "say \"still here\""
| assistant "still here" Stop
| end EndTurn rounds 0 tokens 72/3
~ mock/alpha U "fail 429 retry-after 20000"
~ mock/alpha UU "say \"still here\""
