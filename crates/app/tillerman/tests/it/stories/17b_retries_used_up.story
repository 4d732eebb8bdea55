# 17: after three retries the turn fails, typed
prompt fail 500
wait 10000
prompt say "still here"
| opened mock/alpha prompt
| turn
| user Prompt "fail 500"
| retry 1 of 3 after 500 ms: Provider
| retry 2 of 3 after 1000 ms: Provider
| retry 3 of 3 after 2000 ms: Provider
| end Error Provider rounds 0 tokens 0/0
| turn
| user Prompt "say \"still here\""
| assistant "still here" Stop
| end EndTurn rounds 0 tokens 68/3
~ mock/alpha U "fail 500"
~ mock/alpha U "fail 500"
~ mock/alpha U "fail 500"
~ mock/alpha U "fail 500"
~ mock/alpha UU "say \"still here\""
